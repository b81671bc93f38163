/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All served sockets at once, by iterators: found and given state when a session starts, read once
 * a slice. The kernel may run a step of an iteration again: finding is idempotent, reading writes
 * nothing.
 */
#include "request.bpf.h"

struct listening_map listening SEC(".maps");

/* Of a clock tick (1 / CONFIG_HZ); set before load. */
const volatile __u64 tick_ns = 4000000;
/* Sockets that were given state, so that somebody must be found who holds them. */
__u64 sockets_found = 0;
/* Whose listening sockets are given to another process that holds them, since it is gone; 0 =
 * nobody's. Set before a pass. */
__u32 gone_owner = 0;
/* find_owners notes who listens where, for find_connections. Set before a pass. */
__u32 notes_listening = 0;
/* What a pass of find_held is for: connections, else who listens. Set before it. */
__u32 held_connections = 0;

/*
 * 0.. -> a socket as it was read, of a pass of read_sockets. Written by it, read by the user side
 * through memory: an iterator that hands over much is slow, since the kernel begins each buffer of
 * 32 KiB at the head of the list again. Size: a pass reads as many; with more unanswered requests
 * there are more passes.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SOCKET_ROWS_MAX);
	__type(key, __u32);
	__type(value, struct event_socket);
} socket_rows SEC(".maps");

/* Of the pass: sockets before its first, set by the user side; those found so far, before and after
 * it. */
__u32 socket_rows_from = 0;
__u32 socket_rows_cnt = 0;
/* Of the pass: connections that are followed and have spoken, where not all are. */
__u32 connections_followed = 0;
/* The last socket, which comes again when a buffer was full. */
__u64 socket_rows_last = 0;

static __always_inline struct listening_key key_of(struct sock *sk, __u32 netns)
{
	struct listening_key key = {
		.netns = netns,
		.port = sk->__sk_common.skc_num,
		.family = sk->__sk_common.skc_family,
	};

	read_address(key.address, sk);
	return key;
}

static __always_inline void note_listening(struct sock *sk, struct connection *c)
{
	struct listening_key key = key_of(sk, c->netns);
	struct holder home = home_of(c);

	/* Several sockets may share an address. */
	if (!bpf_map_lookup_elem(&listening, &key) &&
	    !take_share(&home, SHARE_CGROUP_EARLIER, &earlier_held))
		count_loss(LOSS_LISTENING);
	else if (bpf_map_update_elem(&listening, &key, c, BPF_ANY))
		count_loss(LOSS_LISTENING);
}

/* State for a socket that listens. */
static __always_inline void take_listener(struct sock *sk)
{
	struct connection init = state_of_listener(sk), *c;

	c = bpf_sk_storage_get(&connections, sk, &init, BPF_SK_STORAGE_GET_F_CREATE);
	if (!c) {
		count_loss(LOSS_SOCKET_ALLOC);
		return;
	}
	__sync_fetch_and_add(&sockets_found, 1);
}

/* At start, once for each TCP socket of a network namespace: state for those that listen. */
SEC("iter/tcp")
int find_listeners(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	struct tcp_sock *tp;

	if (!common || common->skc_state != TCP_LISTEN)
		return 0;
	tp = bpf_skc_to_tcp_sock(common);
	if (tp)
		take_listener((struct sock *)tp);
	return 0;
}

static __always_inline struct connection *listener_of(struct sock *sk)
{
	struct listening_key key = key_of(sk, sk->__sk_common.skc_net.net->ns.inum);
	struct connection *c = bpf_map_lookup_elem(&listening, &key);

	if (c)
		return c;
	__builtin_memset(key.address, 0, sizeof(key.address));
	return bpf_map_lookup_elem(&listening, &key);
}

/* A time in clock ticks, up to one tick too late or too early. */
static __always_inline __u64 ns_of_ticks(__u32 ticks)
{
	__u64 now = bpf_ktime_get_ns(), age = (__u32)((__u32)bpf_jiffies64() - ticks) * tick_ns;

	return age < now ? now - age : 1;
}

static __always_inline bool is_connected(unsigned char state)
{
	return state == TCP_ESTABLISHED || state == TCP_CLOSE_WAIT;
}

/* State for a connection to a socket that is known to listen, once. */
static __always_inline void take_connection(struct sock *sk, struct tcp_sock *tp)
{
	struct connection *found = listener_of(sk), init;

	if (!found || bpf_sk_storage_get(&connections, sk, 0, 0))
		return;
	init = *found;
	init.listens = 0;
	init.turn = share_of(sk)->turn;
	init.received = tp->bytes_received;
	init.arrived = payload_received(tp) > 0;
	if (!is_path(tp) && is_unanswered(tp)) {
		init.begun_ns = ns_of_ticks(tp->inet_conn.icsk_ack.lrcvtime);
		init.begun_seq = tp->write_seq;
		init.uncounted = 1;
		init.earlier = 1;
	}
	if (bpf_sk_storage_get(&connections, sk, &init, BPF_SK_STORAGE_GET_F_CREATE))
		__sync_fetch_and_add(&sockets_found, 1);
	else
		count_loss(LOSS_SOCKET_ALLOC);
}

/* The same pass once more, when it is known who listens: state for the connections that there
 * are. */
SEC("iter/tcp")
int find_connections(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	struct tcp_sock *tp;

	if (!common || !is_connected(common->skc_state))
		return 0;
	tp = bpf_skc_to_tcp_sock(common);
	if (tp)
		take_connection((struct sock *)tp, tp);
	return 0;
}

/* Of an open file; NULL where it is none. */
static __always_inline struct sock *sock_of(struct file *file)
{
	struct socket *socket = file ? bpf_sock_from_file(file) : NULL;

	return socket ? socket->sk : NULL;
}

/*
 * Both passes once more at start, for each open file of each process: sockets of namespaces that we
 * may not enter. What nobody has accepted yet is no open file, and stays unseen there.
 */
SEC("iter/task_file")
int find_held(struct bpf_iter__task_file *ctx)
{
	struct tcp_sock *tp;
	struct sock *sk;

	sk = sock_of(ctx->file);
	if (!ctx->task || !sk)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	if (held_connections) {
		if (is_connected(sk->__sk_common.skc_state))
			take_connection(sk, tp);
	} else if (sk->__sk_common.skc_state == TCP_LISTEN &&
		   !bpf_sk_storage_get(&connections, sk, 0, 0)) {
		take_listener(sk);
	}
	return 0;
}

/*
 * For each open file of each process: who listens, and whose the connections are. At start, and
 * when a connection on which nobody has sent yet waits for an answer: a hook at each read would
 * tell it, too, for a third of the cost of all that is seen here. Of several that hold a socket,
 * the one with the lowest id.
 */
SEC("iter/task_file")
int find_owners(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct connection *c;
	struct sock *sk;

	sk = sock_of(ctx->file);
	if (!task || !sk)
		return 0;
	c = bpf_sk_storage_get(&connections, sk, 0, 0);
	if (!c)
		return 0;
	if (sk->__sk_common.skc_state == TCP_LISTEN) {
		if (!c->owner || c->owner == gone_owner) {
			own_listener(c, sk, holder_of(task));
			if (notes_listening)
				note_listening(sk, c);
		}
	} else if (!c->owned) {
		c->owner = task->tgid;
		c->owned = 1;
		c->owner_start_ns = task->group_leader->start_boottime;
		c->row = known_row(c, task->tgid) ?: make_row(c, holder_of(task));
		if (!c->earlier)
			count_begun(c, row_of(c));
	}
	return 0;
}

/* More segments than a request without any answer has. */
#define SEGMENTS_ONE_WAY 8

/* Whether the protocol, of this connection or else of others of the endpoint, leaves data
 * unanswered. */
static __always_inline bool is_unsure(const struct connection *c, struct tcp_sock *tp)
{
	__u8 protocols = c->protocol;
	const struct endpoint *e;

	if (!protocols && !tp->bytes_sent && tp->data_segs_in > SEGMENTS_ONE_WAY)
		return true;
	e = protocols ? NULL : row_of(c) ?: row_at(known_row(c, c->home));
	if (e)
		protocols = e->protocols;
	return protocols == PROTOCOL_OTHER;
}

/* Whether who listens is the only one that was seen to serve: then who holds the connection need
 * not be looked for. */
static __always_inline bool serves_alone(const struct connection *c)
{
	return known_row(c, c->home) && count_worker(c->listener, false) == 1;
}

static __always_inline bool fill_unfollowed(struct event_socket *event, const struct connection *c,
					    struct sock *sk)
{
	struct tcp_sock *tp;
	bool known;

	if (!is_connected(sk->__sk_common.skc_state))
		return false;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp || is_path(tp) || !is_unanswered(tp))
		return false;
	/* Known of since it was followed, if nothing was sent since. */
	known = c->begun_ns && !has_answer(c, tp);
	event->begun_ns = ns_of_ticks(tp->inet_conn.icsk_ack.lrcvtime);
	event->flags = SOCKET_UNFOLLOWED;
	if (sk->sk_socket)
		event->flags |= SOCKET_ACCEPTED;
	if (sk->sk_socket && !c->owned && !serves_alone(c))
		event->flags |= SOCKET_UNOWNED;
	if (known ? is_unsure(c, tp) : !wants_answers(c))
		event->flags |= SOCKET_UNSURE;
	return true;
}

static __always_inline bool fill_connection(struct event_socket *event, const struct connection *c,
					    struct sock *sk)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);

	if (!tp || is_path(tp))
		return false;
	event->begun_ns = c->begun_ns;
	if (event->begun_ns && has_answer(c, tp))
		return false;
	/* Data that came with the end of the handshake, and nobody has read or answered yet. */
	if (!event->begun_ns && !c->arrived && payload_received(tp))
		event->begun_ns = c->ready_ns;
	if (sk->sk_socket)
		event->flags |= c->owned ? SOCKET_ACCEPTED : SOCKET_ACCEPTED | SOCKET_UNOWNED;
	if (c->earlier)
		event->flags |= SOCKET_EARLIER;
	if (is_unsure(c, tp))
		event->flags |= SOCKET_UNSURE;
	return event->begun_ns > 0;
}

/*
 * Once a slice, for each socket with state: notes it where it listens or has an unanswered request.
 * Hands over a byte for each, so that the kernel makes a pause (and lets others run) after 32,768
 * of them. Most wait for nothing, which their state alone tells where all are followed; else their
 * sockets are looked at.
 */
SEC("iter/bpf_sk_storage_map")
int read_sockets(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct connection *c = ctx->value;
	struct event_socket event = {};
	struct sock *sk = ctx->sk;
	struct event_socket *to;
	bool listens, known;
	__u32 index = 0;

	if (!c || !sk)
		return 0;
	bpf_seq_write(ctx->meta->seq, &index, 1);
	listens = c->listens && sk->__sk_common.skc_state == TCP_LISTEN;
	known = listens || is_known(c, sk);
	if (known && !listens && c->arrived && share_of(sk)->shift)
		connections_followed++;
	if (known && !listens && !c->begun_ns && c->arrived)
		return 0;
	if (socket_rows_last == (__u64)sk)
		return 0;
	socket_rows_last = (__u64)sk;
	if (listens) {
		event.flags = SOCKET_LISTENS;
		event.queued = sk->sk_ack_backlog;
		event.backlog = sk->sk_max_ack_backlog;
		event.refused = sk->sk_drops.counter;
	} else if (known ? !fill_connection(&event, c, sk) : !fill_unfollowed(&event, c, sk)) {
		return 0;
	}
	event.header.kind = EVENT_SOCKET;
	event.header.size = sizeof(event);
	event.header.cpu = bpf_get_smp_processor_id();
	event.listener = c->listener;
	event.process_start_ns = c->owner_start_ns;
	event.tgid = c->owner;
	event.netns = c->netns;
	event.port = c->port;
	event.family = c->family;
	index = socket_rows_cnt++ - socket_rows_from;
	to = bpf_map_lookup_elem(&socket_rows, &index);
	if (to)
		*to = event;
	return 0;
}

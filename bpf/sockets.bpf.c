/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All served sockets at once. Iterators find those that are older than the session and give them
 * state; the kernel may run a step of an iteration again, so finding is idempotent. Once a slice a
 * program that user space runs reads the list of sockets with state: no iterator of the kernel
 * finds them in all network namespaces at a price that depends on them alone (measured: an
 * iteration over TCP sockets costs 0.4 ms in each namespace without any socket), and some kernels
 * refuse iterators over map elements.
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

/* 0.. -> a socket as it was read. Written by read_sockets, read by the user side through memory. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SOCKET_ROWS_MAX);
	__type(key, __u32);
	__type(value, struct event_socket);
} socket_rows SEC(".maps");

/* The place where read_sockets goes on; set by the user side before a pass. */
__u32 served_at = 0;
/* Some connections are not tracked, or were not. Set by the user side. */
__u32 follows_some = 0;
/* Rows since the user side set it to 0. */
__u32 socket_rows_cnt = 0;
/* Connections that are followed and have spoken, where not all are. */
__u32 connections_followed = 0;
/* Places of sockets that are gone, of one run: the user side makes them free. */
__u32 places_gone[SERVED_PART];
__u32 places_gone_cnt = 0;

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
	if (!place_of(c))
		list_new(c, sk);
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
	struct connection *found = listener_of(sk), *c, init;

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
	set_place(&init, 0);
	c = bpf_sk_storage_get(&connections, sk, &init, BPF_SK_STORAGE_GET_F_CREATE);
	if (!c) {
		count_loss(LOSS_SOCKET_ALLOC);
		return;
	}
	list_new(c, sk);
	__sync_fetch_and_add(&sockets_found, 1);
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
static __always_inline bool is_unsure(const struct connection *c, const struct sock *sk)
{
	const struct tcp_sock *tp = (const void *)sk;
	__u8 protocols = c->protocol;
	const struct endpoint *e;

	if (!protocols && BPF_CORE_READ(tp, data_segs_in) > SEGMENTS_ONE_WAY &&
	    !BPF_CORE_READ(tp, bytes_sent))
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

/* sk, here and below, is an address, not to be trusted: each field is copied. */
static __always_inline void read_facts(struct tcp_facts *to, const struct sock *sk)
{
	const struct tcp_sock *tp = (const void *)sk;

	to->bytes_received = BPF_CORE_READ(tp, bytes_received);
	to->bytes_sent = BPF_CORE_READ(tp, bytes_sent);
	to->write_seq = BPF_CORE_READ(tp, write_seq);
	to->snd_una = BPF_CORE_READ(tp, snd_una);
	to->rcv_nxt = BPF_CORE_READ(tp, rcv_nxt);
	to->snd_wl1 = BPF_CORE_READ(tp, snd_wl1);
	to->lsndtime = BPF_CORE_READ(tp, lsndtime);
	to->lrcvtime = BPF_CORE_READ(tp, inet_conn.icsk_ack.lrcvtime);
	to->state = BPF_CORE_READ(sk, __sk_common.skc_state);
}

static __always_inline bool is_path_at(const struct sock *sk)
{
	const struct tcp_sock *tp = (const void *)sk;

	return bpf_core_field_exists(tp->is_mptcp) && BPF_CORE_READ(tp, is_mptcp);
}

static __always_inline bool fill_unfollowed(struct event_socket *event, const struct connection *c,
					    const struct sock *sk)
{
	struct tcp_facts facts;
	bool known, accepted;

	read_facts(&facts, sk);
	if (!is_connected(facts.state) || is_path_at(sk) || !is_unanswered_by(&facts))
		return false;
	/* Known of since it was followed, if nothing was sent since. */
	known = c->begun_ns && !is_answered_at(c, facts.write_seq);
	accepted = BPF_CORE_READ(sk, sk_socket);
	event->begun_ns = ns_of_ticks(facts.lrcvtime);
	event->flags = SOCKET_UNFOLLOWED;
	if (accepted)
		event->flags |= SOCKET_ACCEPTED;
	if (accepted && !c->owned && !serves_alone(c))
		event->flags |= SOCKET_UNOWNED;
	if (known ? is_unsure(c, sk) : !wants_answers(c))
		event->flags |= SOCKET_UNSURE;
	return true;
}

static __always_inline bool fill_connection(struct event_socket *event, const struct connection *c,
					    const struct sock *sk)
{
	const struct tcp_sock *tp = (const void *)sk;

	if (is_path_at(sk))
		return false;
	event->begun_ns = c->begun_ns;
	if (!event->begun_ns && c->header) {
		event->begun_ns = bpf_ktime_get_ns();
		event->flags = SOCKET_INCOMPLETE;
		return true;
	}
	if (event->begun_ns && is_answered_at(c, BPF_CORE_READ(tp, write_seq)))
		return false;
	/* Data that came with the end of the handshake, and nobody has read or answered yet. */
	if (!event->begun_ns && !c->arrived &&
	    payload_of(BPF_CORE_READ(tp, bytes_received), BPF_CORE_READ(sk, __sk_common.skc_state)))
		event->begun_ns = c->ready_ns;
	if (!event->begun_ns)
		return false;
	if (BPF_CORE_READ(sk, sk_socket))
		event->flags |= c->owned ? SOCKET_ACCEPTED : SOCKET_ACCEPTED | SOCKET_UNOWNED;
	if (c->earlier)
		event->flags |= SOCKET_EARLIER;
	if (is_unsure(c, sk))
		event->flags |= SOCKET_UNSURE;
	return true;
}

static __always_inline bool fill_listener(struct event_socket *event, const struct sock *sk)
{
	event->flags = SOCKET_LISTENS;
	event->queued = BPF_CORE_READ(sk, sk_ack_backlog);
	event->backlog = BPF_CORE_READ(sk, sk_max_ack_backlog);
	event->refused = BPF_CORE_READ(sk, sk_drops.counter);
	return BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_LISTEN;
}

/* Whether the state of a connection tells what happened on it. Most hosts track all. */
static __always_inline bool is_known_at(const struct connection *c, const struct sock *sk)
{
	const struct follow_share *share;
	__u32 group = 0;
	bool known;

	if (!follows_some)
		return true;
	if (bpf_core_field_exists(sk->sk_cgrp_data.cgroup))
		group = BPF_CORE_READ(sk, sk_cgrp_data.cgroup, self.serial_nr);
	share = &follow_shares[bucket_at(group, BPF_CORE_READ(sk, __sk_common.skc_num))];
	known = is_known(c, follow_key_of(BPF_CORE_READ(sk, __sk_common.skc_hash)), share);
	if (known && c->arrived && share->shift)
		connections_followed++;
	return known;
}

/* The socket at a place, if it has something to be told. It may close meanwhile: its memory then
 * still holds a TCP socket, whose cookie is another one. A function that is verified once. */
__weak __noinline int read_served(__u32 index)
{
	struct served_socket *at = bpf_map_lookup_elem(&served, &index);
	struct event_socket event = {}, *to;
	const struct sock *sk;
	__u64 address, cookie, state;
	struct connection c;
	bool told;

	if (!at)
		return 0;
	address = READ_ONCE(at->sk);
	if (!address)
		return 0;
	cookie = READ_ONCE(at->cookie);
	state = READ_ONCE(at->state);
	sk = (const void *)address;
	if ((__u64)BPF_CORE_READ(sk, __sk_common.skc_cookie.counter) != cookie ||
	    BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_CLOSE ||
	    bpf_probe_read_kernel(&c, sizeof(c), (const void *)state) ||
	    place_of(&c) != index + 1) {
		/* Another socket has the place by now. */
		if (READ_ONCE(at->sk) != address || READ_ONCE(at->cookie) != cookie)
			return 0;
		if (__sync_val_compare_and_swap(&at->sk, address, 0) == address &&
		    places_gone_cnt < SERVED_PART)
			places_gone[places_gone_cnt++ & (SERVED_PART - 1)] = index;
		return 0;
	}
	if (c.listens)
		told = fill_listener(&event, sk);
	else if (is_known_at(&c, sk))
		told = (c.begun_ns || !c.arrived || c.header) && fill_connection(&event, &c, sk);
	else
		told = fill_unfollowed(&event, &c, sk);
	if (!told)
		return 0;
	event.header.kind = EVENT_SOCKET;
	event.header.size = sizeof(event);
	event.header.cpu = bpf_get_smp_processor_id();
	event.listener = c.listener;
	event.process_start_ns = c.owner_start_ns;
	event.tgid = c.owner;
	event.netns = c.netns;
	event.port = c.port;
	event.family = c.family;
	to = bpf_map_lookup_elem(&socket_rows, &socket_rows_cnt);
	if (to)
		*to = event;
	socket_rows_cnt++;
	return 0;
}

/* Run by user space, again and again, for SERVED_PART places each time: notes sockets that listen
 * or have an unanswered request. Of most connections their state tells that they have none. */
SEC("syscall")
int read_sockets(void *ctx)
{
	places_gone_cnt = 0;
	for (int i = 0; i < SERVED_PART && served_at < places_taken; i++)
		read_served(served_at++);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of served TCP connections, seen where data comes in and where answers are handed to the
 * kernel (events.h says what a request is). Only connections that a listening socket accepted carry
 * state: all other sockets cost a look at one field. Connections with several paths (MPTCP) are
 * left out: their answers do not pass through the socket that the data comes in by. Where requests
 * are many, only some connections are followed; the others cost a look at their hash.
 */
#include "cost.bpf.h"
#include "protocol.bpf.h"

struct connection_map connections SEC(".maps");
struct endpoint_map endpoints SEC(".maps");
struct row_map rows SEC(".maps");
struct free_row_map free_rows SEC(".maps");
struct share_map shares SEC(".maps");
struct refused_map refused SEC(".maps");
struct served_map served SEC(".maps");
struct free_place_map free_places SEC(".maps");

__u32 places_taken = 0;
__u32 rows_taken = 0;
__u32 rows_held = 0;
__u32 earlier_held = 0;

struct follow_share follow_shares[FOLLOW_BUCKETS];
struct follow_seen follow_seen[FOLLOW_BUCKETS];
__u32 follow_epoch = 0;
const volatile __u32 follow_seed;

const volatile __u16 slow_ports[SLOW_PORTS_MAX];
const volatile __u64 slow_port_ns[SLOW_PORTS_MAX];
const volatile __u32 slow_port_cnt;
const volatile __u64 slow_ns;

/* Data outside the linear part of a segment can be read (6.12 on). Set before load. */
const volatile bool reads_pages;
/* 0 -> the first data of a connection, one a CPU. Of on_data alone, which the kernel does not run
 * inside itself. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct opening);
} openings SEC(".maps");

/* --- the life of a socket -------------------------------------------------------------------- */

static __always_inline void listen_begins(struct sock *sk)
{
	struct connection init = state_of_listener(sk), *c;

	c = bpf_sk_storage_get(&connections, sk, &init, BPF_SK_STORAGE_GET_F_CREATE);
	if (!c) {
		count_loss(LOSS_SOCKET_ALLOC);
		return;
	}
	own_listener(c, sk, holder_of(bpf_get_current_task_btf()));
	if (!place_of(c))
		list_new(c, sk);
}

/* What of it was not counted yet will not be: there is no row. */
static __always_inline void lose(struct connection *c)
{
	c->uncounted = c->early = 0;
	if (__sync_lock_test_and_set(&c->early_ns, 0))
		refuse(c);
	if (__sync_lock_test_and_set(&c->begun_ns, 0))
		refuse(c);
}

/* Of a connection that is not followed, or was not: what it knows of a request is not so. What it
 * would count, others stand for. */
static __always_inline void forget_request(struct connection *c)
{
	c->uncounted = c->early = 0;
	c->joined = 0;
	c->early_ns = 0;
	WRITE_ONCE(c->begun_ns, 0);
}

/*
 * It was not followed, and is so from now on: begins at its next request. in_answer: what it sends
 * next may belong to one that was not seen, and is no unasked message. Data that was there before
 * is not counted.
 */
static __always_inline void take_up(struct connection *c, struct tcp_sock *tp, bool in_answer)
{
	__u64 received = payload_received(tp);

	forget_request(c);
	c->received = received;
	if (received)
		c->arrived = c->counted = 1;
	c->early = in_answer;
	c->turn = share_of((struct sock *)tp)->turn;
}

/* The connection will not be answered any more. */
static __always_inline void serve_ends(struct sock *sk, struct connection *c)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct endpoint *e = row_of(c);

	if (!tp || is_path(tp))
		return;
	if (!is_known(c, follow_key(sk), share_of(sk))) {
		forget_request(c);
		return;
	}
	if (!e && (c->begun_ns || c->early_ns))
		e = any_row_of(c);
	if (!e) {
		lose(c);
		return;
	}
	flush_bytes(c, e, tp);
	count_early(c, e, tp);
	if (c->begun_ns && has_answer(c, tp)) {
		finish(c, e, tp, answered_ns(c, tp));
		return;
	}
	if (!__sync_lock_test_and_set(&c->begun_ns, 0))
		return;
	count_begun(c, e);
	count_connection(c, e, tp);
	raise_shift(c, tp);
	ADD(e->abandoned, weight_of(c));
	count_unseen(e, weight_of(c));
}

static __always_inline void change_state(struct sock *sk, int old_state, int new_state)
{
	struct connection *c;

	if (new_state == TCP_LISTEN) {
		listen_begins(sk);
		return;
	}
	if (new_state == TCP_SYN_SENT) {
		/* Was served or listened, and is a client's socket from now on. */
		c = connection_of(sk);
		if (c)
			unlist(c, sk);
		bpf_sk_storage_delete(&connections, sk);
		return;
	}
	if (new_state != TCP_SYN_RECV && new_state != TCP_FIN_WAIT1 && new_state != TCP_LAST_ACK &&
	    new_state != TCP_CLOSE)
		return;
	c = connection_of(sk);
	if (!c)
		return;
	if (new_state == TCP_SYN_RECV) {
		c->listens = 0;
		c->turn = share_of(sk)->turn;
		c->ready_ns = bpf_ktime_get_ns();
		list_new(c, sk);
		return;
	}
	if (old_state != TCP_LISTEN)
		serve_ends(sk, c);
	if (new_state == TCP_CLOSE)
		unlist(c, sk);
}

/*
 * Changes of state: three or four in the life of a connection. A socket begins to listen in the
 * context of the process that calls listen(); a connection is born in SYN_RECV, with a copy of the
 * listening socket's state, when its handshake ends (with TCP fast open: when its first data
 * comes).
 */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock *sk, int old_state, int new_state)
{
	struct cost_run run = cost_begin_each(COST_STATE);

	change_state(sk, old_state, new_state);
	cost_end(run);
	return 0;
}

/* --- requests -------------------------------------------------------------------------------- */

/* Data that came with the end of the handshake is not seen by on_data: it came when the connection
 * was ready. sent: bytes that were written just now. */
static __always_inline void catch_up(struct connection *c, struct tcp_sock *tp, __u32 sent)
{
	if (c->arrived || !payload_received(tp) || is_path(tp))
		return;
	c->arrived = 1;
	if (c->ready_ns)
		begin(c, tp, c->ready_ns, sent);
	else
		count_loss(LOSS_ARRIVAL_UNSEEN);
}

/* What a connection talks, by the first data of it that we see. */
static __always_inline void look_at_opening(struct connection *c, struct sk_buff *skb,
					    struct segment segment)
{
	struct opening *opening;
	__u32 zero = 0, bytes = segment.bytes;

	opening = bpf_map_lookup_elem(&openings, &zero);
	if (!opening)
		return;
	if (bytes > OPENING_BYTES)
		bytes = OPENING_BYTES;
	if (!segment_read_most(skb, segment.at, opening->data, bytes))
		return;
	c->protocol = protocol_of(opening->data, bytes);
	if (c->protocol == PROTOCOL_OTHER && c->arrived) {
		c->protocol = protocol_of_older(opening->data, bytes);
		/* What looked unanswered then may have waited for nothing. */
		if (c->protocol != PROTOCOL_OTHER && c->earlier)
			c->begun_ns = c->uncounted = 0;
	}
	if (c->protocol == PROTOCOL_HTTP1 && opening->data[0] == 'G' &&
	    asks_for_websocket(opening, bytes))
		c->protocol |= PROTOCOL_WEBSOCKET;
}

/* Whether a header of HTTP/1 is complete now: before that a client asks for nothing. */
static __always_inline bool ends_header(struct connection *c, struct sk_buff *skb,
					struct segment segment)
{
	__u32 zero = 0;
	struct opening *opening = bpf_map_lookup_elem(&openings, &zero);

	c->header = opening ? header_goes_on(skb, segment, opening, c->header) : 0;
	return !c->header;
}

/* Whether data that comes with nothing unanswered is a request, as far as its protocol tells. */
static __always_inline bool is_request(struct connection *c, struct sk_buff *skb,
				       struct segment segment, bool first)
{
	if (c->protocol & PROTOCOL_HTTP1 &&
	    (first || c->header || !(c->protocol & PROTOCOL_WEBSOCKET)))
		return ends_header(c, skb, segment);
	if (c->protocol & PROTOCOL_WEBSOCKET)
		return false;
	if (c->protocol & PROTOCOL_HTTP2)
		return http2_is_request(skb, segment, first);
	if (c->protocol & PROTOCOL_TLS)
		return tls_is_request(skb, segment);
	return true;
}

/*
 * More data of a request that is under way. A client that takes long to send it does not make the
 * service slow: of HTTP/1 the time counts from its last data. Elsewhere it may be another request:
 * from the first.
 */
static __always_inline void add_data(struct connection *c)
{
	__u64 begun = c->begun_ns;

	c->joined++;
	/* The answer may be on its way on another CPU, and has the last word. */
	if (begun && c->protocol == PROTOCOL_HTTP1)
		__sync_val_compare_and_swap(&c->begun_ns, begun, bpf_ktime_get_ns());
}

static __always_inline void take_data(struct sock *sk, struct sk_buff *skb, __u32 key,
				      const struct follow_share *share)
{
	struct connection *c = connection_of(sk);
	struct segment segment;
	struct tcp_sock *tp;
	bool first;

	if (!c)
		return;
	segment = segment_of(skb);
	if (!segment.bytes && !c->begun_ns && !c->early_ns)
		return;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return;
	if (has_missed(c, key, share)) {
		/* More data of a request that began unseen is not the next one; and until it is
		 * answered, the socket tells of it, not the state. */
		if (is_unanswered(tp) && wants_answers(c))
			return;
		take_up(c, tp, false);
	}
	c->turn = share->turn;
	if (c->early_ns && is_early_long(c))
		settle_early(c, tp);
	if (c->begun_ns && has_answer(c, tp))
		finish_early(c, tp, answered_ns(c, tp));
	/* Nothing, or old data, sent again. */
	if (!segment.bytes || (__s32)(segment.seq + segment.bytes - tp->rcv_nxt) <= 0)
		return;
	if (is_path(tp))
		return;
	catch_up(c, tp, 0);
	first = !c->arrived;
	if (!c->protocol)
		look_at_opening(c, skb, segment);
	c->arrived = 1;
	if (c->begun_ns) {
		add_data(c);
	} else if (is_request(c, skb, segment, first)) {
		/* The list was full, or the program that lists it was not run. */
		if (c->listens || !place_of(c)) {
			c->listens = 0;
			list(c, sk);
		}
		begin(c, tp, bpf_ktime_get_ns(), 0);
	}
}

/* Each segment that comes in on an established connection, acknowledgements among them; before the
 * kernel looks at it. */
SEC("tp_btf/tcp_probe")
int BPF_PROG(on_data, struct sock *sk, struct sk_buff *skb)
{
	struct cost_run run = cost_begin(COST_DATA);
	const struct follow_share *share = share_of(sk);
	__u32 key = follow_key(sk);

	if (is_key_followed(key, share))
		take_data(sk, skb, key, share);
	cost_end(run);
	return 0;
}

static __always_inline void handle_send(struct sock *sk, int bytes)
{
	const struct follow_share *share = share_of(sk);
	__u32 key = follow_key(sk);
	struct connection *c;
	struct tcp_sock *tp;
	struct endpoint *e;
	bool done;

	if (!is_key_followed(key, share) || bytes <= 0)
		return;
	c = connection_of(sk);
	if (!c)
		return;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return;
	if (has_missed(c, key, share))
		take_up(c, tp, payload_received(tp) > 0);
	c->turn = share->turn;
	catch_up(c, tp, bytes);
	e = adopt(c);
	if (!e) {
		lose(c);
		return;
	}
	ADD(e->sent_bytes, bytes * weight_now(tp));
	done = c->begun_ns && has_answer(c, tp) && finish(c, e, tp, answered_ns(c, tp));
	count_early(c, e, tp);
	if (done)
		return;
	if (c->early) {
		c->early = 0;
	} else if (!c->begun_ns || !has_answer(c, tp)) {
		/* Of a request that began meanwhile, on another CPU, this is no answer. */
		ADD(e->pushed, weight_now(tp));
		count_connection(c, e, tp);
		flush_bytes(c, e, tp);
	}
}

/* Each send by any means, after it: of all sockets, those of other families among them. */
SEC("tp_btf/sock_send_length")
int BPF_PROG(on_send, struct sock *sk, int ret)
{
	struct cost_run run = cost_begin(COST_SEND);

	handle_send(sk, ret);
	cost_end(run);
	return 0;
}

/* The same before 6.3, which brought that tracepoint (commit 6e6eda44b939): of TCP alone, and what
 * sendfile sends is only seen when it is acknowledged. */
SEC("fexit/tcp_sendmsg")
int BPF_PROG(on_send_older, struct sock *sk, struct msghdr *msg, __u64 bytes, int ret)
{
	struct cost_run run = cost_begin(COST_SEND);

	handle_send(sk, ret);
	cost_end(run);
	return 0;
}

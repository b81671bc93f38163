/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of served TCP connections, seen where data comes in and where answers are handed to the
 * kernel (events.h says what a request is). Only connections that a listening socket accepted carry
 * state: all other sockets cost one failed look-up. Connections with several paths (MPTCP) are left
 * out: their answers do not pass through the socket that the data comes in by.
 */
#include "request.bpf.h"

struct connection_map connections SEC(".maps");
struct endpoint_map endpoints SEC(".maps");
struct row_map rows SEC(".maps");

__u32 rows_taken = 0;

const volatile __u16 slow_ports[SLOW_PORTS_MAX];
const volatile __u64 slow_port_ns[SLOW_PORTS_MAX];
const volatile __u32 slow_port_cnt;
const volatile __u64 slow_ns;

/* --- the life of a socket -------------------------------------------------------------------- */

static __always_inline void listen_begins(struct sock *sk)
{
	struct connection init = state_of_listener(sk), *c;

	c = bpf_sk_storage_get(&connections, sk, &init, BPF_SK_STORAGE_GET_F_CREATE);
	if (c)
		own_listener(c, sk, bpf_get_current_pid_tgid() >> 32, current_start_ns());
	else
		count_loss(LOSS_SOCKET_ALLOC);
}

/* The connection will not be answered any more. */
static __always_inline void serve_ends(struct sock *sk, struct connection *c)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct endpoint *e = row_at(c->row ?: c->home);

	if (!tp || !e)
		return;
	flush_bytes(c, e, tp);
	if (c->begun_ns && has_answer(c, tp)) {
		finish(c, e, tp, bpf_ktime_get_ns());
		return;
	}
	if (!__sync_lock_test_and_set(&c->begun_ns, 0))
		return;
	if (c->uncounted) {
		c->uncounted = 0;
		ADD(e->begun, 1);
	}
	count_connection(c, e);
	ADD(e->abandoned, 1);
}

/*
 * Changes of state: three or four in the life of a connection. A socket begins to listen in the
 * context of the process that calls listen(); a connection is born in SYN_RECV, with a copy of the
 * listening socket's state, when its handshake ends (with TCP fast open: when its first data comes).
 */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock *sk, int old_state, int new_state)
{
	struct connection *c;

	if (new_state == TCP_LISTEN) {
		listen_begins(sk);
		return 0;
	}
	if (new_state != TCP_SYN_RECV && new_state != TCP_FIN_WAIT1 && new_state != TCP_LAST_ACK &&
	    new_state != TCP_CLOSE)
		return 0;
	c = bpf_sk_storage_get(&connections, sk, 0, 0);
	if (!c)
		return 0;
	if (new_state == TCP_SYN_RECV)
		c->ready_ns = bpf_ktime_get_ns();
	else if (old_state != TCP_LISTEN)
		serve_ends(sk, c);
	return 0;
}

/* --- requests -------------------------------------------------------------------------------- */

/* Data that came with the end of the handshake is not seen by on_data: it came when the connection was
 * ready. */
static __always_inline void catch_up(struct connection *c, struct tcp_sock *tp)
{
	if (c->arrived || !payload_received(tp))
		return;
	c->arrived = 1;
	if (c->ready_ns)
		begin(c, tp, c->ready_ns);
}

/* The TCP header of a segment, as far as we need it. */
struct segment {
	__u32 seq, bytes; /* of the payload */
};

static __always_inline struct segment segment_of(struct sk_buff *skb)
{
	struct segment segment = {};
	__u8 header[14];
	__u32 header_bytes;

	if (bpf_probe_read_kernel(header, sizeof(header), skb->data))
		return segment;
	header_bytes = (header[12] >> 4) * 4;
	if (skb->len > header_bytes)
		segment.bytes = skb->len - header_bytes;
	segment.seq =
		(__u32)header[4] << 24 | (__u32)header[5] << 16 | (__u32)header[6] << 8 | header[7];
	return segment;
}

/* Each segment that comes in on an established connection, acknowledgements among them; before the
 * kernel looks at it. */
SEC("tp_btf/tcp_probe")
int BPF_PROG(on_data, struct sock *sk, struct sk_buff *skb)
{
	struct connection *c = bpf_sk_storage_get(&connections, sk, 0, 0);
	struct segment segment;
	struct tcp_sock *tp;
	struct endpoint *e;

	if (!c)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	/* The send that answers has not returned yet: it waits for a slow client, or for a CPU. */
	if (c->begun_ns && has_answer(c, tp)) {
		e = row_at(c->row ?: c->home);
		if (e && finish(c, e, tp, bpf_ktime_get_ns()))
			c->early = 1;
	}
	segment = segment_of(skb);
	if (!segment.bytes)
		return 0;
	/* Old data, sent again. */
	if ((__s32)(segment.seq + segment.bytes - tp->rcv_nxt) <= 0)
		return 0;
	if (bpf_core_field_exists(tp->is_mptcp) && tp->is_mptcp)
		return 0;
	catch_up(c, tp);
	c->arrived = 1;
	if (c->begun_ns)
		c->joined++;
	else
		begin(c, tp, bpf_ktime_get_ns());
	return 0;
}

static __always_inline int handle_send(struct sock *sk, int bytes)
{
	struct connection *c;
	struct tcp_sock *tp;
	struct endpoint *e;

	if (bytes <= 0)
		return 0;
	c = bpf_sk_storage_get(&connections, sk, 0, 0);
	if (!c)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	catch_up(c, tp);
	e = adopt(c);
	if (!e)
		return 0;
	ADD(e->sent_bytes, bytes);
	if (c->begun_ns && has_answer(c, tp) && finish(c, e, tp, bpf_ktime_get_ns()))
		return 0;
	if (c->early)
		c->early = 0;
	else if (!c->begun_ns)
		ADD(e->pushed, 1);
	return 0;
}

static __always_inline int handle_receive(struct sock *sk, int bytes)
{
	struct connection *c;
	struct tcp_sock *tp;

	if (bytes <= 0)
		return 0;
	c = bpf_sk_storage_get(&connections, sk, 0, 0);
	if (!c)
		return 0;
	adopt(c);
	if (!c->arrived) {
		tp = bpf_skc_to_tcp_sock(sk);
		if (tp)
			catch_up(c, tp);
	}
	return 0;
}

/* Each send by any means, after it: of all sockets, those of other families among them. */
SEC("tp_btf/sock_send_length")
int BPF_PROG(on_send, struct sock *sk, int ret)
{
	return handle_send(sk, ret);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_receive, struct sock *sk, int ret)
{
	return handle_receive(sk, ret);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_REQUEST_BPF_H
#define HOTRUN_REQUEST_BPF_H
/*
 * What a served socket carries along, and how a request goes into the row of its endpoint. Writers
 * of one socket follow each other as its owner lock has them, but for an answer: it is seen after the
 * lock was given back, when the next request may already be there on another CPU. Who ends a
 * request is therefore told by one exchange.
 */
#include "shared.bpf.h"
#include "compat.bpf.h"
#include "response_slot.h"

/* Processes with a row of their own for one listening socket; what more there are (a process for each
 * connection) is counted in the row of the one that listens. */
#define WORKERS_MAX 256

struct connection {
	/* What each request touches comes first: with the kernel's word before it, one line of the cache. */
	__u64 begun_ns; /* of the unanswered request; 0 = none */
	__u64 received; /* bytes that are counted */
	__u64 early_ns; /* time of an answer that is not counted yet, since nobody has sent on it; or 0 */
	__u32 begun_seq; /* where the answer to the request will begin */
	__u32 owner; /* tgid of who sent last, or was found to hold it; else of who listens; 0 = not known */
	__u32 row;     /* of owner, and 1; 0 = not looked up */
	__u32 home;    /* row of the process that listens, and 1; 0 = there is none */
	__u32 joined;  /* not yet counted */
	__u8 protocol; /* PROTOCOL_*; 0 = not known */
	/* Bytes of their own, since they have several writers. */
	__u8 arrived;	/* its first data was seen, or is known of */
	__u8 counted;	/* among the connections of a row */
	__u8 uncounted; /* the unanswered request is not yet among those begun */
	__u8 early;	/* an answer was seen before its send returned */
	__u8 earlier;	/* the unanswered request is older than the session */
	__u8 listens;	/* perhaps: the state of a socket that listens, or a fresh copy of it */
	__u8 family;
	__u16 port;
	__u16 pad;
	__u64 listener; /* cookie of the listening socket */
	__u64 ready_ns; /* end of the handshake; 0 = not seen */
	__u64 owner_start_ns;
	__u64 early_at_ns; /* when early_ns was told */
	__u32 netns;
	__u32 pad2;
};

/* socket -> state. Created on listening sockets, when they begin to listen or by the iterator of the
 * start; the kernel clones it to each connection that they accept. Freed with the socket. Defined in
 * net.bpf.c. */
struct connection_map {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct connection);
};
extern struct connection_map connections SEC(".maps");

/* Most sockets have no storage at all, the clients' on a proxied or tested host among them: a field tells. */
static __always_inline struct connection *connection_of(struct sock *sk)
{
	return sk->sk_bpf_storage ? bpf_sk_storage_get(&connections, sk, 0, 0) : NULL;
}

struct listening_key {
	__u32 netns;
	__u16 port;
	__u16 family;
	__u8 address[16]; /* as in struct endpoint */
};

/* Address -> the state that connections to it get which are older than the session. Written and read at the
 * start only. Size: as many as there are rows. Defined in sockets.bpf.c. */
struct listening_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ENDPOINTS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct listening_key);
	__type(value, struct connection);
};

/* row -> counters. Written by all programs of net.bpf.c, read by the user side through memory. Defined
 * there. */
struct endpoint_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ENDPOINTS_MAX);
	__type(key, __u32);
	__type(value, struct endpoint);
};
extern struct endpoint_map endpoints SEC(".maps");

struct row_key {
	__u64 listener;
	__u32 tgid; /* 0: the value is the number of rows of this listener */
	__u32 pad;
};

/* There is none, or not yet. */
#define ROW_NONE 0xffffffffu /* and 1: 0 */

/* listener, process -> row. Written where a process first serves a listener's connection. Size: a key for
 * each row and one for each listener, and room to spare. The user side takes keys away with their rows. Defined in
 * net.bpf.c. */
struct row_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4 * ENDPOINTS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct row_key);
	__type(value, __u32);
};
extern struct row_map rows SEC(".maps");

/* Rows that are free again: nobody listens there any more, or the process is gone. Filled by the user side, which has
 * cleared them; the programs take from it first. Defined in net.bpf.c. */
struct free_row_map {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, ENDPOINTS_MAX);
	__type(value, __u32);
};
extern struct free_row_map free_rows SEC(".maps");

/* Rows that were ever taken: all below are, or are free again. Defined in net.bpf.c. */
extern __u32 rows_taken;

/* T, and that of some ports; set before load. */
#define SLOW_PORTS_MAX 16
extern const volatile __u16 slow_ports[SLOW_PORTS_MAX];
extern const volatile __u64 slow_port_ns[SLOW_PORTS_MAX];
extern const volatile __u32 slow_port_cnt;
extern const volatile __u64 slow_ns;

#define ADD(counter, n) __sync_fetch_and_add(&(counter), n)

static __always_inline __u64 slow_ns_of(__u16 port)
{
	for (__u32 i = 0; i < SLOW_PORTS_MAX; i++)
		if (i < slow_port_cnt && slow_ports[i] == port)
			return slow_port_ns[i];
	return slow_ns;
}

static __always_inline struct endpoint *row_at(__u32 row_and_1)
{
	__u32 row = row_and_1 - 1;

	return row_and_1 ? bpf_map_lookup_elem(&endpoints, &row) : NULL;
}

/* A row that a connection remembers, if it was not given to another listener meanwhile. */
static __always_inline struct endpoint *row_of(const struct connection *c, __u32 row_and_1)
{
	struct endpoint *e = row_at(row_and_1);

	return e && e->listener == c->listener ? e : NULL;
}

/* Of who serves it, else of who listened when it came. */
static __always_inline struct endpoint *any_row_of(const struct connection *c)
{
	struct endpoint *e = row_of(c, c->row);

	return e ?: row_of(c, c->home);
}

/* How many processes serve this listener by now; ret is the count before. */
static __always_inline __u32 count_worker(__u64 listener, bool add)
{
	struct row_key key = {.listener = listener};
	__u32 *cnt, one = 1;

	cnt = bpf_map_lookup_elem(&rows, &key);
	if (cnt)
		return add ? __sync_fetch_and_add(cnt, 1) : *cnt;
	if (add)
		bpf_map_update_elem(&rows, &key, &one, BPF_NOEXIST);
	return 0;
}

/* ROW_NONE = there is none. */
static __always_inline __u32 take_row(void)
{
	__u32 row;

	if (!bpf_map_pop_elem(&free_rows, &row))
		return row;
	if (rows_taken >= ENDPOINTS_MAX)
		return ROW_NONE;
	return __sync_fetch_and_add(&rows_taken, 1);
}

/*
 * Takes a new row for that process, and 1; 0 = there is none. Two CPUs may come for the same one at a
 * time: who put the key there fills the row, the other one goes without, once.
 */
static __noinline __u32 new_row(struct connection *c, __u32 tgid, __u64 start_ns)
{
	struct row_key key = {};
	__u32 none = ROW_NONE, *value, row;
	struct endpoint *e, *home;

	if (!c)
		return 0;
	key.listener = c->listener;
	key.tgid = tgid;
	if (count_worker(c->listener, false) >= WORKERS_MAX)
		return c->home;
	row = take_row();
	e = bpf_map_lookup_elem(&endpoints, &row);
	if (!e)
		return 0;
	if (bpf_map_update_elem(&rows, &key, &none, BPF_NOEXIST)) {
		bpf_map_push_elem(&free_rows, &row, 0);
		return 0;
	}
	e->process_start_ns = start_ns;
	e->tgid = tgid;
	e->netns = c->netns;
	e->port = c->port;
	e->family = c->family;
	e->slow_ns = slow_ns_of(c->port);
	home = row_of(c, c->home);
	if (home)
		__builtin_memcpy(e->address, home->address, sizeof(e->address));
	barrier();
	WRITE_ONCE(e->listener, c->listener);
	value = bpf_map_lookup_elem(&rows, &key);
	if (value)
		*value = row;
	count_worker(c->listener, true);
	return row + 1;
}

/* Row of a process, and 1; 0 = there is none. */
static __always_inline __u32 find_row(struct connection *c, __u32 tgid, __u64 start_ns)
{
	struct row_key key = {.listener = c->listener, .tgid = tgid};
	__u32 *value = bpf_map_lookup_elem(&rows, &key);

	return value ? *value + 1 : new_row(c, tgid, start_ns);
}

/* The unanswered request, if that was not done where it began. */
static __always_inline void count_begun(struct connection *c, struct endpoint *e)
{
	if (e && c->uncounted) {
		c->uncounted = 0;
		ADD(e->begun, 1);
	}
}

static __always_inline __u64 current_start_ns(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return task->group_leader->start_boottime;
}

/* The current process sends on the socket. Without a row left for it, it is counted with the one that listens. */
static __always_inline struct endpoint *adopt(struct connection *c)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct endpoint *e = c->owner == tgid ? row_of(c, c->row) : NULL;

	if (!e) {
		c->owner = tgid;
		c->owner_start_ns = current_start_ns();
		c->row = find_row(c, tgid, c->owner_start_ns);
		e = any_row_of(c);
	}
	count_begun(c, e);
	return e;
}

static __always_inline void read_address(__u8 *to, struct sock *sk)
{
	if (sk->__sk_common.skc_family == AF_INET)
		__builtin_memcpy(to, &sk->__sk_common.skc_rcv_saddr, 4);
	else if (bpf_core_field_exists(sk->__sk_common.skc_v6_rcv_saddr))
		bpf_probe_read_kernel(to, 16, &sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr8);
}

/* The state of a socket that begins to listen. */
static __always_inline struct connection state_of_listener(struct sock *sk)
{
	return (struct connection){
		.listener = bpf_get_socket_cookie(sk),
		.netns = sk->__sk_common.skc_net.net->ns.inum,
		.port = sk->__sk_common.skc_num,
		.family = sk->__sk_common.skc_family,
		.listens = 1,
	};
}

/* That process listens there. */
static __always_inline void own_listener(struct connection *c, struct sock *sk, __u32 tgid,
					 __u64 start_ns)
{
	struct endpoint *e;

	c->owner = tgid;
	c->owner_start_ns = start_ns;
	c->home = 0;
	c->home = find_row(c, tgid, start_ns);
	e = row_of(c, c->home);
	if (e)
		read_address(e->address, sk);
}

/* A connection with several paths (MPTCP), of which this is one. */
static __always_inline bool is_path(struct tcp_sock *tp)
{
	return bpf_core_field_exists(tp->is_mptcp) && tp->is_mptcp;
}

/* Bytes of payload that came, the FIN not counted. */
static __always_inline __u64 payload_received(struct tcp_sock *tp)
{
	__u64 bytes = tp->bytes_received;
	__u8 state = ((struct sock *)tp)->__sk_common.skc_state;

	return bytes && state != TCP_ESTABLISHED ? bytes - 1 : bytes;
}

static __always_inline void count_connection(struct connection *c, struct endpoint *e)
{
	if (!c->counted) {
		c->counted = 1;
		ADD(e->connections, 1);
	}
	if (c->protocol & ~e->protocols)
		e->protocols |= c->protocol;
}

static __always_inline void flush_bytes(struct connection *c, struct endpoint *e,
					struct tcp_sock *tp)
{
	__u64 received = payload_received(tp);

	if (received > c->received) {
		ADD(e->received_bytes, received - c->received);
		c->received = received;
	}
	if (c->joined) {
		ADD(e->joined, c->joined);
		c->joined = 0;
	}
}

static __always_inline void raise_max(__u64 *max, __u64 value)
{
	for (int i = 0; i < 4; i++) {
		__u64 was = READ_ONCE(*max);

		if (value <= was || __sync_val_compare_and_swap(max, was, value) == was)
			return;
	}
}

static __always_inline void count_answer(struct endpoint *e, __u64 time_ns)
{
	__u32 slot = response_slot(time_ns);

	ADD(e->answered, 1);
	ADD(e->time_ns, time_ns);
	if (slot < RESPONSE_SLOTS)
		ADD(e->times[slot], 1);
	if (time_ns > e->time_max_ns)
		raise_max(&e->time_max_ns, time_ns);
	if (time_ns > e->slow_ns) {
		ADD(e->slow, 1);
		if (time_ns > 4 * e->slow_ns)
			ADD(e->very_slow, 1);
	}
}

/* now: when its data came; sent: bytes that were written since. */
static __always_inline void begin(struct connection *c, struct tcp_sock *tp, __u64 now, __u32 sent)
{
	struct endpoint *e = row_of(c, c->row);

	c->begun_seq = tp->write_seq - sent;
	c->earlier = 0;
	c->uncounted = !e;
	if (e) {
		ADD(e->begun, 1);
		count_connection(c, e);
	}
	barrier();
	WRITE_ONCE(c->begun_ns, now);
}

/* The unanswered request has its answer; false when there is none. */
static __always_inline bool finish(struct connection *c, struct endpoint *e, struct tcp_sock *tp,
				   __u64 now)
{
	__u64 begun = __sync_lock_test_and_set(&c->begun_ns, 0);

	if (!begun)
		return false;
	count_begun(c, e);
	count_connection(c, e);
	count_answer(e, now > begun ? now - begun : 0);
	flush_bytes(c, e, tp);
	return true;
}

static __always_inline void count_early(struct connection *c, struct endpoint *e,
					struct tcp_sock *tp)
{
	__u64 time_ns = c->early_ns ? __sync_lock_test_and_set(&c->early_ns, 0) : 0;

	if (!time_ns)
		return;
	ADD(e->begun, 1);
	count_connection(c, e);
	count_answer(e, time_ns);
	flush_bytes(c, e, tp);
}

/*
 * The answer shows before its send has returned: that waits for a slow client, or for a CPU. Who sends is not
 * known yet for the first one of a connection: the send will tell. If that takes long (it waits for a slow
 * client, or is of a kind that is not seen: sendfile before 6.3), or another one follows, it counts for the one
 * that listens.
 */
#define EARLY_MOST_NS 100000000

static __always_inline void finish_early(struct connection *c, struct tcp_sock *tp, __u64 now)
{
	struct endpoint *e = row_of(c, c->row), *home;
	__u64 begun;

	if (e) {
		if (finish(c, e, tp, now))
			c->early = 1;
		return;
	}
	begun = __sync_lock_test_and_set(&c->begun_ns, 0);
	if (!begun)
		return;
	home = row_of(c, c->home);
	if (home)
		count_early(c, home, tp);
	c->early = 1;
	c->uncounted = 0;
	c->early_at_ns = now;
	WRITE_ONCE(c->early_ns, now > begun ? now - begun : 1);
}

/* When the answer that was written began to leave, or else now: what TCP noted when it sent last, or heard of the
 * client since, is nearer to it than the end of the send, and costs no look at the clock. */
static __always_inline __u64 answered_ns(const struct connection *c, struct tcp_sock *tp)
{
	if ((__s32)(tp->snd_nxt - c->begun_seq) > 0)
		return tp->tcp_clock_cache;
	return bpf_ktime_get_ns();
}

/* Whether something was sent since the request began. */
static __always_inline bool has_answer(const struct connection *c, struct tcp_sock *tp)
{
	return (__s32)(tp->write_seq - c->begun_seq) > 0;
}
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_REQUEST_BPF_H
#define HOTRUN_REQUEST_BPF_H
/*
 * What a served socket carries along, and how a request goes into the row of its endpoint. Writers
 * of one socket follow each other as its owner lock has them, but for an answer: it is seen after
 * the lock was given back, when the next request may already be there on another CPU. Who ends a
 * request is therefore told by one exchange.
 */
#include "shared.bpf.h"
#include "compat.bpf.h"
#include "response_slot.h"

/* Processes with a row of their own for one listening socket, beside the one that listens; what
 * more there are (a process for each connection) is counted in the row of the one that listens. */
#define WORKERS_MAX 255

struct connection {
	/* What each request touches comes first: with the kernel's word before it, one line of the
	 * cache. */
	__u64 begun_ns; /* of the unanswered request; 0 = none */
	__u64 received; /* bytes that are counted */
	/* time of an answer that is not counted yet, since nobody has sent on it; or 0 */
	__u64 early_ns;
	__u32 begun_seq; /* where the answer to the request will begin */
	/* tgid of who sent last, or was found to hold it; else of who listens; 0 = not known */
	__u32 owner;
	/* Where it is counted, as row + 1; 0 = not looked up, or there is none. */
	__u16 row;
	__u16 place_low; /* of its place in `served`, index + 1; 0 = none: place_of() */
	__u32 home;	 /* tgid of who listens, or listened when it came; 0 = not known */
	__u32 joined;	 /* not yet counted */
	__u8 protocol;	 /* PROTOCOL_*; 0 = not known */
	/* Bytes of their own, since they have several writers. */
	__u8 arrived;	/* its first data was seen, or is known of */
	__u8 counted;	/* among the connections of a row */
	__u8 uncounted; /* the unanswered request is not yet among those begun */
	__u8 early;	/* an answer was seen before its send returned */
	/* the unanswered request is older than the session; and the header of HTTP/1 that has begun
	 * to come: 0 = none, else 1 + how many bytes it ends with of those that end a header */
	__u8 earlier : 1, header : 3;
	/* Perhaps: the state of a socket that listens, or a fresh copy of it; and its place. */
	__u8 listens : 1, place_high : 2;
	__u8 family;
	__u16 port;
	__u8 owned; /* owner has sent, or was found to hold it */
	/* The largest by which it was followed since the unanswered request began; and of its last
	 * request, follow_epoch. */
	__u8 shift : 3, epoch : FOLLOW_EPOCH_BITS;
	__u64 listener; /* cookie of the listening socket */
	__u64 ready_ns; /* end of the handshake; 0 = not seen */
	__u64 owner_start_ns;
	__u32 netns;
	__u16 early_at; /* when early_ns was told, in units of EARLY_UNIT_SHIFT */
	__u16 turn;	/* of its share, as of which all that happened on it was seen */
	/* Of the process that listens. */
	__u64 home_start_ns;
	__u64 home_cgroup_id;
	__u8 address[16]; /* that it listens at, as in struct endpoint */
};

/* Each connection has one: with the kernel's word before it, two lines of the cache. */
_Static_assert(sizeof(struct connection) == 120, "connection");
_Static_assert(ENDPOINTS_MAX < 1 << 16 && SERVED_MAX < 1 << 18, "connection.row, place_high");

/* socket -> state. Created on listening sockets, when they begin to listen or by the iterator of
 * the start; the kernel clones it to each connection that they accept. Freed with the socket.
 * Defined in net.bpf.c. */
struct connection_map {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct connection);
};
extern struct connection_map connections SEC(".maps");

/* Most sockets have no storage at all, the clients' on a proxied or tested host among them: a field
 * tells. */
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

/* Address -> the state that connections to it get which are older than the session. Written and
 * read at the start only, by shares as rows are. Size: as many as there are rows. Defined in
 * sockets.bpf.c. */
struct listening_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ENDPOINTS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct listening_key);
	__type(value, struct connection);
};

/* row -> counters. Written by all programs of net.bpf.c, read by the user side through memory.
 * Defined there. */
struct endpoint_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ENDPOINTS_MAX);
	__type(key, __u32);
	__type(value, struct endpoint);
};
extern struct endpoint_map endpoints SEC(".maps");

/* There is none, or not yet. */
#define ROW_NONE 0xffffffffu /* ROW_NONE + 1 is 0: no row where row + 1 is kept */

/* listener, process -> row. Written where a process first serves a listener's connection. Size: a
 * key for each row and one for each listener, and room to spare. The user side takes keys away with
 * their rows. Defined in net.bpf.c. */
struct row_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4 * ENDPOINTS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct endpoint_key);
	__type(value, __u32);
};
extern struct row_map rows SEC(".maps");

/* Rows that are free again: nobody listens there any more, or the process is gone. Filled by the
 * user side, which has cleared them; the programs take from it first. Defined in net.bpf.c. */
struct free_row_map {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, ENDPOINTS_MAX);
	__type(value, __u32);
};
extern struct free_row_map free_rows SEC(".maps");

/* Rows that were ever taken: all below are, or are free again. Defined in net.bpf.c. */
extern __u32 rows_taken;

/* Who holds how many rows. Counted up where a row is taken; the user side counts the rows
 * themselves every two seconds, puts the figures right and takes away those of nobody. Size: of
 * each row a process and a cgroup, twice, since those of rows that were given back stay until
 * that look; and as many that hold sockets of the start. Defined in net.bpf.c. */
struct share_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SHARES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct share_key);
	__type(value, __u32);
};
extern struct share_map shares SEC(".maps");

/* Process -> its requests that found no row. Written where one is refused; the user side takes
 * all of it once a slice. Processes beyond its size are counted in losses alone. Defined in
 * net.bpf.c. */
struct refused_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REFUSED_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct refused_key);
	__type(value, __u64);
};
extern struct refused_map refused SEC(".maps");

/* Of all cgroups together: rows, as shares has them, and sockets of the start. Defined in
 * net.bpf.c. */
extern __u32 rows_held, earlier_held;

/* T, and that of some ports; set before load. */
extern const volatile __u16 slow_ports[SLOW_PORTS_MAX];
extern const volatile __u64 slow_port_ns[SLOW_PORTS_MAX];
extern const volatile __u32 slow_port_cnt;
extern const volatile __u64 slow_ns;

#define ADD(counter, n) __sync_fetch_and_add(&(counter), n)

/* --- where a pass finds the sockets ----------------------------------------------------------- */

/*
 * Index -> a socket with state. A socket is listed when it gets state and taken out when it closes,
 * so a pass (read_sockets) reads these sockets alone, in whatever network namespace they are. Size:
 * 3 MiB; sockets beyond it are counted as LOSS_SOCKET_ALLOC. Defined in net.bpf.c.
 */
struct served_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SERVED_MAX);
	__type(key, __u32);
	__type(value, struct served_socket);
};
extern struct served_map served SEC(".maps");

/* Places that are free again. The programs take from it first. Defined in net.bpf.c. */
struct free_place_map {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, SERVED_MAX);
	__type(value, __u32);
};
extern struct free_place_map free_places SEC(".maps");

/* Places that were ever taken: all below are, or are free again. Defined in net.bpf.c. */
extern __u32 places_taken;

static __always_inline __u32 place_of(const struct connection *c)
{
	return (__u32)c->place_high << 16 | c->place_low;
}

static __always_inline void set_place(struct connection *c, __u32 place)
{
	c->place_low = place;
	c->place_high = place >> 16;
}

/* SERVED_MAX: all are taken. A function that is verified once. */
__weak __noinline int take_place(void)
{
	__u32 index;

	if (!bpf_map_pop_elem(&free_places, &index))
		return index;
	return places_taken < SERVED_MAX ? __sync_fetch_and_add(&places_taken, 1) : SERVED_MAX;
}

/* Put a socket that has state on the list; false: it is full. c: its state, which must be its
 * own. */
static __always_inline bool list(struct connection *c, struct sock *sk)
{
	/* Other families share the tracepoint of TCP's states. */
	__u32 index = bpf_skc_to_tcp_sock(sk) ? take_place() : SERVED_MAX;
	struct served_socket *at = bpf_map_lookup_elem(&served, &index);

	set_place(c, 0);
	if (!at)
		return false;
	set_place(c, index + 1);
	at->state = (__u64)c;
	at->cookie = bpf_get_socket_cookie(sk);
	/* A full barrier: who sees the socket sees the rest. */
	__sync_lock_test_and_set(&at->sk, (__u64)sk);
	return true;
}

/* The same where it gets its state. */
static __always_inline void list_new(struct connection *c, struct sock *sk)
{
	if (!list(c, sk))
		count_loss(LOSS_SOCKET_ALLOC);
}

/* Take a socket off the list, before its state is gone. */
static __always_inline void unlist(struct connection *c, struct sock *sk)
{
	__u32 place = place_of(c), index = place - 1;
	struct served_socket *at = place ? bpf_map_lookup_elem(&served, &index) : NULL;

	/* The user side may have taken it back already, and another socket may be there. */
	if (at && __sync_val_compare_and_swap(&at->sk, (__u64)sk, 0) == (__u64)sk)
		bpf_map_push_elem(&free_places, &index, 0);
	set_place(c, 0);
}

/* --- which connections are followed ---------------------------------------------------------- */

/* By bucket. Set by the user side at any time, the shift last. Defined in net.bpf.c. */
extern struct follow_share follow_shares[FOLLOW_BUCKETS];
/* By bucket. Written by all CPUs, read by the user side, which counts epochs. Defined in
 * net.bpf.c. */
extern struct follow_seen follow_seen[FOLLOW_BUCKETS];
extern __u32 follow_epoch;
/* Of the session, random: set before load. */
extern const volatile __u32 follow_seed;

/* The kernel hashes addresses and ports with a key of its own, so that nobody can choose; all
 * lookups of a connection read it. Listening sockets and those not hashed yet have another one. */
static __always_inline __u32 follow_key_of(__u32 hash)
{
	return (hash ^ follow_seed) * 0x9e3779b1u;
}

static __always_inline __u32 follow_key(const struct sock *sk)
{
	return follow_key_of(sk->__sk_common.skc_hash);
}

/* By the socket's own port: that of its state is the listener's, which may be another one where
 * connections are redirected (TPROXY). Its cgroup is the listener's for good; its user changes as
 * it is accepted. A kernel before 5.15 tells the cgroup with flags in it: all are one group. */
static __always_inline __u32 bucket_at(__u32 group, __u32 port)
{
	__u32 bucket;

	group = (group ^ follow_seed) * 0x9e3779b1u >> 16;
	port = (port ^ follow_seed >> 16) * 0x9e3779b1u >> 16;
	bucket = (group * FOLLOW_GROUPS >> 16) * FOLLOW_PORTS + (port * FOLLOW_PORTS >> 16);
	/* Of an `or' of 32 bits the verifier of 6.1 knows no bounds. */
	barrier_var(bucket);
	return bucket & (FOLLOW_BUCKETS - 1);
}

static __always_inline __u32 bucket_of(const struct sock *sk)
{
	__u32 group = 0;

	if (bpf_core_field_exists(sk->sk_cgrp_data.cgroup))
		group = sk->sk_cgrp_data.cgroup->self.serial_nr;
	return bucket_at(group, sk->__sk_common.skc_num);
}

static __always_inline const struct follow_share *share_of(const struct sock *sk)
{
	return &follow_shares[bucket_of(sk)];
}

static __always_inline bool is_key_followed(__u32 key, const struct follow_share *share)
{
	return key <= 0xffffffffu >> (READ_ONCE(share->shift) & 7);
}

/*
 * Of a connection that is followed now, whether it was not at some time since its last event: then
 * what its state tells of a request is not so. By its level, the largest shift at which it is
 * followed.
 */
static __always_inline bool has_missed(const struct connection *c, __u32 key,
				       const struct follow_share *share)
{
	__u32 level = 0;

	if (c->turn == share->turn)
		return false;
	while (level < FOLLOW_SHIFT_MAX && !(key >> (31 - level)))
		level++;
	return level < FOLLOW_SHIFT_MAX && (__s16)(share->since[level] - c->turn) > 0;
}

/* Whether the state of a connection tells what happened on it. */
static __always_inline bool is_known(const struct connection *c, __u32 key,
				     const struct follow_share *share)
{
	if (!share->shift && c->turn == share->turn)
		return true;
	return is_key_followed(key, share) && !has_missed(c, key, share);
}

/* What an event stands for: of a followed connection, now; or, where it belongs to a request, by
 * the largest shift since that began, since those that were left out meanwhile do not count it. */
static __always_inline __u32 shift_of(const struct tcp_sock *tp)
{
	return READ_ONCE(share_of((const struct sock *)tp)->shift) & 7;
}

static __always_inline __u64 weight_now(const struct tcp_sock *tp)
{
	return 1ull << shift_of(tp);
}

static __always_inline __u64 weight_of(const struct connection *c)
{
	return 1ull << c->shift;
}

/* A request begins. */
static __always_inline void note_followed(struct connection *c, const struct tcp_sock *tp)
{
	__u32 bucket = bucket_of((const struct sock *)tp);
	struct follow_seen *seen = &follow_seen[bucket];
	__u8 epoch = READ_ONCE(follow_epoch) & ((1 << FOLLOW_EPOCH_BITS) - 1);

	c->shift = READ_ONCE(follow_shares[bucket].shift);
	ADD(seen->requests, 1);
	if (c->epoch == epoch)
		return;
	c->epoch = epoch;
	ADD(seen->connections, 1);
}

static __always_inline void raise_shift(struct connection *c, const struct tcp_sock *tp)
{
	__u32 shift = shift_of(tp);

	if (shift > c->shift)
		c->shift = shift;
}

/* --------------------------------------------------------------------------------------------- */

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

/* The row that a connection remembers, if it was not given to somebody else meanwhile. */
static __always_inline struct endpoint *row_of(const struct connection *c)
{
	struct endpoint *e = row_at(c->row);

	if (!e || e->listener != c->listener)
		return NULL;
	return e->tgid == c->owner || e->tgid == c->home ? e : NULL;
}

/* --- who may have a row ---------------------------------------------------------------------- */

/* A process, and what it is charged to. */
struct holder {
	__u32 tgid;
	__u64 start_ns;
	__u64 cgroup_id;
};

static __always_inline struct holder holder_of(struct task_struct *task)
{
	return (struct holder){
		.tgid = task->tgid,
		.start_ns = task->group_leader->start_boottime,
		.cgroup_id = compat_cgroup_id(task),
	};
}

static __always_inline struct holder home_of(const struct connection *c)
{
	return (struct holder){
		.tgid = c->home,
		.start_ns = c->home_start_ns,
		.cgroup_id = c->home_cgroup_id,
	};
}

/* What who holds so many may hold in all: a third of what the others above have left it, so that
 * it leaves twice as much. */
static __always_inline __u32 limit_of(__u32 held, __u32 most, __u32 above, __u32 above_most)
{
	__u32 others = above > held ? above - held : 0, third;

	third = above_most > others ? (above_most - others - 1) / 3 + 1 : 0;
	return third < most ? third : most;
}

static __always_inline void count_share(const struct share_key *key, __u32 *held)
{
	__u32 one = 1;

	if (held)
		ADD(*held, 1);
	else if (bpf_map_update_elem(&shares, key, &one, BPF_NOEXIST)) {
		held = bpf_map_lookup_elem(&shares, key);
		if (held)
			ADD(*held, 1);
	}
}

/* One more for that process, of the kind of a cgroup's, if it and its cgroup may have it. Two
 * CPUs may take one too many at a time. */
static __always_inline bool take_share(const struct holder *holder, __u32 kind, __u32 *all)
{
	struct share_key cgroup = {.id = holder->cgroup_id, .kind = kind};
	struct share_key process = {.id = holder->start_ns, .tgid = holder->tgid, .kind = kind + 1};
	__u32 *of_cgroup = bpf_map_lookup_elem(&shares, &cgroup), *of_process;
	__u32 cgroup_cnt = of_cgroup ? *of_cgroup : 0, cgroup_most, process_cnt;

	cgroup_most = limit_of(cgroup_cnt, ENDPOINTS_OF_CGROUP, *all, ENDPOINTS_MAX);
	if (cgroup_cnt >= cgroup_most)
		return false;
	of_process = bpf_map_lookup_elem(&shares, &process);
	process_cnt = of_process ? *of_process : 0;
	if (process_cnt >= limit_of(process_cnt, ENDPOINTS_OF_PROCESS, cgroup_cnt, cgroup_most))
		return false;
	count_share(&process, of_process);
	count_share(&cgroup, of_cgroup);
	ADD(*all, 1);
	return true;
}

/* A request is not counted, since there is no row for it. */
static __always_inline void refuse(const struct connection *c)
{
	struct refused_key key = {.start_ns = c->owner_start_ns, .tgid = c->owner};
	__u64 *cnt = bpf_map_lookup_elem(&refused, &key), weight = weight_of(c);

	count_losses(LOSS_ENDPOINTS, weight);
	if (cnt)
		ADD(*cnt, weight);
	else if (c->owner)
		bpf_map_update_elem(&refused, &key, &weight, BPF_NOEXIST);
}

/* --- the rows -------------------------------------------------------------------------------- */

/* How many processes serve this listener by now; ret is the count before. */
static __always_inline __u32 count_worker(__u64 listener, bool add)
{
	struct endpoint_key key = {.listener = listener};
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

/* Row + 1 of a process that has one, else 0. */
static __always_inline __u32 known_row(const struct connection *c, __u32 tgid)
{
	struct endpoint_key key = {.listener = c->listener, .tgid = tgid};
	__u32 *value = bpf_map_lookup_elem(&rows, &key);

	return value ? *value + 1 : 0;
}

/*
 * Takes a new row for that process. Returns row + 1; 0 = there is none. Two CPUs may come for the
 * same one at a time: the one that is late with the key takes the row of the other. Its share is
 * put right by the user side.
 */
static __noinline __u32 new_row(struct connection *c, struct holder *holder)
{
	struct endpoint_key key = {};
	struct endpoint *e;
	__u32 row;

	if (!c || !holder || !take_share(holder, SHARE_CGROUP, &rows_held))
		return 0;
	key.listener = c->listener;
	key.tgid = holder->tgid;
	row = take_row();
	e = bpf_map_lookup_elem(&endpoints, &row);
	if (!e)
		return 0;
	e->process_start_ns = holder->start_ns;
	e->tgid = holder->tgid;
	e->cgroup_id = holder->cgroup_id;
	e->netns = c->netns;
	e->port = c->port;
	e->family = c->family;
	e->slow_ns = slow_ns_of(c->port);
	__builtin_memcpy(e->address, c->address, sizeof(e->address));
	barrier();
	WRITE_ONCE(e->listener, c->listener);
	if (bpf_map_update_elem(&rows, &key, &row, BPF_NOEXIST)) {
		WRITE_ONCE(e->listener, 0);
		bpf_map_push_elem(&free_rows, &row, 0);
		return known_row(c, holder->tgid);
	}
	count_worker(c->listener, true);
	return row + 1;
}

/* Row + 1 of the process that listens, taken where it has none; 0 = there is none. */
static __always_inline __u32 home_row(struct connection *c)
{
	struct holder home = home_of(c);
	__u32 row = known_row(c, c->home);

	return row || !c->home ? row : new_row(c, &home);
}

/* Of a process that has none yet. What it may not have is counted with who listens. */
static __always_inline __u32 make_row(struct connection *c, struct holder holder)
{
	__u32 row = 0;

	if (holder.tgid == c->home || count_worker(c->listener, false) < WORKERS_MAX)
		row = new_row(c, &holder);
	return row || holder.tgid == c->home ? row : home_row(c);
}

/* Where it is counted although nobody may have sent on it. */
static __always_inline struct endpoint *any_row_of(struct connection *c)
{
	struct endpoint *e = row_of(c);

	if (!e) {
		c->row = (c->owned ? known_row(c, c->owner) : 0) ?: home_row(c);
		e = row_of(c);
	}
	return e;
}

/* The unanswered request, if that was not done where it began. */
static __always_inline void count_begun(struct connection *c, struct endpoint *e)
{
	if (e && c->uncounted) {
		c->uncounted = 0;
		ADD(e->begun, weight_of(c));
	}
}

/* The current process sends on the socket. */
static __always_inline struct endpoint *adopt(struct connection *c)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct endpoint *e = c->owner == tgid ? row_of(c) : NULL;
	struct task_struct *task;

	if (!e) {
		task = bpf_get_current_task_btf();
		c->owner = tgid;
		c->owned = 1;
		c->owner_start_ns = task->group_leader->start_boottime;
		c->row = known_row(c, tgid) ?: make_row(c, holder_of(task));
		e = row_of(c);
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
static __always_inline void own_listener(struct connection *c, struct sock *sk,
					 struct holder holder)
{
	c->owner = c->home = holder.tgid;
	c->owner_start_ns = c->home_start_ns = holder.start_ns;
	c->home_cgroup_id = holder.cgroup_id;
	read_address(c->address, sk);
}

/* A connection with several paths (MPTCP), of which this is one. */
static __always_inline bool is_path(struct tcp_sock *tp)
{
	return bpf_core_field_exists(tp->is_mptcp) && tp->is_mptcp;
}

/* Of bytes_received, those of payload: the FIN is not counted. */
static __always_inline __u64 payload_of(__u64 bytes, __u8 state)
{
	return bytes && state != TCP_ESTABLISHED ? bytes - 1 : bytes;
}

static __always_inline __u64 payload_received(struct tcp_sock *tp)
{
	return payload_of(tp->bytes_received, ((struct sock *)tp)->__sk_common.skc_state);
}

static __always_inline void count_connection(struct connection *c, struct endpoint *e,
					     const struct tcp_sock *tp)
{
	if (!c->counted) {
		c->counted = 1;
		ADD(e->connections, weight_now(tp));
	}
	if (c->protocol & ~e->protocols)
		e->protocols |= c->protocol;
}

static __always_inline void flush_bytes(struct connection *c, struct endpoint *e,
					struct tcp_sock *tp)
{
	__u64 received = payload_received(tp);

	if (received > c->received) {
		ADD(e->received_bytes, (received - c->received) * weight_now(tp));
		c->received = received;
	}
	if (c->joined) {
		ADD(e->joined, c->joined * weight_now(tp));
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

static __always_inline void count_unseen(struct endpoint *e, __u64 weight)
{
	if (weight > 1)
		ADD(e->unseen, weight - 1);
}

/* A function that the kernel verifies once, not on each way there. */
__weak __noinline int count_answer(struct endpoint *e, __u64 time_ns, __u64 weight)
{
	__u32 slot = response_slot(time_ns);

	if (!e)
		return 0;
	ADD(e->answered, weight);
	ADD(e->time_ns, time_ns * weight);
	if (slot < RESPONSE_SLOTS)
		ADD(e->times[slot], (__u32)weight);
	if (time_ns > e->time_max_ns)
		raise_max(&e->time_max_ns, time_ns);
	if (time_ns > e->slow_ns) {
		ADD(e->slow, weight);
		if (time_ns > 4 * e->slow_ns)
			ADD(e->very_slow, weight);
	}
	count_unseen(e, weight);
	return 0;
}

/* now: when its data came; sent: bytes that were written since. */
static __always_inline void begin(struct connection *c, struct tcp_sock *tp, __u64 now, __u32 sent)
{
	struct endpoint *e = row_of(c);

	c->begun_seq = tp->write_seq - sent;
	c->earlier = 0;
	c->uncounted = !e;
	note_followed(c, tp);
	if (e) {
		ADD(e->begun, weight_of(c));
		count_connection(c, e, tp);
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
	count_connection(c, e, tp);
	raise_shift(c, tp);
	count_answer(e, now > begun ? now - begun : 0, weight_of(c));
	flush_bytes(c, e, tp);
	return true;
}

static __always_inline void count_early(struct connection *c, struct endpoint *e,
					struct tcp_sock *tp)
{
	__u64 time_ns = c->early_ns ? __sync_lock_test_and_set(&c->early_ns, 0) : 0;

	if (!time_ns)
		return;
	ADD(e->begun, weight_of(c));
	count_connection(c, e, tp);
	count_answer(e, time_ns, weight_of(c));
	flush_bytes(c, e, tp);
}

/*
 * The answer shows before its send has returned: that waits for a slow client, or for a CPU. Who
 * sends is not known yet for the first one of a connection: the send will tell. If that takes long
 * (it waits for a slow client, or is of a kind that is not seen: sendfile before 6.3), or another
 * one follows, it counts for the one that listens.
 */
#define EARLY_UNIT_SHIFT 20 /* 1.05 ms */
#define EARLY_MOST	 95 /* of these */

/* What was answered early is not to wait for its send any longer. */
static __always_inline void settle_early(struct connection *c, struct tcp_sock *tp)
{
	struct endpoint *e = any_row_of(c);

	if (e)
		count_early(c, e, tp);
	else if (__sync_lock_test_and_set(&c->early_ns, 0))
		refuse(c);
}

static __always_inline void finish_early(struct connection *c, struct tcp_sock *tp, __u64 now)
{
	struct endpoint *e = row_of(c);
	__u64 begun;

	if (e) {
		if (finish(c, e, tp, now))
			c->early = 1;
		return;
	}
	begun = __sync_lock_test_and_set(&c->begun_ns, 0);
	if (!begun)
		return;
	if (c->early_ns)
		settle_early(c, tp);
	c->early = 1;
	c->uncounted = 0;
	raise_shift(c, tp);
	c->early_at = now >> EARLY_UNIT_SHIFT;
	WRITE_ONCE(c->early_ns, now > begun ? now - begun : 1);
}

static __always_inline bool is_early_long(const struct connection *c)
{
	return (__u16)((bpf_ktime_get_ns() >> EARLY_UNIT_SHIFT) - c->early_at) > EARLY_MOST;
}

/* When the answer that was written began to leave, or else now: what TCP noted when it sent last,
 * or heard of the client since, is nearer to it than the end of the send, and costs no look at the
 * clock. */
static __always_inline __u64 answered_ns(const struct connection *c, struct tcp_sock *tp)
{
	if ((__s32)(tp->snd_nxt - c->begun_seq) > 0)
		return tp->tcp_clock_cache;
	return bpf_ktime_get_ns();
}

/* Whether something was sent since the request began. */
static __always_inline bool is_answered_at(const struct connection *c, __u32 write_seq)
{
	return (__s32)(write_seq - c->begun_seq) > 0;
}

static __always_inline bool has_answer(const struct connection *c, struct tcp_sock *tp)
{
	return is_answered_at(c, tp->write_seq);
}

/* --- by the kernel's own times ---------------------------------------------------------------- */

/* Of a connection that is not followed, whether all that comes in on it wants an answer: as its own
 * protocol tells, or else those of its endpoint. What clients send to run a connection (HTTP/2,
 * inside TLS, too) cannot be told from a request afterwards. */
static __always_inline bool wants_answers(const struct connection *c)
{
	__u8 protocols = c->protocol;
	const struct endpoint *e;

	e = protocols ? NULL : row_of(c) ?: row_at(known_row(c, c->home));
	if (e)
		protocols = e->protocols;
	return protocols == PROTOCOL_HTTP1;
}

/* What TCP notes of a connection, as far as it tells whether a request is unanswered. */
struct tcp_facts {
	__u64 bytes_received, bytes_sent;
	__u32 write_seq, snd_una, rcv_nxt, snd_wl1, lsndtime, lrcvtime;
	__u8 state;
};

/*
 * Whether data came after the last that was sent, and all of that was received: by the times of
 * both. They are in clock ticks, and a client without a pause asks again within the tick of the
 * answer: then the number of the last segment tells that brought news of the client's window
 * (snd_wl1). The one that says that the answer came is that of all data so far; a question behind
 * it has that number and goes beyond it. What only keeps a connection alive does not count.
 */
static __always_inline bool is_unanswered_by(const struct tcp_facts *f)
{
	__s32 later = f->lrcvtime - f->lsndtime;

	if (!payload_of(f->bytes_received, f->state) || f->write_seq != f->snd_una)
		return false;
	if (later || !f->bytes_sent)
		return later > 0 || !f->bytes_sent;
	return f->rcv_nxt - (f->state != TCP_ESTABLISHED) != f->snd_wl1;
}

static __always_inline bool is_unanswered(struct tcp_sock *tp)
{
	const struct tcp_facts facts = {
		.bytes_received = tp->bytes_received,
		.bytes_sent = tp->bytes_sent,
		.write_seq = tp->write_seq,
		.snd_una = tp->snd_una,
		.rcv_nxt = tp->rcv_nxt,
		.snd_wl1 = tp->snd_wl1,
		.lsndtime = tp->lsndtime,
		.lrcvtime = tp->inet_conn.icsk_ack.lrcvtime,
		.state = ((struct sock *)tp)->__sk_common.skc_state,
	};

	return is_unanswered_by(&facts);
}
#endif

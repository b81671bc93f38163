/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_SESSION_H
#define HOTRUN_KERNEL_SESSION_H
/*
 * One recording session with the kernel: the BPF programs loaded and attached, the sampling events,
 * the side-band, and everything read from them. Nothing is pinned: when the process ends, however
 * it ends, the kernel takes it all away. The only room that sees the skeleton. No threads.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cost_meter.h"
#include "base/feature.h"
#include "bpf/events.h"
#include "kernel/sideband.h"

struct session;
struct unwind_maps;

/* A threshold of its own for the requests of a port. */
struct session_slow_port {
	uint16_t port;
	uint64_t slow_ns;
};

struct session_options {
	uint32_t sample_hz;
	bool quiet;	       /* begins in the quiet gear: session_set_gear() */
	uint32_t sample_every; /* ticks come at sample_hz / so many; 0 = 1 */
	bool wakeups;	       /* waits are timed at wakeups, also where the kernel counts them */
	bool cycles;	       /* hardware cycles instead of cpu-clock */
	uint32_t cpus_possible;
	uint32_t max_stack;
	/* Stacks of user code are walked by tables (session_unwind()), which may take so many
	 * bytes; where this kernel cannot, along frame pointers. */
	bool tables;
	size_t unwind_bytes;
	uint32_t stack_frames; /* kept of one such stack; 0 = 512 */
	const uint32_t *tgids; /* -p; samples of others carry no stack and are not sent */
	size_t tgid_cnt;
	bool cgroups; /* session_select_cgroup() says which */
	bool requests;
	bool stands; /* session_open_stands() */
	/* Who ends waits that looks at stands have found, in the full gear: session_ops.waker. Not
	 * with cycles, nor without stands. */
	bool wakers;
	uint64_t slow_ns; /* T of requests, and below: of some ports; SLOW_PORTS_MAX at the most */
	const struct session_slow_port *slow_ports;
	size_t slow_port_cnt;
};

/* Records are borrowed until the callback returns; their sizes are checked. */
struct session_ops {
	void *ctx;
	void (*sample)(void *ctx, const struct event_sample *sample);
	void (*stack)(void *ctx, const struct event_stack *stack);
	void (*waker)(void *ctx, const struct event_waker *waker);
	void (*task)(void *ctx, const struct event_task *task); /* EVENT_TASK and EVENT_TASK_END */
	void (*exec)(void *ctx, const struct event_exec *exec);
	void (*socket)(void *ctx, const struct event_socket *socket); /* session_read_sockets() */
	/* session_read_refused() */
	void (*refused)(void *ctx, uint32_t tgid, uint64_t start_ns, uint64_t requests);
};

/*
 * Loads the programs and attaches scheduler accounts and side-band; sampling does not run yet. On
 * failure a sentence for people is in why, and the result is -EPERM, -ENOTSUP, -EMFILE, -ENOMEM
 * or what the system call said. Raises the soft limit of open files.
 */
int session_new(const struct session_options *options, char *why, size_t why_bytes,
		struct session **ret_session);
/* What works and what does not, with the reason; complete when session_start() is done. Borrowed
 * until session_free(). */
const struct feature_set *session_features(const struct session *s);
/* Stacks of this cgroup are wanted. 0, or -E2BIG beyond the map's size. */
int session_select_cgroup(struct session *s, uint64_t cgroup_id);
/* Ticks come at sample_hz / every from now on. 0, or negative errno where some CPU keeps its former
 * rate. */
int session_set_rate(struct session *s, uint32_t every);
/*
 * Quiet: no program at switches, and session_read_accounts() reads what the kernel counts. Full:
 * the programs of the scheduler are attached. Each account goes on where it is: counters only grow
 * across a change, and what passes meanwhile (1 us a thread) is in them to a tick of the kernel's
 * clock; the clocks of CPUs stand still in the quiet gear. 0, or negative errno and the gear as it
 * was, or quiet.
 */
int session_set_gear(struct session *s, bool quiet);
/* Starts the sampling events. Errors as session_new. */
int session_start(struct session *s, char *why, size_t why_bytes);
/* Stops sampling and detaches everything; what is in the rings can still be drained. */
void session_stop(struct session *s);

/* Hands over all samples, stacks and last accounts that are there. Returns malformed records. */
uint64_t session_drain(struct session *s, const struct session_ops *ops);
/* The same for the side-band, up to that time. Records of one instant may still be on their way to
 * the ring of another CPU: give now less 0.1 ms, or UINT64_MAX at the end. */
uint64_t session_drain_sideband(struct session *s, const struct sideband_ops *ops,
				uint64_t until_ns);
/* sideband_wait(). */
enum sideband_came session_wait(const struct session *s, uint64_t timeout_ns, int fd);
/* Runs the task iterator: one EVENT_TASK for each thread; unless all, not for those that have slept
 * since it ran last. 0 or negative errno. In the quiet gear
 * CPU time (up to the last tick of the kernel's clock), waits, throttled time and switches rise by
 * the kernel's own counts, all else stands still; last accounts come as well. */
int session_read_accounts(struct session *s, bool all, const struct session_ops *ops);

/* Consistent copy of one CPU's books, and the time of the copy; without the programs at switches
 * only ticks and queues are in it. 0, or -EAGAIN when it was written over and over while it was
 * read. */
int session_read_cpu(struct session *s, uint32_t cpu, struct cpu_clock *ret_clock,
		     uint64_t *ret_now_ns);
/* Sums over CPUs since the load, by enum loss_cause. */
void session_read_losses(struct session *s, uint64_t counts[LOSS_KERNEL_CNT]);
/* Program runs that the kernel skipped because one of ours already ran there. */
uint64_t session_recursion_misses(struct session *s);
/* Follows CPUs that went off or on line; returns the online CPUs without a sampling event. */
uint32_t session_follow_cpus(struct session *s, const bool *online);

/*
 * Requests (sockets.c). One EVENT_SOCKET for each listening socket and for each served connection
 * with an unanswered request, as they are now: for once a second, or when session_sockets_due()
 * (CPU time on 2 slow CPUs: 0.04 ms for 10 connections, 4.4 ms for 10,000, 53 ms for 100,000 of
 * which a tenth is unanswered; at most SERVED_MAX are listed). A process that called listen() and
 * left the socket to a child (daemons), or a connection whose first request nobody has answered for
 * 100 ms, is noticed here, and the process that holds the socket is looked for among all open
 * files: at most every two seconds, for a hundredth of the time. 0 or negative errno; nothing where
 * request tracking is off.
 */
int session_read_sockets(struct session *s, const struct session_ops *ops);
/* Whether it is time to do so again: with very many connections not each second, so that it costs
 * less than a hundredth of a CPU. False where requests are not seen. */
bool session_sockets_due(const struct session *s);
/*
 * From now on, one of 2^shift connections of that bucket is followed, FOLLOW_SHIFT_MAX at the most;
 * at first all are. Counters of endpoints go on to stand for all of them. What is under way on a
 * connection that is left out is told no more by its own state, but by session_read_sockets()
 * (SOCKET_UNFOLLOWED); one that is followed again begins with its next request.
 */
void session_follow_share(struct session *s, unsigned int bucket, unsigned int shift);
/* By bucket, what was seen since the last call or the start; 0 where requests are not seen. */
void session_take_followed(struct session *s, struct follow_seen ret_seen[FOLLOW_BUCKETS]);
/* Connections that are followed where not all are, as of the last session_read_sockets(). */
uint32_t session_connections_followed(const struct session *s);
/*
 * The rows of endpoints, in memory that the kernel goes on writing: read each counter once, take
 * differences, never trust two of them to be of one instant. Rows whose listener is 0 are free or
 * being made: skip them. One whose process is gone, or whose socket no longer listens, is given
 * back by session_read_sockets() when it did not change for two seconds, any other one after ten:
 * read the rows before that. Borrowed until session_free(); returns their number, 0 where requests
 * are not seen.
 */
uint32_t session_endpoints(const struct session *s, const struct endpoint **ret_rows);
/* Processes that had requests for which there was no row (see ENDPOINTS_OF_PROCESS of
 * bpf/events.h) since the last call, for once a second; of more than REFUSED_MAX the rest are in
 * the losses alone. 0 or negative errno. */
int session_read_refused(struct session *s, const struct session_ops *ops);
/* Network namespaces that were entered at the start, of how many that processes live in. Of the
 * others (which CAP_SYS_ADMIN enters) the sockets that processes hold open were looked through:
 * connections that waited to be accepted then are not seen. */
void session_namespaces(const struct session *s, uint32_t *ret_seen, uint32_t *ret_all);

/* Where the tables go by which user stacks are walked; NULL: they are walked along frame pointers.
 * Borrowed until session_free(). */
struct unwind_maps *session_unwind(const struct session *s);

/*
 * Where threads stand: a descriptor, owned, whose reading is the pass over those of these processes
 * (FILTER_TGIDS_MAX of them at the most; none: of all), or a look at some that do not run; one
 * record each with the piece of its stack that was read. Nothing is stopped; but who reads may
 * hang, as long as a process wants it to (isolate/stream_reader.h). One at a time, but for those
 * that hang (session_set_stand_reader()). Negative errno;
 * -ENOTSUP where FEATURE_THREAD_STACKS is not on.
 */
int session_open_stands(struct session *s, const struct stand_look *look, const uint32_t *tgids,
			size_t tgid_cnt);
/* Who reads the next one, and those that hang (stream_reader_place(), stream_reader_stuck()):
 * processes in whose memory they do are told without their stacks. At first 0 and none. */
void session_set_stand_reader(struct session *s, unsigned int place, uint32_t stuck);
typedef void (*stands_take_fn)(void *ctx, const struct event_stand *stand, const uint8_t *stack);
/* Whole records at the begin of what was read, borrowed until take returns, each aligned as bytes
 * is. Returns the bytes that they are, or -EPROTO. */
ssize_t session_take_stands(const char *bytes, size_t len, stands_take_fn take, void *ctx);
/* All are chosen as those of others. */
void session_clear_look_shares(struct session *s);
/* How many threads of that process looks choose; NULL: as of others. 0 or negative errno. */
int session_set_look_share(struct session *s, uint32_t tgid, const struct look_share *share);
/* Wakers that were not kept, for their number or for want of room, since the load. */
uint64_t session_wakers_lost(const struct session *s);

/* Whether this kernel counts what threads wait (CONFIG_SCHED_INFO): only then there is a quiet
 * gear. A session that is to begin in it begins in the full one elsewhere. */
bool session_can_be_quiet(const struct session *s);
bool session_is_quiet(const struct session *s);
/* Whether run delay is known: by the programs at wakeups, or by the kernel's own count. */
bool session_counts_waits(const struct session *s);

/*
 * What the BPF programs have cost those in whose time they run, since the load, in ns: their runs
 * times the mean of those that measured themselves, and a constant for the way to the program and
 * back. Over 4 s of a busy host within 15 % of what the kernel's statistics
 * (kernel.bpf_stats_enabled) say. Iterators run in hotrun's own CPU time and are not in it. Only
 * grows. For once a second.
 */
uint64_t session_cost_ns(struct session *s);
/* The counters behind it, of all CPUs. */
struct cost_counters session_program_cost(const struct session *s, enum cost_program program);

/* Bytes of BPF maps and rings, as asked for. */
size_t session_map_bytes(const struct session *s);
/* Takes NULL and half-built objects. */
void session_free(struct session *s);
#endif

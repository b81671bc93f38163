/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_ACCOUNT_BPF_H
#define HOTRUN_ACCOUNT_BPF_H
/*
 * The scheduler account of a thread, and how time goes into it. A thread is in one state at a time;
 * whoever moves it to another closes the interval of the one before. Writers of one account follow
 * each other: the CPU that switches the thread out, the one that wakes or moves it, the one that
 * switches it in, each under a run-queue lock (or the thread's own, while it is moved asleep).
 */
#include "shared.bpf.h"
#include "compat.bpf.h"

enum account_state {
	STATE_UNKNOWN = 0, /* since the account was made: runnable, or new */
	STATE_RUNNING,
	STATE_WAITING, /* runnable: on the run queue of a CPU, or throttled */
	STATE_BLOCKED,
	STATE_UNINTERRUPTIBLE,
};

struct account {
	__u64 number;	/* from 1, in the order of creation */
	__u64 sequence; /* odd while it is being written */
	__u64 since_ns; /* of the state; 0 = the session's start */
	__u32 state;	/* enum account_state */
	__u32 pad;
	struct sched_figures sched; /* without migrations, which the thread itself has */
	__u64 blocked_ns;
	__u64 delay_max_ns;
	/* Of the wait that goes on: what was gathered on CPUs that it was moved away from, and
	 * marks of the counters of the CPU that it waits for, as they stood when it began to. */
	__u64 wait_own_ns, wait_throttled_ns;
	__u64 own_mark_ns, throttled_mark_ns;
	__u64 queue; /* address of the cfs_rq that throttled_mark_ns is of */
	__u32 delays[DELAY_SLOTS];
};

/* thread -> account. Created at thread creation and by the iterator of the start, written by the
 * switch, wakeup and migration programs, read by the iterator. Freed with the thread. Defined in
 * sched.bpf.c. */
struct account_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct account);
};
extern struct account_map accounts SEC(".maps");

/* Run time of one process on one CPU. Two processes may meet in one slot: the later one takes it,
 * and the time of the other begins anew. */
struct run_time {
	__u64 ns;
	__u32 tgid; /* whose it is */
	__u32 pad;
};

/*
 * cpu * run_slots + tgid % run_slots -> run time. Written by the switch program on that CPU, read
 * where waits begin and end: what threads of a process ran while one of them waited for the same
 * CPU. Size: set before load, by CPUs. Defined in sched.bpf.c.
 */
struct run_time_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct run_time);
};
extern struct run_time_map run_times SEC(".maps");

/* Power of two, 0 = run times are not kept. Set before load. */
extern const volatile __u32 run_slots;
/* Recording's start, monotonic ns, set by the user side just before it attaches. */
extern __u64 session_start_ns;

static __always_inline struct run_time *run_time_of(__u32 tgid, __u32 cpu)
{
	__u32 slot = cpu * run_slots + (tgid & (run_slots - 1));

	return run_slots ? bpf_map_lookup_elem(&run_times, &slot) : NULL;
}

static __always_inline void add_run_time(__u32 tgid, __u32 cpu, __u64 ran)
{
	struct run_time *time = run_time_of(tgid, cpu);

	if (!time)
		return;
	if (time->tgid != tgid) {
		time->tgid = tgid;
		time->ns = 0;
	}
	time->ns += ran;
}

/* Run time of a process on a CPU up to its last switch: all of it, at the switch itself. */
static __always_inline __u64 run_time_at_switch(__u32 tgid, __u32 cpu)
{
	struct run_time *time = run_time_of(tgid, cpu);

	return time && time->tgid == tgid ? time->ns : 0;
}

/* The same up to now, the interval that runs there included. */
static __always_inline __u64 run_time_now(__u32 tgid, __u32 cpu, __u64 now)
{
	struct cpu_clock *clock = bpf_map_lookup_elem(&cpus, &cpu);
	__u64 ns = run_time_at_switch(tgid, cpu), since;

	if (clock && clock->running_tgid == tgid) {
		since = clock->last_switch_ns;
		if (since < session_start_ns)
			since = session_start_ns;
		if (now > since)
			ns += now - since;
	}
	return ns;
}

/* What ran of the process since the mark, ns its run time; *lost where another process took the
 * slot meanwhile. */
static __always_inline __u64 own_since_mark(const struct account *account, __u64 ns, bool *lost)
{
	if (ns >= account->own_mark_ns)
		return ns - account->own_mark_ns;
	*lost = true;
	return 0;
}

/* How long the queue was throttled since the mark. A thread that was moved to another group waits
 * in another queue: what that one was throttled for is not known. */
static __always_inline __u64 throttled_since_mark(const struct account *account,
						  struct cfs_rq *queue)
{
	__u64 ns;

	if (!queue || (__u64)queue != account->queue)
		return 0;
	ns = compat_throttled_ns(queue);
	return ns > account->throttled_mark_ns ? ns - account->throttled_mark_ns : 0;
}

/* The parts of a wait. */
struct wait {
	__u64 delay_ns; /* without the throttled part */
	__u64 own_ns;	/* of delay_ns */
	__u64 throttled_ns;
};

static __always_inline struct wait split_wait(__u64 all, __u64 own, __u64 throttled)
{
	struct wait wait = {};

	wait.throttled_ns = throttled < all ? throttled : all;
	wait.delay_ns = all - wait.throttled_ns;
	wait.own_ns = own < wait.delay_ns ? own : wait.delay_ns;
	return wait;
}

/* State D. */
static __always_inline bool is_uninterruptible(__u32 state)
{
	return state & TASK_UNINTERRUPTIBLE && !(state & TASK_NOLOAD);
}

static __always_inline __u64 since_of(const struct account *account)
{
	return account->since_ns ?: session_start_ns;
}

static __always_inline __u64 interval_of(const struct account *account, __u64 now)
{
	__u64 since = since_of(account);

	return now > since ? now - since : 0;
}

/* Slot of a delay: floor of the binary logarithm of its microseconds. */
static __always_inline __u32 delay_slot(__u64 delay_ns)
{
	__u64 us = delay_ns / 1000;
	__u32 slot = 0, v = us >> 32 ? 0xffffffff : (__u32)us;

	if (v >= 1u << 16) {
		v >>= 16;
		slot += 16;
	}
	if (v >= 1u << 8) {
		v >>= 8;
		slot += 8;
	}
	if (v >= 1u << 4) {
		v >>= 4;
		slot += 4;
	}
	if (v >= 1u << 2) {
		v >>= 2;
		slot += 2;
	}
	slot += v >> 1;
	return slot < DELAY_SLOTS ? slot : DELAY_SLOTS - 1;
}
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_ACCOUNT_BPF_H
#define HOTRUN_ACCOUNT_BPF_H
/*
 * The scheduler account of a thread, and how time goes into it. A thread is in one state at a time;
 * whoever moves it to another closes the interval of the one before. Writers of one account follow
 * each other: the CPU that switches the thread out, the one that wakes it (where the kernel does
 * not count waits), the one that switches it in, each under a run-queue lock.
 */
#include "shared.bpf.h"
#include "compat.bpf.h"

enum account_state {
	STATE_UNKNOWN = 0, /* since the account was made: runnable, or new */
	STATE_RUNNING,
	STATE_WAITING, /* runnable: on the run queue of a CPU, or throttled */
	STATE_BLOCKED,
	STATE_UNINTERRUPTIBLE,
	STATE_OUT_OF_BUDGET, /* a deadline thread that waits for its next period */
	STATE_ENDED,	     /* its last account was sent */
};

struct account {
	__u64 number;		    /* from 1, in the order of creation */
	__u64 sequence;		    /* odd while it is being written */
	__u64 since_ns;		    /* of the state; 0 = the session's start */
	__u32 state;		    /* enum account_state */
	__u32 cpu;		    /* where it ran last, or was put to wait */
	struct sched_figures sched; /* without migrations, which the thread itself has */
	__u64 blocked_ns;
	__u64 delay_max_ns;
	/* Marks as it left its CPU (in the quiet gear: as it was read last): of all run delay by
	 * the kernel's count, and of the time that its queue there was throttled. */
	__u64 kernel_delay_ns;
	__u64 throttled_mark_ns;
	__u64 queue;	       /* address of the cfs_rq that throttled_mark_ns is of */
	__u64 false_queued_ns; /* sched_info.last_queued, which it had while it slept */
	/* Marks of the quiet gear alone, of what else the kernel counts. */
	__u64 kernel_ran_ns, kernel_voluntary, kernel_involuntary;
	/* Of looks at where it stands: its switches then, the time and the number of the last one
	 * that read its stack. */
	__u64 looked_switches, looked_ns, looked_pass;
	__u32 delays[DELAY_SLOTS];
};

/* thread -> account. Created at thread creation and by the iterator of the start, written by the
 * switch and wakeup programs, or in the quiet gear by the iterator; read by the iterator. Freed
 * with the thread. Defined in sched.bpf.c. */
struct account_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct account);
};
extern struct account_map accounts SEC(".maps");

/* One turn on a CPU; it began as the one before it ended. */
struct turn {
	__u64 end_ns;
	__u32 tgid; /* 0 = idle */
	__u32 pad;
};

/* Whom a turn was of is not known: the switch to it was not seen. */
#define TURN_UNKNOWN (~0u)

/* Turns that are kept of each CPU, and looked at in each wait, under the run queue's lock; those of
 * one process in a row are one. At 50,000 switches a second and CPU they are the last 0.6 ms; of
 * longer waits the rest is estimated. */
#define TURNS_CNT 32

struct turns {
	__u32 next; /* place of the next one, modulo TURNS_CNT */
	__u32 pad;
	struct turn turns[TURNS_CNT];
};

/*
 * CPU -> its last turns. Written by the switch program on that CPU, read where waits end: of a wait
 * they tell what was waited behind the thread's own process. Size: possible CPUs, set before load.
 * Defined in sched.bpf.c.
 */
struct turns_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct turns);
};
extern struct turns_map turns SEC(".maps");

/* The kernel's own count of run delay (task_struct.sched_info) tells waits; else the programs of
 * wakeups do. Set before load. */
extern const volatile bool kernel_counts_waits;
/* Recording's start, monotonic ns, set by the user side just before it attaches. */
extern __u64 session_start_ns;
/* Since then the programs at switches have been attached; later than all times in the quiet gear.
 * Set by the user side just before it attaches. */
extern __u64 switches_since_ns;
/* The last change to the quiet gear began then; 0 = none yet. Set by the user side before it
 * detaches these programs. */
extern __u64 quiet_since_ns;

static __always_inline void add_turn(struct turns *on, __u32 tgid, __u64 now)
{
	struct turn *last = &on->turns[(on->next - 1) & (TURNS_CNT - 1)];

	if (last->tgid != tgid || !last->end_ns) {
		last = &on->turns[on->next & (TURNS_CNT - 1)];
		last->tgid = tgid;
		on->next++;
	}
	last->end_ns = now;
}

/* Behind whom somebody waits for a CPU: what is looked for in its turns, and what was found. */
struct behind {
	__u64 from_ns, to_ns; /* to_ns goes back as turns are found */
	__u32 cpu, tgid;
	__u32 at, pad;	/* place of the turn after the next one to look at */
	__u64 own_ns;	/* of process tgid */
	__u64 known_ns; /* of all, as far as turns are kept */
};

/*
 * Adds the turns of a CPU that lie in from..to. Cost: 5 ns a turn. Read without a lock from other
 * CPUs, too: a turn that is written meanwhile is as good as one that is no longer kept. Defined in
 * sched.bpf.c.
 */
int look_behind(struct behind *behind);

static __always_inline void look_behind_on(struct behind *behind, __u32 cpu, __u64 from, __u64 to)
{
	behind->cpu = cpu;
	behind->from_ns = from;
	behind->to_ns = to;
	look_behind(behind);
}

/* All but for what is too short to matter: the program runs some time after the kernel's clock was
 * read. */
static __always_inline bool behind_is_known(const struct behind *behind, __u64 all_ns)
{
	return behind->known_ns + 5000 >= all_ns;
}

/* What the turns do not tell is taken to be as what they tell. */
static __always_inline __u64 behind_own_of(const struct behind *behind, __u64 all_ns)
{
	if (!behind->own_ns || behind->own_ns == behind->known_ns)
		return behind->own_ns ? all_ns : 0;
	if (behind_is_known(behind, all_ns))
		return behind->own_ns;
	/* In parts of 1024, that nothing overflows. */
	return (all_ns >> 10) * ((behind->own_ns << 10) / behind->known_ns);
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

/* Asleep by its own state. */
static __always_inline bool is_asleep(struct task_struct *task)
{
	if (compat_on_cpu(task) || task->__state == TASK_RUNNING || task->__state == TASK_WAKING)
		return false;
	/* Preempted on its way to sleep it waits. */
	return !compat_on_rq(task) ||
	       (bpf_core_field_exists(task->se.sched_delayed) && task->se.sched_delayed);
}

/* Runnable without a CPU; of a new account nothing else is known. */
static __always_inline bool is_waiting(__u32 state)
{
	return state == STATE_UNKNOWN || state == STATE_WAITING || state == STATE_OUT_OF_BUDGET;
}

/* A wait for a CPU. */
struct waited {
	__u64 all_ns;
	__u64 elsewhere_ns; /* of it, the beginning: for a CPU that it was moved away from */
	bool after_sleep;   /* it began at no switch: marks are from before it */
};

/*
 * Of the time since the thread left its CPU, up to now, the wait. kernel_now: the clock of its run
 * queue at that time, 0 where its wait is over. The kernel notes when it was queued
 * (sched_info.last_queued) and adds up what it waited as it begins to run or is moved to another
 * CPU (sched_info.run_delay; kernel/sched/stats.h).
 */
static __always_inline struct waited waited_of(const struct account *account,
					       struct task_struct *task, __u64 kernel_now,
					       __u64 now)
{
	struct waited w = {.all_ns = interval_of(account, now)};
	__u64 queued, here = 0, elsewhere;

	if (!kernel_counts_waits)
		return w;
	queued = task->sched_info.last_queued;
	if (queued && kernel_now > queued && queued != account->false_queued_ns)
		here = kernel_now - queued;
	elsewhere = task->sched_info.run_delay - account->kernel_delay_ns;
	if (!kernel_now && account->false_queued_ns)
		elsewhere = 0; /* it is in there by now */
	w.after_sleep = account->state != STATE_WAITING && account->state != STATE_OUT_OF_BUDGET;
	if (w.after_sleep && here + elsewhere < w.all_ns)
		w.all_ns = here + elsewhere;
	if (kernel_now && here < w.all_ns)
		w.elsewhere_ns = w.all_ns - here;
	return w;
}

/* Who sleeps is in no queue, but for one that the kernel keeps there for a while (delayed dequeue,
 * since 6.12), and if it is moved then, that stands as if it had been queued. */
static __always_inline void note_false_queued(struct account *account, struct task_struct *task)
{
	__u64 queued = task->sched_info.last_queued;

	if (queued && is_asleep(task))
		WRITE_ONCE(account->false_queued_ns, queued);
}

/* Marks the throttled time of the queue in which a thread waits, or from which it goes to sleep. */
static __always_inline void mark_queue(struct account *account, struct cfs_rq *queue)
{
	account->queue = (__u64)queue;
	account->throttled_mark_ns = queue ? compat_throttled_ns(queue) : 0;
}

/* How long the queue was throttled since the mark. */
static __always_inline __u64 throttled_since_mark(const struct account *account, __u64 ns)
{
	return ns > account->throttled_mark_ns ? ns - account->throttled_mark_ns : 0;
}

/*
 * What of a wait its group was throttled. Of one that began at a switch the counter of the queue
 * tells, also of a queue on another CPU that it was moved away from. One that began with a wakeup
 * has a mark from before its sleep, if any: what lies before the wakeup is taken off.
 * queue: that of the task.
 */
static __always_inline __u64 throttled_in(const struct account *account, struct task_struct *task,
					  struct cfs_rq *queue, const struct waited *w)
{
	struct throttling last;
	__u64 ns = ~0ull, begin;

	if (!queue)
		return 0;
	if ((__u64)queue == account->queue)
		ns = throttled_since_mark(account, compat_throttled_ns(queue));
	if (!w->after_sleep && ns == ~0ull) {
		queue = compat_queue_on(task, account->cpu);
		if (!queue || (__u64)queue != account->queue)
			return 0;
		ns = throttled_since_mark(account, compat_throttled_ns_at(queue));
		/* It may have been throttled after the thread had left. */
		return w->elsewhere_ns && ns > w->elsewhere_ns ? w->elsewhere_ns : ns;
	}
	if (!w->after_sleep || !ns)
		return ns;
	last = compat_last_throttling(task, queue);
	if (!last.began_ago_ns)
		return 0;
	/* It began within the wait, and in a long one others may have before it. */
	if (last.began_ago_ns <= w->all_ns && ns != ~0ull && w->all_ns > PERIOD_USUAL_NS)
		return ns;
	begin = last.began_ago_ns < w->all_ns ? last.began_ago_ns : w->all_ns;
	last.ended_ago_ns = last.ended_ago_ns < begin ? last.ended_ago_ns : begin;
	return begin - last.ended_ago_ns;
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
/* As /proc/PID/stat has it. */
static __always_inline __u8 state_letter(__u32 state, __u32 exit_state)
{
	state |= exit_state;
	if (state == TASK_RUNNING)
		return 'R';
	if (state & (EXIT_DEAD | TASK_DEAD))
		return 'X';
	if (state & EXIT_ZOMBIE)
		return 'Z';
	if (state & TASK_INTERRUPTIBLE)
		return 'S';
	if (state & TASK_PARKED)
		return 'P';
	if (state & TASK_UNINTERRUPTIBLE)
		return state & TASK_NOLOAD ? 'I' : 'D';
	if (state & __TASK_STOPPED)
		return 'T';
	if (state & __TASK_TRACED)
		return 't';
	return '?';
}
#endif

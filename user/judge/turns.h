/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_TURNS_H
#define HOTRUN_JUDGE_TURNS_H
/*
 * Who ran where and when, and who waited behind whom for how long: turns of threads on CPUs, out of
 * single switches and wakeups (model_switch). Pure; no threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

#define TURN_NONE UINT32_MAX

/* A thread, or nobody, on a CPU without a break. */
struct turn {
	uint64_t begin_ns, end_ns; /* within what was asked for */
	/* When its thread became runnable: it waited from then on. 0 = not known, or not in the
	 * window; begin_ns of an idle one. */
	uint64_t ready_ns;
	uint32_t cpu;
	uint32_t thread; /* row; MODEL_NONE = idle, or not known */
	uint32_t waker;	 /* row of who woke it, MODEL_NONE = nobody, or an idle CPU's interrupt */
	uint32_t waker_turn; /* in which that ran, or TURN_NONE */
	uint32_t before;     /* the turn before it on the CPU, or TURN_NONE */
	uint32_t irq_ns, softirq_ns;
	bool woken;	/* it had slept; else it waited since it was preempted */
	bool by_irq;	/* an interrupt woke it, or softirqs */
	bool unknown;	/* not known who runs */
	bool preempted; /* it could run on at its end */
	uint8_t left;	/* its state then, as of /proc/PID/stat; 0 = it goes on */
};

/* A thread, by its row in the model. */
struct turn_thread {
	uint64_t ran_ns, waited_ns; /* waits that ended in the window */
	uint32_t turns, waits;
	uint32_t longest; /* the turn before which it waited longest, or TURN_NONE */
};

struct turn_cpu {
	uint64_t busy_ns, idle_ns, unknown_ns, irq_ns, softirq_ns;
	uint32_t turns; /* of threads */
	uint32_t cpu;
};

struct turns {
	/* Of what was asked for, the windows that there are: their sum, and their ends. */
	uint64_t from_ns, to_ns, length_ns;
	uint32_t windows;
	uint64_t wakeups;
	MODEL_TABLE(struct turn, turns); /* in the order of their beginnings, idle ones too */
	MODEL_TABLE(struct turn_thread, threads);
	MODEL_TABLE(struct turn_cpu, cpus); /* that are in there, by number */
};

/* Of the rows of m from from_ns to to_ns (monotonic). Owned, or NULL with errno ENOMEM; without any
 * switch there, windows is 0. */
struct turns *turns_new(const struct model *m, uint64_t from_ns, uint64_t to_ns);
/* Takes NULL. */
void turns_free(struct turns *t);

/* What a turn waited for its CPU; 0 where that is not known. */
uint64_t turn_waited(const struct turn *turn);

/* Of the wait before a turn: who ran on that CPU meanwhile, for how long, most first, those beyond
 * max left out. Who waited was moved there from another CPU perhaps. Returns how many. */
struct turn_behind {
	uint32_t thread; /* MODEL_NONE: the CPU was idle; else not known, or before the window */
	bool idle;
	uint64_t ns;
};
size_t turns_behind(const struct turns *t, uint32_t turn, struct turn_behind *ret_rows, size_t max);

/* Turns in the order of what their threads waited, longest first: those of which wanted() says so,
 * max at the most. Returns how many. */
size_t turns_longest(const struct turns *t, bool (*wanted)(void *ctx, const struct turn *turn),
		     void *ctx, uint32_t *ret_turns, size_t max);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_SCHED_H
#define HOTRUN_MODEL_SCHED_H
/*
 * What the scheduler gave and did not give, summed over the slices of a capture: for the host, each
 * process, each thread and each cgroup. Exact, by context switches; only the percentiles of run
 * delay are read from a histogram. Of slices of the quiet gear as the kernel counts; behind whom it
 * was waited in them is estimated by the other slices (not of groups). Pure; no threads.
 */
#include <linux/types.h>

#include "bpf/events.h"
#include "model/model.h"

struct sched_sum {
	struct sched_figures sched;
	uint64_t delays[DELAY_SLOTS]; /* run delays that ended, by slot of bpf/events.h */
	uint64_t delay_max_ns;	      /* longest, one that goes on included; of a part of a capture
					 never more than its histogram allows */
	uint32_t threads;	      /* that ran, waited or were throttled; of a group: those
					 that were in it last */
};

struct sched {
	uint64_t elapsed_ns; /* sched_elapsed_ns() */
	struct sched_sum host;
	struct sched_sum *processes; /* by row of the model */
	struct sched_sum *threads;   /* by row */
	bool *active; /* by row of threads; of others that row is zeros, memory once read */
	struct sched_sum *cgroups; /* by row; with those of the groups below it */
	/* By row of processes, of both gears: that next to none of its waits were in slices that
	 * tell behind whom. NULL: it is as in model_off(). */
	bool *own_unknown;
};

/* Time of the slices that m->cpus has rows of: of a recording that goes on only the current one;
 * without rows, of all. ns. */
uint64_t sched_elapsed_ns(const struct model *m);
/* Returns it owned, or NULL with errno ENOMEM. */
struct sched *sched_new(const struct model *m);
void sched_free(struct sched *s);

/*
 * The longest run delay that a sum can have: max_ns is that of the whole recording, which may have
 * been elsewhere. Delays that ended lie below the end of their slot; when they cannot make up the
 * time waited, a wait goes on.
 */
uint64_t sched_bound_max_ns(const struct sched_sum *sum, uint64_t max_ns);

/* Mean number of threads that were in a state for ns of elapsed_ns (Little's law); 0 where nothing
 * elapsed. */
double sched_mean(uint64_t ns, uint64_t elapsed_ns);
/* ran + waited + throttled. */
uint64_t sched_wanted_ns(const struct sched_figures *sched);
/* ran / wanted, 1 where nothing was wanted. */
double sched_progress(const struct sched_figures *sched);
/* Run delays that ended. */
uint64_t sched_delay_cnt(const struct sched_sum *sum);
/* Run delay that the fraction q of them did not pass, ns: within its slot of the histogram by
 * geometric interpolation, never above the longest. 0 without any. */
uint64_t sched_delay_ns(const struct sched_sum *sum, double q);
/* Lower bound of a slot of the histogram, ns; of DELAY_SLOTS the largest number. */
uint64_t sched_slot_ns(unsigned int slot);
/*
 * About how much of a thread's run delay followed its own sched_yield(). Idle workers of .NET's
 * thread pool and threads that spin for a lock yield: that delay is no lack of CPU. The kernel
 * counts such switches as involuntary (__schedule()), like preemptions; told apart by how long the
 * thread had run before, since one that yields has hardly run. Only for the figures of a single
 * thread: in a sum the two cannot be told apart. A thread that is preempted after less than 200 us
 * each time looks the same, so ask only of threads that are known to yield.
 */
uint64_t sched_yielded_ns(const struct sched_figures *thread);
/* Mean time on the CPU between being switched in and out, ns; 0 without switches. */
uint64_t sched_slice_ns(const struct sched_figures *sched);

/*
 * CPUs that a process could use, as a mean number: those of its widest thread's affinity mask, at
 * most those on line, and at most the quota of its cgroup and of each group above it.
 */
struct sched_available {
	double cpus;
	double quota;	 /* the smallest of those limits in CPUs, 0 = none */
	uint32_t cgroup; /* row of the group that has it, MODEL_NONE = none */
	uint32_t mask;	 /* CPUs of the affinity mask, at most those on line */
};
struct sched_available sched_available(const struct model *m, uint32_t process);
/* The same for all: by row of the model, owned by the caller; NULL with errno ENOMEM. */
struct sched_available *sched_available_all(const struct model *m);
/* Row of the cgroup of that process, by its threads' last account; MODEL_NONE where it is not
 * known. Both walk all threads and accounts. */
uint32_t sched_cgroup_of(const struct model *m, uint32_t process);
#endif

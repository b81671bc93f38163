/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_TOTALS_H
#define HOTRUN_MODEL_TOTALS_H
/*
 * Sums over a whole capture: what the CPUs did, and what each process took of them, exactly by
 * context switches and estimated by samples. Pure; no threads.
 */
#include "model/model.h"

struct total_process {
	uint32_t process;     /* row */
	uint32_t threads;     /* known */
	uint32_t threads_ran; /* of these, with CPU time or a sample */
	uint64_t on_cpu_ns;   /* by switches; estimated from samples without FEATURE_COUNTERS */
	uint64_t samples;     /* on-CPU */
};

struct totals {
	struct total_process *processes; /* one a row of the model; most CPU first, then samples,
					    then pid */
	size_t processes_cnt;
	uint64_t elapsed_ns; /* of the slices; without any, from start to end */
	uint64_t on_cpu_ns;  /* of all threads */
	uint64_t samples;
	/* Over all CPUs and slices; 0 where there are no CPU rows. */
	uint64_t cpu_elapsed_ns, idle_ns, accounted_ns, unaccounted_ns, steal_ns, switches;
	uint64_t ticks_taken, ticks_filtered;
	/* CPU time that was there to be covered: each slice's length x its CPU rows. */
	uint64_t cpu_capacity_ns;
	uint64_t losses[LOSS_CAUSE_CNT];
};

/* What the CPUs did and what was lost, added to a zeroed *t: no processes, no threads, and no time
 * of slices. Walks these two tables alone. */
void totals_cpus(struct totals *t, const struct model *m);
/* Returns them owned, or NULL with errno ENOMEM. */
struct totals *totals_new(const struct model *m);
void totals_free(struct totals *t);
#endif

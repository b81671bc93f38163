/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_SCHED_FIGURES_H
#define HOTRUN_MODEL_SCHED_FIGURES_H
/*
 * Sums and rises of the block of counters that the kernel keeps of each thread (bpf/events.h),
 * whatever is in it. Pure; no threads.
 */
#include <linux/types.h>
#include <stdbool.h>

#include "base/rise.h"
#include "bpf/events.h"

_Static_assert(sizeof(struct sched_figures) % sizeof(__u64) == 0, "a row of counters");

static inline void sched_figures_add(struct sched_figures *sum, const struct sched_figures *by)
{
	__u64 *to = (__u64 *)sum;
	const __u64 *from = (const __u64 *)by;

	for (unsigned int i = 0; i < SCHED_FIGURES; i++)
		to[i] += from[i];
}

/* By how much each rose since *seen, which follows it. Returns whether any did. */
static inline bool sched_figures_rise(const struct sched_figures *now, struct sched_figures *seen,
				      struct sched_figures *ret_rise)
{
	const __u64 *is = (const __u64 *)now;
	__u64 *was = (__u64 *)seen, *rise = (__u64 *)ret_rise, any = 0;

	for (unsigned int i = 0; i < SCHED_FIGURES; i++) {
		rise[i] = rise_of(is[i], was[i]);
		was[i] += rise[i];
		any |= rise[i];
	}
	return any;
}
#endif

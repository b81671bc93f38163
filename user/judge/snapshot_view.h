/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_SNAPSHOT_VIEW_H
#define HOTRUN_JUDGE_SNAPSHOT_VIEW_H
/*
 * What some looks at all threads mean: which processes take and want the CPUs, which code that is,
 * on how many threads, and who waits for what. Processes of one name are one row: a storm of short
 * ones is one trouble. Rules over a snapshot and the model; no I/O, no threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "judge/standing.h"
#include "model/snapshot.h"

/* Processes of one name; the kernel's threads together. */
struct snapshot_process {
	uint32_t process;   /* row, of the one that ran and waited most */
	uint32_t processes; /* that did or wanted anything */
	uint32_t threads;   /* the same */
	uint32_t born;	    /* of these, between looks */
	uint32_t throttled; /* of these, stopped by their group's limit at the last look */
	uint64_t ran_ns;    /* threads that ended in between among it */
	uint64_t waited_ns;
	uint64_t children_ns;	  /* CPU time of children that ended in between */
	uint64_t uninterruptible; /* threads in state D, summed over the looks */
	uint64_t most_ns;	  /* of that one process */
};

/* Threads of processes of one name that stood in the same code when they ran or wanted a CPU; or
 * stood in state D. */
struct snapshot_code {
	uint32_t process; /* row, of the first */
	uint32_t processes;
	uint32_t threads;
	enum stand_wait wait; /* WAIT_CPU: it runs or could; else what it waits for in state D */
	bool moved;	      /* where they stood could not be read */
	uint64_t ran_ns, waited_ns;
	uint64_t times;	 /* rows of stands: how often somebody was met there */
	uint32_t group;	 /* of standing, of its most frequent way there */
	uint32_t method; /* row of symbols that they have in common, MODEL_NONE: no name */
};

struct snapshot_view {
	struct snapshot_process *processes; /* most CPU first, with children; then most waiting */
	size_t processes_cnt, processes_cap;
	struct snapshot_code *codes; /* the same */
	size_t codes_cnt, codes_cap;
	struct standing *standing; /* the groups behind them */
	uint64_t ran_ns, waited_ns, children_ns;
	uint64_t own_ns;    /* CPU time of hotrun itself, not in the above */
	uint64_t asleep_ns; /* of ran_ns, by threads that slept when they were looked at */
	uint64_t gone_ns;   /* CPU time of who came and went between looks, to a clock tick */
	uint64_t threads, born, throttled; /* as of rows */
	uint64_t uninterruptible;
};

/* Adds symbols to the model. NULL with errno ENOMEM. */
struct snapshot_view *snapshot_view_new(struct model *m, const struct snapshot *s);
void snapshot_view_free(struct snapshot_view *v);
#endif

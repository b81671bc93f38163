/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_REPORT_GROUPS_H
#define HOTRUN_OUTPUT_REPORT_GROUPS_H
/*
 * The rows of the table of processes, which "start here" and the details follow, too: what they
 * speak of is what the table shows. Only report*.c include this. Pure; no threads.
 */
#include "base/hash.h"
#include "judge/verdicts.h"
#include "model/model.h"
#include "model/sched.h"
#include "model/totals.h"

#define GROUPS_SHOWN   8 /* rows of the table by CPU: the first screen is about 30 lines */
#define GROUPS_WAITING 4 /* rows more of those that waited much, but ran too little for these */
#define GROUPS_HURT    3 /* processes that are hurt have rows of their own, so many of them */

struct group_row {
	uint32_t process; /* the heaviest of them */
	uint32_t cnt;	  /* processes */
	uint32_t threads, threads_ran;
	uint64_t on_cpu_ns, samples;
	struct sched_figures sched; /* zero where waits are not known */
	bool kernel;		    /* kernel threads together */
	bool selected;		    /* named by -p or --cgroup */
	bool hurt;		    /* one of those that verdicts name first */
	uint32_t built;		    /* builder's mark */
};

struct groups {
	const struct model *m;
	struct group_row *rows; /* selected ones first, then most CPU first; those that are hurt or
				 * waited much behind the first GROUPS_SHOWN */
	size_t rows_cnt, rows_cap;
	size_t shown;	  /* rows of the table: those selected alone, where -p or --cgroup selected
			   * any */
	uint32_t *row_of; /* by process: its row, or MODEL_NONE */
	/* By process: interned (model/workload.h); NULL where rows are not by workload. */
	const char **workloads;
	size_t selected_cnt;	 /* rows; 0 where nothing limits the stacks */
	struct hash_index index; /* builder's */
	uint32_t idle;		 /* processes without CPU time that did not wait for it either and
				  * are not selected */
};

/* Rows of the processes that ran, waited or are selected; sched: NULL where waits are not known.
 * by_workload: one row each, however much a process took, or is hurt; names are interned in m.
 * Returns 0 or -ENOMEM; groups_clear() frees. */
int groups_ran(struct groups *g, struct model *m, const struct totals *t, const struct sched *sched,
	       const struct verdicts *verdicts, bool by_workload);
/* The figures of a row: of all its processes together. */
struct sched_sum groups_sum(const struct groups *g, const struct sched *sched,
			    const struct group_row *row);
/* True where so much was wanted and not given that a person should hear of it: it got less than
 * four fifths, a tenth of a thread waited on average, or a tenth of what was wanted was
 * throttled; and what was missing makes a hundredth of a thread, and of all that was missing on
 * the host. */
bool groups_waited(const struct sched *sched, const struct sched_figures *figures);
/* True for processes of m that may share a row: one name, unit and container; the kernel's threads
 * are alike, and what is hotrun's own is like nothing else. Strings are interned: compared by
 * pointer. */
bool groups_alike(const struct model *m, const struct model_process *a,
		  const struct model_process *b);
uint64_t groups_hash(const struct model_process *p);
/* Takes a zeroed one. */
void groups_clear(struct groups *g);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_REPORT_GROUPS_H
#define HOTRUN_OUTPUT_REPORT_GROUPS_H
/*
 * The rows of the table of processes, which "start here" and the details follow, too: what they
 * speak of is what the table shows. Only report*.c include this. Pure; no threads.
 */
#include "base/hash.h"
#include "model/model.h"
#include "model/totals.h"

#define GROUPS_SHOWN 8 /* rows of the table: the first screen is about 30 lines */

struct group_row {
	uint32_t process; /* the heaviest of them */
	uint32_t cnt;	  /* processes */
	uint32_t threads, threads_ran;
	uint64_t on_cpu_ns, samples;
	bool kernel;   /* kernel threads together */
	bool selected; /* named by -p or --cgroup */
};

struct groups {
	const struct model *m;
	struct group_row *rows; /* selected ones first, then most CPU first */
	size_t rows_cnt, rows_cap;
	size_t selected_cnt;	 /* rows; 0 where nothing limits the stacks */
	struct hash_index index; /* builder's */
	uint32_t idle;		 /* processes without CPU time, not selected */
};

/* Rows of the processes that ran or are selected. Returns 0 or -ENOMEM; groups_clear() frees. */
int groups_ran(struct groups *g, const struct model *m, const struct totals *t);
/* How many rows the table shows: those selected alone, where -p or --cgroup selected any. */
size_t groups_shown(const struct groups *g);
/* True for processes that may share a row: one name, unit and container; the kernel's threads are
 * alike, and the recording is like nothing else. Strings are interned: compared by pointer. */
bool groups_alike(const struct model_process *a, const struct model_process *b);
uint64_t groups_hash(const struct model_process *p);
/* Takes a zeroed one. */
void groups_clear(struct groups *g);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_NEWLY_STARTED_H
#define HOTRUN_COLLECT_NEWLY_STARTED_H
/*
 * .NET processes that just started. One may be gone before the next drain, with its mount namespace
 * and its perf map: it is looked at as soon as the kernel tells that it maps the runtime, and again
 * until the runtime has made its perf map. Bounded in processes and in CPU time, by who started
 * them. No threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/fair.h"
#include "model/model.h"
#include "names/names.h"

/* Begins with zeroes. */
struct newly_started {
	struct newly_started_process {
		uint32_t process;
		uint32_t parent;      /* who answers for it: fair_party() */
		uint64_t due_ns;      /* the next look */
		uint64_t interval_ns; /* to the one after it: twice as long each time */
	} * rows;
	size_t rows_cnt, rows_cap;
	bool *seen; /* by row of processes, since their last exec */
	size_t seen_cnt, seen_cap;

	/* Of the second that began at second_ns: */
	uint64_t second_ns;
	struct fair spent; /* us of CPU */
	bool refused;	   /* somebody had no time left */
	uint32_t wakes;	   /* newly_started_woken() */

	uint32_t stormy; /* seconds in a row with somebody refused, bounded */
};

/* The process (MODEL_NONE: nobody) began to run .NET: it is looked at from now on. */
void newly_started_add(struct newly_started *n, struct model *m, uint32_t process);
/* It called exec, and may begin anew. */
void newly_started_exec(struct newly_started *n, uint32_t process);
/* Looks at those that are due. */
void newly_started_look(struct newly_started *n, struct model *m, struct names *names);
/* When the next look is due, until_ns at the latest. */
uint64_t newly_started_due_ns(const struct newly_started *n, uint64_t until_ns);
/* The kernel told of something before a look was due. Returns how long to wait for the next such
 * word: a storm of short processes must not keep us busy. ns. */
uint64_t newly_started_woken(struct newly_started *n);
/* There is another model: rows of processes mean others. */
void newly_started_forget(struct newly_started *n);
void newly_started_clear(struct newly_started *n);
#endif

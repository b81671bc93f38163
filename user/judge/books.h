/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_BOOKS_H
#define HOTRUN_JUDGE_BOOKS_H
/*
 * Do the books of a capture balance? Two of them: sampling ticks (expected = taken + missed;
 * taken = reported + filtered + dropped) and CPU time by switches (threads + idle + unaccounted =
 * CPUs x time). A gap in the first withholds shares of hot paths, a gap in the second withholds
 * whatever is said about CPU time. Pure; no threads.
 */
#include <stdbool.h>

#include "model/model.h"
#include "model/totals.h"

#define BOOKS_SAMPLES_GAP 0.05 /* lost ticks beyond counting noise that withhold shares */
/* CPU time that the switch books may lack: this share of it, and so much of each CPU. The latter
 * because the accounts of threads are read a moment before the clocks of CPUs, which makes a
 * difference at both ends of any stretch of time, however long. */
#define BOOKS_SWITCH_GAP 0.01
#define BOOKS_READ_NS	 50000000

struct books {
	bool have_cpus; /* false: no CPU rows, so there is nothing to check against */

	uint64_t expected; /* ticks: busy time by switches x Hz */
	uint64_t taken;
	uint64_t missed;	/* expected - taken, or 0 */
	uint64_t surplus;	/* taken - expected, or 0 */
	uint64_t noise;		/* missed or surplus up to this say nothing */
	uint64_t filtered;	/* outside -p / --cgroup */
	uint64_t reported;	/* samples in the capture */
	uint64_t dropped;	/* taken - filtered - reported */
	uint64_t dropped_known; /* of these, by a counted cause */
	double lost_share;	/* of the samples that should be here: missed and dropped */
	bool cpu_unsampled;	/* missed ones are, at least in part, of a CPU without sampling */
	bool samples_gap;	/* beyond BOOKS_SAMPLES_GAP: shares of hot paths do not hold */

	/* Of the slices in which switches were looked at; all 0 where there are none. */
	uint64_t capacity_ns;	  /* CPUs x time */
	uint64_t covered_ns;	  /* threads + idle + unaccounted */
	double switch_gap;	  /* |capacity - covered| / capacity */
	double unaccounted_share; /* of capacity */
	double cpus_seen;	  /* CPUs with books, over time */
	bool switches_gap;	  /* beyond BOOKS_SWITCH_GAP and BOOKS_READ_NS */
	bool threads_off;	  /* as far, and between threads and the books of their CPUs */
	uint64_t uncovered_ns;	  /* CPU time in no CPU's books: one came or went */
};

struct books books_of(const struct model *m, const struct totals *t);
#endif

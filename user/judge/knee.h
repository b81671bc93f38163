/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_KNEE_H
#define HOTRUN_JUDGE_KNEE_H
/*
 * The knee: from which CPU use on the slow share of a service rises. Of minutes of its past, each
 * with CPUs used and the share of its requests that were slow. Pure; no threads.
 *
 * Minutes are put into bins of equal CPU; of a bin the mean of its middle half counts, so that
 * incidents that have nothing to do with CPU (a dependency that hung) do not make or hide a knee,
 * as long as they are less than a quarter of the minutes there. Through the bins goes a line that
 * is level, rises from the knee on, and may be level again above it, by least squares. How sure
 * that is: the same for samples of the minutes, drawn with replacement by whole hours, since
 * minutes beside each other are alike (block bootstrap; Kuensch 1989). There is a knee where at
 * least nine of ten samples have one; its interval holds nine of ten of theirs.
 */
#include <stddef.h>
#include <stdint.h>

#define KNEE_BINS 24
/* Minutes with enough requests; fewer tell nothing. */
#define KNEE_MINUTES 60
#define KNEE_RISE    0.03 /* of the slow share, at the highest CPU use: less is no knee */

struct knee_point {
	int64_t time_s; /* of the minute */
	double cpus;	/* mean, used */
	double slow;	/* share, 0..1 */
};

enum knee_answer {
	KNEE_TOO_LITTLE, /* minutes, or hardly different CPU use */
	KNEE_NONE,	 /* the share does not rise with CPU, as far as was seen */
	KNEE_FOUND,
};

struct knee_bin {
	double cpus, slow; /* means; slow of the middle half */
	size_t minutes;
};

struct knee {
	enum knee_answer answer;
	size_t minutes;
	double least,
		most; /* CPUs, between which minutes lie, but for the outermost in a hundred */
	double at, low, high; /* the knee, CPUs, and its interval of 90 % */
	double before;	      /* slow share below it */
	double until, after;  /* CPUs where it is level again, or the most; slow share there */
	struct knee_bin bins[KNEE_BINS]; /* those with minutes, by CPU */
	size_t bins_cnt;
};

/* points in any order; they are sorted by time. 0 or -ENOMEM. */
int knee_of(struct knee_point *points, size_t cnt, struct knee *ret_knee);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_DIFF_H
#define HOTRUN_JUDGE_DIFF_H
/*
 * What differs between two captures for certain, and what they could not show. Each figure is a
 * ratio: CPU time of a method per request that its process answered, where requests are known on
 * both sides, else in CPUs (CPU time per second), or a share of its process's CPU time.
 *
 * How sure it is comes from the parts of each side (model/diff_book.h): the variance of a ratio
 * estimator (Cochran, Sampling Techniques, 6.4) over the parts, never less than that of counting as
 * many samples; and, since two recordings of one load differ by more than the seconds within each,
 * DIFF_DRIFT of the figure on top, and DIFF_DRIFT_KERNEL of what of it is in the kernel. The
 * difference is then judged by Student's t with Welch's degrees of freedom. Of very many methods
 * some would differ by chance: named are those that the procedure of Benjamini and Hochberg (1995)
 * leaves at a false discovery rate of DIFF_FALSE, weighted (Genovese, Roeder and Wasserman 2006) by
 * the samples of both sides together, which tell nothing of a difference: what uses more CPU is
 * rather named. Methods with fewer than DIFF_SAMPLES_MIN such samples are not asked.
 *
 * Compiled code that has no name is no finding, nor is a method that changed by no more than such
 * code of its process did the other way round: perhaps only its name came or went. Pure; no
 * threads.
 */
#include <stdbool.h>

#include "model/diff_book.h"

#define DIFF_FALSE	 0.025
#define DIFF_SAMPLES_MIN 20
/* Parts of a side; of fewer no spread can be told. */
#define DIFF_PARTS_MIN 4
/* Requests of a side and process that make CPU time per request a figure. */
#define DIFF_REQUESTS_MIN 50
/* Slow drift of one load that parts of seconds do not show, of a figure: so much over the root of
 * the seconds recorded, and never less than the second. Measured: CPU per request of an ASP.NET
 * service under a constant load on a quiet host of two CPUs, means of 10 s over 200 s. */
#define DIFF_DRIFT	 0.06
#define DIFF_DRIFT_LEAST 0.005
/* What methods do in the kernel (yields, wakeups, ends of interrupts) depends on what else the host
 * and its hypervisor do, and drifts by so much, however long is recorded. Measured: the same
 * service, means of 60 s over 240 s: kernel functions 0.13 to 0.19, managed methods 0.02 to
 * 0.08. */
#define DIFF_DRIFT_KERNEL 0.15
/* Findings that are looked through for what explains them. */
#define DIFF_FINDINGS_MAX 500
/* Shares of unnamed code, or of broken stacks, that differ by more than that are told. */
#define DIFF_UNLIKE 0.02

enum diff_per { DIFF_PER_AUTO, DIFF_PER_REQUEST, DIFF_PER_CORES, DIFF_PER_SHARE, DIFF_PER_CNT };

struct diff_value {
	double before, after; /* CPU seconds per request, CPUs, or a share */
	double change;	      /* after - before */
	double error;	      /* half of its 95 % interval; NAN where it cannot be told */
	double p;	      /* of so large a change by chance alone; 1 where not known */
	/* Change that would be named in four of five pairs of such captures. NAN as error. */
	double least;
};

struct diff_of_kind {
	enum diff_per per;
	struct diff_value value; /* of all its CPU time: by switches where they were counted */
	bool certain;		 /* it changed, among all processes that are asked */
	/* By request was asked for, and requests are not known on both sides: by time. */
	bool lacks_requests;
};

struct diff_finding {
	uint32_t method;
	enum diff_of of;
	struct diff_value value;
	/* Its growth, by that which it would have had it grown as its process did; NAN where that
	 * did not change for certain. */
	double overweight;
	uint32_t node;	   /* where most of it is, or MODEL_NONE */
	double node_share; /* of the change, there */
};

struct diff {
	const struct diff_book *book;
	struct diff_of_kind *kinds; /* by row of book->kinds */
	/* What changed for certain, by how much; of what is told with all that it calls only what
	 * is not told by one of these. */
	struct diff_finding *findings;
	size_t findings_cnt, findings_cap;
	size_t found;	      /* that changed for certain, before */
	size_t perhaps_names; /* that changed for certain, but perhaps by their names alone */
	size_t tested;	      /* figures that were asked */
	double samples;	      /* that these rest on, summed */
	/* The most of diff_grew_least(), of all figures and processes that changed for certain;
	 * 0 where nothing grew. */
	double most_growth;
	size_t in_common; /* named methods with samples on both sides */
	size_t only[DIFF_SIDES];
	/* Of the samples of each side, those whose own code has no name, and those whose stack
	 * does not reach its root: where these differ, what was named or whole on one side alone
	 * looks as if it had changed. */
	double unnamed[DIFF_SIDES], broken[DIFF_SIDES];
	bool too_short; /* fewer than DIFF_PARTS_MIN parts: nothing is certain */
};

/* Returns it owned, or NULL with errno ENOMEM. */
struct diff *diff_new(const struct diff_book *book, enum diff_per per);
void diff_free(struct diff *d);

/* The figure of a method. */
struct diff_value diff_value_of(const struct diff *d, uint32_t method, enum diff_of of);

/* Whether a node of the book changed by more than counting and drift explain (two standard errors);
 * *ret_change: of what it was, -1..1 (1: it is new). Its kind's unit. */
bool diff_node_changed(const struct diff *d, uint32_t node, double *ret_change);

/* What that rests on: one tick of a side in the unit of the figures of a kind, and by what part a
 * figure of a side may drift. */
double diff_of_tick(const struct diff *d, uint32_t kind, int side);
double diff_drift_share(const struct diff_side *side);

/* Lower end of what the change is, as a part of what it was before; negative for what fell.
 * INFINITY where there was nothing before. */
double diff_grew_least(const struct diff_value *value);
#endif

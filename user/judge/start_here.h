/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_START_HERE_H
#define HOTRUN_JUDGE_START_HERE_H
/*
 * Where to begin reading: the one method of a process that a person should look at first. Pure; no
 * threads.
 *
 * The rule: the deepest method of the application that still holds at least half of the samples.
 * "Deepest": each sample votes for the method with that share that is nearest to its leaf; the
 * most votes win (among equals the smaller total, then the name).
 * Where no application method holds half, the same among the samples that have application code
 * at all; failing that, too, the application method with the largest share.
 * Where there is no application code, the deepest managed method of framework and libraries with
 * half of the samples that have any, else with three quarters of what the largest has: it says what
 * the process is doing. Thread pool and awaiting are not asked. Where less than a third is managed
 * code, the deepest frame of any kind that holds half.
 * A method with less than a tenth of the samples, or with less than twice its error, is not named.
 */
#include "model/model.h"
#include "model/top.h"

#define START_MIN_SHARE	    0.10
#define START_MANAGED_SHARE 0.33 /* of the samples, for a method of the framework */
#define START_MIN_SAMPLES   20	 /* fewer say nothing: the error of a half is over 20 points */

enum start_rule {
	START_TOO_FEW,		   /* samples; no method is named */
	START_NOTHING,		   /* no frame of code in them */
	START_HALF,		   /* an application method with half of the process's samples */
	START_HALF_OF_APPLICATION, /* with half of the samples that have application code */
	START_LARGEST,		   /* the application method with the largest share */
	START_FRAMEWORK,	   /* no application code: a managed method of the framework */
	START_ANY,		   /* no managed code either: the deepest frame that holds half */
	START_SPREAD,		   /* none of these says anything: the best holds too little */
};

struct start_here {
	enum start_rule rule;
	uint32_t symbol;      /* row of the method, MODEL_NONE for the first two rules; of
				 START_SPREAD the one that holds most, yet too little */
	uint32_t threads;     /* distinct threads in it */
	uint64_t samples;     /* in it */
	uint64_t application; /* samples with any application code */
	uint64_t all;	      /* samples of the process */
};

/* top: of that process, from the model as it is read now. Returns 0 or -ENOMEM. */
int start_here(struct model *m, uint32_t process, const struct top *top,
	       struct start_here *ret_start);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_FOLLOWED_H
#define HOTRUN_MODEL_FOLLOWED_H
/*
 * On how many connections requests were followed in the slices of a model, and what that makes of
 * the counts. Pure; no threads.
 */
#include "model/model.h"

struct followed {
	uint32_t one_of;	 /* connections, where fewest were followed; 1 = all, always */
	uint64_t ns, elapsed_ns; /* not all were followed, of all slices */
	uint64_t connections;	 /* that were, in the slice with the error */
	/* Half of the 95 % interval of a count in the worst of these slices, as a part of it: where
	 * connections ask alike, 1.96 * sqrt((w - 1) / (w * connections)), one of w being followed.
	 * The same ones are in all slices, so that many tell no more than one. 1 at the most. */
	double error;
	/* The oldest look at sockets that a slice rests on, before its end. */
	uint64_t sockets_age_ns;
};

void followed_of(const struct model *m, struct followed *ret_followed);
#endif

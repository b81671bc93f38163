/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_FOLLOWED_H
#define HOTRUN_MODEL_FOLLOWED_H
/*
 * On how many connections requests were followed in the slices of a model, and what that makes of
 * the counts. Pure; no threads.
 */
#include "model/model.h"

struct followed {
	/* Connections, of the service and the slice where fewest were followed; 1 = all, always. */
	uint32_t one_of;
	uint64_t ns, elapsed_ns; /* not all were followed, of all slices */
	/* That were, of services of which not all were: the mean over answers. At least those that
	 * stood at the last look, or began to speak in the slice. */
	uint64_t connections;
	/*
	 * Half of the 95 % interval of all answers, as a part of them, where connections ask alike:
	 * in a slice, of the answers of services of which not all were followed,
	 * 1.96 * sqrt((w - 1) / (w * connections)), one of w being followed on the mean; the others
	 * are exact, and make the part smaller. Over slices
	 * the mean by answers, since the same connections are in all of them, and many slices tell
	 * no more than one. 1 at the most.
	 */
	double error;
	/* The oldest look at sockets that a slice rests on, before its end. */
	uint64_t sockets_age_ns;
};

void followed_of(const struct model *m, struct followed *ret_followed);
#endif

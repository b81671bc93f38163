/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_FOLLOW_H
#define HOTRUN_COLLECT_FOLLOW_H
/*
 * On how many connections requests are followed, so that this costs no more than a bound however
 * many there are: of each bucket of ports one of 2^shift (bpf/events.h). A bound on what is seen,
 * not on what there is: the rule needs no figure but those that it rules. Pure; no threads.
 *
 * More than the bound: at once half as many connections of the bucket of which most is seen, in the
 * group of which most is seen, until the rest fits. So a busy service gives up its own connections,
 * and who costs little is seen whole. A bucket gets twice as many back when, for FOLLOW_CALM_NS on
 * end, all would stay below four fifths of the bound with them, or its group would stay below two
 * fifths of the one of which most is seen, which then gives up as much; likewise in that group by
 * bucket. What is left is room for what chance adds when other connections join, so that shifts do
 * not go to and fro. Who has no more to give up leaves the bound to the others.
 *
 * Few connections tell little of the others, however many requests they have: a bucket keeps
 * FOLLOW_FEW of them, and is outside the bound then, as long as all buckets together stay within
 * FOLLOW_MORE times of it.
 *
 * A bucket of which nothing is seen gets twice as many in each stretch. Where something is seen
 * then, on fewer than FOLLOW_FEW, with less of them none is followed: for FOLLOW_PIN_NS, or until
 * twice as much or more of them is seen, it gives up nothing, whatever the bound. A connection that
 * asks that much costs those who serve it far more than us.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/events.h"

#define FOLLOW_CALM_NS 10000000000ull
#define FOLLOW_PIN_NS  60000000000ull
#define FOLLOW_FEW     4
#define FOLLOW_MORE    4

struct follow {
	uint32_t most; /* requests a second that are followed; 0 = all, however many */
	struct follow_bucket {
		unsigned int shift;
		double connections; /* that are followed and have asked, in the last stretch */
		bool looks;	    /* nothing was seen: whether of twice as many anything is */
		uint64_t calm_ns;   /* for so long there was room for twice as many */
		uint64_t pinned_ns; /* for so long yet, none are given up */
		double pinned_rate; /* requests a second, when that began */
	} buckets[FOLLOW_BUCKETS];
};

/* Sets the shifts from now on, after a stretch of that length in which so much of each bucket was
 * seen; one of 0 says nothing. */
void follow_next(struct follow *f, const struct follow_seen seen[FOLLOW_BUCKETS],
		 uint64_t elapsed_ns);
/* The largest. */
unsigned int follow_most_shift(const struct follow *f);
#endif

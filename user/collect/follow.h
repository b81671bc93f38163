/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_FOLLOW_H
#define HOTRUN_COLLECT_FOLLOW_H
/*
 * On how many connections requests are followed, so that this costs no more than a bound however
 * many there are: one of 2^shift (FOLLOW_SHIFT_MAX of bpf/events.h). A bound on what is seen, not
 * on what there is: the rule needs no figure but the one that it rules. Pure; no threads.
 *
 * More than the bound: at once as few connections as bring it below. Less than two fifths of it for
 * FOLLOW_CALM_NS on end: twice as many. That leaves a fifth of the bound for what chance adds when
 * other connections join, so that the shift does not go to and fro.
 */
#include <stdint.h>

#define FOLLOW_CALM_NS 10000000000ull

struct follow {
	uint32_t most; /* requests a second that are followed; 0 = all, however many */
	unsigned int shift;
	uint64_t calm_ns; /* for so long there was room for twice as many */
};

/* The shift from now on, after a stretch of that length in which so many requests were seen to end;
 * one of 0 says nothing. */
unsigned int follow_next(struct follow *f, uint64_t seen, uint64_t elapsed_ns);
#endif

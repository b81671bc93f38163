/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_PACE_H
#define HOTRUN_WATCH_PACE_H
/*
 * So many in a row, and from then on one each every_ns: within any time t at most burst + t /
 * every_ns of them (the generic cell rate algorithm, ITU-T I.371). Pure policy over simulated time;
 * no threads.
 */
#include <stdbool.h>
#include <stdint.h>

struct pace {
	uint64_t every_ns; /* not 0 */
	uint32_t burst;	   /* not 0 */
	uint64_t paid_ns;  /* its own: what was taken is paid for by then */
};

/* How long until the next one may be taken, 0 = now. */
uint64_t pace_wait_ns(const struct pace *p, uint64_t now_ns);
/* Takes one. False: not yet, nothing is taken. */
bool pace_take(struct pace *p, uint64_t now_ns);
#endif

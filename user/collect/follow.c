/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/follow.h"

#include <linux/types.h>

#include "bpf/events.h"

/* Of the bound: less is room for twice as many. */
#define ROOM 0.4

unsigned int follow_next(struct follow *f, uint64_t seen, uint64_t elapsed_ns)
{
	double rate = elapsed_ns ? (double)seen * 1e9 / (double)elapsed_ns : 0;

	if (!f->most)
		return f->shift = 0;
	if (!elapsed_ns)
		return f->shift;
	if (rate >= ROOM * f->most || !f->shift)
		f->calm_ns = 0;
	else
		f->calm_ns += elapsed_ns;
	for (; rate > f->most && f->shift < FOLLOW_SHIFT_MAX; rate /= 2)
		f->shift++;
	if (f->calm_ns >= FOLLOW_CALM_NS) {
		f->calm_ns = 0;
		f->shift--;
	}
	return f->shift;
}

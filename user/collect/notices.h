/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_NOTICES_H
#define HOTRUN_COLLECT_NOTICES_H
/*
 * What the log tells of a collector that runs, at the end of a slice: what does not work as it
 * should, each once, and what one can do. What is on and off at the start: collector_announce.c.
 * No threads.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collect/rooms.h"

/* Begins with zeroes, and the rooms, borrowed. */
struct notices {
	const struct rooms *rooms;
	bool sandbox_told;	    /* that it is not complete */
	bool helpers_told;	    /* that there are none any more */
	uint64_t ticks_expected_ns; /* busy time so far, until the first tick was seen */
	bool ticks_seen;
};

/* A look at threads that do not run hangs. */
void notices_tell_hanging_look(struct notices *n);
/* Whose names are left out for what they cost, and what is missing to read any. */
void notices_tell_costly(struct notices *n);
/* No tick has come, after the slice is whole. */
void notices_tell_ticks(struct notices *n);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_RISE_H
#define HOTRUN_BASE_RISE_H
/*
 * Differences of counters that only grow. A reading below an earlier one is a reading at fault, and
 * counts as no rise. Pure; no threads.
 */
#include <stdint.h>

static inline uint64_t rise_of(uint64_t now, uint64_t was)
{
	return now > was ? now - was : 0;
}

/* By how much a counter rose since *seen, which follows it. */
static inline uint64_t rise_since(uint64_t now, uint64_t *seen)
{
	uint64_t by = rise_of(now, *seen);

	*seen += by;
	return by;
}
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_WORK_H
#define PERFMAP_WORK_H
/*
 * Counts the work that a parser does on bytes which somebody else chose: bytes looked at and
 * entries made. Its limit is a constant times the length of the input, plus a constant: whoever
 * makes a file decides what is in it, but not how long it is chewed on. Steps between two counts
 * are small. One thread each.
 */
#include <stdbool.h>
#include <stdint.h>

struct perfmap_work {
	uint64_t done, limit;
};

static inline bool perfmap_work_exceeded(const struct perfmap_work *work)
{
	return work->done > work->limit;
}

/* Adds to what was done. False: the limit is passed, and the parser has to give up with -E2BIG. */
static inline bool perfmap_work_add(struct perfmap_work *work, uint64_t amount)
{
	work->done += amount;
	return !perfmap_work_exceeded(work);
}
#endif

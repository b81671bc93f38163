/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_EXTENTS_H
#define HOTRUN_BASE_EXTENTS_H
/*
 * Which numbers of a range are free: gives out runs of them, the lowest that is long enough first,
 * and takes them back. No run crosses a multiple of boundary. Not for threads.
 */
#include <stddef.h>
#include <stdint.h>

#define EXTENTS_NONE UINT32_MAX

struct extent {
	uint32_t first, cnt;
};

struct extents {
	struct extent *free; /* by first; neighbours are joined but across a boundary */
	size_t free_cnt, free_cap;
	uint32_t boundary; /* 0 = none */
	uint32_t taken;	   /* numbers that are given out */
};

/* The run is free now: a new one (taken does not count it), or one that is given back. 0 or
 * -ENOMEM: then it is lost. */
int extents_add(struct extents *e, uint32_t first, uint32_t cnt);
int extents_give_back(struct extents *e, uint32_t first, uint32_t cnt);
/* EXTENTS_NONE: no free run is so long. cnt > 0. */
uint32_t extents_take(struct extents *e, uint32_t cnt);
void extents_clear(struct extents *e);
#endif

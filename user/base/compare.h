/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_COMPARE_H
#define HOTRUN_BASE_COMPARE_H
/*
 * For comparators of qsort(3) and bsearch(3). Pure.
 */
#include <stdint.h>

/* Negative, 0 or positive as a is below, equal to or above b; a difference would overflow.
 * Evaluates both twice. */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Of numbers, and of structs that begin with one by which they are sorted. */
static inline int compare_u32(const void *a, const void *b)
{
	return COMPARE(*(const uint32_t *)a, *(const uint32_t *)b);
}

static inline int compare_u64(const void *a, const void *b)
{
	return COMPARE(*(const uint64_t *)a, *(const uint64_t *)b);
}
#endif

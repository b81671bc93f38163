/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_GROW_H
#define HOTRUN_BASE_GROW_H
/*
 * Growable arrays kept as (pointer, count, capacity) in their owner. No threads.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/*
 * Makes room for at least one more element of elem_bytes in *array, doubling the capacity.
 * Returns 0, or -ENOMEM (also on overflow of the size) with everything left as it was.
 */
static inline int grow_array(void **array, size_t cnt, size_t *cap, size_t elem_bytes)
{
	size_t wanted, bytes;
	void *p;

	if (cnt < *cap)
		return 0;
	wanted = *cap ? *cap : 16;
	if (*cap && __builtin_mul_overflow(*cap, (size_t)2, &wanted))
		return -ENOMEM;
	if (__builtin_mul_overflow(wanted, elem_bytes, &bytes))
		return -ENOMEM;
	p = realloc(*array, bytes);
	if (!p)
		return -ENOMEM;
	*array = p;
	*cap = wanted;
	return 0;
}

#define GROW(array, cnt, cap) grow_array((void **)&(array), (cnt), &(cap), sizeof(*(array)))
#endif

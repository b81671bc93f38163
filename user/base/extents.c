/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/extents.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* Whether a run that ends before number may go on with it. */
static bool may_join(const struct extents *e, uint32_t number)
{
	return !e->boundary || number % e->boundary;
}

static void remove_at(struct extents *e, size_t at)
{
	e->free_cnt--;
	memmove(&e->free[at], &e->free[at + 1], (e->free_cnt - at) * sizeof(*e->free));
}

/* Place of the first free run behind number. */
static size_t place_behind(const struct extents *e, uint32_t number)
{
	size_t low = 0, high = e->free_cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (e->free[middle].first < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int extents_add(struct extents *e, uint32_t first, uint32_t cnt)
{
	size_t at = place_behind(e, first);
	struct extent *before = at ? &e->free[at - 1] : NULL;

	if (before && before->first + before->cnt == first && may_join(e, first)) {
		before->cnt += cnt;
		at--;
	} else {
		if (GROW(e->free, e->free_cnt, e->free_cap))
			return -ENOMEM;
		memmove(&e->free[at + 1], &e->free[at], (e->free_cnt - at) * sizeof(*e->free));
		e->free[at] = (struct extent){first, cnt};
		e->free_cnt++;
	}
	if (at + 1 < e->free_cnt && e->free[at + 1].first == first + cnt &&
	    may_join(e, first + cnt)) {
		e->free[at].cnt += e->free[at + 1].cnt;
		remove_at(e, at + 1);
	}
	return 0;
}

int extents_give_back(struct extents *e, uint32_t first, uint32_t cnt)
{
	e->taken -= cnt;
	return extents_add(e, first, cnt);
}

uint32_t extents_take(struct extents *e, uint32_t cnt)
{
	for (size_t i = 0; i < e->free_cnt; i++) {
		struct extent *x = &e->free[i];
		uint32_t first = x->first;

		if (x->cnt < cnt)
			continue;
		x->first += cnt;
		x->cnt -= cnt;
		if (!x->cnt)
			remove_at(e, i);
		e->taken += cnt;
		return first;
	}
	return EXTENTS_NONE;
}

void extents_clear(struct extents *e)
{
	free(e->free);
	*e = (struct extents){.boundary = e->boundary};
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/lock_points.h"

#include <stdlib.h>
#include <string.h>

#include "base/compare.h"

#define CALL_FUTEX 202 /* of x86-64 */
/* The frames of the runtime and of its class library that wait are among them. */
#define WORDS	     320u
#define LOWEST	     65536u
#define ADDRESS_BITS 47

/* A word, and where it stood. */
struct point {
	uint64_t word;
	uint32_t at;
	bool often, again; /* it stands there more than once; it did before */
};

static int compare_words(const void *a, const void *b)
{
	const struct point *x = a, *y = b;
	int c = COMPARE(x->word, y->word);

	return c ? c : COMPARE(x->at, y->at);
}

static int compare_places(const void *a, const void *b)
{
	return COMPARE(((const struct point *)a)->at, ((const struct point *)b)->at);
}

/* Sorted: what a process has there may be all kinds of words. */
static void count(struct point *points, uint32_t cnt)
{
	qsort(points, cnt, sizeof(*points), compare_words);
	for (uint32_t i = 1; i < cnt; i++) {
		points[i].again = points[i].word == points[i - 1].word;
		points[i - 1].often |= points[i].again;
	}
	qsort(points, cnt, sizeof(*points), compare_places);
}

static void put(const struct point *points, uint32_t cnt, bool often,
		struct perfmap_lock_wait *wait)
{
	for (uint32_t i = 0; i < cnt && wait->points_cnt < PERFMAP_LOCK_POINTS; i++)
		if (!points[i].again && points[i].often == often)
			wait->points[wait->points_cnt++] = points[i].word;
}

bool lock_points_may(const struct event_stand *event)
{
	return event->call == CALL_FUTEX &&
	       !(event->flags & (STAND_RUNS | STAND_MOVED | STAND_SAME | STAND_COMPAT));
}

bool lock_points(const struct event_stand *event, const uint8_t *piece,
		 struct perfmap_lock_wait *ret_wait)
{
	struct point points[WORDS];
	uint32_t cnt = 0;

	*ret_wait = (struct perfmap_lock_wait){.tid = event->ns_tid};
	if (!lock_points_may(event))
		return false;
	for (uint32_t i = 0; i < WORDS && (i + 1) * 8 <= event->stack_bytes; i++) {
		uint64_t word;

		memcpy(&word, piece + i * 8, sizeof(word));
		/* Not in this stack, nor in the half of the kernel. */
		if (!(word & 7) && word >= LOWEST && !(word >> ADDRESS_BITS) &&
		    word - event->sp >= event->stack_bytes)
			points[cnt++] = (struct point){.word = word, .at = i};
	}
	count(points, cnt);
	put(points, cnt, true, ret_wait);
	ret_wait->often_cnt = ret_wait->points_cnt;
	put(points, cnt, false, ret_wait);
	return ret_wait->often_cnt;
}

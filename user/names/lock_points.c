/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/lock_points.h"

#include <string.h>

#define CALL_FUTEX 202 /* of x86-64 */
/* The frames of the runtime and of its class library that wait are among them. */
#define WORDS	     320u
#define LOWEST	     65536u
#define ADDRESS_BITS 47

struct points {
	uint64_t at[WORDS];
	uint32_t times[WORDS], cnt;
};

static void add(struct points *p, uint64_t word)
{
	uint32_t i = 0;

	while (i < p->cnt && p->at[i] != word)
		i++;
	if (i == p->cnt) {
		p->at[p->cnt] = word;
		p->times[p->cnt++] = 0;
	}
	p->times[i]++;
}

static void put(const struct points *p, bool often, struct perfmap_lock_wait *wait)
{
	for (uint32_t i = 0; i < p->cnt && wait->points_cnt < PERFMAP_LOCK_POINTS; i++)
		if ((p->times[i] > 1) == often)
			wait->points[wait->points_cnt++] = p->at[i];
}

bool lock_points(const struct event_stand *event, const uint8_t *piece,
		 struct perfmap_lock_wait *ret_wait)
{
	struct points p = {.cnt = 0};

	*ret_wait = (struct perfmap_lock_wait){.tid = event->ns_tid};
	if (event->call != CALL_FUTEX ||
	    event->flags & (STAND_RUNS | STAND_MOVED | STAND_SAME | STAND_COMPAT))
		return false;
	for (uint32_t i = 0; i < WORDS && (i + 1) * 8 <= event->stack_bytes; i++) {
		uint64_t word;

		memcpy(&word, piece + i * 8, sizeof(word));
		/* Not in this stack, nor in the half of the kernel. */
		if (!(word & 7) && word >= LOWEST && !(word >> ADDRESS_BITS) &&
		    word - event->sp >= event->stack_bytes)
			add(&p, word);
	}
	put(&p, true, ret_wait);
	ret_wait->often_cnt = ret_wait->points_cnt;
	put(&p, false, ret_wait);
	return ret_wait->often_cnt;
}

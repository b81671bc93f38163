/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/deadlock.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/compare.h"

/* A thread that waits, and for whom. */
struct wait {
	uint32_t process, tid, holder, thread;
};

static int compare_waits(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;
	int c = COMPARE(x->process, y->process);

	return c ? c : COMPARE(x->tid, y->tid);
}

static size_t list_waits(const struct model *m, const struct stands *stands,
			 const struct standing *s, struct wait *waits)
{
	size_t cnt = 0;

	for (size_t i = 0; i < s->groups_cnt; i++) {
		const struct standing_group *g = &s->groups[i];

		for (uint32_t k = g->holder ? g->stand : MODEL_NONE; k != MODEL_NONE;
		     k = s->next[k]) {
			uint32_t thread = stands->rows[k].at.thread;

			waits[cnt++] = (struct wait){g->process, m->threads[thread].tid, g->holder,
						     thread};
		}
	}
	if (cnt)
		qsort(waits, cnt, sizeof(*waits), compare_waits);
	return cnt;
}

/* Along who holds what from its first thread on, which is the first one of a cycle. */
static bool follow(const struct wait *waits, size_t cnt, size_t first, struct deadlock *ret)
{
	const struct wait *at = &waits[first];

	*ret = (struct deadlock){.process = at->process};
	while (ret->cnt < DEADLOCK_THREADS) {
		const struct wait next = {.process = at->process, .tid = at->holder};

		ret->threads[ret->cnt++] = at->thread;
		at = bsearch(&next, waits, cnt, sizeof(*waits), compare_waits);
		if (!at || at < &waits[first])
			return false;
		if (at == &waits[first])
			return ret->cnt > 1;
	}
	return false;
}

struct deadlocks *deadlocks_new(const struct model *m, const struct stands *stands,
				const struct standing *standing)
{
	_cleanup_free_ struct wait *waits = malloc((stands->cnt + 1) * sizeof(*waits));
	struct deadlocks *d = calloc(1, sizeof(*d));
	size_t cnt;

	if (!waits || !d) {
		free(d);
		return NULL;
	}
	cnt = list_waits(m, stands, standing, waits);
	for (size_t i = 0; i < cnt && d->cnt < DEADLOCKS_MOST; i++)
		d->cnt += follow(waits, cnt, i, &d->rows[d->cnt]);
	return d;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/deadlock.h"

#include <linux/types.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "bpf/events.h"

/* A thread that waits, and for whom. */
struct wait {
	uint32_t process, tid, holder, thread;
	uint64_t begun_ns; /* at the latest */
	uint64_t read_ns;  /* it was under way then, and its holder was read then or later in it */
};

static int compare_waits(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;
	int c = COMPARE(x->process, y->process);

	return c ? c : COMPARE(x->tid, y->tid);
}

/* Of waits that are old enough. */
static uint64_t begun_at_latest(const struct model_stand *s)
{
	uint64_t least_ns = s->age_ns - STANDS_AGE_OFF_NS;

	return s->at.time_ns > least_ns ? s->at.time_ns - least_ns : 0;
}

static size_t list_waits(const struct model *m, const struct stands *stands,
			 const struct standing *s, struct wait *waits)
{
	size_t cnt = 0;

	for (size_t i = 0; i < s->groups_cnt; i++) {
		const struct standing_group *g = &s->groups[i];

		for (uint32_t k = g->holder ? g->stand : MODEL_NONE; k != MODEL_NONE;
		     k = s->next[k]) {
			const struct model_stand *row = &stands->rows[k];

			if (row->age_ns == STAND_AGE_UNKNOWN || row->age_ns < DEADLOCK_LEAST_NS)
				continue;
			waits[cnt++] = (struct wait){
				.process = g->process,
				.tid = m->threads[row->at.thread].tid,
				.holder = g->holder,
				.thread = row->at.thread,
				.begun_ns = begun_at_latest(row),
				.read_ns = row->at.time_ns,
			};
		}
	}
	if (cnt)
		qsort(waits, cnt, sizeof(*waits), compare_waits);
	return cnt;
}

/*
 * Along who holds what from its first thread on, which is the first one of a cycle. Rows are of
 * different moments: a thread that waits holds what it held as it began to, so that they are one
 * cycle only if all of these waits had begun before the first of them was read.
 */
static bool follow(const struct wait *waits, size_t cnt, size_t first, struct deadlock *ret)
{
	const struct wait *at = &waits[first];
	uint64_t begun_ns = 0, read_ns = UINT64_MAX;

	*ret = (struct deadlock){.process = at->process};
	while (ret->cnt < DEADLOCK_THREADS) {
		const struct wait next = {.process = at->process, .tid = at->holder};

		ret->threads[ret->cnt++] = at->thread;
		begun_ns = at->begun_ns > begun_ns ? at->begun_ns : begun_ns;
		read_ns = at->read_ns < read_ns ? at->read_ns : read_ns;
		at = bsearch(&next, waits, cnt, sizeof(*waits), compare_waits);
		if (!at || at < &waits[first])
			return false;
		if (at == &waits[first])
			return ret->cnt > 1 && begun_ns < read_ns;
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

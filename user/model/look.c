/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/look.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/rise.h"

static bool equal_thread(const void *owner, uint32_t row, const void *key)
{
	const struct event_counts *a = &((const struct look *)owner)->rows[row], *b = key;

	return a->tid == b->tid && a->thread_start_ns == b->thread_start_ns;
}

static uint64_t hash_of(const struct event_counts *counts)
{
	return hash_pair(counts->thread_start_ns, counts->tid);
}

static const struct event_counts *find(const struct look *l, const struct event_counts *key)
{
	uint32_t row = hash_find(&l->index, hash_of(key), equal_thread, l, key);

	return row == HASH_NONE ? NULL : &l->rows[row];
}

int look_add(struct look *l, const struct event_counts *counts)
{
	/* The kernel may tell of one twice. */
	if (find(l, counts))
		return 0;
	if (GROW(l->rows, l->cnt, l->cap) || hash_add(&l->index, hash_of(counts), (uint32_t)l->cnt))
		return -ENOMEM;
	l->rows[l->cnt++] = *counts;
	return 0;
}

void look_empty(struct look *l)
{
	hash_clear(&l->index);
	l->cnt = 0;
}

void look_clear(struct look *l)
{
	hash_clear(&l->index);
	free(l->rows);
	*l = (struct look){0};
}

struct look_rise look_rise(const struct look *before, const struct event_counts *now)
{
	const struct event_counts *was = find(before, now);

	if (!was)
		return (struct look_rise){now->ran_ns, now->waited_ns, true};
	return (struct look_rise){rise_of(now->ran_ns, was->ran_ns),
				  rise_of(now->waited_ns, was->waited_ns), false};
}

uint32_t look_find(const struct look *l, uint32_t tid, uint64_t thread_start_ns)
{
	const struct event_counts key = {.tid = tid, .thread_start_ns = thread_start_ns};

	return hash_find(&l->index, hash_of(&key), equal_thread, l, &key);
}

size_t look_ended(const struct look *before, const struct look *after)
{
	size_t ended = 0;

	for (size_t i = 0; i < before->cnt; i++)
		ended += !find(after, &before->rows[i]);
	return ended;
}

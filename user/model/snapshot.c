/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/snapshot.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

static bool equal_row(const void *owner, uint32_t row, const void *key)
{
	return ((const struct snapshot *)owner)->threads[row].thread == *(const uint32_t *)key;
}

struct snapshot_thread *snapshot_thread(struct snapshot *s, uint32_t thread)
{
	uint64_t hash = hash_u64(thread);
	uint32_t row = hash_find(&s->index, hash, equal_row, s, &thread);

	if (row != HASH_NONE)
		return &s->threads[row];
	if (GROW(s->threads, s->threads_cnt, s->threads_cap) ||
	    hash_add(&s->index, hash, (uint32_t)s->threads_cnt))
		return NULL;
	s->threads[s->threads_cnt] = (struct snapshot_thread){.thread = thread};
	return &s->threads[s->threads_cnt++];
}

int snapshot_rise(struct snapshot *s, const struct look_rise *rise)
{
	if (GROW(s->rises, s->rises_cnt, s->rises_cap))
		return -ENOMEM;
	s->rises[s->rises_cnt++] = *rise;
	return 0;
}

void snapshot_forget_stands(struct snapshot *s)
{
	stands_clear(&s->stands);
	s->rises_cnt = 0;
}

void snapshot_clear(struct snapshot *s)
{
	stands_clear(&s->stands);
	hash_clear(&s->index);
	free(s->threads);
	free(s->rises);
	*s = (struct snapshot){0};
}

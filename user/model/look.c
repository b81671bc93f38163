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

/* --- who ended ------------------------------------------------------------------------------- */

static bool equal_tgid(const void *owner, uint32_t row, const void *key)
{
	return ((const struct look_gone *)owner)->rows[row].tgid == *(const uint32_t *)key;
}

static const struct look_gone_row *find_gone(const struct look_gone *g, uint32_t tgid)
{
	uint32_t row = hash_find(&g->index, hash_u64(tgid), equal_tgid, g, &tgid);

	return row == HASH_NONE ? NULL : &g->rows[row];
}

/* Its row, made where there is none; NULL without memory. */
static struct look_gone_row *gone_row(struct look_gone *g, uint32_t tgid)
{
	struct look_gone_row *row = (struct look_gone_row *)find_gone(g, tgid);

	if (row)
		return row;
	if (GROW(g->rows, g->cnt, g->cap) || hash_add(&g->index, hash_u64(tgid), (uint32_t)g->cnt))
		return NULL;
	g->rows[g->cnt] = (struct look_gone_row){.tgid = tgid};
	return &g->rows[g->cnt++];
}

/* A process that is gone, with all that was counted of it, is its parent's now. */
static int hand_up(struct look_gone *g, const struct event_counts *leader)
{
	const struct look_gone_row *own = find_gone(g, leader->tgid);
	uint64_t ns = leader->ended_ns + leader->children_ns + (own ? own->threads_ns : 0);
	struct look_gone_row *parent = gone_row(g, leader->parent_tgid);

	if (!parent)
		return -ENOMEM;
	parent->children_ns += ns;
	return 0;
}

int look_gone(const struct look *before, const struct look *after, struct look_gone *ret_gone)
{
	struct look_gone *g = ret_gone;

	for (size_t i = 0; i < before->cnt; i++) {
		struct look_gone_row *row;

		if (find(after, &before->rows[i]))
			continue;
		row = gone_row(g, before->rows[i].tgid);
		if (!row)
			return -ENOMEM;
		row->threads_ns += before->rows[i].ran_ns;
		g->threads++;
	}
	for (size_t i = 0; i < before->cnt; i++) {
		const struct event_counts *c = &before->rows[i];

		if (c->tid == c->tgid && !find(after, c) && hand_up(g, c))
			return -ENOMEM;
	}
	return 0;
}

void look_gone_clear(struct look_gone *g)
{
	free(g->rows);
	hash_clear(&g->index);
	*g = (struct look_gone){0};
}

struct look_ended look_ended(const struct look *before, const struct look_gone *gone,
			     const struct event_counts *now)
{
	const struct event_counts *was = find(before, now);
	const struct look_gone_row *left = find_gone(gone, now->tgid);
	uint64_t ended_ns = now->ended_ns, children_ns = now->children_ns;

	if (was) {
		ended_ns = rise_of(ended_ns, was->ended_ns);
		children_ns = rise_of(children_ns, was->children_ns);
	}
	return (struct look_ended){rise_of(ended_ns, left ? left->threads_ns : 0),
				   rise_of(children_ns, left ? left->children_ns : 0)};
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/contention.h"

#include <errno.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/grow.h"

static bool same_pair(const void *owner, uint32_t row, const void *key)
{
	const struct contention_pair *a = &((const struct contention *)owner)->pairs[row], *b = key;

	return a->runner == b->runner && a->waiter == b->waiter;
}

static int add_pair(struct contention *c, size_t *cap, struct hash_index *index,
		    const struct model_contention *row)
{
	struct contention_pair pair = {row->runner, row->waiter, row->weight};
	uint64_t hash = hash_pair(pair.runner, pair.waiter);
	uint32_t found = hash_find(index, hash, same_pair, c, &pair);
	int err;

	if (found != HASH_NONE) {
		c->pairs[found].weight += pair.weight;
		return 0;
	}
	if (c->pairs_cnt >= HASH_NONE)
		return -ENOMEM;
	err = GROW(c->pairs, c->pairs_cnt, *cap);
	if (!err)
		err = hash_add(index, hash, (uint32_t)c->pairs_cnt);
	if (!err)
		c->pairs[c->pairs_cnt++] = pair;
	return err;
}

/* Those that could not be told come after all others. */
static int compare_processes(const struct model *m, uint32_t a, uint32_t b)
{
	if (a != MODEL_NONE && b != MODEL_NONE && m->processes[a].tgid != m->processes[b].tgid)
		return m->processes[a].tgid > m->processes[b].tgid ? 1 : -1;
	return COMPARE(a, b);
}

static int compare_pairs(const void *a, const void *b, void *arg)
{
	const struct contention_pair *pa = a, *pb = b;
	int c = COMPARE(pb->weight, pa->weight);

	if (!c)
		c = compare_processes(arg, pa->runner, pb->runner);
	return c ? c : compare_processes(arg, pa->waiter, pb->waiter);
}

struct contention *contention_new(const struct model *m)
{
	struct contention *c = calloc(1, sizeof(*c));
	struct hash_index index = {0};
	size_t cap = 0;
	int err = c ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < m->contentions_cnt; i++)
		err = add_pair(c, &cap, &index, &m->contentions[i]);
	hash_clear(&index);
	if (err) {
		contention_free(c);
		errno = ENOMEM;
		return NULL;
	}
	if (c->pairs_cnt)
		qsort_r(c->pairs, c->pairs_cnt, sizeof(*c->pairs), compare_pairs, (void *)m);
	for (size_t i = 0; i < c->pairs_cnt; i++) {
		const struct contention_pair *pair = &c->pairs[i];

		c->weight += pair->weight;
		if (pair->waiter != MODEL_NONE && pair->waiter != pair->runner)
			c->behind_others += pair->weight;
	}
	return c;
}

void contention_free(struct contention *c)
{
	if (!c)
		return;
	free(c->pairs);
	free(c);
}

static int add_row(struct contention_list *list, size_t *cap, uint32_t process, uint64_t weight)
{
	if (GROW(list->rows, list->rows_cnt, *cap))
		return -ENOMEM;
	list->rows[list->rows_cnt++] = (struct contention_row){process, weight};
	list->weight += weight;
	return 0;
}

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct contention_row *ra = a, *rb = b;
	int c = COMPARE(rb->weight, ra->weight);

	return c ? c : compare_processes(arg, ra->process, rb->process);
}

/* The other ends of the pairs that have process at one end. */
static int list_others(const struct contention *c, const struct model *m, uint32_t process,
		       bool waits, struct contention_list *ret_list)
{
	struct contention_list list = {0};
	size_t cap = 0;

	for (size_t i = 0; i < c->pairs_cnt; i++) {
		const struct contention_pair *pair = &c->pairs[i];
		uint32_t one = waits ? pair->waiter : pair->runner;
		uint32_t other = waits ? pair->runner : pair->waiter;

		if (one != process || other == process)
			continue;
		if (add_row(&list, &cap, other, pair->weight)) {
			contention_list_clear(&list);
			return -ENOMEM;
		}
	}
	if (list.rows_cnt)
		qsort_r(list.rows, list.rows_cnt, sizeof(*list.rows), compare_rows, (void *)m);
	*ret_list = list;
	return 0;
}

int contention_aggressors(const struct contention *c, const struct model *m, uint32_t waiter,
			  struct contention_list *ret_list)
{
	return list_others(c, m, waiter, true, ret_list);
}

int contention_victims(const struct contention *c, const struct model *m, uint32_t runner,
		       struct contention_list *ret_list)
{
	return list_others(c, m, runner, false, ret_list);
}

void contention_list_clear(struct contention_list *list)
{
	free(list->rows);
	*list = (struct contention_list){0};
}

int contention_estimate_own(const struct contention *c, const struct model *m, struct sched *s)
{
	uint64_t *all = calloc(m->processes_cnt + 1, sizeof(*all));
	uint64_t *own = calloc(m->processes_cnt + 1, sizeof(*own));
	int err = all && own ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < c->pairs_cnt; i++) {
		const struct contention_pair *pair = &c->pairs[i];

		if (pair->waiter == MODEL_NONE)
			continue;
		all[pair->waiter] += pair->weight;
		if (pair->runner == pair->waiter)
			own[pair->waiter] += pair->weight;
	}
	for (size_t i = 0; !err && i < m->processes_cnt; i++) {
		struct sched_figures *f = &s->processes[i].sched;

		if (own[i] && (!s->own_unknown || s->own_unknown[i]))
			f->behind_own_ns =
				(uint64_t)((double)f->waited_ns * (double)own[i] / (double)all[i]);
	}
	free(all);
	free(own);
	return err;
}

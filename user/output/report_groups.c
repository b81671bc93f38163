/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes share a row. What would only fill the screen is one row: the kernel's threads,
 * and processes of one name that each take little (two thousand short-lived shells, the backends
 * of a database).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "output/report_groups.h"

#define BIG_SHARE 0.05 /* of all CPU time: such a process always has a row of its own */

void groups_clear(struct groups *g)
{
	free(g->rows);
	hash_clear(&g->index);
	*g = (struct groups){0};
}

/* Where stacks were limited, those that were asked for are told first and apart. */
static bool is_selected(const struct model *m, const struct total_process *p)
{
	return m->host.filter[0] &&
	       (m->processes[p->process].flags & PROCESS_SELECTED || p->samples);
}

bool groups_alike(const struct model_process *a, const struct model_process *b)
{
	if ((a->flags | b->flags) & PROCESS_KERNEL)
		return a->flags & b->flags & PROCESS_KERNEL;
	return a->name == b->name && a->unit == b->unit && a->container == b->container &&
	       (a->flags & PROCESS_SELF) == (b->flags & PROCESS_SELF);
}

uint64_t groups_hash(const struct model_process *p)
{
	if (p->flags & PROCESS_KERNEL)
		return 1;
	return hash_pair(hash_pair((uintptr_t)p->name, (uintptr_t)p->unit),
			 (uintptr_t)p->container);
}

struct group_key {
	const struct model_process *process;
	bool selected;
};

static bool same_label(const void *owner, uint32_t row, const void *key)
{
	const struct groups *g = owner;
	const struct group_key *k = key;

	return g->rows[row].selected == k->selected &&
	       groups_alike(&g->m->processes[g->rows[row].process], k->process);
}

/* Finds the row that the process joins, or adds one. Big ones are not found by others. */
static int group_get(struct groups *g, const struct group_key *key, uint32_t process, bool big,
		     struct group_row **ret_row)
{
	uint32_t row = HASH_NONE;
	int err;

	if (!big)
		row = hash_find(&g->index, groups_hash(key->process), same_label, g, key);
	if (row == HASH_NONE) {
		err = GROW(g->rows, g->rows_cnt, g->rows_cap);
		row = (uint32_t)g->rows_cnt;
		if (!err && !big)
			err = hash_add(&g->index, groups_hash(key->process), row);
		if (err)
			return err;
		g->rows[g->rows_cnt++] = (struct group_row){
			.process = process,
			.kernel = !big && key->process->flags & PROCESS_KERNEL,
			.selected = key->selected,
		};
	}
	*ret_row = &g->rows[row];
	return 0;
}

static int add_process(struct groups *g, const struct totals *t, const struct total_process *p)
{
	const struct model_process *process = &g->m->processes[p->process];
	struct group_key key = {process, is_selected(g->m, p)};
	bool big = p->on_cpu_ns && (double)p->on_cpu_ns >= BIG_SHARE * (double)t->on_cpu_ns;
	struct group_row *row;
	int err;

	err = group_get(g, &key, p->process, big, &row);
	if (err)
		return err;
	row->cnt++;
	row->threads += p->threads;
	row->threads_ran += p->threads_ran;
	row->on_cpu_ns += p->on_cpu_ns;
	row->samples += p->samples;
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct group_row *ra = a, *rb = b;

	if (ra->selected != rb->selected)
		return ra->selected ? -1 : 1;
	if (ra->on_cpu_ns != rb->on_cpu_ns)
		return ra->on_cpu_ns < rb->on_cpu_ns ? 1 : -1;
	if (ra->samples != rb->samples)
		return ra->samples < rb->samples ? 1 : -1;
	return (ra->process > rb->process) - (ra->process < rb->process);
}

int groups_ran(struct groups *g, const struct model *m, const struct totals *t)
{
	int err = 0;

	*g = (struct groups){.m = m};
	for (size_t i = 0; !err && i < t->processes_cnt; i++) {
		const struct total_process *p = &t->processes[i];
		bool kernel = m->processes[p->process].flags & PROCESS_KERNEL;

		if (!p->on_cpu_ns && !p->samples && !kernel && !is_selected(m, p))
			g->idle++;
		else
			err = add_process(g, t, p);
	}
	if (!err && g->rows_cnt)
		qsort(g->rows, g->rows_cnt, sizeof(*g->rows), compare_rows);
	hash_clear(&g->index);
	while (g->selected_cnt < g->rows_cnt && g->rows[g->selected_cnt].selected)
		g->selected_cnt++;
	if (err)
		groups_clear(g);
	return err;
}

size_t groups_shown(const struct groups *g)
{
	size_t most = g->m->host.filter[0] ? g->selected_cnt : g->rows_cnt, n = 0;

	while (n < most && n < GROUPS_SHOWN &&
	       (g->rows[n].selected || g->rows[n].on_cpu_ns || g->rows[n].samples))
		n++;
	return n;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes share a row. What would only fill the screen is one row: the kernel's threads,
 * and processes of one name that each take little (two thousand short-lived shells, the backends
 * of a database).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/grow.h"
#include "model/workload.h"
#include "output/report_groups.h"
#include "model/sched_figures.h"

#define BIG_SHARE 0.05 /* of all CPU time: such a process always has a row of its own */

void groups_clear(struct groups *g)
{
	free(g->rows);
	free(g->row_of);
	free(g->workloads);
	hash_clear(&g->index);
	*g = (struct groups){0};
}

/* Where stacks were limited, those that were asked for are told first and apart. */
static bool is_selected(const struct model *m, const struct total_process *p)
{
	return m->host.filter[0] &&
	       (m->processes[p->process].flags & PROCESS_SELECTED || p->samples);
}

static bool are_own_alike(const struct model *m, const struct model_process *a,
			  const struct model_process *b)
{
	return model_is_own(m, (uint32_t)(a - m->processes)) ==
	       model_is_own(m, (uint32_t)(b - m->processes));
}

bool groups_alike(const struct model *m, const struct model_process *a,
		  const struct model_process *b)
{
	if ((a->flags | b->flags) & PROCESS_KERNEL)
		return a->flags & b->flags & PROCESS_KERNEL;
	return a->name == b->name && a->unit == b->unit && a->container == b->container &&
	       are_own_alike(m, a, b);
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
	const char *workload; /* NULL = not by it */
	bool selected;
};

static bool same_label(const void *owner, uint32_t row, const void *key)
{
	const struct groups *g = owner;
	const struct group_key *k = key;
	uint32_t first = g->rows[row].process;

	if (g->rows[row].selected != k->selected)
		return false;
	if (k->workload)
		return g->workloads[first] == k->workload &&
		       are_own_alike(g->m, &g->m->processes[first], k->process);
	return groups_alike(g->m, &g->m->processes[first], k->process);
}

static uint64_t hash_of(const struct group_key *key)
{
	return key->workload ? hash_u64((uintptr_t)key->workload) : groups_hash(key->process);
}

/* Finds the row that the process joins, or adds one. Big ones are not found by others. */
static int group_get(struct groups *g, const struct group_key *key, uint32_t process, bool big,
		     struct group_row **ret_row)
{
	uint32_t row = HASH_NONE;
	int err;

	if (!big)
		row = hash_find(&g->index, hash_of(key), same_label, g, key);
	if (row == HASH_NONE) {
		err = GROW(g->rows, g->rows_cnt, g->rows_cap);
		row = (uint32_t)g->rows_cnt;
		if (!err && !big)
			err = hash_add(&g->index, hash_of(key), row);
		if (err)
			return err;
		g->rows[g->rows_cnt++] = (struct group_row){
			.process = process,
			.kernel = !big && key->process->flags & PROCESS_KERNEL,
			.selected = key->selected,
			.built = row,
		};
	}
	*ret_row = &g->rows[row];
	return 0;
}

/* The first that are hurt. */
struct hurt {
	uint32_t processes[GROUPS_HURT];
	size_t cnt;
};

static struct hurt hurt_of(const struct verdicts *v)
{
	struct hurt hurt = {.cnt = 0};

	for (size_t i = 0; i < v->rows_cnt && hurt.cnt < GROUPS_HURT; i++)
		if (verdicts_result(&v->rows[i])->hurt)
			hurt.processes[hurt.cnt++] = v->rows[i].process;
	return hurt;
}

static bool is_hurt(const struct hurt *hurt, uint32_t process)
{
	for (size_t i = 0; i < hurt->cnt; i++)
		if (hurt->processes[i] == process)
			return true;
	return false;
}

static int add_process(struct groups *g, const struct totals *t, const struct total_process *p,
		       const struct sched *sched, bool hurt)
{
	const struct model_process *process = &g->m->processes[p->process];
	struct group_key key = {
		.process = process,
		.workload = g->workloads ? g->workloads[p->process] : NULL,
		.selected = is_selected(g->m, p),
	};
	bool big = !key.workload &&
		   (hurt ||
		    (p->on_cpu_ns && (double)p->on_cpu_ns >= BIG_SHARE * (double)t->on_cpu_ns));
	struct group_row *row;
	int err;

	err = group_get(g, &key, p->process, big, &row);
	if (err)
		return err;
	row->cnt++;
	row->hurt |= hurt;
	row->threads += p->threads;
	row->threads_ran += p->threads_ran;
	row->on_cpu_ns += p->on_cpu_ns;
	row->samples += p->samples;
	if (sched)
		sched_figures_add(&row->sched, &sched->processes[p->process].sched);
	g->row_of[p->process] = (uint32_t)(row - g->rows);
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
	return COMPARE(ra->process, rb->process);
}

bool groups_waited(const struct sched *sched, const struct sched_figures *figures)
{
	const struct sched_figures *host = &sched->host.sched;
	uint64_t lost_ns = figures->waited_ns + figures->throttled_ns;

	if (sched_mean(lost_ns, sched->elapsed_ns) < 0.01 ||
	    lost_ns < (host->waited_ns + host->throttled_ns) / 100)
		return false;
	return sched_progress(figures) < 0.8 ||
	       sched_mean(figures->waited_ns, sched->elapsed_ns) >= 0.1 ||
	       figures->throttled_ns >= sched_wanted_ns(figures) / 10;
}

static uint64_t lost_ns(const struct group_row *row)
{
	return row->sched.waited_ns + row->sched.throttled_ns;
}

/* Brings that row up behind those shown. */
static void bring_up(struct groups *g, size_t at)
{
	struct group_row row = g->rows[at];

	memmove(&g->rows[g->shown + 1], &g->rows[g->shown], (at - g->shown) * sizeof(row));
	g->rows[g->shown++] = row;
}

static void bring_up_hurt(struct groups *g, size_t most)
{
	for (size_t i = g->shown; i < most; i++)
		if (g->rows[i].hurt)
			bring_up(g, i);
}

/* Who starves runs little, and would stand far down. */
static void bring_up_waiting(struct groups *g, size_t most, const struct sched *sched)
{
	size_t from = g->shown;

	while (g->shown < from + GROUPS_WAITING) {
		size_t best = most;

		for (size_t i = g->shown; i < most; i++)
			if (groups_waited(sched, &g->rows[i].sched) &&
			    (best == most || lost_ns(&g->rows[i]) > lost_ns(&g->rows[best])))
				best = i;
		if (best == most)
			break;
		bring_up(g, best);
	}
}

static void order_rows(struct groups *g, const struct sched *sched)
{
	size_t most, from;

	qsort(g->rows, g->rows_cnt, sizeof(*g->rows), compare_rows);
	while (g->selected_cnt < g->rows_cnt && g->rows[g->selected_cnt].selected)
		g->selected_cnt++;
	most = g->m->host.filter[0] ? g->selected_cnt : g->rows_cnt;
	while (g->shown < most && g->shown < GROUPS_SHOWN &&
	       (g->rows[g->shown].selected || g->rows[g->shown].on_cpu_ns ||
		g->rows[g->shown].samples))
		g->shown++;
	from = g->shown;
	bring_up_hurt(g, most);
	if (sched)
		bring_up_waiting(g, most, sched);
	qsort(g->rows + from, g->shown - from, sizeof(*g->rows), compare_rows);
}

/* Rows have moved from where row_of knows them: each remembers that in the builder's mark. */
static int follow_rows(struct groups *g)
{
	uint32_t *at = calloc(g->rows_cnt + 1, sizeof(*at));

	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < g->rows_cnt; i++)
		at[g->rows[i].built] = (uint32_t)i;
	for (size_t i = 0; i < g->m->processes_cnt; i++)
		if (g->row_of[i] != MODEL_NONE)
			g->row_of[i] = at[g->row_of[i]];
	free(at);
	return 0;
}

static bool is_idle(const struct groups *g, const struct total_process *p,
		    const struct sched *sched)
{
	if (p->on_cpu_ns || p->samples || is_selected(g->m, p) ||
	    g->m->processes[p->process].flags & PROCESS_KERNEL)
		return false;
	return !sched || !sched_wanted_ns(&sched->processes[p->process].sched);
}

int groups_ran(struct groups *g, struct model *m, const struct totals *t, const struct sched *sched,
	       const struct verdicts *verdicts, bool by_workload)
{
	const struct hurt hurt = hurt_of(verdicts);
	int err;

	*g = (struct groups){.m = m};
	g->row_of = calloc(m->processes_cnt + 1, sizeof(*g->row_of));
	if (!g->row_of)
		return -ENOMEM;
	for (size_t i = 0; i < m->processes_cnt; i++)
		g->row_of[i] = MODEL_NONE;
	g->workloads = by_workload ? workloads_new(m) : NULL;
	err = by_workload && !g->workloads ? -ENOMEM : 0;
	for (size_t i = 0; !err && i < t->processes_cnt; i++) {
		if (is_idle(g, &t->processes[i], sched))
			g->idle++;
		else
			err = add_process(g, t, &t->processes[i], sched,
					  is_hurt(&hurt, t->processes[i].process));
	}
	hash_clear(&g->index);
	if (!err && g->rows_cnt) {
		order_rows(g, sched);
		err = follow_rows(g);
	}
	if (err)
		groups_clear(g);
	return err;
}

static void sum_add(struct sched_sum *sum, const struct sched_sum *by)
{
	sched_figures_add(&sum->sched, &by->sched);
	for (int i = 0; i < DELAY_SLOTS; i++)
		sum->delays[i] += by->delays[i];
	if (by->delay_max_ns > sum->delay_max_ns)
		sum->delay_max_ns = by->delay_max_ns;
	sum->threads += by->threads;
}

struct sched_sum groups_sum(const struct groups *g, const struct sched *sched,
			    const struct group_row *row)
{
	uint32_t at = (uint32_t)(row - g->rows);
	struct sched_sum sum = {0};

	for (size_t i = 0; i < g->m->processes_cnt; i++)
		if (g->row_of[i] == at)
			sum_add(&sum, &sched->processes[i]);
	return sum;
}

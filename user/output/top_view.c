/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/top_view.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"
#include "model/paths.h"
#include "model/share.h"

/* --- hottest methods ------------------------------------------------------------------------- */

struct vote {
	uint32_t row, symbol;
};

static int by_row(const void *a, const void *b)
{
	const struct vote *x = a, *y = b;
	int c = COMPARE(x->row, y->row);

	return c ? c : COMPARE(x->symbol, y->symbol);
}

/* The application's method nearest to the leaf, else the leaf; MODEL_NONE without any. */
static uint32_t vote_of(const struct paths *p)
{
	uint32_t leaf = MODEL_NONE;

	for (size_t i = p->methods_cnt; i-- > 0;) {
		const struct model_symbol *s = &p->m->symbols[p->methods[i]];

		if (s->kind == KIND_NOTE)
			continue;
		if (s->application)
			return p->methods[i];
		if (leaf == MODEL_NONE)
			leaf = p->methods[i];
	}
	return leaf;
}

/* Whether the votes say enough to name it. */
static bool stands_out(const struct top_hot *hot)
{
	return hot->symbol != MODEL_NONE && hot->of >= TOP_MIN_SAMPLES &&
	       share_of(hot->samples, hot->of) >= 2 * share_error(hot->samples, hot->of);
}

/* Sorts the votes. 0 or -ENOMEM. */
static int count_votes(struct vote *votes, size_t votes_cnt, struct top_hots *ret_hots)
{
	struct top_hots hots = {0};
	size_t cap = 0;

	if (votes_cnt)
		qsort(votes, votes_cnt, sizeof(*votes), by_row);
	for (size_t i = 0; i < votes_cnt;) {
		struct top_hot hot = {.row = votes[i].row, .symbol = MODEL_NONE};

		while (i < votes_cnt && votes[i].row == hot.row) {
			uint32_t symbol = votes[i].symbol;
			uint64_t cnt = 0;

			for (;
			     i < votes_cnt && votes[i].row == hot.row && votes[i].symbol == symbol;
			     i++)
				cnt++;
			hot.of += cnt;
			if (symbol == MODEL_NONE || cnt <= hot.samples)
				continue;
			hot.samples = cnt;
			hot.symbol = symbol;
		}
		if (!stands_out(&hot))
			hot.symbol = MODEL_NONE;
		if (GROW(hots.rows, hots.cnt, cap)) {
			free(hots.rows);
			return -ENOMEM;
		}
		hots.rows[hots.cnt++] = hot;
	}
	*ret_hots = hots;
	return 0;
}

static int find_hot(struct top_view *v, struct model *m)
{
	_cleanup_free_ struct vote *processes = calloc(m->samples_cnt + 1, sizeof(*processes));
	_cleanup_free_ struct vote *threads = calloc(m->samples_cnt + 1, sizeof(*threads));
	struct paths p = {0};
	size_t cnt = 0;
	int err;

	if (!processes || !threads)
		return -ENOMEM;
	err = paths_begin(&p, m, MODEL_NONE, PATHS_FOLD_UNNAMED);
	for (; !err && paths_next(&p); cnt++) {
		uint32_t symbol = vote_of(&p);

		processes[cnt] = (struct vote){m->threads[p.thread].process, symbol};
		threads[cnt] = (struct vote){p.thread, symbol};
	}
	paths_end(&p);
	if (!err)
		err = count_votes(processes, cnt, &v->hot_processes);
	if (!err)
		err = count_votes(threads, cnt, &v->hot_threads);
	return err;
}

static int by_hot_row(const void *key, const void *element)
{
	uint32_t row = *(const uint32_t *)key;
	const struct top_hot *hot = element;

	return COMPARE(row, hot->row);
}

const struct top_hot *top_view_hot(const struct top_view *v, size_t i)
{
	const struct top_hots *hots =
		v->process == MODEL_NONE ? &v->hot_processes : &v->hot_threads;

	if (!hots->cnt)
		return NULL;
	return bsearch(&v->rows[i], hots->rows, hots->cnt, sizeof(*hots->rows), by_hot_row);
}

/* --- the slice ------------------------------------------------------------------------------- */

static void sum_host(struct top_view *v)
{
	const struct model *m = v->m;

	for (size_t i = 0; i < m->cpus_cnt; i++) {
		v->cpus += m->cpus[i].elapsed_ns && m->cpus[i].slice + 1 == m->slices_cnt;
		v->cpu_elapsed_ns += m->cpus[i].elapsed_ns;
		v->busy_ns += m->cpus[i].accounted_ns + m->cpus[i].unaccounted_ns;
		v->unaccounted_ns += m->cpus[i].unaccounted_ns;
		v->steal_ns += m->cpus[i].steal_ns;
		v->switches += m->cpus[i].switches;
	}
	for (size_t i = 0; i < m->losses_cnt; i++)
		if (m->losses[i].cause < LOSS_CAUSE_CNT)
			v->losses[m->losses[i].cause] += m->losses[i].count;
	if (m->slices_cnt) {
		const struct model_slice *last = &m->slices[m->slices_cnt - 1];

		v->time_s = ((int64_t)last->end_ns + last->wall_offset_ns) / 1000000000;
	}
}

/* 0 or -ENOMEM. */
static int sum_requests(struct top_view *v)
{
	const struct model *m = v->m;

	if (model_off(m) & OFF_REQUESTS)
		return 0;
	v->requests = requests_new(m);
	v->serves = calloc(m->processes_cnt + 1, sizeof(*v->serves));
	if (!v->requests || !v->serves)
		return -ENOMEM;
	for (size_t i = 0; i < m->endpoints_cnt; i++) {
		const struct requests_sum *s = &v->requests->endpoints[i];

		if (s->served.answered || s->open)
			v->serves[m->endpoints[i].process] = true;
	}
	return 0;
}

/* Each process that wanted CPU or serves, by the figures of this slice. 0 or -ENOMEM. */
static int judge(struct top_view *v, const struct verdict_policy *policy)
{
	struct totals *totals = totals_new(v->m);
	struct books books;

	v->judged = malloc((v->processes_cnt + 1) * sizeof(*v->judged));
	if (totals && v->judged) {
		/* Threads have their figures since the recording's start, the books of CPUs
		 * those of the slice. */
		totals->on_cpu_ns = v->sched->host.sched.on_cpu_ns;
		books = books_of(v->m, totals);
		v->verdicts = verdicts_new(&(struct verdict_sources){
			.m = v->m,
			.totals = totals,
			.books = &books,
			.sched = v->sched,
			.requests = v->requests,
			.policy = policy,
			.all = true,
		});
	}
	totals_free(totals);
	if (!v->verdicts)
		return -ENOMEM;
	for (size_t i = 0; i < v->processes_cnt; i++)
		v->judged[i] = MODEL_NONE;
	for (size_t i = 0; i < v->verdicts->rows_cnt; i++)
		v->judged[v->verdicts->rows[i].process] = (uint32_t)i;
	return 0;
}

struct top_view *top_view_new(struct model *m, const struct verdict_policy *policy)
{
	struct top_view *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->m = m;
	v->processes_cnt = m->processes_cnt;
	v->threads_cnt = m->threads_cnt;
	v->sched = sched_new(m);
	if (!v->sched || sum_requests(v) || judge(v, policy) || find_hot(v, m) ||
	    top_view_arrange(v, MODEL_NONE, TOP_BY_CPU)) {
		top_view_free(v);
		errno = ENOMEM;
		return NULL;
	}
	v->elapsed_ns = v->sched->elapsed_ns;
	sum_host(v);
	return v;
}

void top_view_free(struct top_view *v)
{
	if (!v)
		return;
	sched_free(v->sched);
	requests_free(v->requests);
	free(v->serves);
	verdicts_free(v->verdicts);
	free(v->judged);
	free(v->hot_processes.rows);
	free(v->hot_threads.rows);
	free(v->rows);
	free(v);
}

/* --- rows ------------------------------------------------------------------------------------ */

static const struct sched_sum *sum_of(const struct top_view *v, uint32_t row)
{
	return v->process == MODEL_NONE ? &v->sched->processes[row] : &v->sched->threads[row];
}

const struct sched_sum *top_view_sum(const struct top_view *v, size_t i)
{
	return sum_of(v, v->rows[i]);
}

static const struct requests_sum *requests_of(const struct top_view *v, uint32_t row)
{
	return v->process == MODEL_NONE && v->serves && v->serves[row]
		       ? &v->requests->processes[row]
		       : NULL;
}

const struct requests_sum *top_view_requests(const struct top_view *v, size_t i)
{
	return requests_of(v, v->rows[i]);
}

static const struct verdict_result *verdict_row(const struct top_view *v, uint32_t row)
{
	if (v->process != MODEL_NONE || v->judged[row] == MODEL_NONE)
		return NULL;
	return verdicts_result(&v->verdicts->rows[v->judged[row]]);
}

const struct verdict_result *top_view_verdict(const struct top_view *v, size_t i)
{
	return verdict_row(v, v->rows[i]);
}

/* Stuck requests, then the slow share in thousandths as it is shown; who serves stands before
 * who does not. */
static uint64_t slowness(const struct requests_sum *s)
{
	if (!s)
		return 0;
	return ((uint64_t)s->stuck << 32) + 2 * (uint64_t)(requests_slow_share(s) * 1000 + 0.5) + 1;
}

static uint64_t figure_of(const struct top_view *v, uint32_t row, enum top_order order)
{
	const struct sched_figures *s = &sum_of(v, row)->sched;

	switch (order) {
	case TOP_BY_WAITING:
		return s->waited_ns;
	case TOP_BY_SWITCHES:
		return s->voluntary + s->involuntary;
	default:
		return s->on_cpu_ns;
	}
}

/* The figure as it is shown: hundredths of a thread, switches a second; both rounded. */
static uint64_t shown(const struct top_view *v, uint32_t row, enum top_order order)
{
	uint64_t figure = figure_of(v, row, order);
	double mean = sched_mean(figure, v->sched->elapsed_ns);

	if (order == TOP_BY_SLOW)
		return slowness(requests_of(v, row));
	return (uint64_t)(mean * (order == TOP_BY_SWITCHES ? 1e9 : 100) + 0.5);
}

static int by_verdict(const struct top_view *v, uint32_t x, uint32_t y)
{
	const struct verdict_result *a = verdict_row(v, x), *b = verdict_row(v, y);
	int c = COMPARE(b != NULL, a != NULL);

	if (!c && a)
		c = verdict_compare(a->verdict, b->verdict);
	return c ? c : COMPARE(shown(v, y, TOP_BY_CPU), shown(v, x, TOP_BY_CPU));
}

static int by_figure(const void *a, const void *b, void *view)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct top_view *v = view;
	/* Who ran nearly nothing stands by what it waited: the starved must not be last. */
	int c = v->order == TOP_BY_VERDICT ? by_verdict(v, x, y)
					   : COMPARE(shown(v, y, v->order), shown(v, x, v->order));

	if (!c)
		c = COMPARE(shown(v, y, TOP_BY_WAITING), shown(v, x, TOP_BY_WAITING));
	if (!c)
		c = COMPARE(figure_of(v, y, TOP_BY_CPU), figure_of(v, x, TOP_BY_CPU));
	return c ? c : COMPARE(x, y);
}

int top_view_arrange(struct top_view *v, uint32_t process, enum top_order order)
{
	size_t all = process == MODEL_NONE ? v->processes_cnt : v->threads_cnt, cap = 0;

	free(v->rows);
	v->rows = NULL;
	v->rows_cnt = 0;
	v->process = process;
	v->order = process != MODEL_NONE && order >= TOP_BY_SLOW ? TOP_BY_CPU : order;
	for (uint32_t i = 0; i < all; i++) {
		if (process != MODEL_NONE && v->m->threads[i].process != process)
			continue;
		if (!sched_wanted_ns(&sum_of(v, i)->sched) && !requests_of(v, i))
			continue;
		if (GROW(v->rows, v->rows_cnt, cap))
			return -ENOMEM;
		v->rows[v->rows_cnt++] = i;
	}
	if (v->rows_cnt)
		qsort_r(v->rows, v->rows_cnt, sizeof(*v->rows), by_figure, v);
	return 0;
}

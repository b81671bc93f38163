/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the scheduler gave to the host and to each row of processes, in two tables. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "output/report_internal.h"

/* A line of the tables: a row of processes, or the whole host. */
struct line {
	const struct group_row *row; /* NULL = the host */
	struct sched_sum sum;
};

struct lines {
	struct line *lines; /* the host, then most wanted first */
	size_t lines_cnt;
	size_t more; /* rows that did not fit */
};

static int compare_wanted(const void *a, const void *b)
{
	const struct group_row *ra = *(const struct group_row *const *)a;
	const struct group_row *rb = *(const struct group_row *const *)b;
	uint64_t wa = sched_wanted_ns(&ra->sched), wb = sched_wanted_ns(&rb->sched);

	if (wa != wb)
		return wa < wb ? 1 : -1;
	return COMPARE(ra, rb);
}

static int lines_build(const struct report *r, struct lines *l)
{
	const struct groups *g = &r->groups;
	_cleanup_free_ const struct group_row **rows = calloc(g->rows_cnt + 1, sizeof(*rows));
	size_t cnt = 0;

	l->lines = calloc(r->o.rows + 1, sizeof(*l->lines));
	if (!rows || !l->lines)
		return -ENOMEM;
	for (size_t i = 0; i < g->rows_cnt; i++)
		if (sched_wanted_ns(&g->rows[i].sched))
			rows[cnt++] = &g->rows[i];
	qsort(rows, cnt, sizeof(*rows), compare_wanted);
	l->lines[l->lines_cnt++].sum = r->sched->host;
	for (size_t i = 0; i < cnt && i < r->o.rows; i++)
		l->lines[l->lines_cnt++] = (struct line){rows[i], groups_sum(g, r->sched, rows[i])};
	l->more = cnt + 1 - l->lines_cnt;
	return 0;
}

static const struct column wanted_columns[] = {
	{&figure_wanted, .width = 7},	{&figure_running, .width = 8},
	{&figure_waiting, .width = 8},	{&figure_throttled, .width = 10, .when = WITH_THROTTLED},
	{&figure_progress, .width = 9}, {&figure_uninterruptible, .width = 6},
	{&figure_slice, .width = 9},	REPORT_WHO,
};

static const struct column switch_columns[] = {
	{&figure_delay_p50, .width = 8},
	{&figure_delay_p99, .width = 9},
	{&figure_delay_max, .width = 9},
	{&figure_voluntary, .width = 8},
	{&figure_involuntary, .width = 9},
	{&figure_migrations, .width = 8},
	REPORT_WHO,
};

static void put_lines(const struct report *r, const struct lines *l, const struct table *t)
{
	table_put_titles(r->out, t);
	for (size_t i = 0; i < l->lines_cnt; i++) {
		struct subject s = report_subject(r, l->lines[i].row, &l->lines[i].sum);

		table_put_row(r->out, t, &s);
	}
	table_put_more(r->out, t, l->more);
}

static void lines_clear(struct lines *l)
{
	free(l->lines);
}

int report_sched(const struct report *r)
{
	_cleanup_(lines_clear) struct lines l = {0};
	bool quiet = model_off(r->m) & OFF_SWITCHES;
	struct table t;
	int err;

	if (!r->sched) {
		put_heading(r, "scheduler");
		put_spaces(r, 2);
		fputs("n/a: ", r->out);
		put_words(r, report_waits_off(r), 7, 2);
		return model_off(r->m) & OFF_SWITCHES ? report_cgroup_limits(r) : 0;
	}
	err = lines_build(r, &l);
	if (err)
		return err;
	put_heading(r, quiet ? "scheduler: CPU wanted and given, in mean threads (as the kernel "
			       "counts it; throttled is estimated)"
		       : r->m->slices_quiet
			       ? "scheduler: CPU wanted and given, in mean threads (exact; in the "
				 "quiet gear as the kernel counts it)"
			       : "scheduler: CPU wanted and given, in mean threads (exact)");
	TABLE_OF(&t, wanted_columns, r, report_when(r));
	put_lines(r, &l, &t);
	put_heading(r, quiet ? "scheduler: switches and migrations a second (as the kernel counts "
			       "them)"
		       : r->m->slices_quiet
			       ? "scheduler: run delay (of the full gear), switches and migrations "
				 "a second"
			       : "scheduler: run delay, switches and migrations a second (exact)");
	TABLE_OF(&t, switch_columns, r, report_when(r));
	put_lines(r, &l, &t);
	put_spaces(r, 2);
	put_words(r,
		  "in D: asleep and not interruptible (disk, NFS). slice: mean time on the CPU at "
		  "a time."
		  " vol: switches that gave the CPU up; invol: the CPU was taken away.",
		  2, 2);
	err = report_contention(r);
	return err ? err : report_cgroups(r);
}

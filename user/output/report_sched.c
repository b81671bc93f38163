/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the scheduler gave to the host and to each row of processes, in two tables. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
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
	bool throttled;
};

static int compare_wanted(const void *a, const void *b)
{
	const struct group_row *ra = *(const struct group_row *const *)a;
	const struct group_row *rb = *(const struct group_row *const *)b;
	uint64_t wa = sched_wanted_ns(&ra->sched), wb = sched_wanted_ns(&rb->sched);

	if (wa != wb)
		return wa < wb ? 1 : -1;
	return (ra > rb) - (ra < rb);
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
	l->throttled = report_is_some(r, r->sched->host.sched.throttled_ns);
	return 0;
}

static void put_who(const struct report *r, const struct line *line, size_t columns)
{
	put_spaces(r, 2);
	if (line->row)
		put_row_end(r, line->row, columns);
	else
		fputs("whole host\n", r->out);
}

static void put_title_end(const struct report *r, size_t columns)
{
	put_spaces(r, 2);
	put_left(r, report_row_title(r), columns);
	put_right(r, "pid", PID_COLUMNS);
	put_plain(r);
	putc('\n', r->out);
}

static void put_more(const struct report *r, const struct lines *l, size_t columns)
{
	if (l->more)
		fprintf(r->out, "%*s… %s more\n", (int)columns, "", number_count(l->more).text);
}

static void put_wanted(const struct report *r, const struct lines *l)
{
	size_t used = 7 + 8 + 8 + (l->throttled ? 10 : 0) + 9 + 6 + 9;
	size_t columns = r->o.width - used - 2 - PID_COLUMNS;

	put_heading(r, "scheduler: CPU wanted and given, in mean threads (exact)");
	put_right(r, "wanted", 7);
	put_right(r, "running", 8);
	put_right(r, "waiting", 8);
	if (l->throttled)
		put_right(r, "throttled", 10);
	put_right(r, "progress", 9);
	put_right(r, "in D", 6);
	put_right(r, "slice", 9);
	put_title_end(r, columns);
	for (size_t i = 0; i < l->lines_cnt; i++) {
		const struct sched_figures *s = &l->lines[i].sum.sched;
		uint64_t slice_ns = sched_slice_ns(s);

		put_mean(r, sched_wanted_ns(s), 7);
		put_mean(r, s->on_cpu_ns, 8);
		put_mean(r, s->waited_ns, 8);
		if (l->throttled)
			put_stopped(r, s->throttled_ns, 10);
		/* A share of nearly nothing says nothing. */
		put_right(r,
			  report_is_some(r, sched_wanted_ns(s))
				  ? number_percent(sched_progress(s)).text
				  : "-",
			  9);
		put_mean(r, s->uninterruptible_ns, 6);
		put_right(r, slice_ns ? number_time(slice_ns).text : "-", 9);
		put_who(r, &l->lines[i], columns);
	}
	put_more(r, l, used + 2);
}

static void put_switches(const struct report *r, const struct lines *l)
{
	size_t used = 8 + 9 + 9 + 8 + 9 + 8, columns = r->o.width - used - 2 - PID_COLUMNS;

	put_heading(r, "scheduler: run delay, switches and migrations a second (exact)");
	put_right(r, "p50", 8);
	put_right(r, "p99", 9);
	put_right(r, "max", 9);
	put_right(r, "vol/s", 8);
	put_right(r, "invol/s", 9);
	put_right(r, "migr/s", 8);
	put_title_end(r, columns);
	for (size_t i = 0; i < l->lines_cnt; i++) {
		const struct sched_sum *sum = &l->lines[i].sum;

		put_delay(r, sum, 0.5, 8);
		put_delay(r, sum, 0.99, 9);
		put_delay(r, sum, 1, 9);
		put_rate(r, sum->sched.voluntary, 8);
		put_rate(r, sum->sched.involuntary, 9);
		put_rate(r, sum->sched.migrations, 8);
		put_who(r, &l->lines[i], columns);
	}
	put_more(r, l, used + 2);
}

static void lines_clear(struct lines *l)
{
	free(l->lines);
}

int report_sched(const struct report *r)
{
	_cleanup_(lines_clear) struct lines l = {0};
	int err;

	if (!r->sched) {
		put_heading(r, "scheduler");
		put_spaces(r, 2);
		fputs("n/a: ", r->out);
		put_words(r, report_waits_off(r), 7, 2);
		return r->m->host.off & OFF_SWITCHES ? report_cgroup_limits(r) : 0;
	}
	err = lines_build(r, &l);
	if (err)
		return err;
	put_wanted(r, &l);
	put_switches(r, &l);
	put_spaces(r, 2);
	put_words(r,
		  "in D: asleep and not interruptible (disk, NFS). slice: mean time on the CPU at "
		  "a time."
		  " vol: switches that gave the CPU up; invol: the CPU was taken away.",
		  2, 2);
	err = report_contention(r);
	return err ? err : report_cgroups(r);
}

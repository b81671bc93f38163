/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/report.h"

#include <errno.h>
#include <stdlib.h>

#include "judge/start_here.h"
#include "output/report_internal.h"

#define DEFAULT_MIN_SHARE 0.01
#define DEFAULT_LINES	  150
#define DEFAULT_ROWS	  15
#define DEFAULT_PROCESSES 3
/* Of blocked time alone there is nothing else on the page. */
#define BLOCKED_PROCESSES 10
#define BLOCKED_ROWS	  50

static struct report_options with_defaults(const struct report_options *options)
{
	struct report_options o = options ? *options : (struct report_options){0};

	if (!o.width)
		o.width = REPORT_DEFAULT_WIDTH;
	if (o.width < REPORT_MIN_WIDTH)
		o.width = REPORT_MIN_WIDTH;
	if (!(o.min_share > 0))
		o.min_share = DEFAULT_MIN_SHARE;
	if (!o.lines)
		o.lines = DEFAULT_LINES;
	if (!o.rows)
		o.rows = o.blocked ? BLOCKED_ROWS : DEFAULT_ROWS;
	if (!o.processes && !o.process_cnt)
		o.process_cnt = o.blocked ? BLOCKED_PROCESSES : DEFAULT_PROCESSES;
	return o;
}

static int asked_processes(const struct report *r)
{
	int err = 0;

	for (size_t i = 0; !err && i < r->o.process_cnt; i++) {
		const struct total_process *p = report_find(r, r->o.processes[i]);

		if (p)
			err = report_process(r, p);
	}
	return err;
}

/* Those of the table, as far as they have enough samples; the first in any case. */
static int top_processes(const struct report *r)
{
	const struct group_row *row;
	size_t shown = 0, at = 0;
	int err = 0;

	while (!err && shown < r->o.process_cnt && (row = report_next_row(r, &at))) {
		const struct total_process *p = report_find(r, row->process);

		if (!p || (shown && p->samples < START_MIN_SAMPLES && !report_row_hangs(r, row)))
			continue;
		err = report_process(r, p);
		shown++;
	}
	return err;
}

static int write_sections(const struct report *r)
{
	int err;

	report_host(r);
	err = report_verdict(r);
	if (err)
		return err;
	report_processes(r);
	err = report_who_waits(r);
	if (!err)
		err = report_start_here(r);
	if (!err)
		err = report_books(r);
	if (err)
		return err;
	if (!r->o.summary) {
		err = report_requests(r);
		if (!err)
			err = report_sched(r);
		if (err)
			return err;
		err = r->o.processes ? asked_processes(r) : top_processes(r);
		if (!err && !report_books_wrong(r))
			err = report_all_books(r);
		if (err)
			return err;
		report_losses(r);
	}
	return r->o.all ? report_idle(r) : 0;
}

/* 0 or -ENOMEM. */
static int read_verdicts(struct report *r, bool every)
{
	struct verdict_sources sources = {
		.m = r->m,
		.totals = r->totals,
		.books = &r->books,
		.sched = r->sched,
		.requests = r->requests,
		.policy = r->o.limits,
		.asked = r->o.processes,
		.asked_cnt = r->o.processes ? r->o.process_cnt : 0,
		.all = r->o.all,
		.every = every,
	};

	r->verdicts = verdicts_new(&sources);
	return r->verdicts ? 0 : -ENOMEM;
}

/* 0 or -ENOMEM. */
static int read_waits(struct report *r)
{
	r->throttled = report_throttled_new(r->m);
	if (!r->throttled)
		return -ENOMEM;
	if (model_off(r->m) & OFF_ACCOUNTS || !r->m->slices_cnt)
		return 0;
	r->sched = sched_new(r->m);
	r->contention = contention_new(r->m);
	r->hottest = report_hottest_new();
	if (!r->sched || !r->contention || !r->hottest)
		return -ENOMEM;
	if (!(model_off(r->m) & OFF_OWN) && !r->sched->own_unknown)
		return 0;
	return contention_estimate_own(r->contention, r->m, r->sched);
}

/* 0 or -ENOMEM. */
static int read_requests(struct report *r)
{
	if (report_requests_off(r))
		return 0;
	r->requests = requests_new(r->m);
	if (!r->requests)
		return -ENOMEM;
	qsort(r->requests->ports, r->requests->ports_cnt, sizeof(*r->requests->ports),
	      requests_compare_ports);
	return 0;
}

/* 0 or -ENOMEM. */
static int read_blocked(struct report *r)
{
	if (!r->m->stands_cnt)
		return 0;
	r->blocked = blocked_new(r->m);
	if (r->blocked)
		r->hangs = hangs_new(r->m, r->blocked);
	if (r->hangs && r->m->wakers_cnt) {
		r->wakers = wakers_new(r->m, r->blocked);
		if (!r->wakers)
			return -ENOMEM;
	}
	return r->hangs ? 0 : -ENOMEM;
}

static void report_clear(struct report *r)
{
	for (size_t i = 0; r->named && i < r->m->processes_cnt; i++)
		unnamed_free(r->named[i]);
	free(r->named);
	groups_clear(&r->groups);
	unnamed_free(r->unnamed);
	totals_free(r->totals);
	sched_free(r->sched);
	contention_free(r->contention);
	requests_free(r->requests);
	free(r->throttled);
	report_hottest_free(r->hottest);
	verdicts_free(r->verdicts);
	wakers_free(r->wakers);
	hangs_free(r->hangs);
	blocked_free(r->blocked);
}

typedef int (*write_fn)(const struct report *r);

static int write_with(struct report r, write_fn write_all)
{
	struct model *m = r.m;
	int err = -ENOMEM;

	r.totals = totals_new(m);
	r.unnamed = unnamed_new(m, MODEL_NONE);
	r.named = calloc(m->processes_cnt + 1, sizeof(struct unnamed *));
	if (r.totals && r.unnamed && r.named)
		err = read_waits(&r);
	if (!err)
		err = read_requests(&r);
	if (!err)
		err = read_blocked(&r);
	if (!err) {
		r.books = books_of(m, r.totals);
		r.withheld = r.books.samples_gap && !r.o.force;
		err = read_verdicts(&r, write_all == report_verdicts_json);
	}
	if (!err)
		err = groups_ran(&r.groups, m, r.totals, r.sched, r.verdicts, r.o.by_workload);
	if (!err)
		err = write_all(&r);
	report_clear(&r);
	if (!err && (fflush(r.out) || ferror(r.out)))
		err = -EIO;
	return err;
}

static struct report begun(FILE *out, struct model *m, const struct report_options *options)
{
	return (struct report){.out = out, .m = m, .o = with_defaults(options)};
}

int report_write(FILE *out, struct model *m, const struct report_options *options)
{
	return write_with(begun(out, m, options),
			  options && options->blocked ? report_blocked : write_sections);
}

int report_json_write(FILE *out, struct model *m, const struct report_options *options)
{
	return write_with(begun(out, m, options),
			  options && options->blocked ? report_blocked_json : report_verdicts_json);
}

static int write_both(const struct report *r)
{
	struct report json = *r;
	int err = write_sections(r);

	json.out = r->json;
	return err ? err : report_verdicts_json(&json);
}

int report_write_both(FILE *text, FILE *json, size_t rows, struct model *m)
{
	struct report r = begun(text, m, NULL);

	r.json = json;
	r.json_rows = rows;
	return write_with(r, write_both);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of processes by CPU, and what it leaves out. */
#include <linux/types.h>

#include "bpf/events.h"
#include "output/report_internal.h"

/* Of a narrow page, "threads ran" gives its place to the names. */
#define THREADS_FROM_WIDTH 100

static void samples(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct group_row *row = s->group;

	(void)columns;
	report_share(s->report, row->samples, s->report->totals->samples, text);
}

static void threads_ran(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct group_row *row = s->group;

	(void)columns;
	snprintf(text, CELL_BYTES, "%u of %u", row->threads_ran, row->threads);
}

static const struct figure figure_cores = {"cpus", "cores", AS_THREADS,
					   FIELD_OF(group, struct group_row, on_cpu_ns)};
static const struct figure figure_samples = {NULL, " of samples", .text = samples};
static const struct figure figure_threads = {NULL, "threads ran", .text = threads_ran};

#define CORES_COLUMNS 7

static const struct column columns[] = {
	{&figure_cores, .width = CORES_COLUMNS},
	{&figure_waiting, .width = 9, .when = WITH_WAITS},
	{&figure_delay_p99, .width = 11, .title = "p99 delay", .when = WITH_WAITS},
	{&figure_throttled, .width = 11, .when = WITH_THROTTLED},
	{&figure_samples, .width = SHARE_COLUMNS, .left = true, .gap = 2},
	{&figure_threads, .width = 13, .when = WITH_MORE},
	REPORT_WHO,
};

static void put_row(const struct report *r, const struct table *t, const struct group_row *row)
{
	struct sched_sum sum = {0};
	struct subject s = report_subject(r, row, &sum);

	if (r->sched)
		sum = groups_sum(&r->groups, r->sched, row);
	table_put_row(r->out, t, &s);
}

/* CPU time of nobody, by what made the kernel side miss it. */
static const char *unaccounted_why(const struct report *r)
{
	const uint64_t *losses = r->totals->losses;

	if (losses[LOSS_SWITCH_UNSEEN] && losses[LOSS_ACCOUNT_MISSING])
		return "threads without an account, and switches that BPF did not see";
	if (losses[LOSS_SWITCH_UNSEEN])
		return "its switches were not all seen by BPF";
	if (losses[LOSS_ACCOUNT_MISSING])
		return "threads without an account";
	return "in no thread's account";
}

/* What hotrun itself takes is told always, however little: a row after the others. */
static const struct group_row *self_row(const struct report *r, size_t shown)
{
	for (size_t i = shown; i < r->groups.rows_cnt; i++) {
		const struct group_row *row = &r->groups.rows[i];

		if (r->m->processes[row->process].flags & PROCESS_SELF)
			return row;
	}
	return NULL;
}

/* What the rows above leave out. */
static void put_rest(const struct report *r, size_t shown, const struct group_row *self)
{
	const struct groups *g = &r->groups;
	double unaccounted = report_cores(r, r->totals->unaccounted_ns);
	bool filter = r->m->host.filter[0];
	uint64_t more_ns[2] = {0};
	uint32_t more[2] = {0};

	for (size_t i = shown; i < g->rows_cnt; i++) {
		bool other = filter && !g->rows[i].selected;

		/* The kernel's threads have a row even when all of them are idle. */
		if (&g->rows[i] == self || (!g->rows[i].on_cpu_ns && !g->rows[i].samples &&
					    !sched_wanted_ns(&g->rows[i].sched)))
			continue;
		more[other] += g->rows[i].cnt;
		more_ns[other] += g->rows[i].on_cpu_ns;
	}
	if (more[0])
		fprintf(r->out, "%*s … %s more process%s\n", CORES_COLUMNS,
			number_fixed(report_cores(r, more_ns[0]), 2).text,
			number_count(more[0]).text, more[0] == 1 ? "" : "es");
	if (more[1])
		fprintf(r->out, "%*s … %s other process%s, no stacks taken\n", CORES_COLUMNS,
			number_fixed(report_cores(r, more_ns[1]), 2).text,
			number_count(more[1]).text, more[1] == 1 ? "" : "es");
	if (unaccounted >= 0.005)
		fprintf(r->out, "%*s unaccounted: %s\n", CORES_COLUMNS,
			number_fixed(unaccounted, 2).text, unaccounted_why(r));
	if (g->idle)
		fprintf(r->out, "%*s %s process%s %s%s\n", CORES_COLUMNS, "",
			number_count(g->idle).text, g->idle == 1 ? "" : "es",
			model_feature_why(r->m, FEATURE_COUNTERS) ? "without a sample"
								  : "used no CPU",
			r->o.all ? "" : " (--all lists them)");
}

void report_processes(const struct report *r)
{
	size_t shown = r->groups.shown;
	const struct group_row *self = self_row(r, shown);
	bool wide = !r->sched || r->o.width >= THREADS_FROM_WIDTH;
	struct table t;

	TABLE_OF(&t, columns, r, report_when(r) | (wide ? WITH_MORE : 0));
	put_titles(r, &t);
	for (size_t i = 0; i < shown; i++)
		put_row(r, &t, &r->groups.rows[i]);
	if (self)
		put_row(r, &t, self);
	if (r->m->host.filter[0] && !shown)
		fputs("        nothing that was selected was seen in this capture\n", r->out);
	else if (!r->totals->on_cpu_ns && !r->totals->samples)
		fputs("        no process used any CPU time in this capture\n", r->out);
	put_rest(r, shown, self);
}

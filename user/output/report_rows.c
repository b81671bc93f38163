/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of processes by CPU, and what it leaves out. */
#include <linux/types.h>

#include "bpf/events.h"
#include "output/report_internal.h"

/* Of a narrow page, "threads ran" gives its place to the names. */
#define THREADS_FROM_WIDTH 100

/* Which columns the table has. */
struct shown {
	bool waits, throttled, threads;
	size_t name; /* columns */
};

static struct shown shown_of(const struct report *r)
{
	struct shown s = {
		.waits = r->sched != NULL,
		.throttled = r->sched && report_is_some(r, r->sched->host.sched.throttled_ns),
		.threads = !r->sched || r->o.width >= THREADS_FROM_WIDTH,
	};

	s.name = r->o.width - (7 + 2 + SHARE_COLUMNS + 2 + PID_COLUMNS);
	s.name -= (s.waits ? 9 + 11 : 0) + (s.throttled ? 11 : 0) + (s.threads ? 13 : 0);
	return s;
}

static void put_title(const struct report *r, struct shown shown)
{
	putc('\n', r->out);
	put_paint(r, PAINT_HEADING);
	put_right(r, "cores", 7);
	if (shown.waits) {
		put_right(r, "waiting", 9);
		put_right(r, "p99 delay", 11);
	}
	if (shown.throttled)
		put_right(r, "throttled", 11);
	put_spaces(r, 2);
	put_left(r, " of samples", SHARE_COLUMNS);
	if (shown.threads)
		put_right(r, "threads ran", 13);
	put_spaces(r, 2);
	put_left(r, report_row_title(r), shown.name);
	put_right(r, "pid", PID_COLUMNS);
	put_plain(r);
	putc('\n', r->out);
}

static void put_waits(const struct report *r, const struct group_row *row, struct shown shown)
{
	struct sched_sum sum = groups_sum(&r->groups, r->sched, row);

	put_mean(r, sum.sched.waited_ns, 9);
	put_delay(r, &sum, 0.99, 11);
	if (shown.throttled)
		put_stopped(r, sum.sched.throttled_ns, 11);
}

static void put_row(const struct report *r, const struct group_row *row, struct shown shown)
{
	char cell[32];

	put_right(r, number_fixed(report_cores(r, row->on_cpu_ns), 2).text, 7);
	if (shown.waits)
		put_waits(r, row, shown);
	put_spaces(r, 2);
	if (row->samples)
		put_share(r, row->samples, r->totals->samples);
	else
		put_left(r, "     -", SHARE_COLUMNS);
	if (shown.threads) {
		snprintf(cell, sizeof(cell), " %u of %u", row->threads_ran, row->threads);
		put_right(r, cell, 13);
	}
	put_spaces(r, 2);
	put_row_end(r, row, shown.name);
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
		fprintf(r->out, "%7s … %s more process%s\n",
			number_fixed(report_cores(r, more_ns[0]), 2).text,
			number_count(more[0]).text, more[0] == 1 ? "" : "es");
	if (more[1])
		fprintf(r->out, "%7s … %s other process%s, no stacks taken\n",
			number_fixed(report_cores(r, more_ns[1]), 2).text,
			number_count(more[1]).text, more[1] == 1 ? "" : "es");
	if (unaccounted >= 0.005)
		fprintf(r->out, "%7s unaccounted: %s\n", number_fixed(unaccounted, 2).text,
			unaccounted_why(r));
	if (g->idle)
		fprintf(r->out, "%7s %s process%s used no CPU%s\n", "", number_count(g->idle).text,
			g->idle == 1 ? "" : "es", r->o.all ? "" : " (--all lists them)");
}

void report_processes(const struct report *r)
{
	size_t shown = r->groups.shown;
	const struct group_row *self = self_row(r, shown);
	struct shown columns = shown_of(r);

	put_title(r, columns);
	for (size_t i = 0; i < shown; i++)
		put_row(r, &r->groups.rows[i], columns);
	if (self)
		put_row(r, self, columns);
	if (r->m->host.filter[0] && !shown)
		fputs("        nothing that was selected was seen in this capture\n", r->out);
	else if (!r->totals->on_cpu_ns && !r->totals->samples)
		fputs("        no process used any CPU time in this capture\n", r->out);
	put_rest(r, shown, self);
}

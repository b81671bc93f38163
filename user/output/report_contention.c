/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Aggressors and victims: who ran while whom waited. The time that a victim waited behind others is
 * exact; the samples split it among those that ran.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "output/report_internal.h"

#define MIN_WEIGHT     20000 /* as for "who waits": fewer waiting threads seen tell nothing */
#define VICTIMS	       5
#define VICTIM_COLUMNS 10
#define ALL_COLUMNS    8
#define AGGRESSORS     10
#define LEAST_MEAN     0.005 /* threads; less rounds to nothing */

struct contended {
	uint32_t victims[VICTIMS]; /* rows of processes, most waiting first */
	size_t victims_cnt;
	uint64_t *weights; /* by row: waiting threads seen behind others */
	double *by_runner; /* by row: mean threads of all victims */
	uint32_t *runners; /* rows, most first */
	size_t runners_cnt;
	double untold; /* mean threads whose aggressors are not known */
};

static void contended_clear(struct contended *c)
{
	free(c->weights);
	free(c->by_runner);
	free(c->runners);
}

/* Mean threads of a row that waited behind others. */
static double behind_others(const struct report *r, uint32_t row)
{
	const struct sched_figures *s = &r->groups.rows[row].sched;
	uint64_t ns = s->waited_ns > s->behind_own_ns ? s->waited_ns - s->behind_own_ns : 0;

	return sched_mean(ns, r->sched->elapsed_ns);
}

/* The rows of a pair of two processes; false where one is not known. */
static bool rows_of(const struct report *r, const struct contention_pair *pair,
		    uint32_t *ret_runner, uint32_t *ret_victim)
{
	if (pair->runner == pair->waiter || pair->waiter == MODEL_NONE)
		return false;
	*ret_runner = r->groups.row_of[pair->runner];
	*ret_victim = r->groups.row_of[pair->waiter];
	return *ret_runner != MODEL_NONE && *ret_victim != MODEL_NONE;
}

static bool is_told(const struct contended *c, uint32_t victim)
{
	return c->weights[victim] >= MIN_WEIGHT;
}

/* Mean threads of victim that waited while runner ran, of a weight of theirs. */
static double cell_of(const struct report *r, const struct contended *c, uint32_t victim,
		      uint64_t weight)
{
	return behind_others(r, victim) * (double)weight / (double)c->weights[victim];
}

static void choose_victims(const struct report *r, struct contended *c)
{
	for (uint32_t i = 0; i < r->groups.rows_cnt; i++) {
		double mean = behind_others(r, i);
		size_t at = c->victims_cnt;

		if (!is_told(c, i)) {
			c->untold += mean;
			continue;
		}
		while (at && behind_others(r, c->victims[at - 1]) < mean)
			at--;
		if (at >= VICTIMS || mean < LEAST_MEAN)
			continue;
		if (c->victims_cnt < VICTIMS)
			c->victims_cnt++;
		memmove(&c->victims[at + 1], &c->victims[at],
			(c->victims_cnt - 1 - at) * sizeof(c->victims[0]));
		c->victims[at] = i;
	}
}

static int compare_runners(const void *a, const void *b, void *arg)
{
	const struct contended *c = arg;
	uint32_t ra = *(const uint32_t *)a, rb = *(const uint32_t *)b;

	if (c->by_runner[ra] != c->by_runner[rb])
		return c->by_runner[ra] < c->by_runner[rb] ? 1 : -1;
	return (ra > rb) - (ra < rb);
}

static int contended_build(const struct report *r, struct contended *c)
{
	size_t rows = r->groups.rows_cnt + 1;
	uint32_t runner, victim;

	c->weights = calloc(rows, sizeof(*c->weights));
	c->by_runner = calloc(rows, sizeof(*c->by_runner));
	c->runners = calloc(rows, sizeof(*c->runners));
	if (!c->weights || !c->by_runner || !c->runners)
		return -ENOMEM;
	for (size_t i = 0; i < r->contention->pairs_cnt; i++)
		if (rows_of(r, &r->contention->pairs[i], &runner, &victim))
			c->weights[victim] += r->contention->pairs[i].weight;
	choose_victims(r, c);
	for (size_t i = 0; i < r->contention->pairs_cnt; i++)
		if (rows_of(r, &r->contention->pairs[i], &runner, &victim) && is_told(c, victim))
			c->by_runner[runner] +=
				cell_of(r, c, victim, r->contention->pairs[i].weight);
	for (uint32_t i = 0; i < r->groups.rows_cnt; i++)
		if (c->by_runner[i] >= LEAST_MEAN)
			c->runners[c->runners_cnt++] = i;
	qsort_r(c->runners, c->runners_cnt, sizeof(*c->runners), compare_runners, c);
	return 0;
}

/* Mean threads of each shown victim that waited while that row ran. */
static void cells_of(const struct report *r, const struct contended *c, uint32_t row,
		     double cells[static VICTIMS])
{
	uint32_t runner, victim;

	memset(cells, 0, VICTIMS * sizeof(*cells));
	for (size_t i = 0; i < r->contention->pairs_cnt; i++) {
		const struct contention_pair *pair = &r->contention->pairs[i];

		if (!rows_of(r, pair, &runner, &victim) || runner != row)
			continue;
		for (size_t v = 0; v < c->victims_cnt; v++)
			if (c->victims[v] == victim)
				cells[v] += cell_of(r, c, victim, pair->weight);
	}
}

static void put_cell(const struct report *r, double mean, size_t columns)
{
	put_right(r, mean >= LEAST_MEAN ? number_fixed(mean, 2).text : "-", columns);
}

/* Two lines: names, and their pids. */
static void put_victims(const struct report *r, const struct contended *c, size_t columns)
{
	put_heading(r, "aggressors and victims: threads waiting (columns) while others ran (rows)");
	put_right(r, "all", ALL_COLUMNS);
	for (size_t i = 0; i < c->victims_cnt; i++) {
		const struct group_row *row = &r->groups.rows[c->victims[i]];
		char name[NAME_BYTES] = "kernel";

		if (!row->kernel) {
			const struct model_process *p = &r->m->processes[row->process];

			safe_name(name, p->name[0] ? p->name : p->comm, VICTIM_COLUMNS - 1,
				  CUT_MIDDLE);
		}
		put_right(r, name, VICTIM_COLUMNS);
	}
	put_spaces(r, 2);
	put_left(r, "ran", columns);
	put_right(r, "pid", PID_COLUMNS);
	putc('\n', r->out);
	put_spaces(r, ALL_COLUMNS);
	for (size_t i = 0; i < c->victims_cnt; i++) {
		const struct group_row *row = &r->groups.rows[c->victims[i]];
		char text[32];

		if (row->kernel)
			strcpy(text, "threads");
		else if (row->cnt > 1)
			snprintf(text, sizeof(text), "%u of it", row->cnt);
		else
			snprintf(text, sizeof(text), "%u", r->m->processes[row->process].tgid);
		put_right(r, text, VICTIM_COLUMNS);
	}
	putc('\n', r->out);
}

static void put_runner(const struct report *r, const struct contended *c, uint32_t at,
		       size_t columns)
{
	const struct group_row *row = &r->groups.rows[at];
	double cells[VICTIMS];

	cells_of(r, c, at, cells);
	put_cell(r, c->by_runner[at], ALL_COLUMNS);
	for (size_t i = 0; i < c->victims_cnt; i++)
		put_cell(r, cells[i], VICTIM_COLUMNS);
	put_spaces(r, 2);
	put_row_end(r, row, columns);
}

static void put_rest(const struct report *r, const struct contended *c)
{
	double rest = 0, all = 0;
	size_t shown = c->runners_cnt < AGGRESSORS ? c->runners_cnt : AGGRESSORS;

	for (size_t i = 0; i < c->runners_cnt; i++) {
		all += c->by_runner[c->runners[i]];
		if (i >= shown)
			rest += c->by_runner[c->runners[i]];
	}
	if (rest >= LEAST_MEAN)
		fprintf(r->out, "%*s%*s  … %s more\n", ALL_COLUMNS, number_fixed(rest, 2).text,
			(int)(c->victims_cnt * VICTIM_COLUMNS), "",
			number_count(c->runners_cnt - shown).text);
	put_cell(r, all, ALL_COLUMNS);
	for (size_t i = 0; i < c->victims_cnt; i++)
		put_cell(r, behind_others(r, c->victims[i]), VICTIM_COLUMNS);
	fputs("  all that ran\n", r->out);
	if (c->untold >= LEAST_MEAN)
		fprintf(r->out,
			"%*s  more waited behind others in processes with too few samples\n",
			ALL_COLUMNS, number_fixed(c->untold, 2).text);
}

int report_contention(const struct report *r)
{
	_cleanup_(contended_clear) struct contended c = {0};
	size_t columns;
	int err;

	if (r->m->host.off & OFF_QUEUES) {
		put_heading(r, "aggressors and victims");
		fprintf(r->out, "  n/a: %s\n", model_off_text(OFF_QUEUES));
		return 0;
	}
	/* It is shares of samples. */
	if (r->withheld)
		return 0;
	err = contended_build(r, &c);
	if (err || !c.victims_cnt || !c.runners_cnt)
		return err;
	columns = r->o.width - ALL_COLUMNS - c.victims_cnt * VICTIM_COLUMNS - 2 - PID_COLUMNS;
	put_victims(r, &c, columns);
	for (size_t i = 0; i < c.runners_cnt && i < AGGRESSORS; i++)
		put_runner(r, &c, c.runners[i], columns);
	put_rest(r, &c);
	return 0;
}

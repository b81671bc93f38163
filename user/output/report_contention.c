/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Aggressors and victims: who ran while whom waited. The time that a victim waited behind others is
 * exact; the samples split it among those that ran.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
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
	return COMPARE(ra, rb);
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

/* A row of the table: mean threads, less than nothing where they are not told. */
struct cells {
	double all, by_victim[VICTIMS];
	const char *who; /* instead of a row of processes */
};

/* Mean threads of each shown victim that waited while that row ran. */
static struct cells cells_of(const struct report *r, const struct contended *c, uint32_t row)
{
	struct cells cells = {.all = c->by_runner[row]};
	uint32_t runner, victim;

	for (size_t i = 0; i < r->contention->pairs_cnt; i++) {
		const struct contention_pair *pair = &r->contention->pairs[i];

		if (!rows_of(r, pair, &runner, &victim) || runner != row)
			continue;
		for (size_t v = 0; v < c->victims_cnt; v++)
			if (c->victims[v] == victim)
				cells.by_victim[v] += cell_of(r, c, victim, pair->weight);
	}
	return cells;
}

static struct value cell_value(double mean)
{
	if (mean < 0)
		return (struct value){.kind = VALUE_BLANK};
	return mean >= LEAST_MEAN ? value_real(mean) : (struct value){.kind = VALUE_NONE};
}

static struct value all_victims(const struct subject *s)
{
	const struct cells *cells = s->item;

	return cell_value(cells->all);
}

/* The columns of victims follow that of all. */
static struct value one_victim(const struct subject *s)
{
	const struct cells *cells = s->item;

	return cell_value(cells->by_victim[s->column - 1]);
}

static void who_ran(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct cells *cells = s->item;

	if (cells->who)
		strcpy(text, cells->who);
	else
		report_group_text(text, columns, s);
}

static const struct figure figure_all = {NULL, "all", AS_THREADS, .value = all_victims};
static const struct figure figure_victim = {NULL, "", AS_THREADS, .value = one_victim};
static const struct figure figure_ran = {NULL, "ran", .text = who_ran};

#define COLUMNS (1 + VICTIMS + 2)

/* Two lines of titles: names, and their pids. */
static void put_victims(const struct report *r, const struct contended *c,
			struct column columns[static COLUMNS], struct table *t)
{
	char names[VICTIMS][NAME_BYTES], pids[VICTIMS][32];
	size_t last = 1 + c->victims_cnt;

	columns[0] = (struct column){&figure_all, .width = ALL_COLUMNS};
	for (size_t i = 0; i < c->victims_cnt; i++) {
		const struct group_row *row = &r->groups.rows[c->victims[i]];
		const struct model_process *p = &r->m->processes[row->process];

		columns[1 + i] =
			(struct column){&figure_victim, .width = VICTIM_COLUMNS, .title = names[i]};
		label_name(names[i],
			   row->kernel ? "kernel"
			   : *p->name  ? p->name
				       : p->comm,
			   VICTIM_COLUMNS - 1, CUT_MIDDLE);
		if (row->kernel)
			strcpy(pids[i], "threads");
		else
			snprintf(pids[i], sizeof(pids[i]), row->cnt > 1 ? "%u of it" : "%u",
				 row->cnt > 1 ? row->cnt : p->tgid);
	}
	columns[last] = (struct column){&figure_ran, .left = true, .gap = 2};
	columns[last + 1] = (struct column){&figure_pid, .width = PID_COLUMNS};
	put_heading(r, "aggressors and victims: threads waiting (columns) while others ran (rows)");
	table_lay_out(t, columns, last + 2, r->o.width, 0);
	table_put_titles(r->out, t);
	for (size_t i = 0; i < last + 2; i++)
		columns[i].title = i && i < last ? pids[i - 1] : "";
	table_put_titles(r->out, t);
}

static void put_cells(const struct report *r, const struct table *t, const struct cells *cells,
		      const struct group_row *row)
{
	struct subject s = report_subject(r, row, NULL);

	s.item = cells;
	table_put_row(r->out, t, &s);
}

/* A row that tells of all victims together. */
static void put_sum(const struct report *r, const struct table *t, double all, const char *who)
{
	struct cells cells = {all, {-1, -1, -1, -1, -1}, who};

	_Static_assert(VICTIMS == 5, "one for each");
	if (all >= LEAST_MEAN)
		put_cells(r, t, &cells, NULL);
}

static void put_rest(const struct report *r, const struct contended *c, const struct table *t)
{
	size_t shown = c->runners_cnt < AGGRESSORS ? c->runners_cnt : AGGRESSORS;
	struct cells sums = {.who = "all that ran"};
	char more[NUMBER_BYTES + 16];
	double rest = 0;

	for (size_t i = 0; i < c->runners_cnt; i++) {
		sums.all += c->by_runner[c->runners[i]];
		if (i >= shown)
			rest += c->by_runner[c->runners[i]];
	}
	snprintf(more, sizeof(more), "… %s more", number_count(c->runners_cnt - shown).text);
	put_sum(r, t, rest, more);
	for (size_t i = 0; i < c->victims_cnt; i++)
		sums.by_victim[i] = behind_others(r, c->victims[i]);
	put_cells(r, t, &sums, NULL);
	if (c->untold >= LEAST_MEAN)
		fprintf(r->out,
			"%*s  more waited behind others in processes with too few samples\n",
			ALL_COLUMNS, number_fixed(c->untold, 2).text);
}

int report_contention(const struct report *r)
{
	_cleanup_(contended_clear) struct contended c = {0};
	struct column columns[COLUMNS];
	struct table t;
	int err;

	if (model_off(r->m) & OFF_QUEUES) {
		put_heading(r, "aggressors and victims");
		fprintf(r->out, "  n/a: %s\n", model_off_text(r->m, OFF_QUEUES));
		return 0;
	}
	/* It is shares of samples. */
	if (r->withheld)
		return 0;
	err = contended_build(r, &c);
	if (err || !c.victims_cnt || !c.runners_cnt)
		return err;
	put_victims(r, &c, columns, &t);
	for (size_t i = 0; i < c.runners_cnt && i < AGGRESSORS; i++) {
		struct cells cells = cells_of(r, &c, c.runners[i]);

		put_cells(r, &t, &cells, &r->groups.rows[c.runners[i]]);
	}
	put_rest(r, &c, &t);
	return 0;
}

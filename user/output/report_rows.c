/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of processes by CPU. What would only fill the screen is one row: the kernel's threads,
 * and processes of one name that each take little (two thousand short-lived shells, the backends
 * of a database).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "output/report_internal.h"

#define SHOWN_ROWS 10
#define BIG_SHARE  0.05 /* of all CPU time: such a process always has a row of its own */

/* Columns before the name, and of the pid after it. */
#define FIXED_COLUMNS (8 + SHARE_COLUMNS + 10 + 13 + 2)
#define PID_COLUMNS   9

struct row {
	uint32_t process; /* the heaviest of them */
	uint32_t cnt;	  /* processes */
	uint32_t threads, threads_ran;
	uint64_t on_cpu_ns, samples;
	bool kernel; /* kernel threads together */
};

struct rows {
	const struct model *m;
	struct row *rows;
	size_t rows_cnt, rows_cap;
	struct hash_index index; /* rows that others may join */
	uint32_t idle;		 /* processes without CPU time */
};

static void rows_free(struct rows *rows)
{
	free(rows->rows);
	hash_clear(&rows->index);
}

/* Strings are interned: the same text is the same pointer. */
static bool same_label(const void *owner, uint32_t row, const void *key)
{
	const struct rows *rows = owner;
	const struct model_process *a = &rows->m->processes[rows->rows[row].process], *b = key;

	if ((a->flags | b->flags) & PROCESS_KERNEL)
		return a->flags & b->flags & PROCESS_KERNEL;
	return a->name == b->name && a->unit == b->unit && a->container == b->container;
}

static uint64_t label_hash(const struct model_process *p)
{
	if (p->flags & PROCESS_KERNEL)
		return 1;
	return hash_pair(hash_pair((uintptr_t)p->name, (uintptr_t)p->unit),
			 (uintptr_t)p->container);
}

/* Finds the row that the process joins, or adds one. Big ones are not found by others. */
static int row_get(struct rows *rows, uint32_t process, bool big, struct row **ret_row)
{
	const struct model_process *p = &rows->m->processes[process];
	uint32_t row = HASH_NONE;
	int err;

	if (!big)
		row = hash_find(&rows->index, label_hash(p), same_label, rows, p);
	if (row == HASH_NONE) {
		err = GROW(rows->rows, rows->rows_cnt, rows->rows_cap);
		row = (uint32_t)rows->rows_cnt;
		if (!err && !big)
			err = hash_add(&rows->index, label_hash(p), row);
		if (err)
			return err;
		rows->rows[rows->rows_cnt++] = (struct row){
			.process = process,
			.kernel = !big && p->flags & PROCESS_KERNEL,
		};
	}
	*ret_row = &rows->rows[row];
	return 0;
}

static int rows_build(struct rows *rows, const struct totals *t)
{
	for (size_t i = 0; i < t->processes_cnt; i++) {
		const struct total_process *p = &t->processes[i];
		bool kernel = rows->m->processes[p->process].flags & PROCESS_KERNEL;
		struct row *row;
		int err;

		if (!p->on_cpu_ns && !p->samples && !kernel) {
			rows->idle++;
			continue;
		}
		err = row_get(rows, p->process,
			      (double)p->on_cpu_ns >= BIG_SHARE * (double)t->on_cpu_ns &&
				      p->on_cpu_ns,
			      &row);
		if (err)
			return err;
		row->cnt++;
		row->threads += p->threads;
		row->threads_ran += p->threads_ran;
		row->on_cpu_ns += p->on_cpu_ns;
		row->samples += p->samples;
	}
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *ra = a, *rb = b;

	if (ra->on_cpu_ns != rb->on_cpu_ns)
		return ra->on_cpu_ns < rb->on_cpu_ns ? 1 : -1;
	if (ra->samples != rb->samples)
		return ra->samples < rb->samples ? 1 : -1;
	return (ra->process > rb->process) - (ra->process < rb->process);
}

static void put_title(const struct report *r)
{
	putc('\n', r->out);
	put_paint(r, PAINT_HEADING);
	put_right(r, "cores", 7);
	put_left(r, "  of samples", SHARE_COLUMNS + 1);
	put_right(r, "samples", 10);
	put_right(r, "threads ran", 13);
	put_left(r, "  process", r->o.width - FIXED_COLUMNS - PID_COLUMNS + 2);
	put_right(r, "pid", PID_COLUMNS);
	put_plain(r);
	putc('\n', r->out);
}

static void put_row(const struct report *r, const struct row *row)
{
	size_t columns = r->o.width - FIXED_COLUMNS - PID_COLUMNS;
	char cell[32];

	put_right(r, number_fixed(report_cores(r, row->on_cpu_ns), 2).text, 7);
	putc(' ', r->out);
	if (row->samples)
		put_share(r, row->samples, r->totals->samples);
	else
		put_spaces(r, SHARE_COLUMNS);
	put_right(r, row->samples ? number_count(row->samples).text : "-", 10);
	snprintf(cell, sizeof(cell), " %u of %u", row->threads_ran, row->threads);
	put_right(r, cell, 13);
	put_spaces(r, 2);
	if (row->kernel) {
		fputs("kernel threads\n", r->out);
		return;
	}
	if (row->cnt > 1) {
		int n = fprintf(r->out, "%s x ", number_count(row->cnt).text);

		put_process(r, row->process, columns - (size_t)(n > 0 ? n : 0), false);
		putc('\n', r->out);
		return;
	}
	put_process(r, row->process, columns, true);
	snprintf(cell, sizeof(cell), "%u", r->m->processes[row->process].tgid);
	put_right(r, cell, PID_COLUMNS);
	putc('\n', r->out);
}

/* What the rows above leave out. */
static void put_rest(const struct report *r, const struct rows *rows)
{
	double unaccounted = report_cores(r, r->totals->unaccounted_ns);
	uint64_t more_ns = 0;
	uint32_t more = 0;

	for (size_t i = SHOWN_ROWS; i < rows->rows_cnt; i++) {
		more += rows->rows[i].cnt;
		more_ns += rows->rows[i].on_cpu_ns;
	}
	if (more)
		fprintf(r->out, "%7s … %s more process%s\n",
			number_fixed(report_cores(r, more_ns), 2).text, number_count(more).text,
			more == 1 ? "" : "es");
	if (unaccounted >= 0.005)
		fprintf(r->out, "%7s unaccounted: ran in threads that were not known yet\n",
			number_fixed(unaccounted, 2).text);
	if (rows->idle)
		fprintf(r->out, "%7s %s process%s used no CPU%s\n", "",
			number_count(rows->idle).text, rows->idle == 1 ? "" : "es",
			r->o.all ? "" : " (--all lists them)");
}

int report_processes(const struct report *r)
{
	_cleanup_(rows_free) struct rows rows = {.m = r->m};
	int err = rows_build(&rows, r->totals);

	if (err)
		return err;
	if (rows.rows_cnt)
		qsort(rows.rows, rows.rows_cnt, sizeof(*rows.rows), compare_rows);
	put_title(r);
	for (size_t i = 0; i < rows.rows_cnt && i < SHOWN_ROWS; i++)
		if (rows.rows[i].on_cpu_ns || rows.rows[i].samples)
			put_row(r, &rows.rows[i]);
	if (!r->totals->on_cpu_ns && !r->totals->samples)
		fputs("        no process used any CPU time in this capture\n", r->out);
	put_rest(r, &rows);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/tables_private.h"

/* What is prepared for a table, and what each needs of it. */
#define SUMS	 0x1u /* of_process, of_thread, totals */
#define STACKS	 0x2u /* s */
#define TIMELINE 0x4u /* t */
enum {
	NEEDS_host = SUMS | TIMELINE,
	NEEDS_seconds = TIMELINE,
	NEEDS_processes = SUMS | TIMELINE,
	NEEDS_threads = SUMS | TIMELINE,
	NEEDS_methods = STACKS,
	NEEDS_requests = TIMELINE,
	NEEDS_waits = 0,
	NEEDS_events = TIMELINE,
	NEEDS_losses = TIMELINE,
	NEEDS_samples = STACKS,
	NEEDS_turns = 0,
};

static const struct {
	const char *name;
	const struct figure *const *columns;
	const size_t *columns_cnt;
	unsigned int needs;
	int (*put)(const struct tables *w, const struct export_table *table);
} tables[] = {
#define ROW(name, what)                                                              \
	{#name, tables_##name##_columns, &tables_##name##_columns_cnt, NEEDS_##name, \
	 tables_put_##name},
	EXPORT_TABLES(ROW)};
#define TABLES_CNT (sizeof(tables) / sizeof(*tables))

/* Of samples that were gathered with their stacks anyway. */
static void add_rows(struct tables *w)
{
	for (size_t i = 0; i < w->s->rows_cnt; i++)
		for (int k = 0; k < EXPORT_WEIGHTS; k++)
			w->of_thread[w->s->rows[i].thread][k] += w->s->rows[i].values[k];
}

static int add_up(struct tables *w, unsigned int wanted)
{
	int err = 0;

	w->of_process = calloc(w->m->processes_cnt + 1, sizeof(*w->of_process));
	w->of_thread = calloc(w->m->threads_cnt + 1, sizeof(*w->of_thread));
	if (!w->of_process || !w->of_thread)
		return -ENOMEM;
	if (w->s)
		add_rows(w);
	else
		err = sampled_sums(w->m, w->o, wanted, w->of_thread);
	for (size_t i = 0; i < w->m->threads_cnt; i++)
		for (int k = 0; k < EXPORT_WEIGHTS; k++) {
			w->of_process[w->m->threads[i].process][k] += w->of_thread[i][k];
			w->totals[k] += w->of_thread[i][k];
		}
	return err;
}

static int prepare(struct tables *w, unsigned int needs)
{
	unsigned int wanted = about_known(w->m, w->o, w->known);
	int err = 0;

	about_of(&w->about, w->m);
	if (needs & STACKS) {
		w->s = sampled_new(w->m, w->o, wanted, SAMPLED_BY_TIME);
		err = w->s ? 0 : -errno;
	}
	if (!err && needs & SUMS)
		err = add_up(w, wanted);
	if (!err && needs & TIMELINE) {
		w->t = timeline_new(w->m, w->o);
		err = w->t ? 0 : -errno;
	}
	return err;
}

static bool is_wanted(const struct tables *w, size_t i)
{
	const char *wanted = w->o->table;

	return (!wanted || !strcmp(wanted, tables[i].name)) &&
	       (!w->sink->wants || w->sink->wants(w->sink->ctx, tables[i].name));
}

static int put_table(const struct tables *w, size_t i)
{
	struct export_table table = {tables[i].name, tables[i].columns, *tables[i].columns_cnt};
	int err;

	w->sink->begin(w->sink->ctx, &table);
	err = tables[i].put(w, &table);
	w->sink->end(w->sink->ctx, &table);
	return err;
}

static int put_all(const struct tables *w)
{
	int err = 0;

	for (size_t i = 0; !err && i < TABLES_CNT; i++) {
		if (is_wanted(w, i))
			err = put_table(w, i);
		else if (w->sink->left_out)
			w->sink->left_out(w->sink->ctx, tables[i].name);
	}
	return err;
}

int tables_walk(struct model *m, const struct export_options *options,
		const struct tables_sink *sink)
{
	struct tables w = {.m = m, .o = options, .sink = sink};
	unsigned int needs = 0;
	bool found = false;
	int err = 0;

	for (size_t i = 0; i < TABLES_CNT; i++)
		if (is_wanted(&w, i)) {
			found = true;
			needs |= tables[i].needs;
		}
	err = prepare(&w, needs);
	if (!err)
		err = put_all(&w);
	free(w.of_process);
	free(w.of_thread);
	timeline_free(w.t);
	sampled_free(w.s);
	return err || found ? err : -EINVAL;
}

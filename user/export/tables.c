/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/tables_private.h"

static const struct {
	const char *name;
	const struct figure *const *columns;
	const size_t *columns_cnt;
	int (*put)(const struct tables *w, const struct export_table *table);
} tables[] = {
#define ROW(name, what) \
	{#name, tables_##name##_columns, &tables_##name##_columns_cnt, tables_put_##name},
	EXPORT_TABLES(ROW)};
#define TABLES_CNT (sizeof(tables) / sizeof(*tables))

static int add_up(struct tables *w)
{
	w->of_process = calloc(w->m->processes_cnt + 1, sizeof(*w->of_process));
	w->of_thread = calloc(w->m->threads_cnt + 1, sizeof(*w->of_thread));
	if (!w->of_process || !w->of_thread)
		return -ENOMEM;
	for (size_t i = 0; i < w->s->rows_cnt; i++) {
		const struct sampled_row *row = &w->s->rows[i];

		for (int k = 0; k < EXPORT_WEIGHTS; k++) {
			w->of_thread[row->thread][k] += row->values[k];
			w->of_process[w->m->threads[row->thread].process][k] += row->values[k];
		}
	}
	return 0;
}

static int prepare(struct tables *w)
{
	unsigned int wanted = about_known(w->m, w->o, w->known);

	about_of(&w->about, w->m);
	w->s = sampled_new(w->m, w->o, wanted, SAMPLED_BY_TIME);
	if (!w->s)
		return -errno;
	w->t = timeline_new(w->m, w->o);
	return w->t ? add_up(w) : -errno;
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
	const char *wanted = w->o->table;
	bool found = false;
	int err = 0;

	for (size_t i = 0; !err && i < TABLES_CNT; i++) {
		if ((wanted && strcmp(wanted, tables[i].name)) ||
		    (w->sink->wants && !w->sink->wants(w->sink->ctx, tables[i].name))) {
			if (w->sink->left_out)
				w->sink->left_out(w->sink->ctx, tables[i].name);
			continue;
		}
		found = true;
		err = put_table(w, i);
	}
	return err || found ? err : -EINVAL;
}

int tables_walk(struct model *m, const struct export_options *options,
		const struct tables_sink *sink)
{
	struct tables w = {.m = m, .o = options, .sink = sink};
	int err = prepare(&w);

	if (!err)
		err = put_all(&w);
	free(w.of_process);
	free(w.of_thread);
	timeline_free(w.t);
	sampled_free(w.s);
	return err;
}

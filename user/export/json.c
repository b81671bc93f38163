/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/json.h"

#include "export/tables.h"
#include "output/json.h"

static void begin(void *ctx, const struct export_table *table)
{
	json_array(ctx, table->name);
}

static void row(void *ctx, const struct export_table *table, const struct subject *s)
{
	struct json *j = ctx;

	json_object(j, NULL);
	for (size_t i = 0; i < table->columns_cnt; i++)
		json_figure(j, table->columns[i], s);
	json_end(j);
}

static void end(void *ctx, const struct export_table *table)
{
	(void)table;
	json_end(ctx);
}

static void left_out(void *ctx, const char *name)
{
	json_null(ctx, name);
}

int json_write(FILE *out, struct model *m, const struct export_options *options)
{
	struct json j;
	struct tables_sink sink = {
		.begin = begin, .row = row, .end = end, .left_out = left_out, .ctx = &j};
	int err, failed;

	json_begin(&j, out, "export");
	err = tables_walk(m, options, &sink);
	failed = json_finish(&j);
	return err ? err : failed;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/ndjson.h"

#include <errno.h>

#include "export/tables.h"
#include "output/json.h"

static void nothing(void *ctx, const struct export_table *table)
{
	(void)ctx;
	(void)table;
}

static void row(void *ctx, const struct export_table *table, const struct subject *s)
{
	/* Its members stand in a line, as those of an object within another one do. */
	struct json j = {.out = ctx, .compact = true, .depth = 1};

	putc('{', j.out);
	json_text(&j, "table", table->name);
	for (size_t i = 0; i < table->columns_cnt; i++)
		json_figure(&j, table->columns[i], s);
	fputs("}\n", j.out);
}

int ndjson_write(FILE *out, struct model *m, const struct export_options *options)
{
	struct tables_sink sink = {.begin = nothing, .row = row, .end = nothing, .ctx = out};
	int err = tables_walk(m, options, &sink);

	if (!err && (fflush(out) || ferror(out)))
		err = -EIO;
	return err;
}

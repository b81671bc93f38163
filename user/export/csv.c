/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/csv.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "export/tables.h"
#include "output/json.h"

void csv_put_text(FILE *out, const char *text)
{
	const char *quote;

	putc('"', out);
	if (*text && strchr("=+-@", *text))
		putc('\'', out);
	for (; (quote = strchr(text, '"')); text = quote + 1) {
		text_put_safe(out, text, (size_t)(quote - text));
		fputs("\"\"", out);
	}
	text_put_safe(out, text, strlen(text));
	putc('"', out);
}

static void begin(void *ctx, const struct export_table *table)
{
	for (size_t i = 0; i < table->columns_cnt; i++)
		fprintf(ctx, "%s%s", i ? "," : "", table->columns[i]->id);
	putc('\n', ctx);
}

static void row(void *ctx, const struct export_table *table, const struct subject *s)
{
	for (size_t i = 0; i < table->columns_cnt; i++) {
		struct figure figure = *table->columns[i];
		struct value value = figure_value(&figure, s);
		struct json j = {.out = ctx, .compact = true};

		if (i)
			putc(',', ctx);
		figure.id = NULL;
		if (value.kind == VALUE_TEXT)
			csv_put_text(ctx, value.text);
		else if (value.kind > VALUE_UNKNOWN)
			json_figure(&j, &figure, s); /* numbers as there */
	}
	putc('\n', ctx);
}

static void end(void *ctx, const struct export_table *table)
{
	(void)ctx;
	(void)table;
}

int csv_write(FILE *out, struct model *m, const struct export_options *options)
{
	struct tables_sink sink = {.begin = begin, .row = row, .end = end, .ctx = out};
	struct export_options o = *options;
	int err;

	if (!o.table)
		o.table = "processes";
	err = tables_walk(m, &o, &sink);
	if (!err && (fflush(out) || ferror(out)))
		err = -EIO;
	return err;
}

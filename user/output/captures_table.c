/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/captures_table.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "output/json.h"
#include "output/label.h"
#include "output/table.h"

static uint64_t sum_bytes(const struct captures_table *t)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < t->rows_cnt; i++)
		if (__builtin_add_overflow(sum, t->rows[i].bytes, &sum))
			return UINT64_MAX;
	return sum;
}

static const char *state_id(enum captures_state state)
{
	static const char *const ids[] = {
		[CAPTURES_COMPLETE] = "complete", [CAPTURES_WRITING] = "being-written",
		[CAPTURES_CUT] = "cut-short",	  [CAPTURES_UNREADABLE] = "unreadable",
		[CAPTURES_GONE] = "gone",	  [CAPTURES_NOT_LOOKED] = "not-looked-at",
	};

	return ids[state];
}

static const char *state_text(enum captures_state state)
{
	switch (state) {
	case CAPTURES_WRITING:
		return "being written";
	case CAPTURES_CUT:
		return "cut short";
	case CAPTURES_NOT_LOOKED:
		return "n/a";
	default:
		return state_id(state);
	}
}

static const struct captures_row *row_of(const struct subject *s)
{
	return s->item;
}

static struct value length(const struct subject *s)
{
	if (!row_of(s)->length_ns)
		return (struct value){.kind = VALUE_UNKNOWN};
	return value_count(row_of(s)->length_ns);
}

static struct value why(const struct subject *s)
{
	return value_text(row_of(s)->by);
}

static void artifacts(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct captures_row *row = row_of(s);

	(void)columns;
	strcpy(text, row->text && row->page ? "text, page"
		     : row->text	    ? "text"
		     : row->page	    ? "page"
					    : "-");
}

static struct value state(const struct subject *s)
{
	return value_text(state_id(row_of(s)->state));
}

static void state_cell(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	(void)columns;
	strcpy(text, state_text(row_of(s)->state));
}

static struct value unreadable(const struct subject *s)
{
	return value_text(row_of(s)->state == CAPTURES_UNREADABLE ? row_of(s)->why : "");
}

static const struct figure figure_when = {"time_utc", "when", AS_UTC,
					  FIELD(struct captures_row, time_s)};
static const struct figure figure_length = {"length_ns", "length", AS_TIME, .value = length};
static const struct figure figure_size = {"size_bytes", "size", AS_BYTES,
					  FIELD(struct captures_row, bytes)};
static const struct figure figure_why = {"why", "why", AS_TEXT, .value = why};
static const struct figure figure_text = {"text", NULL, AS_TEXT, FIELD(struct captures_row, text)};
static const struct figure figure_page = {"page", NULL, AS_TEXT, FIELD(struct captures_row, page)};
static const struct figure figure_artifacts = {NULL, "artifacts", .text = artifacts};
static const struct figure figure_state = {"state", "state", AS_TEXT, .value = state,
					   .text = state_cell};
static struct value taken(const struct subject *s)
{
	return value_text(row_of(s)->taken ? row_of(s)->taken : "");
}

static const struct figure figure_taken = {"taken_because", NULL, AS_TEXT, .value = taken};
static const struct figure figure_unreadable = {"unreadable_because", NULL, AS_TEXT,
						.value = unreadable};
static const struct figure figure_name = {"name", "name", AS_TEXT,
					  FIELD(struct captures_row, name)};

static const struct column columns[] = {
	{&figure_when, .width = 23, .left = true},
	{&figure_length, .width = 12},
	{&figure_size, .width = 11},
	{&figure_why, .width = 7, .left = true, .gap = 2},
	{&figure_artifacts, .width = 10, .left = true, .gap = 2},
	{&figure_state, .width = 13, .left = true, .gap = 2},
	{&figure_name, .left = true, .gap = 2},
};

static const struct figure *const keys[] = {
	&figure_name, &figure_when,   &figure_why,  &figure_state, &figure_text,
	&figure_page, &figure_length, &figure_size, &figure_taken, &figure_unreadable,
};

/* Names are not cut: somebody may want to open one. */
#define TABLE_COLUMNS_WIDE 1024

/* --- for people ------------------------------------------------------------------------------- */

#define TAKEN_COLUMNS 110

/* What it was taken for, of the reasons the first one; the report has them all. */
static void put_taken(FILE *out, const char *taken)
{
	char first[NAME_BYTES], text[NAME_BYTES];
	size_t len = taken ? strcspn(taken, ";") : 0;

	if (!len)
		return;
	if (len >= sizeof(first))
		len = sizeof(first) - 1;
	memcpy(first, taken, len);
	first[len] = '\0';
	label_name(text, first, TAKEN_COLUMNS, CUT_END);
	fprintf(out, "    taken because: %s\n", text);
}

int captures_table_write(FILE *out, const struct captures_table *table)
{
	size_t not_looked = 0;
	struct table t;

	TABLE_LAY_OUT(&t, columns, TABLE_COLUMNS_WIDE, 0);
	if (table->rows_cnt)
		table_put_titles(out, &t);
	for (size_t i = 0; i < table->rows_cnt; i++) {
		const struct captures_row *row = &table->rows[i];
		struct subject s = {.item = row};

		table_put_row(out, &t, &s);
		if (row->state == CAPTURES_UNREADABLE && row->why)
			fprintf(out, "  %s\n", row->why);
		put_taken(out, row->taken);
		not_looked += table->rows[i].state == CAPTURES_NOT_LOOKED;
	}
	fprintf(out, "%s capture%s in ", number_count(table->rows_cnt).text,
		table->rows_cnt == 1 ? "" : "s");
	text_put_safe(out, table->folder, strlen(table->folder));
	if (table->rows_cnt)
		fprintf(out, ", %s with their artifacts", number_bytes(sum_bytes(table)).text);
	putc('\n', out);
	if (not_looked)
		fprintf(out, "not opened, since there are so many: the oldest %s\n",
			number_count(not_looked).text);
	return fflush(out) || ferror(out) ? -EIO : 0;
}

/* --- for machines ----------------------------------------------------------------------------- */

int captures_table_json(FILE *out, const struct captures_table *table)
{
	struct json j;

	json_begin(&j, out, "captures");
	json_text(&j, "folder", table->folder);
	json_array(&j, "captures");
	for (size_t i = 0; i < table->rows_cnt; i++) {
		struct subject s = {.item = &table->rows[i]};

		json_object(&j, NULL);
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			json_figure(&j, keys[k], &s);
		json_end(&j);
	}
	json_end(&j);
	json_count(&j, "size_bytes", sum_bytes(table));
	return json_finish(&j);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/captures_table.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "output/label.h"

#define TIME_COLUMNS   23
#define LENGTH_COLUMNS 10
#define SIZE_COLUMNS   11
#define WHY_COLUMNS    7
#define PAPERS_COLUMNS 10
#define STATE_COLUMNS  13

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

/* --- for people -------------------------------------------------------------------------------- */

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

static const char *papers_text(const struct captures_row *row)
{
	if (row->text && row->page)
		return "text, page";
	return row->text ? "text" : row->page ? "page" : "-";
}

static void put_cell(FILE *out, const char *text, size_t columns)
{
	label_put_left(out, text, columns);
	fputs("  ", out);
}

static void put_row(FILE *out, const struct captures_row *row)
{
	put_cell(out, number_utc(row->time_s).text, TIME_COLUMNS);
	label_put_right(out, row->length_ns ? number_time(row->length_ns).text : "n/a",
			LENGTH_COLUMNS);
	label_put_right(out, number_bytes(row->bytes).text, SIZE_COLUMNS);
	fputs("  ", out);
	put_cell(out, row->trigger ? "trigger" : "rotate", WHY_COLUMNS);
	put_cell(out, papers_text(row), PAPERS_COLUMNS);
	put_cell(out, state_text(row->state), STATE_COLUMNS);
	text_put_safe(out, row->name, strlen(row->name));
	putc('\n', out);
	if (row->state == CAPTURES_UNREADABLE && row->why)
		fprintf(out, "  %s\n", row->why);
}

int captures_table_write(FILE *out, const struct captures_table *table)
{
	size_t not_looked = 0;

	if (table->rows_cnt) {
		put_cell(out, "when", TIME_COLUMNS);
		label_put_right(out, "length", LENGTH_COLUMNS);
		label_put_right(out, "size", SIZE_COLUMNS);
		fputs("  ", out);
		put_cell(out, "why", WHY_COLUMNS);
		put_cell(out, "papers", PAPERS_COLUMNS);
		put_cell(out, "state", STATE_COLUMNS);
		fputs("name\n", out);
	}
	for (size_t i = 0; i < table->rows_cnt; i++) {
		put_row(out, &table->rows[i]);
		not_looked += table->rows[i].state == CAPTURES_NOT_LOOKED;
	}
	fprintf(out, "%s capture%s in ", number_count(table->rows_cnt).text,
		table->rows_cnt == 1 ? "" : "s");
	text_put_safe(out, table->folder, strlen(table->folder));
	if (table->rows_cnt)
		fprintf(out, ", %s with their papers", number_bytes(sum_bytes(table)).text);
	putc('\n', out);
	if (not_looked)
		fprintf(out, "not opened, since there are so many: the oldest %s\n",
			number_count(not_looked).text);
	return fflush(out) || ferror(out) ? -EIO : 0;
}

/* --- for machines ------------------------------------------------------------------------------ */

static void put_flag(FILE *out, const char *key, bool value)
{
	fprintf(out, ", \"%s\": %s", key, value ? "true" : "false");
}

static void put_json_row(FILE *out, const struct captures_row *row)
{
	time_t at = (time_t)row->time_s;
	char time_utc[32] = "";
	struct tm tm;

	fputs("{\"name\": ", out);
	text_put_json(out, row->name, strlen(row->name));
	if (gmtime_r(&at, &tm))
		strftime(time_utc, sizeof(time_utc), "%Y-%m-%dT%H:%M:%SZ", &tm);
	fprintf(out, ", \"time_utc\": \"%s\", \"why\": \"%s\", \"state\": \"%s\"", time_utc,
		row->trigger ? "trigger" : "rotate", state_id(row->state));
	put_flag(out, "text", row->text);
	put_flag(out, "page", row->page);
	if (row->length_ns)
		fprintf(out, ", \"length_ns\": %llu", (unsigned long long)row->length_ns);
	else
		fputs(", \"length_ns\": null", out);
	fprintf(out, ", \"bytes\": %llu", (unsigned long long)row->bytes);
	if (row->state == CAPTURES_UNREADABLE && row->why) {
		fputs(", \"unreadable_because\": ", out);
		text_put_json(out, row->why, strlen(row->why));
	}
	putc('}', out);
}

int captures_table_json(FILE *out, const struct captures_table *table)
{
	fputs("{\"folder\": ", out);
	text_put_json(out, table->folder, strlen(table->folder));
	fputs(", \"captures\": [", out);
	for (size_t i = 0; i < table->rows_cnt; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_json_row(out, &table->rows[i]);
	}
	fprintf(out, "%s], \"bytes\": %llu}\n", table->rows_cnt ? "\n" : "",
		(unsigned long long)sum_bytes(table));
	return fflush(out) || ferror(out) ? -EIO : 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/perfmap_table.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "model/share.h"
#include "output/label.h"

#define PID_COLUMNS	7
#define VERSION_COLUMNS 9
#define FOUND_COLUMNS	13
#define MAP_COLUMNS	14
#define ENTRIES_COLUMNS 10
#define SIZE_COLUMNS	9
#define SHARE_COLUMNS	7
#define GAP		2
/* What is always there but the name, with the gaps. */
#define FIXED_COLUMNS                                                                   \
	(PID_COLUMNS + VERSION_COLUMNS + MAP_COLUMNS + ENTRIES_COLUMNS + SIZE_COLUMNS + \
	 SHARE_COLUMNS + 6 * GAP)
#define NAME_MIN  12
#define NAME_MOST 40
#define PLACE_MIN 14
#define PLACE_MAX 28

_Static_assert(FIXED_COLUMNS + NAME_MIN <= PERFMAP_TABLE_MIN, "the narrowest table has room");

struct layout {
	size_t name, place; /* place 0: no room for it */
	bool found;	    /* there is room for how it was found */
};

static const char *place_of(const struct perfmap_row *row)
{
	return *row->container ? row->container : row->unit;
}

static size_t at_least(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t at_most(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Names get what they need and there is; places the rest; how it was found goes first. */
static struct layout layout_of(const struct perfmap_table *t)
{
	struct layout l = {.name = strlen("process")};
	size_t place = 0, room;
	char buf[NAME_BYTES];

	for (size_t i = 0; i < t->rows_cnt; i++) {
		label_name(buf, t->rows[i].name, NAME_MOST, CUT_END);
		l.name = at_least(l.name, text_columns(buf));
		label_name(buf, place_of(&t->rows[i]), PLACE_MAX, CUT_MIDDLE);
		place = at_least(place, text_columns(buf));
	}
	if (place)
		place = at_least(place, PLACE_MIN) + GAP;
	room = t->columns - FIXED_COLUMNS;
	l.found = room >= at_most(l.name, NAME_MIN) + place + FOUND_COLUMNS + GAP;
	if (l.found)
		room -= FOUND_COLUMNS + GAP;
	if (place && room < at_most(l.name, NAME_MIN) + place)
		place = room >= NAME_MIN + PLACE_MIN + GAP ? room - NAME_MIN : 0;
	l.name = at_least(at_most(l.name, room > place ? room - place : 0), NAME_MIN);
	l.place = place ? place - GAP : 0;
	return l;
}

static void put_gap(FILE *out)
{
	fputs("  ", out);
}

static void put_titles(FILE *out, const struct layout *l)
{
	label_put_right(out, "pid", PID_COLUMNS);
	put_gap(out);
	label_put_left(out, "process", l->name);
	put_gap(out);
	label_put_left(out, "runtime", VERSION_COLUMNS);
	put_gap(out);
	if (l->found) {
		label_put_left(out, "found by", FOUND_COLUMNS);
		put_gap(out);
	}
	if (l->place) {
		label_put_left(out, "container/unit", l->place);
		put_gap(out);
	}
	label_put_left(out, "perf map", MAP_COLUMNS);
	put_gap(out);
	label_put_right(out, "entries", ENTRIES_COLUMNS);
	put_gap(out);
	label_put_right(out, "size", SIZE_COLUMNS);
	put_gap(out);
	label_put_right(out, "named", SHARE_COLUMNS);
	putc('\n', out);
}

static struct number share_of_row(const struct perfmap_row *row)
{
	struct number n = {"n/a"};

	return row->share_why ? n : number_percent(share_of(row->jit_named, row->jit_frames));
}

static void put_name(FILE *out, const char *name, size_t columns, enum text_cut cut)
{
	char buf[NAME_BYTES];

	label_name(buf, name, columns, cut);
	label_put_left(out, buf, columns);
	put_gap(out);
}

static void put_entries(FILE *out, const struct perfmap_row *row)
{
	struct number n = {"-"}, more = {""};

	if (row->has_file) {
		n = number_count(row->entries);
		snprintf(more.text, sizeof(more.text), "%s%.30s", row->cut ? ">" : "", n.text);
		n = more;
	}
	label_put_right(out, n.text, ENTRIES_COLUMNS);
	put_gap(out);
	label_put_right(out, row->has_file ? number_bytes(row->map_bytes).text : "-", SIZE_COLUMNS);
	put_gap(out);
}

static void put_row(FILE *out, const struct layout *l, const struct perfmap_row *row)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%u", row->pid);
	label_put_right(out, pid, PID_COLUMNS);
	put_gap(out);
	put_name(out, row->name, l->name, CUT_END);
	put_name(out, *row->version ? row->version : "?", VERSION_COLUMNS, CUT_END);
	if (l->found)
		put_name(out, row->found, FOUND_COLUMNS, CUT_END);
	if (l->place)
		put_name(out, *place_of(row) ? place_of(row) : "-", l->place, CUT_MIDDLE);
	label_put_left(out, row->map, MAP_COLUMNS);
	put_gap(out);
	put_entries(out, row);
	label_put_right(out, share_of_row(row).text, SHARE_COLUMNS);
	putc('\n', out);
}

/* --- what stands below a row or the table ------------------------------------------------------ */

static void put_detail(FILE *out, const char *what, const char *text)
{
	char buf[NAME_BYTES];

	label_name(buf, text, NAME_BYTES, CUT_START);
	fprintf(out, "%*s%-10s %s\n", PID_COLUMNS + GAP, "", what, buf);
}

static void put_details(FILE *out, const struct perfmap_row *row)
{
	char line[256];

	snprintf(line, sizeof(line), "%u, pid %u inside%s%s%s%s", row->uid, row->ns_pid,
		 row->single_file ? ", single file" : "", row->native_aot ? ", NativeAOT" : "",
		 row->is_32bit ? ", 32 bit" : "", row->musl ? ", musl" : "");
	put_detail(out, "user", line);
	if (*row->version) {
		snprintf(line, sizeof(line), "%.64s, known by %.32s", row->version,
			 row->version_source);
		put_detail(out, "runtime", line);
	}
	if (*row->container)
		put_detail(out, "container", row->container);
	if (*row->unit)
		put_detail(out, "unit", row->unit);
	put_detail(out, "map", row->map_path);
	if (row->has_file) {
		snprintf(line, sizeof(line), "%s%s, the others are stubs of the runtime",
			 row->cut ? "more than " : "", number_count(row->methods).text);
		put_detail(out, "methods", line);
	}
	if (row->refusal)
		put_detail(out, "", row->refusal);
	put_detail(out, "socket", row->socket);
	if (*row->socket_path)
		put_detail(out, "", row->socket_path);
	if (*row->profiler)
		put_detail(out, "profiler", row->profiler);
	if (row->share_why)
		put_detail(out, "named", row->share_why);
}

static void put_summary(FILE *out, const struct perfmap_table *t)
{
	if (!t->rows_cnt)
		fputs("no .NET process found\n", out);
	if (t->sampled && t->rows_cnt)
		fprintf(out,
			"\nnamed: share of the JIT frames with a name that were on a CPU in %s s;"
			" -v says why n/a\n",
			number_fixed(t->seconds, 1).text);
	if (t->unreadable)
		fprintf(out,
			"%s %s could not be looked at: no permission (root with SYS_PTRACE "
			"sees all)\n",
			number_count(t->unreadable).text,
			t->unreadable == 1 ? "process" : "processes");
	if (t->hung)
		fprintf(out, "%s %s did not answer in time\n", number_count(t->hung).text,
			t->hung == 1 ? "process" : "processes");
	if (t->cut)
		fputs("more .NET processes than hotrun looks at: the list is not complete\n", out);
}

/* One line for each thing that can be done. */
static void put_advice(FILE *out, const struct perfmap_table *t)
{
	bool first = true;

	for (size_t i = 0; i < t->rows_cnt; i++) {
		bool known = false;

		if (!t->rows[i].advice)
			continue;
		for (size_t k = 0; k < i && !known; k++)
			known = t->rows[k].advice == t->rows[i].advice;
		if (known)
			continue;
		fprintf(out, "%s%s\n", first ? "\n" : "", t->rows[i].advice);
		first = false;
	}
}

int perfmap_table_write(FILE *out, const struct perfmap_table *table)
{
	struct layout l = layout_of(table);

	if (table->rows_cnt)
		put_titles(out, &l);
	for (size_t i = 0; i < table->rows_cnt; i++) {
		put_row(out, &l, &table->rows[i]);
		if (table->details)
			put_details(out, &table->rows[i]);
	}
	put_summary(out, table);
	put_advice(out, table);
	return fflush(out) || ferror(out) ? -EIO : 0;
}

/* --- JSON -------------------------------------------------------------------------------------- */

static void put_string(FILE *out, const char *key, const char *value)
{
	fprintf(out, ", \"%s\": ", key);
	if (value && *value)
		text_put_json(out, value, strlen(value));
	else
		fputs("null", out);
}

static void put_flag(FILE *out, const char *key, bool value)
{
	fprintf(out, ", \"%s\": %s", key, value ? "true" : "false");
}

static void put_count(FILE *out, const char *key, bool known, uint64_t value)
{
	fprintf(out, ", \"%s\": ", key);
	if (known)
		fprintf(out, "%llu", (unsigned long long)value);
	else
		fputs("null", out);
}

static void put_json_row(FILE *out, const struct perfmap_table *t, const struct perfmap_row *row)
{
	fprintf(out, "{\"pid\": %u, \"ns_pid\": %u, \"uid\": %u", row->pid, row->ns_pid, row->uid);
	put_string(out, "name", row->name);
	put_string(out, "unit", row->unit);
	put_string(out, "container", row->container);
	put_string(out, "version", row->version);
	put_string(out, "version_source", row->version_source);
	put_string(out, "found_by", row->found_id);
	put_flag(out, "single_file", row->single_file);
	put_flag(out, "native_aot", row->native_aot);
	put_flag(out, "is_32bit", row->is_32bit);
	put_flag(out, "musl", row->musl);
	put_string(out, "profiler", row->profiler);
	put_string(out, "socket", row->socket_id);
	put_string(out, "socket_path", row->socket_path);
	put_string(out, "map", row->map_id);
	put_string(out, "map_path", row->map_path);
	put_string(out, "map_refusal", row->refusal);
	put_count(out, "map_bytes", row->has_file, row->map_bytes);
	put_count(out, "map_entries", row->has_file, row->entries);
	put_count(out, "map_methods", row->has_file, row->methods);
	put_flag(out, "map_cut", row->cut);
	put_count(out, "jit_frames", t->sampled, row->jit_frames);
	put_count(out, "jit_frames_named", t->sampled, row->jit_named);
	put_string(out, "no_share_because", row->share_why);
	putc('}', out);
}

int perfmap_table_json(FILE *out, const struct perfmap_table *table)
{
	fputs("{\"dotnet_processes\": [", out);
	for (size_t i = 0; i < table->rows_cnt; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_json_row(out, table, &table->rows[i]);
	}
	fprintf(out,
		"%s], \"processes_unreadable\": %zu, \"processes_hung\": %zu, \"complete\": %s}\n",
		table->rows_cnt ? "\n" : "", table->unreadable, table->hung,
		table->cut ? "false" : "true");
	return fflush(out) || ferror(out) ? -EIO : 0;
}

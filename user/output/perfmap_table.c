/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/perfmap_table.h"

#include <errno.h>
#include <string.h>

#include "model/share.h"
#include "output/json.h"
#include "output/label.h"
#include "output/table.h"

#define NAME_MOST 40
#define PLACE_MIN 14
#define PLACE_MAX 28

static const struct perfmap_row *row_of(const struct subject *s)
{
	return s->item;
}

static bool is_sampled(const struct subject *s)
{
	return ((const struct perfmap_table *)s->of)->sampled;
}

/* --- figures of a row ------------------------------------------------------------------------- */

static const struct value none = {.kind = VALUE_NONE}, unknown = {.kind = VALUE_UNKNOWN};

static struct value map_bytes(const struct subject *s)
{
	return row_of(s)->has_file ? value_count(row_of(s)->map_bytes) : none;
}

static struct value entries(const struct subject *s)
{
	return row_of(s)->has_file ? value_count(row_of(s)->entries) : none;
}

static struct value methods(const struct subject *s)
{
	return row_of(s)->has_file ? value_count(row_of(s)->methods) : none;
}

static struct value jit_frames(const struct subject *s)
{
	return is_sampled(s) ? value_count(row_of(s)->jit_frames) : unknown;
}

static struct value jit_named(const struct subject *s)
{
	return is_sampled(s) ? value_count(row_of(s)->jit_named) : unknown;
}

static struct value named_share(const struct subject *s)
{
	if (row_of(s)->share_why)
		return unknown;
	return value_real(share_of(row_of(s)->jit_named, row_of(s)->jit_frames));
}

static void entries_cell(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	(void)columns;
	if (row_of(s)->has_file)
		snprintf(text, CELL_BYTES, "%s%s", row_of(s)->cut ? ">" : "",
			 number_count(row_of(s)->entries).text);
	else
		strcpy(text, "-");
}

static void version_cell(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	label_name(text, *row_of(s)->version ? row_of(s)->version : "?", columns, CUT_END);
}

static void found_cell(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	label_name(text, row_of(s)->found, columns, CUT_END);
}

static void map_cell(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	label_name(text, row_of(s)->map, columns, CUT_END);
}

static const char *place_of(const struct perfmap_row *row)
{
	return *row->container ? row->container : row->unit;
}

static void place_cell(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const char *place = place_of(row_of(s));

	label_name(text, *place ? place : "-", columns, CUT_MIDDLE);
}

#define ROW(member) FIELD(struct perfmap_row, member)

static const struct figure figure_row_pid = {"pid", "pid", AS_ID, ROW(pid)};
static const struct figure figure_ns_pid = {"ns_pid", .unit = AS_ID, ROW(ns_pid)};
static const struct figure figure_uid = {"uid", .unit = AS_ID, ROW(uid)};
static const struct figure figure_name = {"name", "process", AS_TEXT, ROW(name)};
static const struct figure figure_unit = {"unit", ROW(unit)};
static const struct figure figure_container = {"container", ROW(container)};
static const struct figure figure_place = {NULL, "container/unit", .text = place_cell};
static const struct figure figure_version = {"version", "runtime", AS_TEXT, ROW(version),
					     .text = version_cell};
static const struct figure figure_version_source = {"version_source", ROW(version_source)};
static const struct figure figure_found = {"found_by", "found by", AS_TEXT, ROW(found_id),
					   .text = found_cell};
static const struct figure figure_single_file = {"single_file", ROW(single_file)};
static const struct figure figure_native_aot = {"native_aot", ROW(native_aot)};
static const struct figure figure_is_32bit = {"is_32bit", ROW(is_32bit)};
static const struct figure figure_musl = {"musl", ROW(musl)};
static const struct figure figure_profiler = {"profiler", ROW(profiler)};
static const struct figure figure_socket = {"socket", ROW(socket_id)};
static const struct figure figure_socket_path = {"socket_path", ROW(socket_path)};
static const struct figure figure_map = {"map", "perf map", AS_TEXT, ROW(map_id), .text = map_cell};
static const struct figure figure_map_path = {"map_path", ROW(map_path)};
static const struct figure figure_refusal = {"map_refusal", ROW(refusal)};
static const struct figure figure_size = {"map_bytes", "size", AS_BYTES, .value = map_bytes};
static const struct figure figure_entries = {"map_entries", "entries", AS_COUNT, .value = entries,
					     .text = entries_cell};
static const struct figure figure_methods = {"map_methods", .value = methods};
static const struct figure figure_cut = {"map_cut", ROW(cut)};
static const struct figure figure_jit_frames = {"jit_frames", .value = jit_frames};
static const struct figure figure_jit_named = {"jit_frames_named", .value = jit_named};
static const struct figure figure_named = {"jit_named_share", "named", AS_SHARE,
					   .value = named_share};
static const struct figure figure_share_why = {"no_share_because", ROW(share_why)};

static const struct figure *const keys[] = {
	&figure_row_pid,   &figure_ns_pid,	&figure_uid,	    &figure_name,
	&figure_unit,	   &figure_container,	&figure_version,    &figure_version_source,
	&figure_found,	   &figure_single_file, &figure_native_aot, &figure_is_32bit,
	&figure_musl,	   &figure_profiler,	&figure_socket,	    &figure_socket_path,
	&figure_map,	   &figure_map_path,	&figure_refusal,    &figure_size,
	&figure_entries,   &figure_methods,	&figure_cut,	    &figure_jit_frames,
	&figure_jit_named, &figure_named,	&figure_share_why,
};

/* Names get what they need, places what is left; how it was found goes first where there is no
 * room. */
static const struct column columns[] = {
	{&figure_row_pid, .width = 7},
	{&figure_name, .left = true, .gap = 2, .least = 12},
	{&figure_version, .width = 9, .left = true, .gap = 2},
	{&figure_found, .width = 13, .left = true, .gap = 2, .rank = 2},
	{&figure_place, .left = true, .gap = 2, .least = PLACE_MIN, .pct = 100, .rank = 1,
	 .when = 1},
	{&figure_map, .width = 14, .left = true, .gap = 2},
	{&figure_entries, .width = 12},
	{&figure_size, .width = 11},
	{&figure_named, .width = 9},
};
#define COLUMNS_CNT (sizeof(columns) / sizeof(columns[0]))

/* Copies the columns, those of names as wide as the rows need them. */
static void lay_out(struct table *t, struct column copy[static COLUMNS_CNT],
		    const struct perfmap_table *table)
{
	size_t name = strlen("process"), place = 0, n;
	char buf[NAME_BYTES];

	for (size_t i = 0; i < table->rows_cnt; i++) {
		label_name(buf, table->rows[i].name, NAME_MOST, CUT_END);
		n = text_columns(buf);
		name = n > name ? n : name;
		label_name(buf, place_of(&table->rows[i]), PLACE_MAX, CUT_MIDDLE);
		n = text_columns(buf);
		place = n > place ? n : place;
	}
	memcpy(copy, columns, sizeof(columns));
	for (size_t i = 0; i < COLUMNS_CNT; i++) {
		if (copy[i].figure == &figure_name)
			copy[i].most = (uint16_t)name;
		if (copy[i].figure == &figure_place)
			copy[i].most = (uint16_t)(place > PLACE_MIN ? place : PLACE_MIN);
	}
	table_lay_out(t, copy, COLUMNS_CNT, table->columns, place ? 1 : 0);
}

/* --- what stands below a row or the table ----------------------------------------------------- */

static void put_detail(FILE *out, const char *what, const char *text)
{
	char buf[NAME_BYTES];

	label_name(buf, text, NAME_BYTES, CUT_START);
	fprintf(out, "%9s%-10s %s\n", "", what, buf);
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
	struct column copy[COLUMNS_CNT];
	struct table t;

	lay_out(&t, copy, table);
	if (table->rows_cnt)
		table_put_titles(out, &t);
	for (size_t i = 0; i < table->rows_cnt; i++) {
		struct subject s = {.item = &table->rows[i], .of = table};

		table_put_row(out, &t, &s);
		if (table->details)
			put_details(out, &table->rows[i]);
	}
	put_summary(out, table);
	put_advice(out, table);
	return fflush(out) || ferror(out) ? -EIO : 0;
}

/* --- JSON ------------------------------------------------------------------------------------- */

int perfmap_table_json(FILE *out, const struct perfmap_table *table)
{
	struct json j;

	json_begin(&j, out, "perfmap");
	json_array(&j, "dotnet_processes");
	for (size_t i = 0; i < table->rows_cnt; i++) {
		struct subject s = {.item = &table->rows[i], .of = table};

		json_object(&j, NULL);
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			json_figure(&j, keys[k], &s);
		json_end(&j);
	}
	json_end(&j);
	json_count(&j, "unreadable_processes", table->unreadable);
	json_count(&j, "hung_processes", table->hung);
	json_flag(&j, "complete", !table->cut);
	return json_finish(&j);
}

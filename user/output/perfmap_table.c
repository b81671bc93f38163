/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/perfmap_table.h"

#include <errno.h>
#include <string.h>

#include "model/share.h"
#include "output/dotnet_process.h"
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

static const struct value unknown = {.kind = VALUE_UNKNOWN};

static struct value jit_frames(const struct subject *s)
{
	return is_sampled(s) ? value_count(row_of(s)->jit_frames) : unknown;
}

static struct value jit_named(const struct subject *s)
{
	return is_sampled(s) ? value_count(row_of(s)->jit_named) : unknown;
}

static struct value jit_memory(const struct subject *s)
{
	return is_sampled(s) ? value_count(row_of(s)->jit_memory) : unknown;
}

/* Whichever named more. */
static struct value named_by(const struct subject *s)
{
	const struct perfmap_row *row = row_of(s);

	if (row->share_why || !row->jit_named)
		return unknown;
	return value_text(row->jit_memory * 2 > row->jit_named ? "memory" : "map");
}

static struct value named_share(const struct subject *s)
{
	if (row_of(s)->share_why)
		return unknown;
	return value_real(share_of(row_of(s)->jit_named, row_of(s)->jit_frames));
}

#define ROW(member) FIELD(struct perfmap_row, member)

static const struct figure figure_jit_frames = {"jit_frames", .value = jit_frames};
static const struct figure figure_jit_named = {"jit_frames_named", .value = jit_named};
static const struct figure figure_named = {"jit_named_share", "named", AS_SHARE,
					   .value = named_share};
static const struct figure figure_memory = {"jit_frames_named_by_memory", .value = jit_memory};
static const struct figure figure_named_by = {"jit_named_mostly_by", "by", .value = named_by};
static const struct figure figure_share_why = {"no_share_because", ROW(share_why)};

/* Beside those of the process. */
static const struct figure *const keys[] = {
	&figure_jit_frames, &figure_jit_named, &figure_named,
	&figure_memory,	    &figure_named_by,  &figure_share_why,
};

/* Names get what they need, places what is left; how it was found goes first where there is no
 * room. */
static const struct column columns[] = {
	{&figure_dotnet_pid, .width = 7},
	{&figure_dotnet_name, .left = true, .gap = 2, .least = 12},
	{&figure_dotnet_version, .width = 9, .left = true, .gap = 2},
	{&figure_dotnet_found, .width = 13, .left = true, .gap = 2, .rank = 3},
	{&figure_dotnet_place, .left = true, .gap = 2, .least = PLACE_MIN, .pct = 100, .rank = 2,
	 .when = 1},
	{&figure_dotnet_map, .width = 14, .left = true, .gap = 2},
	{&figure_dotnet_entries, .width = 12},
	{&figure_dotnet_size, .width = 11},
	{&figure_named, .width = 9},
	{&figure_named_by, .width = 6, .left = true, .gap = 2, .rank = 1},
};
#define COLUMNS_CNT (sizeof(columns) / sizeof(columns[0]))

/* Copies the columns, those of names as wide as the rows need them. */
static void lay_out(struct table *t, struct column copy[static COLUMNS_CNT],
		    const struct perfmap_table *table)
{
	size_t name = strlen("process"), place = 0, n;
	char buf[NAME_BYTES];

	for (size_t i = 0; i < table->rows_cnt; i++) {
		label_name(buf, table->rows[i].process->name, NAME_MOST, CUT_END);
		n = text_columns(buf);
		name = n > name ? n : name;
		label_name(buf, dotnet_process_place(table->rows[i].process), PLACE_MAX,
			   CUT_MIDDLE);
		n = text_columns(buf);
		place = n > place ? n : place;
	}
	memcpy(copy, columns, sizeof(columns));
	for (size_t i = 0; i < COLUMNS_CNT; i++) {
		if (copy[i].figure == &figure_dotnet_name)
			copy[i].most = (uint16_t)name;
		if (copy[i].figure == &figure_dotnet_place)
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
	const struct dotnet_process *p = row->process;
	char line[256];

	snprintf(line, sizeof(line), "%u, pid %u inside%s%s%s%s", p->euid, p->ns_pid,
		 p->single_file ? ", single file" : "", p->native_aot ? ", NativeAOT" : "",
		 p->is_32bit ? ", 32 bit" : "", p->musl ? ", musl" : "");
	put_detail(out, "user", line);
	if (*p->version) {
		snprintf(line, sizeof(line), "%.64s, known by %.32s", p->version,
			 p->version_source);
		put_detail(out, "runtime", line);
	}
	if (*p->container)
		put_detail(out, "container", p->container);
	if (*p->unit)
		put_detail(out, "unit", p->unit);
	put_detail(out, "map", p->map_path);
	if (dotnet_process_has_file(p)) {
		snprintf(line, sizeof(line), "%s%s, the others are stubs of the runtime",
			 p->map_cut ? "more than " : "", number_count(p->map_methods).text);
		put_detail(out, "methods", line);
	}
	if (p->map_refusal)
		put_detail(out, "", dotnet_refusal_text(p->map_refusal));
	put_detail(out, "socket", dotnet_socket_text(p->socket));
	if (*p->socket_path)
		put_detail(out, "", p->socket_path);
	if (*p->profiler)
		put_detail(out, "profiler", p->profiler);
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
		struct subject s = {
			.dotnet = table->rows[i].process, .item = &table->rows[i], .of = table};

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
		struct subject s = {
			.dotnet = table->rows[i].process, .item = &table->rows[i], .of = table};

		json_object(&j, NULL);
		dotnet_process_json(&j, table->rows[i].process);
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

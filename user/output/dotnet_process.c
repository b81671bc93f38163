/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/dotnet_process.h"

#include <string.h>

#include "output/label.h"

static const struct value none = {.kind = VALUE_NONE};

bool dotnet_process_has_file(const struct dotnet_process *p)
{
	return p->map_ino != 0;
}

const char *dotnet_process_place(const struct dotnet_process *p)
{
	return *p->container ? p->container : p->unit;
}

/* --- values ----------------------------------------------------------------------------------- */

static struct value found(const struct subject *s)
{
	return value_text(dotnet_found_id(s->dotnet->found));
}

static struct value socket_state(const struct subject *s)
{
	return value_text(dotnet_socket_id(s->dotnet->socket));
}

static struct value map_state(const struct subject *s)
{
	return value_text(dotnet_map_id(s->dotnet->map));
}

static struct value refusal(const struct subject *s)
{
	int err = s->dotnet->map_refusal;

	return value_text(err ? dotnet_refusal_text(err) : NULL);
}

static struct value map_count(const struct subject *s, uint64_t cnt)
{
	return dotnet_process_has_file(s->dotnet) ? value_count(cnt) : none;
}

static struct value map_bytes(const struct subject *s)
{
	return map_count(s, s->dotnet->map_bytes);
}

static struct value entries(const struct subject *s)
{
	return map_count(s, s->dotnet->map_entries);
}

static struct value methods(const struct subject *s)
{
	return map_count(s, s->dotnet->map_methods);
}

/* --- cells ------------------------------------------------------------------------------------ */

static void entries_cell(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	(void)columns;
	if (dotnet_process_has_file(s->dotnet))
		snprintf(text, CELL_BYTES, "%s%s", s->dotnet->map_cut ? ">" : "",
			 number_count(s->dotnet->map_entries).text);
	else
		strcpy(text, "-");
}

static void version_cell(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	label_name(text, *s->dotnet->version ? s->dotnet->version : "?", columns, CUT_END);
}

static void found_cell(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	label_name(text, dotnet_found_text(s->dotnet->found), columns, CUT_END);
}

static void map_cell(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	label_name(text, dotnet_map_text(s->dotnet->map), columns, CUT_END);
}

static void place_cell(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const char *place = dotnet_process_place(s->dotnet);

	label_name(text, *place ? place : "-", columns, CUT_MIDDLE);
}

/* --- figures ---------------------------------------------------------------------------------- */

#define DOTNET(member) FIELD_OF(dotnet, struct dotnet_process, member)

const struct figure figure_dotnet_pid = {"pid", "pid", AS_ID, DOTNET(tgid)};
const struct figure figure_dotnet_name = {"name", "process", AS_TEXT, DOTNET(name)};
const struct figure figure_dotnet_version = {"version", "runtime", AS_TEXT, DOTNET(version),
					     .text = version_cell};
const struct figure figure_dotnet_found = {"found_by", "found by", AS_TEXT, .value = found,
					   .text = found_cell};
const struct figure figure_dotnet_place = {NULL, "container/unit", .text = place_cell};
const struct figure figure_dotnet_map = {"map", "perf map", AS_TEXT, .value = map_state,
					 .text = map_cell};
const struct figure figure_dotnet_entries = {"map_entries", "entries", AS_COUNT, .value = entries,
					     .text = entries_cell};
const struct figure figure_dotnet_size = {"map_bytes", "size", AS_BYTES, .value = map_bytes};

static const struct figure ns_pid = {"ns_pid", .unit = AS_ID, DOTNET(ns_pid)};
static const struct figure uid = {"uid", .unit = AS_ID, DOTNET(euid)};
static const struct figure unit = {"unit", DOTNET(unit)};
static const struct figure container = {"container", DOTNET(container)};
static const struct figure version_source = {"version_source", DOTNET(version_source)};
static const struct figure single_file = {"single_file", DOTNET(single_file)};
static const struct figure native_aot = {"native_aot", DOTNET(native_aot)};
static const struct figure is_32bit = {"is_32bit", DOTNET(is_32bit)};
static const struct figure musl = {"musl", DOTNET(musl)};
static const struct figure profiler = {"profiler", DOTNET(profiler)};
static const struct figure socket = {"socket", .value = socket_state};
static const struct figure socket_path = {"socket_path", DOTNET(socket_path)};
static const struct figure map_path = {"map_path", DOTNET(map_path)};
static const struct figure map_refusal = {"map_refusal", .value = refusal};
static const struct figure map_methods = {"map_methods", .value = methods};
static const struct figure map_cut = {"map_cut", DOTNET(map_cut)};

static const struct figure *const keys[] = {
	&figure_dotnet_pid,
	&ns_pid,
	&uid,
	&figure_dotnet_name,
	&unit,
	&container,
	&figure_dotnet_version,
	&version_source,
	&figure_dotnet_found,
	&single_file,
	&native_aot,
	&is_32bit,
	&musl,
	&profiler,
	&socket,
	&socket_path,
	&figure_dotnet_map,
	&map_path,
	&map_refusal,
	&figure_dotnet_size,
	&figure_dotnet_entries,
	&map_methods,
	&map_cut,
};

void dotnet_process_json(struct json *j, const struct dotnet_process *p)
{
	struct subject s = {.dotnet = p};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		json_figure(j, keys[i], &s);
}

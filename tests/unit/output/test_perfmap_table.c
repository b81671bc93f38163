/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `hotrun perfmap status`: its table, its JSON, names of strangers in them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_model.h"
#include "golden.h"
#include "model/jit_share.h"
#include "output/perfmap_table.h"
#include "output/report_text.h"

static const char advice[] = "`hotrun perfmap enable PID` asks a runtime for a map";

static const struct dotnet_process processes[] = {
	{.tgid = 812,
	 .ns_pid = 812,
	 .euid = 1000,
	 .name = "Shop.Api",
	 .unit = "shop.service",
	 .version = "10.0.12",
	 .version_source = "path",
	 .found = DOTNET_BY_LIBRARY,
	 .map = DOTNET_MAP_SINCE_START,
	 .map_path = "/tmp/perf-812.map",
	 .map_ino = 1,
	 .map_bytes = 763123,
	 .map_entries = 5973,
	 .map_methods = 2855,
	 .socket_path = "/tmp/dotnet-diagnostic-812-77-socket"},
	{.tgid = 4194303,
	 .ns_pid = 1,
	 .name = "A.Service.With.A.Very.Long.Name.Indeed.It.Is",
	 .container = "3f1c9a2b77de",
	 .version = "8.0.31",
	 .version_source = "file",
	 .found = DOTNET_BY_EXECUTABLE,
	 .map = DOTNET_MAP_SWITCHED_ON,
	 .map_path = "/tmp/perf-1.map",
	 .map_ino = 2,
	 .map_cut = true,
	 .map_bytes = 912000000,
	 .map_entries = 4000000,
	 .map_methods = 3900000,
	 .socket_path = "/tmp/dotnet-diagnostic-1-99-socket",
	 .profiler = "libtrace.so",
	 .single_file = true,
	 .musl = true},
	{.tgid = 5,
	 .ns_pid = 5,
	 .name = "evil\x1b[31m\n\"name\"",
	 .found = DOTNET_BY_SOCKET,
	 .map = DOTNET_MAP_ABSENT,
	 .map_path = "/tmp/\x1b]0;x\a/perf-5.map",
	 .map_refusal = -ELOOP,
	 .socket_path = "/tmp/x",
	 .native_aot = true,
	 .is_32bit = true},
	{.tgid = 6,
	 .ns_pid = 6,
	 .name = "b",
	 .version = "9.0.20",
	 .version_source = "file",
	 .found = DOTNET_BY_DOUBLEMAPPER,
	 .map = DOTNET_MAP_UNWRITABLE,
	 .map_path = "/tmp/perf-6.map",
	 .socket = DOTNET_SOCKET_ABSENT},
};

static const struct perfmap_row rows[] = {
	{.process = &processes[0], .jit_frames = 1000, .jit_named = 997, .jit_memory = 9},
	{.process = &processes[1],
	 .jit_frames = 3,
	 .share_why = "too little JIT code of it was seen on a CPU"},
	{.process = &processes[2],
	 .share_why = "no JIT code of it was seen on a CPU",
	 .advice = advice},
	{.process = &processes[3], .jit_frames = 400, .advice = advice},
};

static char *table_text(const struct perfmap_table *table, bool json, size_t *ret_len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_len);

	cr_assert(out);
	cr_assert_eq(json ? perfmap_table_json(out, table) : perfmap_table_write(out, table), 0);
	fclose(out);
	return text;
}

static void expect(const char *golden, struct perfmap_table table, bool json)
{
	size_t len = 0;
	char *text;

	table.rows = rows;
	table.rows_cnt = sizeof(rows) / sizeof(rows[0]);
	table.seconds = 1;
	text = table_text(&table, json, &len);
	cr_expect_null(memchr(text, '\x1b', len));
	golden_expect(golden, text, len);
	free(text);
}

Test(perfmap_table, as_a_table)
{
	expect("perfmap_status.txt",
	       (struct perfmap_table){.columns = 140, .sampled = true, .unreadable = 1, .hung = 2},
	       false);
}

Test(perfmap_table, on_a_narrow_terminal)
{
	expect("perfmap_status_80.txt", (struct perfmap_table){.columns = 80, .sampled = true},
	       false);
}

Test(perfmap_table, with_details)
{
	expect("perfmap_status_details.txt",
	       (struct perfmap_table){.columns = 120, .details = true, .cut = true}, false);
}

Test(perfmap_table, as_json)
{
	expect("perfmap_status.json",
	       (struct perfmap_table){.sampled = true, .unreadable = 1, .cut = true}, true);
}

Test(perfmap_table, rows_keep_to_their_columns)
{
	for (unsigned int columns = PERFMAP_TABLE_MIN; columns < 200; columns++) {
		struct perfmap_table table = {.rows = rows, .rows_cnt = 4, .columns = columns};
		size_t len = 0, line = 0;
		char *text = table_text(&table, false, &len), *save = NULL;

		for (char *at = strtok_r(text, "\n", &save); at && line < 5;
		     at = strtok_r(NULL, "\n", &save), line++)
			cr_expect_leq(text_columns(at), columns, "%u: %s", columns, at);
		free(text);
	}
}

Test(perfmap_table, without_a_process)
{
	struct perfmap_table table = {.columns = 100, .sampled = true};
	size_t len = 0;
	char *text = table_text(&table, false, &len);

	cr_expect_str_eq(text, "no .NET process found\n");
	free(text);
}

Test(jit_share, counts_frames_of_jit_code_by_process)
{
	struct model *m = build_model(2, 99);
	uint32_t a = build_process(m, 7, "a", 0), b = build_process(m, 8, "b", 0);
	uint32_t ta = build_thread(m, a, 7, "a", 0, 'R'), tb = build_thread(m, b, 8, "b", 0, 'R');
	uint32_t native = build_symbol(m, "main", "a", KIND_NATIVE, true);
	uint32_t jit = build_symbol(m, "Work", "a", KIND_JIT, true);
	uint32_t stub = build_symbol(m, "stub", "a", KIND_STUB, false);
	uint32_t image = build_symbol(m, "List.Add", "CoreLib", KIND_IMAGE, false);
	uint32_t unnamed =
		model_symbol_get(m, &(struct model_symbol){.name = "[0x7f]",
							   .raw = "[0x7f]",
							   .module = "",
							   .kind = KIND_JIT,
							   .reason = REASON_NO_PERF_MAP});
	struct jit_share *shares;

	BUILD_SAMPLES(m, ta, 3, native, jit, stub, image);
	BUILD_SAMPLES(m, ta, 1, native, unnamed);
	BUILD_SAMPLES(m, tb, 2, native, image);
	shares = jit_share_new(m);
	cr_assert_not_null(shares);
	cr_expect_eq(shares[a].frames, 7);
	cr_expect_eq(shares[a].named, 6);
	cr_expect_eq(shares[b].frames, 0);
	free(shares);
	model_free(m);
}

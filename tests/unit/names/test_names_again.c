/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names looked up again: from living processes, gone ones, other ones, and folders of symbol
 * files. */
#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_names.h"
#include "names/again.h"
#include "names_host.h"
#include "opener/symbol_look.h"

#define TGID	 100
#define MAP_PATH "100/root/tmp/perf-7.map"
#define LINE_A	 "0x7f0000100000 40 instance void [Shop.Core] Shop.Cart::Add(int32)[QuickJitted]\n"
#define LINE_A2	 "0x7f0000100000 40 void [Shop.Core] Shop.Cart::Remove()[OptimizedTier1]\n"
#define SEND	 0x7f0000001210ull /* in the library that put_library() writes, at 0x7f0000001000 */
#define METHOD	 (JIT + 0x10)
#define OTHER	 (JIT + 0x8000) /* in no map */
#define TIME_NS	 500ull
#define END_NS	 1000ull

/* --- a capture: one process, one sample of a stack with these frames, none of which has a name  */

static uint32_t add_module(struct model *m, const char *path, uint8_t build_id)
{
	struct model_module module = {.path = path, .build_id_len = build_id ? 20 : 0};

	if (build_id)
		memset(module.build_id, build_id, 20);
	return model_module_get(m, &module);
}

static void add_mapping(struct model *m, uint32_t process, uint64_t start, uint64_t end,
			uint64_t offset, const char *path, uint8_t build_id)
{
	struct model_mapping map = {
		.start = start,
		.end = end,
		.file_offset = offset,
		.module = add_module(m, path, build_id),
		.kind = (uint8_t)model_mapping_kind_of(path, strlen(path)),
	};

	cr_assert_eq(model_mapping_add(m, process, &map), 0);
}

static void add_unnamed(struct model *m, uint32_t process, uint64_t address,
			enum model_reason reason)
{
	struct model_symbol symbol = {
		.name = "[none]", .module = "[none]", .kind = KIND_JIT, .reason = (uint8_t)reason};
	struct model_location location = {
		.process = process,
		.address = address,
		.symbol = model_symbol_get(m, &symbol),
		.older = MODEL_NONE,
		.tier = "",
	};

	cr_assert_neq(model_location_add(m, &location), MODEL_NONE);
}

#define BUILD_ID 0xab

/* The process of names_host.h, with JIT code, a library and an image. */
static struct model *capture(void)
{
	static const uint64_t frames[] = {METHOD, SEND + 1, OTHER + 1};
	struct model *m = model_new();
	uint32_t process = model_process_get(m, TGID, START_TICKS * TICK_NS + 7);
	struct model_stack stack = {
		.id = 1, .process = process, .frame_cnt = 3, .broken_module = MODEL_NONE};
	struct model_sample sample = {.time_ns = TIME_NS, .user_stack = 1, .kind = 1};

	m->processes[process].ns_pid = 7;
	m->processes[process].flags = PROCESS_DOTNET | PROCESS_FACTS;
	m->processes[process].perf_map = REASON_NO_PERF_MAP;
	add_mapping(m, process, JIT, JIT + 0x10000, 0, "/memfd:doublemapper (deleted)", 0);
	add_mapping(m, process, 0x7f0000001000, 0x7f0000002000, 0x1000, "/lib/libx.so", BUILD_ID);
	m->host.end_ns = END_NS;
	model_stack_add(m, &stack, frames);
	sample.thread = model_thread_get(m, process, TGID, START_TICKS * TICK_NS + 7);
	cr_assert_eq(model_sample_add(m, &sample), 0);
	add_unnamed(m, process, METHOD, REASON_NO_PERF_MAP);
	add_unnamed(m, process, SEND, REASON_NO_SYMBOL);
	add_unnamed(m, process, OTHER, REASON_NO_PERF_MAP);
	return m;
}

/* --- a run ------------------------------------------------------------------------------------ */

struct run {
	struct host h;
	struct model *m, *fresh;
	struct symbol_dirs *dirs;
	struct again again;
};

static void run_make(struct run *r)
{
	*r = (struct run){0};
	host_make(&r->h, MAPS_LIB, "/app/Shop.Api");
	fake_text(&r->h.proc, "100/root/tmp/other", "");
	r->m = capture();
	r->fresh = capture();
}

static void run_end(struct run *r)
{
	again_clear(&r->again);
	symbol_dirs_free(r->dirs);
	model_free(r->m);
	model_free(r->fresh);
	host_end(&r->h);
}

static void with_folder(struct run *r)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s", fake_path(&r->h.proc, "symbols"));
	r->dirs = symbol_dirs_new();
	cr_assert_eq(symbol_dirs_add(r->dirs, path), 0);
}

static int again(struct run *r, bool ask, bool all)
{
	struct again_options options = {
		.proc_path = r->h.proc.path, .ask = ask, .all = all, .dirs = r->dirs};

	again_clear(&r->again);
	return again_run(r->m, r->fresh, &options, &r->again);
}

static const struct model_location *at(const struct run *r, uint64_t address)
{
	uint32_t row = model_location_find(r->m, 0, address, TIME_NS);

	return row == MODEL_NONE ? NULL : &r->m->locations[row];
}

static const struct model_symbol *name_of(const struct run *r, uint64_t address)
{
	return &r->m->symbols[at(r, address)->symbol];
}

Test(names_again, a_living_process_names_what_it_can_now)
{
	struct run r;

	run_make(&r);
	fake_text(&r.h.proc, MAP_PATH, LINE_A);
	put_library(&r.h, "100/root/lib/libx.so", BUILD_ID, NAMES_HOST_SYMBOLS);
	cr_assert_eq(again(&r, true, false), 0);
	cr_expect_str_eq(name_of(&r, METHOD)->name, "Shop.Cart.Add");
	cr_expect_str_eq(at(&r, METHOD)->tier, "QuickJitted");
	cr_expect_eq(at(&r, METHOD)->flags, LOCATION_LATER, "nobody knows what lay there then");
	cr_expect_str_eq(name_of(&r, SEND)->name, "send");
	cr_expect_eq(at(&r, SEND)->flags, 0, "a file does not change");
	cr_expect_eq(name_of(&r, OTHER)->reason, REASON_NO_PERF_MAP, "what is not named stays");
	cr_expect_eq(r.m->processes[0].perf_map, REASON_NAMED);
	cr_expect_eq(r.again.asked, 3);
	cr_expect_eq(r.again.named, 2);
	cr_assert_eq(r.again.processes_cnt, 1);
	cr_expect(r.again.processes[0].alive);
	cr_expect_eq(r.again.processes[0].later, 1);
	cr_expect_eq(r.again.processes[0].managed, 1);
	cr_expect_eq(r.again.processes[0].by_reason[REASON_PERF_MAP_NO_ENTRY], 1);
	run_end(&r);
}

Test(names_again, another_process_with_its_pid_is_not_asked)
{
	struct run r;

	run_make(&r);
	fake_text(&r.h.proc, MAP_PATH, LINE_A);
	r.m->processes[0].start_ns += 3 * TICK_NS;
	r.fresh->processes[0].start_ns += 3 * TICK_NS;
	cr_assert_eq(again(&r, true, false), 0);
	cr_expect_eq(r.again.named, 0);
	cr_expect_not(r.again.processes[0].alive);
	cr_expect_eq(name_of(&r, METHOD)->reason, REASON_NO_PERF_MAP);
	cr_expect_eq(r.m->processes[0].perf_map, REASON_NO_PERF_MAP);
	run_end(&r);
}

Test(names_again, nobody_is_asked_for_a_capture_of_another_boot)
{
	struct run r;

	run_make(&r);
	fake_text(&r.h.proc, MAP_PATH, LINE_A);
	cr_assert_eq(again(&r, false, false), 0);
	cr_expect_eq(r.again.named, 0);
	cr_expect_not(r.again.processes[0].alive);
	run_end(&r);
}

Test(names_again, names_are_never_lost)
{
	struct run r;

	run_make(&r);
	fake_text(&r.h.proc, MAP_PATH, LINE_A);
	cr_assert_eq(again(&r, true, false), 0);
	model_free(r.fresh);
	r.fresh = capture();
	/* The map is another by now; only --all asks again for what has a name. */
	fake_text(&r.h.proc, MAP_PATH, LINE_A2);
	cr_assert_eq(again(&r, true, false), 0);
	cr_expect_eq(r.again.named, 0);
	cr_expect_str_eq(name_of(&r, METHOD)->name, "Shop.Cart.Add");
	model_free(r.fresh);
	r.fresh = capture();
	cr_assert_eq(again(&r, true, true), 0);
	cr_expect_str_eq(name_of(&r, METHOD)->name, "Shop.Cart.Remove");
	model_free(r.fresh);
	r.fresh = capture();
	cr_assert_eq(unlink(fake_path(&r.h.proc, MAP_PATH)), 0);
	cr_assert_eq(again(&r, true, true), 0);
	cr_expect_eq(r.again.named, 0);
	cr_expect_str_eq(name_of(&r, METHOD)->name, "Shop.Cart.Remove");
	run_end(&r);
}

Test(names_again, a_frame_that_was_never_looked_up_gets_its_name)
{
	struct run r;

	run_make(&r);
	model_locations_forget(r.m);
	fake_text(&r.h.proc, MAP_PATH, LINE_A);
	cr_assert_eq(again(&r, true, false), 0);
	cr_expect_str_eq(name_of(&r, METHOD)->name, "Shop.Cart.Add");
	cr_expect_null(at(&r, OTHER), "still not looked up, as far as the capture tells");
	run_end(&r);
}

Test(names_again, what_a_stop_request_ends_changes_nothing)
{
	volatile int stop = 1;
	struct run r;
	struct again_options options;

	run_make(&r);
	options = (struct again_options){.proc_path = r.h.proc.path, .ask = true, .stop = &stop};
	fake_text(&r.h.proc, MAP_PATH, LINE_A);
	cr_expect_eq(again_run(r.m, r.fresh, &options, &r.again), -EINTR);
	cr_expect_eq(name_of(&r, METHOD)->reason, REASON_NO_PERF_MAP);
	run_end(&r);
}

/* --- folders of symbol files ------------------------------------------------------------------ */

Test(names_again, a_gone_process_is_named_from_saved_files)
{
	static const struct {
		const char *name, *map, *library;
	} rows[] = {
		{"pid of the host", "symbols/perf-100.map", "symbols/lib/libx.so"},
		{"pid as it saw itself", "symbols/deep/er/perf-7.map", "symbols/any-name"},
		{"of two the host's", "symbols/perf-100.map",
		 "symbols/.build-id/ab/abababababababababababababababababababab"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct run r;

		run_make(&r);
		r.m->processes[0].exit_ns = r.fresh->processes[0].exit_ns = 900;
		fake_text(&r.h.proc, rows[i].map, LINE_A);
		if (i == 2)
			fake_text(&r.h.proc, "symbols/perf-7.map", LINE_A2);
		put_library(&r.h, rows[i].library, BUILD_ID, NAMES_HOST_SYMBOLS);
		with_folder(&r);
		cr_assert_eq(again(&r, i % 2, false), 0);
		cr_expect_str_eq(name_of(&r, METHOD)->name, "Shop.Cart.Add", "%s", rows[i].name);
		cr_expect_str_eq(name_of(&r, SEND)->name, "send", "%s", rows[i].name);
		cr_expect_eq(r.again.named, 2, "%s", rows[i].name);
		run_end(&r);
	}
}

Test(names_again, a_stripped_library_gets_the_names_of_its_saved_debug_file)
{
	struct run r;

	run_make(&r);
	put_library(&r.h, "100/root/lib/libx.so", BUILD_ID, 0);
	put_library(&r.h, "symbols/x.debug", BUILD_ID, NAMES_HOST_SYMBOLS);
	put_library(&r.h, "symbols/other.debug", BUILD_ID + 1, NAMES_HOST_SYMBOLS);
	with_folder(&r);
	cr_assert_eq(again(&r, true, false), 0);
	cr_expect_str_eq(name_of(&r, SEND)->name, "send");
	for (size_t i = 0; i < r.dirs->files_cnt; i++)
		cr_expect_eq(r.dirs->files[i].given, !strcmp(r.dirs->files[i].path, "x.debug"),
			     "%s", r.dirs->files[i].path);
	run_end(&r);
}

/* As objcopy --only-keep-debug leaves it: headers without the code. */
static void put_debug_file(struct run *r, const char *path, uint64_t code_bytes)
{
	static uint8_t image[FAKE_ELF_BYTES];
	struct fake_elf elf = {.symbols = names_host_symbols,
			       .symbols_cnt = NAMES_HOST_SYMBOLS,
			       .build_id = BUILD_ID};
	Elf64_Phdr *ph = (Elf64_Phdr *)(image + sizeof(Elf64_Ehdr));

	fake_elf(&elf, image);
	ph[1].p_filesz = 0;
	ph[1].p_offset = 0;
	ph[1].p_memsz = code_bytes;
	fake_file(&r->h.proc, path, image, sizeof(image));
}

Test(names_again, a_debug_file_serves_in_place_of_the_program_where_its_code_fits)
{
	struct run r;

	run_make(&r);
	put_debug_file(&r, "symbols/x.debug", 0xf80);
	with_folder(&r);
	cr_assert_eq(again(&r, false, false), 0);
	cr_expect_str_eq(name_of(&r, SEND)->name, "send");
	run_end(&r);

	/* Another length: it cannot be told where the code lies in it. */
	run_make(&r);
	put_debug_file(&r, "symbols/x.debug", 0x2f80);
	with_folder(&r);
	cr_assert_eq(again(&r, false, false), 0);
	cr_expect_neq(name_of(&r, SEND)->reason, REASON_NAMED);
	run_end(&r);
}

Test(names_again, files_of_another_build_name_nothing)
{
	struct run r;

	run_make(&r);
	put_library(&r.h, "symbols/libx.so", BUILD_ID + 1, NAMES_HOST_SYMBOLS);
	fake_text(&r.h.proc, "symbols/perf-8.map", LINE_A);
	with_folder(&r);
	cr_expect_eq(r.dirs->files_cnt, 2);
	cr_assert_eq(again(&r, false, false), 0);
	cr_expect_eq(r.again.named, 0);
	cr_expect(!r.dirs->files[0].given && !r.dirs->files[1].given);
	run_end(&r);
}

Test(names_again, of_two_containers_with_one_pid_neither_gets_a_map_by_it)
{
	struct run r;
	uint32_t other;

	run_make(&r);
	fake_text(&r.h.proc, "symbols/perf-7.map", LINE_A);
	for (int i = 0; i < 2; i++) {
		struct model *m = i ? r.fresh : r.m;

		other = model_process_get(m, 200, 77);
		m->processes[other].ns_pid = 7;
		m->processes[other].flags = PROCESS_DOTNET;
	}
	with_folder(&r);
	cr_assert_eq(again(&r, false, false), 0);
	cr_expect_eq(r.again.named, 0);
	run_end(&r);
}

Test(names_again, of_two_processes_with_one_pid_neither_gets_a_map_by_it)
{
	struct run r;
	uint32_t later;

	run_make(&r);
	fake_text(&r.h.proc, "symbols/perf-100.map", LINE_A);
	for (int i = 0; i < 2; i++) {
		struct model *m = i ? r.fresh : r.m;

		later = model_process_get(m, TGID, (START_TICKS + 500) * TICK_NS);
		m->processes[later].ns_pid = 9;
		m->processes[later].flags = PROCESS_DOTNET;
	}
	with_folder(&r);
	cr_assert_eq(again(&r, false, false), 0);
	cr_expect_eq(r.again.named, 0, "the map is that of the later one");
	run_end(&r);
}

Test(names_again, of_two_maps_of_one_pid_neither_is_taken)
{
	struct run r;

	run_make(&r);
	fake_text(&r.h.proc, "symbols/a/perf-100.map", LINE_A);
	fake_text(&r.h.proc, "symbols/b/perf-100.map", LINE_A2);
	with_folder(&r);
	cr_assert_eq(again(&r, false, false), 0);
	cr_expect_eq(r.again.named, 0);
	cr_expect(!r.dirs->files[0].given && !r.dirs->files[1].given);
	run_end(&r);
}

/* Images are known by name alone, or by the version id that stands for a build id. */
static void add_image(struct model *m, uint8_t version)
{
	struct model_module module = {.path = "/app/Shop.dll", .build_id_len = version ? 16 : 0};
	struct model_mapping map = {.start = 0x7f0000900000,
				    .end = 0x7f0000901000,
				    .file_offset = 0,
				    .kind = MAPPING_FILE};
	uint64_t frame = map.start + FAKE_IMAGE_CODE_OFFSET + 4;
	struct model_stack stack = {.id = 2, .frame_cnt = 1, .broken_module = MODEL_NONE};
	struct model_sample sample = {.time_ns = TIME_NS, .user_stack = 2, .kind = 1};

	memset(module.build_id, version, module.build_id_len);
	map.module = model_module_get(m, &module);
	cr_assert_eq(model_mapping_add(m, 0, &map), 0);
	model_stack_add(m, &stack, &frame);
	cr_assert_eq(model_sample_add(m, &sample), 0);
	add_unnamed(m, 0, frame, REASON_PRECOMPILED);
}

Test(names_again, an_image_is_taken_by_its_version_where_the_capture_has_it)
{
	static const struct {
		const char *name;
		uint8_t version;
		bool named, unproven;
	} rows[] = {
		{"by version", FAKE_NAMES_MVID, true, false},
		{"another build", FAKE_NAMES_MVID + 1, false, false},
		{"by name alone", 0, true, true},
	};
	static uint8_t image[FAKE_NAMES_IMAGE];
	struct fake_names places;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct model_symbol *s;
		struct run r;

		run_make(&r);
		add_image(r.m, rows[i].version);
		add_image(r.fresh, rows[i].version);
		fake_names(FAKE_IMAGE_X64, image, &places);
		fake_file(&r.h.proc, "symbols/10.0/Shop.dll", image, sizeof(image));
		fake_text(&r.h.proc, "symbols/10.0/Other.dll", "");
		with_folder(&r);
		cr_assert_eq(again(&r, false, false), 0);
		s = name_of(&r, 0x7f0000900000 + FAKE_IMAGE_CODE_OFFSET + 4);
		cr_expect_eq(s->reason == REASON_NAMED, rows[i].named, "%s", rows[i].name);
		if (rows[i].named)
			cr_expect_str_eq(s->name, "Shop.Cart.Add", "%s: %s", rows[i].name, s->name);
		for (size_t k = 0; k < r.dirs->files_cnt; k++)
			if (r.dirs->files[k].given)
				cr_expect_eq(r.dirs->files[k].unproven, rows[i].unproven, "%s",
					     rows[i].name);
		run_end(&r);
	}
}

/* --- hostile folders -------------------------------------------------------------------------- */

Test(names_again, maps_cut_anywhere_do_no_harm)
{
	static const char whole[] = LINE_A LINE_A2;

	for (size_t len = 0; len < sizeof(whole); len += 7) {
		struct run r;

		run_make(&r);
		fake_file(&r.h.proc, "symbols/perf-100.map", whole, len);
		with_folder(&r);
		cr_assert_eq(again(&r, false, false), 0);
		run_end(&r);
	}
}

Test(names_again, libraries_cut_or_damaged_anywhere_do_no_harm)
{
	static uint8_t image[FAKE_ELF_BYTES];
	struct fake_elf elf = {.symbols = names_host_symbols,
			       .symbols_cnt = NAMES_HOST_SYMBOLS,
			       .build_id = BUILD_ID};

	for (size_t at = 0; at < sizeof(image); at += 797) {
		struct run r;

		run_make(&r);
		fake_elf(&elf, image);
		fake_file(&r.h.proc, "symbols/cut", image, at);
		memset(image + at, 0xff, 16);
		fake_file(&r.h.proc, "symbols/damaged", image, sizeof(image));
		with_folder(&r);
		cr_assert_eq(again(&r, false, false), 0);
		run_end(&r);
	}
}

Test(names_again, no_link_leads_out_of_a_folder_and_nothing_is_waited_for)
{
	struct run r;

	run_make(&r);
	fake_text(&r.h.proc, "outside/perf-100.map", LINE_A);
	put_library(&r.h, "outside/libx.so", BUILD_ID, NAMES_HOST_SYMBOLS);
	fake_text(&r.h.proc, "symbols/x", "");
	fake_text(&r.h.proc, "symbols/inside/data", LINE_A);
	cr_assert_eq(
		symlink("../outside/perf-100.map", fake_path(&r.h.proc, "symbols/perf-100.map")),
		0);
	cr_assert_eq(symlink("../outside", fake_path(&r.h.proc, "symbols/folder")), 0);
	cr_assert_eq(symlink(".", fake_path(&r.h.proc, "symbols/loop")), 0);
	cr_assert_eq(mkfifo(fake_path(&r.h.proc, "symbols/perf-7.map"), 0644), 0);
	with_folder(&r);
	cr_expect_eq(r.dirs->files_cnt, 0);
	cr_assert_eq(again(&r, false, false), 0);
	cr_expect_eq(r.again.named, 0);
	run_end(&r);

	/* One that stays inside is followed. */
	run_make(&r);
	fake_text(&r.h.proc, "symbols/inside/data", LINE_A);
	cr_assert_eq(symlink("inside/data", fake_path(&r.h.proc, "symbols/perf-100.map")), 0);
	with_folder(&r);
	cr_assert_eq(again(&r, false, false), 0);
	cr_expect_str_eq(name_of(&r, METHOD)->name, "Shop.Cart.Add");
	run_end(&r);
}

Test(names_again, folders_in_folders_without_end_are_left)
{
	struct run r;
	char name[256] = "symbols";

	run_make(&r);
	for (unsigned i = 0; i < SYMBOL_DIRS_DEPTH + 4; i++)
		strcat(name, "/d");
	strcat(name, "/perf-100.map");
	fake_text(&r.h.proc, name, LINE_A);
	with_folder(&r);
	cr_expect_eq(r.dirs->files_cnt, 0);
	cr_expect(r.dirs->cut, "and it is told");
	run_end(&r);
}

Test(names_again, folders_that_are_none_are_refused)
{
	struct symbol_dirs *d = symbol_dirs_new();

	cr_expect_eq(symbol_dirs_add(d, "/nowhere/at/all"), -ENOENT);
	cr_expect_eq(symbol_dirs_add(d, "/dev/null"), -ENOTDIR);
	for (unsigned i = 0; i < SYMBOL_DIRS_MAX; i++)
		cr_expect_eq(symbol_dirs_add(d, "/proc/self/fdinfo"), 0);
	cr_expect_eq(symbol_dirs_add(d, "/proc/self/fdinfo"), -E2BIG);
	symbol_dirs_free(d);
}

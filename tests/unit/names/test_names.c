/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The whole room on a made-up host: facts, routing, broken stacks. */
#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/types.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bpf/events.h"
#include "model/model.h"
#include "names/names.h"
#include "names_host.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define TEXT	      0xffffffff81000000ull

Test(names, facts_of_an_apphost)
{
	struct host h;
	const struct model_process *p;

	host_make(&h, MAPS_LIB, "/app/Shop.Backoffice.Service");
	names_process(h.n, h.m, h.process);
	p = &h.m->processes[h.process];
	cr_expect_eq(p->flags, PROCESS_FACTS | PROCESS_DOTNET);
	cr_expect_str_eq(p->exe, "/app/Shop.Backoffice.Service");
	cr_expect_str_eq(p->name, "Shop.Backoffice.Service");
	cr_expect_str_eq(p->unit, "shop.service");
	cr_expect_str_eq(p->cgroup, "/system.slice/shop.service");
	cr_expect_eq(p->ns_pid, 7);
	cr_expect_eq(p->parent_tgid, 1);
	cr_expect_eq(p->mapping_cnt, 9);
	cr_expect_eq(p->mappings[1].kind, MAPPING_JIT);
	cr_expect_str_eq(h.m->modules[p->mappings[5].module].path, "/lib/gone.so");
	host_end(&h);
}

Test(names, an_exec_keeps_the_mappings_and_changes_the_name)
{
	struct host h;
	const struct model_process *p;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	names_process(h.n, h.m, h.process);
	unlink(fake_path(&h.proc, "100/exe"));
	cr_assert_eq(symlink("/usr/bin/dotnet", fake_path(&h.proc, "100/exe")), 0);
	fake_file(&h.proc, "100/cmdline", "dotnet\0/app/Other.dll", 22);
	names_process(h.n, h.m, h.process);
	p = &h.m->processes[h.process];
	cr_expect_str_eq(p->name, "Shop.Api", "facts are read once");
	names_process_exec(h.n, h.m, h.process);
	p = &h.m->processes[h.process];
	cr_expect_str_eq(p->name, "Other");
	cr_expect_eq(p->mapping_cnt, 9);
	host_end(&h);
}

Test(names, another_incarnation_or_none_is_gone)
{
	struct host h;
	uint32_t other;

	host_make(&h, MAPS_LIB, "/app/x");
	other = model_process_get(h.m, 100, (START_TICKS - 1) * TICK_NS);
	h.m->processes[other].start_exact = true;
	names_process(h.n, h.m, other);
	cr_expect_eq(h.m->processes[other].flags, PROCESS_GONE);
	cr_expect_eq(h.m->processes[other].mapping_cnt, 0);
	other = model_process_get(h.m, 101, 1);
	names_process(h.n, h.m, other);
	cr_expect_eq(h.m->processes[other].flags, PROCESS_GONE);
	cr_expect_not_null(h.m->processes[other].name);
	host_end(&h);
}

Test(names, every_kind_of_address_has_a_name_or_a_reason)
{
	static const struct {
		const char *name;
		uint64_t address;
		const char *symbol, *module;
		uint8_t kind, reason;
		bool application;
	} rows[] = {
		{"demangled", 0x7f0000001010, "foo::Bar<int>::baz", "libx.so", KIND_NATIVE,
		 REASON_NAMED, false},
		{"bounds from the unwind table", 0x7f0000001567, "libx.so+0x1500", "libx.so",
		 KIND_NATIVE, REASON_NO_SYMBOL, false},
		{"nothing there", 0x7f0000001900, "libx.so+0x1900", "libx.so", KIND_NATIVE,
		 REASON_NO_SYMBOL, false},
		{"framework image", 0x7f0000200010, "System.Text.Json.dll+0x10010",
		 "System.Text.Json.dll", KIND_IMAGE, REASON_FILE_GONE, false},
		{"image of the application", 0x7f0000300010, "Shop.Core.dll+0x10", "Shop.Core.dll",
		 KIND_IMAGE, REASON_FILE_GONE, true},
		{"deleted file", 0x7f0000500010, "gone.so+0x10", "gone.so", KIND_NATIVE,
		 REASON_FILE_GONE, false},
		{"FIFO", 0x7f0000600010, "fifo.so+0x10", "fifo.so", KIND_NATIVE, REASON_FILE_UNSAFE,
		 false},
		{"not ELF", 0x7f0000700010, "text.so+0x10", "text.so", KIND_NATIVE,
		 REASON_FILE_MALFORMED, false},
		{"vsyscall", 0xffffffffff600400, "[vsyscall]", "[vsyscall]", KIND_NATIVE,
		 REASON_VSYSCALL, false},
		{"nowhere", 0x10, "[unknown]", "[unknown]", KIND_UNKNOWN, REASON_NO_MAPPING, false},
	};
	struct host h;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	put_library(&h, "100/root/lib/libx.so", 1, ARRAY_SIZE(names_host_symbols));
	fake_text(&h.proc, "100/root/lib/text.so", "#!/bin/sh\n");
	cr_assert_eq(mkfifo(fake_path(&h.proc, "100/root/lib/fifo.so"), 0644), 0);
	names_process(h.n, h.m, h.process);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			const struct model_symbol *s = name_at(&h, rows[i].address, 1000 + round);

			cr_assert_not_null(s, "%s", rows[i].name);
			cr_expect_str_eq(s->name, rows[i].symbol, "%s: %s", rows[i].name, s->name);
			cr_expect_str_eq(s->module, rows[i].module, "%s: %s", rows[i].name,
					 s->module);
			cr_expect_eq(s->kind, rows[i].kind, "%s", rows[i].name);
			cr_expect_eq(s->reason, rows[i].reason, "%s: %d", rows[i].name, s->reason);
			cr_expect_eq(s->application, rows[i].application, "%s", rows[i].name);
		}
	}
	cr_expect_eq(h.m->locations_cnt, ARRAY_SIZE(rows));
	host_end(&h);
}

Test(names, the_program_itself_is_application_code)
{
	struct host h;
	const struct model_symbol *s;

	host_make(&h, "1000-2000 r-xp 00001000 08:01 0 /app/tool\n", "/app/tool");
	put_library(&h, "100/root/app/tool", 1, 3);
	names_process(h.n, h.m, h.process);
	s = name_at(&h, 0x1210, 5);
	cr_assert_not_null(s);
	cr_expect_str_eq(s->name, "send");
	cr_expect(s->application);
	cr_expect_str_eq(h.m->processes[h.process].name, "short-comm");
	host_end(&h);
}

Test(names, another_file_at_the_path_is_not_believed)
{
	struct host h;
	uint32_t module;
	struct model_module wanted = {.path = "/lib/libx.so", .build_id_len = 20};
	struct model_mapping map = {.start = 0x1000,
				    .end = 0x2000,
				    .file_offset = 0x1000,
				    .from_ns = 1,
				    .kind = MAPPING_FILE};
	const struct model_symbol *s;

	host_make_of(&h, "", "/app/x", "0");
	put_library(&h, "100/root/lib/libx.so", 1, 3);
	names_process(h.n, h.m, h.process);
	memset(wanted.build_id, 2, 20);
	module = model_module_get(h.m, &wanted);
	map.module = module;
	model_mapping_add(h.m, h.process, &map);
	s = name_at(&h, 0x1010, 5);
	cr_expect_eq(s->reason, REASON_FILE_CHANGED, "%d", s->reason);

	/* The right build id, mapped elsewhere by a process that has ended: the table is kept. */
	memset(wanted.build_id, 1, 20);
	map.module = model_module_get(h.m, &wanted);
	map.start = 0x5000;
	map.end = 0x6000;
	model_mapping_add(h.m, h.process, &map);
	s = name_at(&h, 0x5010, 5);
	cr_expect_eq(s->reason, REASON_NAMED, "%d", s->reason);
	h.process = model_process_get(h.m, 200, 1);
	h.m->processes[h.process].flags |= PROCESS_GONE;
	model_mapping_add(h.m, h.process, &map);
	s = name_at(&h, 0x5010, 5);
	cr_expect_eq(s->reason, REASON_NAMED, "%d", s->reason);
	host_end(&h);
}

Test(names, a_gone_process_borrows_roots_table_of_the_same_build_id)
{
	struct host h;
	struct model_module here = {.path = "/lib/libx.so", .build_id_len = 20},
			    there = {.path = "/image/lib/libx.so", .build_id_len = 20};
	struct model_mapping map = {
		.start = 0x1000, .end = 0x2000, .file_offset = 0x1000, .kind = MAPPING_FILE};
	const struct model_symbol *s;

	host_make_of(&h, "", "/app/x", "0");
	names_process(h.n, h.m, h.process);
	put_library(&h, "100/root/lib/libx.so", 1, 0); /* stripped */
	memset(here.build_id, 1, 20);
	memset(there.build_id, 1, 20);
	map.module = model_module_get(h.m, &here);
	model_mapping_add(h.m, h.process, &map);
	cr_expect_str_eq(name_at(&h, 0x1510, 5)->name, "libx.so+0x1500");
	h.process = model_process_get(h.m, 200, 1);
	h.m->processes[h.process].flags |= PROCESS_GONE;
	map.module = model_module_get(h.m, &there);
	model_mapping_add(h.m, h.process, &map);
	s = name_at(&h, 0x1510, 5);
	cr_expect_str_eq(s->name, "libx.so+0x1500", "%s", s->name);
	host_end(&h);
}

Test(names, an_address_means_what_is_mapped_there_at_that_time)
{
	struct host h;
	struct model_module old = {.path = "/lib/old.so"}, new = {.path = "/lib/new.dll"};
	struct model_mapping map = {.start = 0x1000, .end = 0x2000, .kind = MAPPING_FILE};

	host_make(&h, "", "/app/x");
	names_process(h.n, h.m, h.process);
	map.module = model_module_get(h.m, &old);
	model_mapping_add(h.m, h.process, &map);
	cr_expect_str_eq(name_at(&h, 0x1010, 50)->module, "old.so");
	map.module = model_module_get(h.m, &new);
	map.from_ns = 100;
	model_mapping_add(h.m, h.process, &map);
	cr_expect_str_eq(name_at(&h, 0x1010, 150)->module, "new.dll");
	cr_expect_str_eq(name_at(&h, 0x1010, 50)->module, "old.so");
	host_end(&h);
}

Test(names, kernel_addresses)
{
	struct host h;
	uint64_t frames[] = {0x110, 0x201, 0x1000000};
	uint32_t row;

	host_make(&h, "", "/app/x");
	h.m->kernel_text = names_kernel_text(h.n);
	cr_assert_eq(h.m->kernel_text, TEXT);
	names_stack(h.n, h.m, add_stack(&h, STACK_KERNEL, frames, 3), 5);
	row = model_location_find(h.m, MODEL_NONE, 0x110, 5);
	cr_assert_neq(row, MODEL_NONE);
	cr_expect_str_eq(h.m->symbols[h.m->locations[row].symbol].name, "do_work");
	cr_expect_eq(h.m->symbols[h.m->locations[row].symbol].kind, KIND_KERNEL);
	row = model_location_find(h.m, MODEL_NONE, 0x1000000 - 1, 5);
	cr_expect_eq(h.m->symbols[h.m->locations[row].symbol].reason, REASON_KERNEL_NO_SYMBOL);
	host_end(&h);
}

Test(names, hidden_kernel_addresses_have_a_reason)
{
	struct host h;
	uint64_t frame = 0x110;
	uint32_t row;

	host_make(&h, "", "/app/x");
	fake_text(&h.proc, "kallsyms", "0000000000000000 T _text\n");
	cr_assert_eq(names_kernel_text(h.n), 0);
	names_stack(h.n, h.m, add_stack(&h, STACK_KERNEL, &frame, 1), 5);
	row = model_location_find(h.m, MODEL_NONE, frame, 5);
	cr_expect_eq(h.m->symbols[h.m->locations[row].symbol].reason, REASON_KALLSYMS_HIDDEN);
	host_end(&h);
}

Test(names, broken_stacks_name_the_library_that_lost_the_frame)
{
	static const struct {
		const char *name;
		uint64_t frames[4];
		uint16_t cnt, flags;
		bool broken;
		const char *module; /* NULL = none */
	} rows[] = {
		{"to _start", {0x7f0000001210, 0x7f0000001310}, 2, 0, false, NULL},
		{"to unnamed libc from elsewhere",
		 {0x7f0000001010, 0x7f0000801534},
		 2,
		 0,
		 false,
		 NULL},
		{"unnamed libc called by libc",
		 {0x7f0000801010, 0x7f0000801534},
		 2,
		 0,
		 true,
		 "/lib/libc.so.6"},
		{"exported libc function",
		 {0x7f0000001010, 0x7f0000801210},
		 2,
		 0,
		 true,
		 "/lib/libc.so.6"},
		{"leaf alone", {0x7f0000801210}, 1, 0, true, "/lib/libc.so.6"},
		{"garbage after a library",
		 {0x7f0000801210, 0x7f0000001010, 0x4242, 0x7f0000001310},
		 4,
		 0,
		 true,
		 "/lib/libx.so"},
		{"ends in JIT code",
		 {0x7f0000001210, 0x7f0000100010},
		 2,
		 0,
		 true,
		 "/memfd:doublemapper (deleted)"},
		{"cut by the kernel is not broken",
		 {0x7f0000001010},
		 1,
		 STACK_TRUNCATED,
		 false,
		 NULL},
		{"garbage alone", {0x4242}, 1, 0, true, NULL},
	};
	struct host h;

	host_make(&h, MAPS_LIB "7f0000801000-7f0000802000 r-xp 00001000 08:01 0 /lib/libc.so.6\n",
		  "/app/Shop.Api");
	put_library(&h, "100/root/lib/libx.so", 1, 3);
	put_library(&h, "100/root/lib/libc.so.6", 2, 2);
	names_process(h.n, h.m, h.process);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t row = add_stack(&h, rows[i].flags, rows[i].frames, rows[i].cnt);
		const struct model_stack *s;

		names_stack(h.n, h.m, row, 10 + i);
		names_settle(h.n, h.m);
		s = &h.m->stacks[row];
		cr_expect_eq(!!(s->flags & STACK_BROKEN), rows[i].broken, "%s", rows[i].name);
		cr_expect_eq(s->broken_module != MODEL_NONE, !!rows[i].module, "%s", rows[i].name);
		if (rows[i].module && s->broken_module != MODEL_NONE)
			cr_expect_str_eq(h.m->modules[s->broken_module].path, rows[i].module, "%s",
					 rows[i].name);
	}
	host_end(&h);
}

/* As Go's first functions are: their unwind data lead on, to nowhere. */
Test(names, a_walk_that_goes_astray_behind_a_first_function_was_whole)
{
	static const uint64_t whole[] = {0x7f0000001210, 0x7f0000001310};
	static const uint64_t other[] = {0x7f0000001310, 0x7f0000001210};
	uint32_t rows[2];
	struct host h;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	put_library(&h, "100/root/lib/libx.so", 1, NAMES_HOST_SYMBOLS);
	names_process(h.n, h.m, h.process);
	rows[0] = add_stack(&h, 0, whole, 2);
	rows[1] = add_stack(&h, 0, other, 2);
	for (int i = 0; i < 2; i++) {
		h.m->stacks[rows[i]].end = STACK_END_ASTRAY;
		names_stack(h.n, h.m, rows[i], 5);
	}
	names_settle(h.n, h.m);
	cr_expect_eq(h.m->stacks[rows[0]].flags & STACK_BROKEN, 0);
	cr_expect_neq(h.m->stacks[rows[1]].flags & STACK_BROKEN, 0);
	host_end(&h);
}

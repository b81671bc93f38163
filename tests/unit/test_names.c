/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The whole room on a made-up host: facts, routing, perf maps, broken stacks. */
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
#include "names_support.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define TICK_NS	      10000000ull
#define START_TICKS   50ull
#define GLOBAL_FUNC   ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)
#define TEXT	      0xffffffff81000000ull

static const struct fake_symbol lib_symbols[] = {
	{"_ZN3foo3BarIiE3bazEv", 0x1000, 0x100, GLOBAL_FUNC},
	{"send", 0x1200, 0x40, GLOBAL_FUNC},
	{"_start", 0x1300, 0x20, GLOBAL_FUNC},
};
static const uint64_t lib_functions[][2] = {{0x1500, 0x80}};

struct host {
	struct fake_proc proc;
	struct names *n;
	struct model *m;
	uint32_t process;
	uint64_t next_stack;
};

static void host_start(struct host *h, uint64_t deadline_ns)
{
	struct names_options options = {.proc_path = h->proc.path, .deadline_ns = deadline_ns};

	h->n = names_new(&options);
	h->m = model_new();
	h->next_stack = 1;
	cr_assert(h->n && h->m);
	h->process = model_process_get(h->m, 100, START_TICKS * TICK_NS + 7);
	h->m->processes[h->process].start_exact = true;
	h->m->processes[h->process].comm = model_str(h->m, "short-comm");
}

static void host_end(struct host *h)
{
	names_free(h->n);
	model_free(h->m);
	fake_proc_remove(&h->proc);
}

/* A host with process 100 whose maps and executable are these. */
static void host_make(struct host *h, const char *maps, const char *exe)
{
	struct fake_process p = {.tgid = 100,
				 .start_ticks = START_TICKS,
				 .comm = "short-comm",
				 .exe = exe,
				 .maps = maps,
				 .cgroup = "0::/system.slice/shop.service\n"};

	fake_proc_make(&h->proc);
	fake_process(&h->proc, &p);
	fake_text(&h->proc, "kallsyms",
		  "ffffffff81000000 T _text\nffffffff81000100 T do_work\n"
		  "ffffffff81000200 T _etext\n");
	host_start(h, 10000000000ull);
}

static void put_library(struct host *h, const char *path, uint8_t build_id, size_t symbols)
{
	struct fake_elf elf = {.symbols = lib_symbols,
			       .symbols_cnt = symbols,
			       .functions = lib_functions,
			       .functions_cnt = 1,
			       .build_id = build_id};
	static uint8_t image[FAKE_ELF_BYTES];

	fake_elf(&elf, image);
	fake_file(&h->proc, path, image, sizeof(image));
}

static uint32_t add_stack(struct host *h, uint16_t flags, const uint64_t *frames, uint16_t cnt)
{
	struct model_stack s = {.id = h->next_stack++,
				.process = flags & STACK_KERNEL ? MODEL_NONE : h->process,
				.flags = flags,
				.frame_cnt = cnt,
				.broken_module = MODEL_NONE};

	return model_stack_add(h->m, &s, frames);
}

static const struct model_location *location_at(struct host *h, uint64_t address, uint64_t time_ns)
{
	uint32_t row = model_location_find(h->m, h->process, address, time_ns);

	return row == MODEL_NONE ? NULL : &h->m->locations[row];
}

/* Names one address as the leaf of a stack. */
static const struct model_symbol *name_at(struct host *h, uint64_t address, uint64_t time_ns)
{
	const struct model_location *l;

	names_stack(h->n, h->m, add_stack(h, 0, &address, 1), time_ns);
	l = location_at(h, address, time_ns);
	return l ? &h->m->symbols[l->symbol] : NULL;
}

#define MAPS_LIB                                                                          \
	"7f0000000000-7f0000001000 r--p 00000000 08:01 0 /lib/libx.so\n"                  \
	"7f0000001000-7f0000002000 r-xp 00001000 08:01 0 /lib/libx.so\n"                  \
	"7f0000100000-7f0000110000 r-xs 00000000 00:01 9 /memfd:doublemapper (deleted)\n" \
	"7f0000200000-7f0000210000 r-xp 00010000 08:01 0 /app/System.Text.Json.dll\n"     \
	"7f0000300000-7f0000310000 r-xp 00000000 08:01 0 /app/Shop.Core.dll\n"            \
	"7f0000400000-7f0000410000 rwxp 00000000 00:00 0 \n"                              \
	"7f0000500000-7f0000510000 r-xp 00000000 08:01 0 /lib/gone.so (deleted)\n"        \
	"7f0000600000-7f0000610000 r-xp 00000000 08:01 0 /lib/fifo.so\n"                  \
	"7f0000700000-7f0000710000 r-xp 00000000 08:01 0 /lib/text.so\n"                  \
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n"

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
		 "System.Text.Json.dll", KIND_IMAGE, REASON_PRECOMPILED, false},
		{"image of the application", 0x7f0000300010, "Shop.Core.dll+0x10", "Shop.Core.dll",
		 KIND_IMAGE, REASON_PRECOMPILED, true},
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
	put_library(&h, "100/root/lib/libx.so", 1, ARRAY_SIZE(lib_symbols));
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

	host_make(&h, "", "/app/x");
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

Test(names, a_gone_process_borrows_the_table_of_the_same_build_id)
{
	struct host h;
	struct model_module here = {.path = "/lib/libx.so", .build_id_len = 20},
			    there = {.path = "/image/lib/libx.so", .build_id_len = 20};
	struct model_mapping map = {
		.start = 0x1000, .end = 0x2000, .file_offset = 0x1000, .kind = MAPPING_FILE};
	const struct model_symbol *s;

	host_make(&h, "", "/app/x");
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
		s = &h.m->stacks[row];
		cr_expect_eq(!!(s->flags & STACK_BROKEN), rows[i].broken, "%s", rows[i].name);
		cr_expect_eq(s->broken_module != MODEL_NONE, !!rows[i].module, "%s", rows[i].name);
		if (rows[i].module && s->broken_module != MODEL_NONE)
			cr_expect_str_eq(h.m->modules[s->broken_module].path, rows[i].module, "%s",
					 rows[i].name);
	}
	host_end(&h);
}

#define JIT    0x7f0000100000ull
#define LINE_A "0x7f0000100000 40 instance void [Shop.Core] Shop.Cart::Add(int32)[QuickJitted]\n"
#define LINE_B \
	"0x7f0000100040 40 void [System.Private.CoreLib] System.String::Copy()[OptimizedTier1]\n"
#define LINE_A2 "0x7f0000100000 40 void [Shop.Core] Shop.Cart::Remove()[OptimizedTier1]\n"

Test(names, jit_code_by_the_perf_map)
{
	struct host h;
	const struct model_symbol *s;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_A LINE_B);
	names_process(h.n, h.m, h.process);
	s = name_at(&h, JIT + 0x10, 100);
	cr_assert_not_null(s);
	cr_expect_str_eq(s->name, "Shop.Cart.Add");
	cr_expect_str_eq(s->module, "Shop.Core");
	cr_expect_str_eq(s->raw, "instance void [Shop.Core] Shop.Cart::Add(int32)");
	cr_expect_eq(s->kind, KIND_JIT);
	cr_expect(s->application);
	cr_expect_str_eq(location_at(&h, JIT + 0x10, 100)->tier, "QuickJitted");
	cr_expect(!name_at(&h, JIT + 0x50, 100)->application);
	cr_expect_eq(h.m->processes[h.process].perf_map, REASON_NAMED);

	/* The memory is used again: the name is that of the sample's time. */
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_A LINE_B LINE_A2);
	names_tail(h.n, h.m, 500);
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 600)->name, "Shop.Cart.Remove");
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 400)->name, "Shop.Cart.Add");
	host_end(&h);
}

Test(names, jit_code_whose_line_comes_later)
{
	struct host h;
	const struct model_location *l;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_B);
	names_process(h.n, h.m, h.process);
	cr_expect_null(name_at(&h, JIT + 0x10, 100), "waits");
	cr_expect_null(name_at(&h, JIT + 0x11, 300), "waits");
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_B LINE_A);
	names_tail(h.n, h.m, 200);
	l = location_at(&h, JIT + 0x10, 100);
	cr_assert_not_null(l);
	cr_expect_str_eq(h.m->symbols[l->symbol].name, "Shop.Cart.Add");
	cr_expect_eq(l->flags, LOCATION_LATER);
	l = location_at(&h, JIT + 0x11, 300);
	cr_assert_not_null(l);
	cr_expect_eq(l->flags, 0);
	host_end(&h);
}

/* Reasons for JIT code without a name, after patience or settling. */
static void check_reason(const char *name, struct host *h, enum model_reason reason,
			 enum model_reason of_map)
{
	const struct model_location *l;

	names_process(h->n, h->m, h->process);
	name_at(h, JIT + 0x10, 100);
	for (int i = 0; i < 3; i++)
		names_tail(h->n, h->m, 200 + (uint64_t)i);
	l = location_at(h, JIT + 0x10, 100);
	cr_assert_not_null(l, "%s", name);
	cr_expect_eq(h->m->symbols[l->symbol].reason, reason, "%s: %d", name,
		     h->m->symbols[l->symbol].reason);
	cr_expect_eq(h->m->processes[h->process].perf_map, of_map, "%s: %u", name,
		     h->m->processes[h->process].perf_map);
	host_end(h);
}

Test(names, reasons_of_unnamed_jit_code)
{
	struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct host h;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	check_reason("no map", &h, REASON_NO_PERF_MAP, REASON_NO_PERF_MAP);

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_B);
	check_reason("no entry", &h, REASON_PERF_MAP_NO_ENTRY, REASON_NAMED);

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	fake_text(&h.proc, "100/root/tmp/x", "");
	cr_assert_eq(mkfifo(fake_path(&h.proc, "100/root/tmp/perf-7.map"), 0644), 0);
	check_reason("FIFO", &h, REASON_PERF_MAP_UNSAFE, REASON_PERF_MAP_UNSAFE);

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_A);
	utimensat(AT_FDCWD, fake_path(&h.proc, "100/root/tmp/perf-7.map"), long_ago, 0);
	check_reason("left by an earlier process", &h, REASON_PERF_MAP_STALE,
		     REASON_PERF_MAP_STALE);
}

Test(names, frames_that_wait_are_settled_at_the_end)
{
	struct host h;
	const struct model_symbol *s;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	names_process(h.n, h.m, h.process);
	cr_expect_null(name_at(&h, JIT + 0x10, 100));
	names_settle(h.n, h.m);
	s = name_at(&h, JIT + 0x10, 100);
	cr_assert_not_null(s);
	cr_expect_eq(s->reason, REASON_NO_PERF_MAP);
	cr_expect_eq(s->kind, KIND_JIT);
	host_end(&h);
}

Test(names, a_map_that_appears_later_names_from_then_on)
{
	struct host h;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	names_process(h.n, h.m, h.process);
	name_at(&h, JIT + 0x10, 100);
	for (int i = 0; i < 3; i++)
		names_tail(h.n, h.m, 200);
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_A);
	names_tail(h.n, h.m, 300);
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 350)->name, "Shop.Cart.Add");
	cr_expect_eq(name_at(&h, JIT + 0x10, 100)->reason, REASON_NO_PERF_MAP);
	cr_expect_eq(h.m->processes[h.process].perf_map, REASON_NAMED);
	host_end(&h);
}

Test(names, anonymous_code_is_jit_code_only_with_a_perf_map)
{
	static const char maps[] = "7f0000100000-7f0000110000 rwxp 00000000 00:00 0 \n";
	struct host h;
	const struct model_symbol *s;

	host_make(&h, maps, "/usr/bin/node");
	names_process(h.n, h.m, h.process);
	s = name_at(&h, JIT + 0x10, 100);
	cr_assert_not_null(s);
	cr_expect_eq(s->reason, REASON_ANONYMOUS_CODE);
	cr_expect_eq(s->kind, KIND_UNKNOWN);
	host_end(&h);

	host_make(&h, maps, "/usr/bin/node");
	fake_text(&h.proc, "100/root/tmp/perf-7.map", "7f0000100000 40 LazyCompile:*f a.js:1\n");
	names_process(h.n, h.m, h.process);
	s = name_at(&h, JIT + 0x10, 100);
	cr_assert_not_null(s);
	cr_expect_eq(s->reason, REASON_NAMED);
	cr_expect_eq(s->kind, KIND_JIT);
	host_end(&h);
}

Test(names, more_maps_than_may_be_open_close_the_longest_unused)
{
	static const char maps[] = "7f0000100000-7f0000110000 r-xs 00000000 00:01 9 "
				   "/memfd:doublemapper (deleted)\n";
	struct host h;
	uint32_t first;

	host_make(&h, maps, "/app/Shop.Api");
	first = h.process;
	for (uint32_t i = 0; i <= 256; i++) {
		struct fake_process p = {.tgid = 1000 + i,
					 .start_ticks = START_TICKS,
					 .comm = "x",
					 .exe = "/app/x",
					 .maps = maps};
		char name[64];

		fake_process(&h.proc, &p);
		snprintf(name, sizeof(name), "%u/root/tmp/perf-7.map", p.tgid);
		fake_text(&h.proc, name, LINE_A);
		h.process = model_process_get(h.m, p.tgid, START_TICKS * TICK_NS);
		names_process(h.n, h.m, h.process);
		cr_expect_str_eq(name_at(&h, JIT + 0x10, 100)->name, "Shop.Cart.Add");
	}
	cr_expect_eq(h.m->processes[first + 1].perf_map, REASON_LIMIT);
	cr_expect_eq(h.m->processes[first + 2].perf_map, REASON_NAMED);
	h.process = first + 1;
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 100)->name, "Shop.Cart.Add", "names stay");
	host_end(&h);
}

Test(names, huge_sparse_maps_together_do_not_hold_up_a_slice)
{
	struct timespec before, after;
	struct host h;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	for (uint32_t i = 0; i < 8; i++) {
		struct fake_process p = {.tgid = 1000 + i,
					 .start_ticks = START_TICKS,
					 .comm = "x",
					 .exe = "/app/x",
					 .maps = MAPS_LIB};
		char name[64];

		fake_process(&h.proc, &p);
		snprintf(name, sizeof(name), "%u/root/tmp/perf-7.map", p.tgid);
		fake_text(&h.proc, name, LINE_A);
		cr_assert_eq(truncate(fake_path(&h.proc, "%s", name), UINT32_MAX), 0);
		h.process = model_process_get(h.m, p.tgid, START_TICKS * TICK_NS);
		names_process(h.n, h.m, h.process);
		name_at(&h, JIT + 0x10, 100);
	}
	clock_gettime(CLOCK_MONOTONIC, &before);
	names_tail(h.n, h.m, 200);
	clock_gettime(CLOCK_MONOTONIC, &after);
	cr_expect_lt((after.tv_sec - before.tv_sec) * 1000 +
			     (after.tv_nsec - before.tv_nsec) / 1000000,
		     500);
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 100)->name, "Shop.Cart.Add");
	host_end(&h);
}

Test(names, after_an_exec_the_new_map_names_nothing_of_before)
{
	struct host h;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_A);
	names_process(h.n, h.m, h.process);
	cr_assert_str_eq(name_at(&h, JIT + 0x10, 100)->name, "Shop.Cart.Add");
	cr_assert_null(name_at(&h, JIT + 0x50, 100), "waits");
	model_mappings_end(h.m, h.process, 200);
	h.m->processes[h.process].flags &= ~PROCESS_FACTS;
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_A2 LINE_B);
	names_process_exec(h.n, h.m, h.process);
	cr_expect_eq(name_at(&h, JIT + 0x50, 100)->reason, REASON_PERF_MAP_NO_ENTRY);
	h.m->processes[h.process].flags &= ~PROCESS_FACTS;
	names_process(h.n, h.m, h.process);
	for (size_t i = 9; i < h.m->processes[h.process].mapping_cnt; i++)
		cr_expect_eq(h.m->processes[h.process].mappings[i].from_ns, 200);
	cr_expect_gt(h.m->processes[h.process].mapping_cnt, 9);
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 300)->name, "Shop.Cart.Remove");
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 100)->name, "Shop.Cart.Add");
	host_end(&h);
}

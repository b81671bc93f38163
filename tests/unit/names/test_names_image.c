/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames in precompiled .NET images: one row for each function. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_bundle.h"
#include "fake_image.h"
#include "fake_names.h"
#include "names/names.h"
#include "names_support.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define START_TICKS   1000u
#define TICK_NS	      (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK))

struct host {
	struct fake_proc proc;
	struct names *n;
	struct model *m;
};

/* RVA = offset + 0x10000. */
static const uint32_t functions[][2] = {{0x10300, 0x10335}, {0x10340, 0x10390}};

static void host_make(struct host *h)
{
	struct names_options options = {.proc_path = h->proc.path, .deadline_ns = 10000000000ull};

	fake_proc_make(&h->proc);
	h->n = names_new(&options);
	h->m = model_new();
	cr_assert(h->n && h->m);
}

static void host_end(struct host *h)
{
	names_free(h->n);
	model_free(h->m);
	fake_proc_remove(&h->proc);
}

static uint32_t add_process(struct host *h, uint32_t tgid, const char *maps)
{
	struct fake_process p = {.tgid = tgid,
				 .start_ticks = START_TICKS,
				 .comm = "dotnet",
				 .exe = "/usr/bin/dotnet",
				 .maps = maps,
				 .cgroup = "0::/\n"};
	uint32_t row;

	fake_process(&h->proc, &p);
	row = model_process_get(h->m, tgid, START_TICKS * TICK_NS + 7);
	cr_assert_neq(row, MODEL_NONE);
	h->m->processes[row].start_exact = true;
	names_process(h->n, h->m, row);
	return row;
}

static const struct model_symbol *symbol_at(struct host *h, uint32_t process, uint64_t address)
{
	struct model_stack s = {.id = h->m->stacks_cnt + 1,
				.process = process,
				.frame_cnt = 1,
				.broken_module = MODEL_NONE};
	uint32_t row;

	names_stack(h->n, h->m, model_stack_add(h->m, &s, &address), 1000);
	row = model_location_find(h->m, process, address, 1000);
	cr_assert_neq(row, MODEL_NONE);
	return &h->m->symbols[h->m->locations[row].symbol];
}

static const char *name_at(struct host *h, uint32_t process, uint64_t address)
{
	return symbol_at(h, process, address)->name;
}

#define MAPS_GOOD "7f0000000000-7f0000001000 r-xp 00000000 08:01 0 /app/Good.dll\n"

Test(names_image, call_sites_of_a_function_are_one_row)
{
	static const struct {
		const char *name;
		uint64_t address;
		const char *symbol;
		enum model_reason reason;
	} rows[] = {
		{"start", 0x7f0000000300, "Good.dll+0x300", REASON_PRECOMPILED},
		{"call site", 0x7f0000000321, "Good.dll+0x300", REASON_PRECOMPILED},
		{"another function", 0x7f0000000377, "Good.dll+0x340", REASON_PRECOMPILED},
		{"no function", 0x7f0000000250, "[call stub]", REASON_NAMED},
		{"mapped from an offset", 0x7f0000010010, "Good.dll+0x300", REASON_PRECOMPILED},
		{"damaged", 0x7f0000100321, "Damaged.dll+0x321", REASON_FILE_MALFORMED},
		{"not an image", 0x7f0000200321, "Text.dll+0x321", REASON_FILE_MALFORMED},
		{"not there", 0x7f0000300321, "Gone.dll+0x321", REASON_FILE_GONE},
		{"another file than the mapped one", 0x7f0000400321, "Other.dll+0x321",
		 REASON_FILE_CHANGED},
		{"inside another root", 0x7f0000500321, "Link.dll+0x321", REASON_FILE_GONE},
	};
	struct fake_image what = {.machine = FAKE_IMAGE_X64, .rows = functions, .rows_cnt = 2};
	uint8_t image[FAKE_IMAGE_BYTES];
	struct host h;
	uint32_t p;

	host_make(&h);
	fake_image(&what, image);
	fake_file(&h.proc, "100/root/app/Good.dll", image, sizeof(image));
	fake_file(&h.proc, "100/root/app/Other.dll", image, sizeof(image));
	fake_file(&h.proc, "outside.dll", image, sizeof(image));
	cr_assert_eq(symlink("../../../outside.dll", fake_path(&h.proc, "100/root/app/Link.dll")),
		     0);
	fake_file(&h.proc, "100/root/app/Damaged.dll", image, FAKE_IMAGE_DATA_OFFSET + 20);
	fake_text(&h.proc, "100/root/app/Text.dll", "MZ, but no more\n");
	p = add_process(&h, 100,
			MAPS_GOOD
			"7f0000010000-7f0000011000 r-xp 00000300 08:01 0 /app/Good.dll\n"
			"7f0000100000-7f0000101000 r-xp 00000000 08:01 0 /app/Damaged.dll\n"
			"7f0000200000-7f0000201000 r-xp 00000000 08:01 0 /app/Text.dll\n"
			"7f0000300000-7f0000301000 r-xp 00000000 08:01 0 /app/Gone.dll\n"
			"7f0000400000-7f0000401000 r-xp 00000000 08:01 7 /app/Other.dll\n"
			"7f0000500000-7f0000501000 r-xp 00000000 08:01 0 /app/Link.dll\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct model_symbol *s = symbol_at(&h, p, rows[i].address);

		cr_expect_str_eq(s->name, rows[i].symbol, "%s: %s", rows[i].name, s->name);
		cr_expect_eq(s->reason, rows[i].reason, "%s: %d", rows[i].name, s->reason);
		cr_expect_eq(s->kind, rows[i].reason ? KIND_IMAGE : KIND_STUB, "%s", rows[i].name);
	}
	host_end(&h);
}

/* Overwrites the file's table, keeping inode, size and time of modification. */
static void spoil(const char *path)
{
	static const uint8_t zeros[FAKE_IMAGE_DATA_BYTES];
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	struct timespec times[2];
	struct stat st;

	cr_assert(fd >= 0 && !fstat(fd, &st));
	cr_assert_eq(pwrite(fd, zeros, sizeof(zeros), FAKE_IMAGE_DATA_OFFSET), sizeof(zeros));
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	cr_assert_eq(futimens(fd, times), 0);
	close(fd);
}

Test(names_image, a_file_that_several_processes_map_is_read_once)
{
	struct fake_image what = {.machine = FAKE_IMAGE_X64, .rows = functions, .rows_cnt = 2};
	uint32_t first, second, third;
	uint8_t image[FAKE_IMAGE_BYTES];
	char path[PATH_MAX];
	uint64_t bytes;
	struct host h;

	host_make(&h);
	fake_image(&what, image);
	fake_file(&h.proc, "100/root/app/Good.dll", image, sizeof(image));
	snprintf(path, sizeof(path), "%s", fake_path(&h.proc, "100/root/app/Good.dll"));
	fake_text(&h.proc, "200/root/app/x", "");
	cr_assert_eq(link(path, fake_path(&h.proc, "200/root/app/Good.dll")), 0);
	fake_text(&h.proc, "300/root/app/x", "");
	cr_assert_eq(link(path, fake_path(&h.proc, "300/root/app/Good.dll")), 0);
	first = add_process(&h, 100, MAPS_GOOD);
	second = add_process(&h, 200, MAPS_GOOD);
	third = add_process(&h, 300, MAPS_GOOD);

	cr_expect_str_eq(name_at(&h, first, 0x7f0000000321), "Good.dll+0x300");
	bytes = names_cost(h.n).table_bytes;
	cr_expect_str_eq(name_at(&h, second, 0x7f0000000321), "Good.dll+0x300");
	cr_expect_eq(names_cost(h.n).table_bytes, bytes, "not even a row more");
	/* That its time of modification is put back hides nothing. */
	spoil(path);
	cr_expect_str_eq(name_at(&h, third, 0x7f0000000321), "Good.dll+0x321");
	host_end(&h);
}

struct named {
	const char *name;
	uint64_t address;
	const char *symbol, *module;
	uint8_t kind;
	enum model_reason reason;
};

static void expect_named(struct host *h, uint32_t process, const struct named *rows, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct model_symbol *s = symbol_at(h, process, rows[i].address);
		uint32_t row = model_location_find(h->m, process, rows[i].address, 1000);

		cr_expect_str_eq(s->name, rows[i].symbol, "%s: %s", rows[i].name, s->name);
		cr_expect_str_eq(s->module, rows[i].module, "%s: %s", rows[i].name, s->module);
		cr_expect_eq(s->kind, rows[i].kind, "%s", rows[i].name);
		cr_expect_eq(s->reason, rows[i].reason, "%s: %d", rows[i].name, s->reason);
		cr_expect_str_eq(h->m->locations[row].tier,
				 s->kind == KIND_IMAGE && !s->reason ? "PreJIT" : "", "%s",
				 rows[i].name);
	}
}

Test(names_image, methods_have_the_name_that_the_jit_gives_them)
{
	static const struct named rows[] = {
		{"method", 0x7f0000000210, "Shop.Cart.Add", "Shop", KIND_IMAGE, REASON_NAMED},
		{"its handler", 0x7f0000000230, "Shop.Cart.Add", "Shop", KIND_IMAGE, REASON_NAMED},
		{"instance", 0x7f0000000290, "Shop.Box<int>.Get", "Shop", KIND_IMAGE, REASON_NAMED},
		{"of a library", 0x7f00000002b0, "Acme.List<Cart.Line>.Push", "Acme", KIND_IMAGE,
		 REASON_NAMED},
		{"no function", 0x7f0000000310, "[call stub]", "[stubs]", KIND_STUB, REASON_NAMED},
		{"no entry point", 0x7f0000010210, "Old.dll+0x200", "Old.dll", KIND_IMAGE,
		 REASON_PRECOMPILED},
	};
	uint8_t image[FAKE_NAMES_IMAGE];
	struct fake_names at;
	struct host h;
	uint32_t p;

	host_make(&h);
	fake_names(FAKE_IMAGE_X64, image, &at);
	fake_file(&h.proc, "100/root/app/Shop.dll", image, sizeof(image));
	image[at.methods] = 0;
	fake_file(&h.proc, "100/root/app/Old.dll", image, sizeof(image));
	p = add_process(&h, 100,
			"7f0000000000-7f0000001000 r-xp 00000000 08:01 0 /app/Shop.dll\n"
			"7f0000010000-7f0000011000 r-xp 00000000 08:01 0 /app/Old.dll\n");
	expect_named(&h, p, rows, ARRAY_SIZE(rows));
	for (size_t i = 0; i < h.m->modules_cnt; i++) {
		cr_expect_eq(h.m->modules[i].learnt_id_len, 16, "%s", h.m->modules[i].path);
		cr_expect_eq(h.m->modules[i].learnt_id[0], FAKE_NAMES_MVID);
	}
	host_end(&h);
}

Test(names_image, a_composite_image_is_named_from_the_assemblies_beside_it)
{
	static const struct named rows[] = {
		{"method", 0x7f0000000210, "Shop.Cart.Add", "Shop", KIND_IMAGE, REASON_NAMED},
		{"without the assembly", 0x7f0000010210, "All.dll+0x200", "All.dll", KIND_IMAGE,
		 REASON_PRECOMPILED},
		{"with another file there", 0x7f0000020210, "All.dll+0x200", "All.dll", KIND_IMAGE,
		 REASON_PRECOMPILED},
	};
	uint8_t image[FAKE_NAMES_IMAGE];
	struct fake_names at;
	struct host h;
	uint32_t p;

	host_make(&h);
	fake_names(FAKE_IMAGE_X64, image, &at);
	fake_file(&h.proc, "100/root/app/Acme.dll", image, sizeof(image));
	fake_names_composite(image, &at);
	fake_file(&h.proc, "100/root/app/All.dll", image, sizeof(image));
	fake_file(&h.proc, "100/root/alone/All.dll", image, sizeof(image));
	fake_file(&h.proc, "100/root/other/All.dll", image, sizeof(image));
	fake_text(&h.proc, "100/root/other/Acme.dll", "MZ\n");
	p = add_process(&h, 100,
			"7f0000000000-7f0000001000 r-xp 00000000 08:01 0 /app/All.dll\n"
			"7f0000010000-7f0000011000 r-xp 00000000 08:01 0 /alone/All.dll\n"
			"7f0000020000-7f0000021000 r-xp 00000000 08:01 0 /other/All.dll\n");
	expect_named(&h, p, rows, ARRAY_SIZE(rows));
	host_end(&h);
}

#define BUNDLED_AT 0x1000u
#define NOTHING_AT 0x3000u

/* A.dll is an image, B.dll is none; behind what ELF loads, page by page. */
static void put_bundle(struct host *h, const char *path)
{
	static uint8_t bytes[NOTHING_AT + 0x100];
	struct fake_names at;

	fake_bundle(bytes);
	fake_image_put(bytes, FAKE_BUNDLE_ENTRIES, BUNDLED_AT, 8);
	fake_image_put(bytes, FAKE_BUNDLE_ENTRIES + 8, FAKE_NAMES_IMAGE, 8);
	fake_image_put(bytes, FAKE_BUNDLE_ENTRIES + FAKE_BUNDLE_ENTRY, NOTHING_AT, 8);
	fake_names(FAKE_IMAGE_X64, bytes + BUNDLED_AT, &at);
	fake_file(&h->proc, path, bytes, sizeof(bytes));
}

Test(names_image, assemblies_in_a_single_file_have_their_names)
{
	static const struct named rows[] = {
		{"method", 0x7f0000000210, "Shop.Cart.Add", "Shop", KIND_IMAGE, REASON_NAMED},
		{"another", 0x7f0000000250, "Shop.Cart.Has", "Shop", KIND_IMAGE, REASON_NAMED},
		{"thunks", 0x7f0000000310, "[call stub]", "[stubs]", KIND_STUB, REASON_NAMED},
		{"no image", 0x7f0000010010, "B.dll+0x10", "B.dll", KIND_IMAGE,
		 REASON_FILE_MALFORMED},
		{"nothing bundled there", 0x7f0000010810, "Shop+0x3810", "Shop", KIND_NATIVE,
		 REASON_NO_SYMBOL},
	};
	/* Its memory, which would tell, is asked first. */
	static const struct named unpacked = {
		"anonymous code",	 0x7f0000020010, "[compressed assembly]",
		"[compressed assembly]", KIND_IMAGE,	 REASON_COMPRESSED};
	uint64_t address = unpacked.address;
	struct model_stack stack = {.frame_cnt = 1, .broken_module = MODEL_NONE};
	struct host h;
	uint32_t p;

	host_make(&h);
	put_bundle(&h, "100/root/app/Shop");
	p = add_process(
		&h, 100,
		"7f0000000000-7f0000001000 r-xp 00001000 08:01 0 /app/Shop\n"
		"7f0000010000-7f0000011000 r-xp 00003000 08:01 0 /app/Shop\n"
		"7f0000020000-7f0000021000 r-xp 00000000 00:00 0 \n"
		"7f0000030000-7f0000031000 r-xs 00000000 00:01 9 /memfd:doublemapper (deleted)\n");
	h.m->processes[p].flags |= PROCESS_DOTNET;
	h.m->processes[p].exe = model_str(h.m, "/app/Shop");
	expect_named(&h, p, rows, ARRAY_SIZE(rows));
	stack.id = h.m->stacks_cnt + 1;
	stack.process = p;
	names_stack(h.n, h.m, model_stack_add(h.m, &stack, &address), 1000);
	names_settle(h.n, h.m);
	expect_named(&h, p, &unpacked, 1);
	host_end(&h);
}

/* What is asked once may have to be read first. */
static enum model_reason unwind_of(struct host *h, uint32_t process, uint64_t address,
				   struct names_unwind *ret_unwind)
{
	enum model_reason reason = REASON_PENDING;

	for (int i = 0; i < 500 && reason == REASON_PENDING; i++) {
		struct model_mapping map =
			*model_mapping_find(h->m, process, address, UINT64_MAX - 1);

		reason = names_unwind(h->n, h->m, process, &map, ret_unwind);
		if (reason == REASON_PENDING)
			names_await(h->n, 10000000);
	}
	return reason;
}

Test(names_image, assemblies_in_a_single_file_are_unwound_by_their_own_data)
{
	struct names_unwind first, again;
	struct host h;
	uint32_t p;

	host_make(&h);
	put_bundle(&h, "100/root/app/Shop");
	p = add_process(&h, 100,
			"7f0000000000-7f0000001000 r-xp 00001000 08:01 0 /app/Shop\n"
			"7f0000010000-7f0000011000 r-xp 00003000 08:01 0 /app/Shop\n");
	cr_assert_eq(unwind_of(&h, p, 0x7f0000000210, &first), REASON_NAMED);
	cr_expect_eq(first.bias, 0x7f0000000000 - (FAKE_IMAGE_CODE_RVA - FAKE_IMAGE_CODE_OFFSET));
	/* The second is no image; it must not be taken for the first. */
	cr_expect_eq(unwind_of(&h, p, 0x7f0000010010, &again), REASON_FILE_MALFORMED);
	cr_assert_eq(unwind_of(&h, p, 0x7f0000000210, &again), REASON_NAMED);
	cr_expect_eq(again.content, first.content);
	cr_expect_eq(again.bias, first.bias);
	host_end(&h);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "names/kallsyms.h"
#include "names_support.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const char text[] = "0000000000000000 A fixed_percpu_data\n"
			   "0000000000001000 A cpu_debug_store\n"
			   "ffffffff81000000 T _text\n"
			   "ffffffff81000000 t startup\n"
			   "ffffffff81000100 t helper_local\n"
			   "ffffffff81000100 T helper\n"
			   "ffffffff81000100 T __helper\n"
			   "ffffffff81000200 W weak_one\n"
			   "ffffffff81000280 D data_bounds_it\n"
			   "ffffffff81000300 T last_core\n"
			   "garbage\n"
			   "ffffffffc0100000 t mod_b\t[b]\n"
			   "ffffffffc0000000 t mod_a\t[a]\n"
			   "ffffffffc0200000 t bpf_prog_0123_x\t[bpf]\n"
			   "ffffffffc0200040 t bpf_prog_4567_y\t[bpf]";

/* Feeds in pieces of step bytes. */
static struct kallsyms *read_text(const char *s, size_t step, int *ret_err)
{
	struct kallsyms *k = kallsyms_new();
	size_t len = strlen(s);

	*ret_err = 0;
	for (size_t i = 0; i < len && !*ret_err; i += step)
		*ret_err = kallsyms_feed(k, s + i, len - i < step ? len - i : step);
	if (!*ret_err)
		*ret_err = kallsyms_finish(k);
	return k;
}

Test(kallsyms, addresses_find_their_function)
{
	static const struct {
		const char *name;
		uint64_t address;
		const char *symbol, *module; /* NULL = none */
	} rows[] = {
		{"global before local", 0xffffffff81000000, "_text", "[kernel]"},
		{"plain before underscores", 0xffffffff810001ff, "helper", "[kernel]"},
		{"weak", 0xffffffff81000200, "weak_one", "[kernel]"},
		{"data ends text", 0xffffffff81000280, NULL, NULL},
		{"before everything", 0xffffffff80ffffff, NULL, NULL},
		{"last function is bounded", 0xffffffff81000300 + 65536, NULL, NULL},
		{"last function", 0xffffffff81000300 + 65535, "last_core", "[kernel]"},
		{"module out of order", 0xffffffffc0000010, "mod_a", "a"},
		{"other module", 0xffffffffc0100010, "mod_b", "b"},
		{"BPF", 0xffffffffc020003f, "bpf_prog_0123_x", "[bpf]"},
		{"per-CPU offset", 0x1000, NULL, NULL},
		{"zero", 0, NULL, NULL},
		{"top", UINT64_MAX, NULL, NULL},
	};
	static const size_t steps[] = {1, 7, 64, 100000};

	for (size_t s = 0; s < ARRAY_SIZE(steps); s++) {
		int err;
		char whole[sizeof(text) + 1];
		struct kallsyms *k;

		snprintf(whole, sizeof(whole), "%s\n", text);
		k = read_text(whole, steps[s], &err);
		cr_assert_eq(err, 0);
		cr_expect_eq(kallsyms_text(k), 0xffffffff81000000);
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			struct kallsyms_place place;
			bool ok = kallsyms_find(k, rows[i].address, &place);

			cr_expect_eq(ok, !!rows[i].symbol, "%s", rows[i].name);
			if (ok && rows[i].symbol) {
				cr_expect_str_eq(place.name, rows[i].symbol, "%s: %s", rows[i].name,
						 place.name);
				cr_expect_str_eq(place.module, rows[i].module, "%s", rows[i].name);
			}
		}
		kallsyms_free(k);
	}
}

Test(kallsyms, hidden_addresses_are_told)
{
	struct kallsyms *k;
	int err;

	k = read_text("0000000000000000 T _text\n0000000000000000 t x\n", 4096, &err);
	cr_assert_eq(err, -EACCES);
	kallsyms_free(k);
	k = read_text("", 4096, &err);
	cr_assert_eq(err, -EACCES);
	kallsyms_free(k);
	kallsyms_free(NULL);
}

Test(kallsyms, a_line_without_end_is_cut)
{
	static char line[100000];
	struct kallsyms *k = kallsyms_new();
	struct kallsyms_place place;

	memset(line, 'a', sizeof(line));
	memcpy(line, "ffffffff81000000 T ", 19);
	cr_assert_eq(kallsyms_feed(k, line, sizeof(line)), 0);
	cr_assert_eq(kallsyms_feed(k, "\nffffffff81000010 T b\n", 23), 0);
	cr_assert_eq(kallsyms_finish(k), 0);
	cr_assert(kallsyms_find(k, 0xffffffff81000000, &place));
	cr_assert_lt(strlen(place.name), 1024);
	kallsyms_free(k);
}

Test(kallsyms, a_file_that_is_missing_or_hidden)
{
	struct fake_proc proc;
	struct kallsyms *k;

	fake_proc_make(&proc);
	cr_assert_null(kallsyms_read(fake_path(&proc, "kallsyms")));
	cr_assert_eq(errno, ENOENT);
	fake_text(&proc, "kallsyms", "0000000000000000 T _text\n");
	cr_assert_null(kallsyms_read(fake_path(&proc, "kallsyms")));
	cr_assert_eq(errno, EACCES);
	fake_text(&proc, "kallsyms", text);
	k = kallsyms_read(fake_path(&proc, "kallsyms"));
	cr_assert_not_null(k);
	cr_assert_eq(kallsyms_count(k), 7, "%zu", kallsyms_count(k));
	kallsyms_free(k);
	fake_proc_remove(&proc);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <stdio.h>

#include "build_model.h"
#include "judge/trunks.h"

struct fixture {
	struct model *m;
	uint32_t process, thread;
	uint32_t root, main, load, price, hash, lib, kernel;
};

static struct fixture fixture_new(void)
{
	struct fixture f = {.m = build_model(2, 99)};

	f.process = build_process(f.m, 100, "app", PROCESS_DOTNET);
	f.thread = build_thread(f.m, f.process, 100, "app", BUILD_SECOND, 'S');
	f.root = build_symbol(f.m, "start_thread", "libc", KIND_NATIVE, false);
	f.main = build_symbol(f.m, "App.Main", "App", KIND_JIT, true);
	f.load = build_symbol(f.m, "App.Load", "App", KIND_JIT, true);
	f.price = build_symbol(f.m, "App.Price", "App", KIND_JIT, true);
	f.hash = build_symbol(f.m, "App.Hash", "App", KIND_JIT, true);
	f.lib = build_symbol(f.m, "System.Text.Json.Read", "System.Text.Json", KIND_JIT, false);
	f.kernel = build_symbol(f.m, "vfs_read", "[kernel]", KIND_KERNEL, false);
	return f;
}

static struct trunks trunks(const struct fixture *f)
{
	struct trunks t;

	cr_assert_eq(trunks_of(f->m, f->process, &t), 0);
	return t;
}

static void expect(const struct fixture *f, const struct trunk *t, const char *name,
		   uint64_t samples)
{
	char is[TRUNKS_NAME_BYTES];

	trunks_name(is, f->m, t->symbol);
	cr_expect_str_eq(is, name);
	cr_expect_eq(t->samples, samples, "%s: %llu samples", name, (unsigned long long)t->samples);
}

Test(trunks, first_is_the_deepest_with_half_and_no_sample_counts_twice)
{
	struct fixture f = fixture_new();
	struct trunks t;

	BUILD_SAMPLES(f.m, f.thread, 40, f.root, f.main, f.load, f.price, f.kernel);
	BUILD_SAMPLES(f.m, f.thread, 25, f.root, f.main, f.load, f.hash);
	BUILD_SAMPLES(f.m, f.thread, 20, f.root, f.main, f.hash, f.lib);
	BUILD_SAMPLES(f.m, f.thread, 15, f.root, f.lib);
	t = trunks(&f);
	cr_expect_eq(t.all, 100);
	cr_assert_eq(t.cnt, 3);
	expect(&f, &t.rows[0], "App.Load (App)", 65);
	expect(&f, &t.rows[1], "App.Hash (App)", 20);
	expect(&f, &t.rows[2], "System.Text.Json.Read (System.Text.Json)", 15);
	model_free(f.m);
}

Test(trunks, samples_of_a_low_rate_count_for_more)
{
	struct fixture f = fixture_new();
	struct trunks t;

	BUILD_SAMPLES(f.m, f.thread, 12, f.root, f.main, f.load);
	for (size_t i = 0; i < f.m->samples_cnt; i++)
		f.m->samples[i].weight = 5;
	BUILD_SAMPLES(f.m, f.thread, 40, f.root, f.main, f.hash);
	t = trunks(&f);
	cr_expect_eq(t.all, 100);
	cr_assert_eq(t.cnt, 2);
	expect(&f, &t.rows[0], "App.Load (App)", 60);
	expect(&f, &t.rows[1], "App.Hash (App)", 40);
	model_free(f.m);
}

Test(trunks, what_is_thin_is_none)
{
	struct fixture f = fixture_new();
	struct trunks t;

	BUILD_SAMPLES(f.m, f.thread, 96, f.root, f.main, f.load);
	BUILD_SAMPLES(f.m, f.thread, 4, f.root, f.kernel);
	t = trunks(&f);
	cr_assert_eq(t.cnt, 1);
	expect(&f, &t.rows[0], "App.Load (App)", 96);
	model_free(f.m);
}

Test(trunks, recursion_counts_a_sample_once)
{
	struct fixture f = fixture_new();
	struct trunks t;

	BUILD_SAMPLES(f.m, f.thread, 30, f.root, f.main, f.load, f.price, f.load, f.price);
	t = trunks(&f);
	cr_assert_eq(t.cnt, 1);
	expect(&f, &t.rows[0], "App.Price (App)", 30);
	model_free(f.m);
}

Test(trunks, few_samples_name_none)
{
	struct fixture f = fixture_new();
	struct trunks t;

	BUILD_SAMPLES(f.m, f.thread, TRUNKS_MIN_SAMPLES - 1, f.root, f.main, f.load);
	t = trunks(&f);
	cr_expect_eq(t.all, TRUNKS_MIN_SAMPLES - 1);
	cr_expect_eq(t.cnt, 0);
	model_free(f.m);
}

Test(trunks, are_at_most_five_and_of_that_process)
{
	struct fixture f = fixture_new();
	uint32_t other = build_process(f.m, 200, "other", 0), thread;
	struct trunks t;
	char name[32];

	thread = build_thread(f.m, other, 200, "other", 0, 'S');
	BUILD_SAMPLES(f.m, thread, 50, f.root, f.hash);
	for (int i = 0; i < 8; i++) {
		uint32_t symbol;

		snprintf(name, sizeof(name), "App.Part%d", i);
		symbol = build_symbol(f.m, name, "App", KIND_JIT, true);
		BUILD_SAMPLES(f.m, f.thread, 20 + (uint32_t)i, f.root, symbol);
	}
	t = trunks(&f);
	cr_assert_eq(t.cnt, TRUNKS_MAX);
	expect(&f, &t.rows[0], "App.Part7 (App)", 27);
	expect(&f, &t.rows[4], "App.Part3 (App)", 23);
	model_free(f.m);
}

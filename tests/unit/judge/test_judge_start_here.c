/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>

#include "build_model.h"
#include "judge/start_here.h"

struct fixture {
	struct model *m;
	uint32_t process, t1, t2;
	uint32_t root, main, handler, work, parse, lib, kernel;
};

static struct fixture fixture_new(void)
{
	struct fixture f = {.m = build_model(2, 99)};

	f.process = build_process(f.m, 100, "app", PROCESS_DOTNET);
	f.t1 = build_thread(f.m, f.process, 100, "app", BUILD_SECOND, 'S');
	f.t2 = build_thread(f.m, f.process, 101, "app", BUILD_SECOND, 'S');
	f.root = build_symbol(f.m, "start_thread", "libc", KIND_NATIVE, false);
	f.main = build_symbol(f.m, "App.Main", "App", KIND_JIT, true);
	f.handler = build_symbol(f.m, "App.Handler", "App", KIND_JIT, true);
	f.work = build_symbol(f.m, "App.Work", "App", KIND_JIT, true);
	f.parse = build_symbol(f.m, "App.Parse", "App", KIND_JIT, true);
	f.lib = build_symbol(f.m, "System.Text.Json.Read", "System.Text.Json", KIND_JIT, false);
	f.kernel = build_symbol(f.m, "vfs_read", "[kernel]", KIND_KERNEL, false);
	return f;
}

static struct start_here start_of(const struct fixture *f)
{
	struct top *top = top_new(f->m, f->process);
	struct start_here start;

	cr_assert(top);
	cr_assert_eq(start_here(f->m, f->process, top, &start), 0);
	top_free(top);
	return start;
}

static void expect_start(const struct fixture *f, enum start_rule rule, const char *method,
			 uint64_t samples, uint32_t threads)
{
	struct start_here start = start_of(f);

	cr_expect_eq(start.rule, rule, "rule %d", start.rule);
	cr_assert_neq(start.symbol, MODEL_NONE);
	cr_expect_str_eq(f->m->symbols[start.symbol].name, method);
	cr_expect_eq(start.samples, samples, "%llu samples", (unsigned long long)start.samples);
	cr_expect_eq(start.threads, threads, "%u threads", start.threads);
}

Test(start_here, is_the_deepest_application_method_with_half_of_the_cpu)
{
	struct fixture f = fixture_new();

	BUILD_SAMPLES(f.m, f.t1, 60, f.root, f.main, f.handler, f.work, f.lib, f.kernel);
	BUILD_SAMPLES(f.m, f.t2, 10, f.root, f.main, f.handler, f.work);
	BUILD_SAMPLES(f.m, f.t1, 30, f.root, f.main, f.parse);
	expect_start(&f, START_HALF, "App.Work", 70, 2);
	model_free(f.m);
}

Test(start_here, exactly_half_is_enough)
{
	struct fixture f = fixture_new();

	BUILD_SAMPLES(f.m, f.t1, 20, f.main, f.work);
	BUILD_SAMPLES(f.m, f.t1, 20, f.main, f.lib);
	expect_start(&f, START_HALF, "App.Work", 20, 1);
	model_free(f.m);
}

/* Samples of the quiet gear stand for five: application code is in 60 of 100 ticks, and no method
 * holds half of these but App.Main. */
Test(start_here, weighs_samples_of_a_low_rate)
{
	struct fixture f = fixture_new();

	BUILD_SAMPLES(f.m, f.t1, 4, f.root, f.main, f.work);
	BUILD_SAMPLES(f.m, f.t1, 4, f.root, f.main, f.parse);
	BUILD_SAMPLES(f.m, f.t1, 8, f.root, f.lib);
	for (size_t i = 0; i < f.m->samples_cnt; i++)
		f.m->samples[i].weight = 5;
	BUILD_SAMPLES(f.m, f.t1, 20, f.root, f.handler, f.work);
	expect_start(&f, START_HALF_OF_APPLICATION, "App.Work", 40, 1);
	cr_expect_eq(start_of(&f).application, 60);
	cr_expect_eq(start_of(&f).all, 100);
	model_free(f.m);
}

Test(start_here, adds_up_a_method_that_is_called_from_many_places)
{
	struct fixture f = fixture_new();

	BUILD_SAMPLES(f.m, f.t1, 30, f.root, f.main, f.parse);
	BUILD_SAMPLES(f.m, f.t1, 30, f.root, f.handler, f.parse);
	BUILD_SAMPLES(f.m, f.t1, 40, f.root, f.work);
	expect_start(&f, START_HALF, "App.Parse", 60, 1);
	model_free(f.m);
}

Test(start_here, recursion_does_not_make_a_method_hold_more)
{
	struct fixture f = fixture_new();

	BUILD_SAMPLES(f.m, f.t1, 40, f.main, f.parse, f.parse, f.parse);
	BUILD_SAMPLES(f.m, f.t1, 60, f.main, f.lib);
	expect_start(&f, START_HALF, "App.Main", 100, 1);
	model_free(f.m);
}

Test(start_here, without_half_takes_most_of_the_application_code)
{
	struct fixture f = fixture_new();

	BUILD_SAMPLES(f.m, f.t1, 70, f.root, f.lib);
	BUILD_SAMPLES(f.m, f.t1, 20, f.root, f.handler, f.work);
	BUILD_SAMPLES(f.m, f.t1, 10, f.root, f.handler);
	expect_start(&f, START_HALF_OF_APPLICATION, "App.Work", 20, 1);
	cr_expect_eq(start_of(&f).application, 30);
	model_free(f.m);
}

Test(start_here, without_any_half_takes_the_largest_share)
{
	struct fixture f = fixture_new();

	BUILD_SAMPLES(f.m, f.t1, 280, f.root, f.lib);
	BUILD_SAMPLES(f.m, f.t1, 48, f.root, f.handler);
	BUILD_SAMPLES(f.m, f.t1, 40, f.root, f.work);
	BUILD_SAMPLES(f.m, f.t1, 32, f.root, f.parse);
	expect_start(&f, START_LARGEST, "App.Handler", 48, 1);
	model_free(f.m);
}

/* Not what the kernel does for it: a system call, which holds more, is no place to begin. */
Test(start_here, without_application_code_takes_the_deepest_method_of_the_framework)
{
	struct fixture f = fixture_new();
	uint32_t loop = build_symbol(f.m, "System.Threading.Loop", "CoreLib", KIND_IMAGE, false);

	BUILD_BROKEN(f.m, f.t1, 40, 0x2 /* STACK_TRUNCATED */, f.root, loop, f.lib, f.kernel);
	BUILD_SAMPLES(f.m, f.t1, 10, f.root, loop);
	BUILD_SAMPLES(f.m, f.t2, 50, f.root, f.kernel);
	expect_start(&f, START_FRAMEWORK, "System.Text.Json.Read", 40, 1);
	model_free(f.m);
}

/* Where no method has half: what most do, not what calls it. */
Test(start_here, of_a_framework_that_does_many_things_takes_the_one_it_does_most)
{
	struct fixture f = fixture_new();
	uint32_t loop = build_symbol(f.m, "System.Threading.Loop", "CoreLib", KIND_IMAGE, false);
	uint32_t io = build_symbol(f.m, "Kestrel.Execute", "Kestrel", KIND_JIT, false);
	uint32_t send = build_symbol(f.m, "System.Net.Send", "Sockets", KIND_IMAGE, false);
	uint32_t write = build_symbol(f.m, "System.Text.Json.Write", "Json", KIND_JIT, false);

	BUILD_SAMPLES(f.m, f.t1, 20, f.root, loop, io, send, f.kernel);
	BUILD_SAMPLES(f.m, f.t1, 5, f.root, loop, io);
	BUILD_SAMPLES(f.m, f.t1, 15, f.root, loop, f.lib);
	BUILD_SAMPLES(f.m, f.t1, 15, f.root, loop, write);
	BUILD_SAMPLES(f.m, f.t1, 45, f.root, loop);
	expect_start(&f, START_FRAMEWORK, "System.Net.Send", 20, 1);
	model_free(f.m);
}

Test(start_here, a_little_managed_code_is_not_where_to_begin)
{
	struct fixture f = fixture_new();
	uint32_t collect = build_symbol(f.m, "gc_collect", "libclrgc.so", KIND_NATIVE, false);

	BUILD_SAMPLES(f.m, f.t1, 75, f.root, collect);
	BUILD_SAMPLES(f.m, f.t2, 25, f.root, f.lib);
	expect_start(&f, START_ANY, "gc_collect", 75, 1);
	model_free(f.m);
}

Test(start_here, without_managed_code_takes_the_deepest_frame_of_any_kind)
{
	struct fixture f = fixture_new();

	BUILD_BROKEN(f.m, f.t1, 60, 0x2 /* STACK_TRUNCATED */, f.root, f.kernel);
	BUILD_SAMPLES(f.m, f.t1, 40, f.root);
	expect_start(&f, START_ANY, "vfs_read", 60, 1);
	model_free(f.m);
}

Test(start_here, names_no_method_that_holds_less_than_a_tenth_or_twice_its_error)
{
	struct fixture f = fixture_new();

	BUILD_SAMPLES(f.m, f.t1, 91, f.root, f.lib);
	BUILD_SAMPLES(f.m, f.t1, 9, f.root, f.work);
	expect_start(&f, START_SPREAD, "App.Work", 9, 1);
	cr_expect_eq(start_of(&f).application, 9);
	model_free(f.m);
	f = fixture_new();
	BUILD_SAMPLES(f.m, f.t1, 44, f.root, f.lib);
	BUILD_SAMPLES(f.m, f.t1, 6, f.root, f.work);
	expect_start(&f, START_SPREAD, "App.Work", 6, 1);
	model_free(f.m);
}

Test(start_here, says_when_samples_are_too_few)
{
	struct fixture f = fixture_new();

	BUILD_SAMPLES(f.m, f.t1, START_MIN_SAMPLES - 1, f.main);
	cr_expect_eq(start_of(&f).rule, START_TOO_FEW);
	cr_expect_eq(start_of(&f).symbol, MODEL_NONE);
	BUILD_SAMPLES(f.m, f.t1, 1, f.main);
	cr_expect_eq(start_of(&f).rule, START_HALF);
	model_free(f.m);
}

Test(start_here, names_nothing_where_no_stack_was_seen)
{
	struct fixture f = fixture_new();

	for (int i = 0; i < 30; i++)
		build_samples(f.m, f.t1, 1, 0, NULL, 0);
	cr_expect_eq(start_of(&f).rule, START_NOTHING);
	model_free(f.m);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <math.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "model/share.h"
#include "model/top.h"
#include "model/totals.h"
#include "model/unnamed.h"

struct fixture {
	struct model *m;
	uint32_t process, t1, t2, main, work, read;
};

static struct fixture fixture_new(void)
{
	struct fixture f = {.m = build_model(2, 99)};

	f.process = build_process(f.m, 100, "app", 0);
	f.t1 = build_thread(f.m, f.process, 100, "app", 3 * BUILD_SECOND, 'S');
	f.t2 = build_thread(f.m, f.process, 101, "app", BUILD_SECOND, 'S');
	f.main = build_symbol(f.m, "main", "app", KIND_NATIVE, true);
	f.work = build_symbol(f.m, "work", "app", KIND_NATIVE, true);
	f.read = build_symbol(f.m, "vfs_read", "[kernel]", KIND_KERNEL, false);
	return f;
}

static const struct top_row *row_of(const struct top_list *list, const struct model *m,
				    const char *name)
{
	for (size_t i = 0; i < list->rows_cnt; i++)
		if (!strcmp(m->symbols[list->rows[i].symbol].name, name))
			return &list->rows[i];
	return NULL;
}

static const struct top_row *module_of(const struct top *top, const char *name)
{
	for (size_t i = 0; i < top->modules.rows_cnt; i++)
		if (!strcmp(top->modules.rows[i].module, name))
			return &top->modules.rows[i];
	return NULL;
}

static void expect_row(const struct top_row *row, uint64_t self, uint64_t total, uint32_t threads)
{
	cr_assert(row);
	cr_expect_eq(row->self, self, "self %llu", (unsigned long long)row->self);
	cr_expect_eq(row->total, total, "total %llu", (unsigned long long)row->total);
	cr_expect_eq(row->threads, threads, "threads %u", row->threads);
}

Test(top, recursion_counts_once_a_sample)
{
	struct fixture f = fixture_new();
	struct top *top;

	BUILD_SAMPLES(f.m, f.t1, 4, f.main, f.work, f.main, f.work, f.work);
	BUILD_SAMPLES(f.m, f.t2, 1, f.main, f.work, f.read);
	/* Settled, the samples of a stack share one walk. */
	for (int settled = 0; settled < 2; settled++) {
		if (settled)
			model_settle(f.m);
		top = top_new(f.m, f.process);
		cr_assert(top);
		cr_expect_eq(top->samples, 5);
		cr_expect_eq(top->threads, 2);
		expect_row(row_of(&top->methods, f.m, "main"), 0, 5, 2);
		expect_row(row_of(&top->methods, f.m, "work"), 4, 5, 2);
		expect_row(row_of(&top->methods, f.m, "vfs_read"), 1, 1, 1);
		expect_row(module_of(top, "app"), 4, 5, 2);
		expect_row(module_of(top, "[kernel]"), 1, 1, 1);
		top_free(top);
	}
	model_free(f.m);
}

Test(top, a_method_over_tiers_and_image_is_one_row_and_its_assembly_one_module)
{
	struct fixture f = fixture_new();
	struct top *top;
	uint32_t jit = build_symbol(f.m, "N.T.M", "N", KIND_JIT, false);
	uint32_t image = build_unnamed(f.m, "N.dll", 0x10, KIND_IMAGE, REASON_PRECOMPILED);
	uint32_t named = build_symbol(f.m, "N.T.M", "N", KIND_IMAGE, false);

	BUILD_SAMPLES(f.m, f.t1, 2, f.main, jit);
	BUILD_SAMPLES(f.m, f.t1, 3, f.main, named);
	BUILD_SAMPLES(f.m, f.t1, 1, f.main, image);
	top = top_new(f.m, f.process);
	expect_row(row_of(&top->methods, f.m, "N.T.M"), 5, 5, 1);
	expect_row(row_of(&top->methods, f.m, "N.dll+0x10"), 1, 1, 1);
	expect_row(module_of(top, "N"), 6, 6, 1);
	top_free(top);
	model_free(f.m);
}

Test(top, notes_are_methods_but_no_module)
{
	struct fixture f = fixture_new();
	struct top *top;

	BUILD_BROKEN(f.m, f.t1, 2, STACK_TRUNCATED, f.work);
	model_settle(f.m);
	top = top_new(f.m, f.process);
	expect_row(row_of(&top->methods, f.m, "[truncated]"), 0, 2, 1);
	cr_expect_eq(top->modules.rows_cnt, 1);
	top_free(top);
	model_free(f.m);
}

Test(top, sorts_by_self_and_by_total)
{
	struct fixture f = fixture_new();
	struct top *top;

	BUILD_SAMPLES(f.m, f.t1, 2, f.main);
	BUILD_SAMPLES(f.m, f.t1, 3, f.main, f.work);
	BUILD_SAMPLES(f.m, f.t1, 3, f.main, f.read);
	top = top_new(f.m, f.process);
	top_sort_self(&top->methods, f.m);
	cr_expect_str_eq(f.m->symbols[top->methods.rows[0].symbol].name, "vfs_read");
	cr_expect_str_eq(f.m->symbols[top->methods.rows[1].symbol].name, "work");
	top_sort_total(&top->methods, f.m);
	cr_expect_str_eq(f.m->symbols[top->methods.rows[0].symbol].name, "main");
	top_free(top);
	model_free(f.m);
}

Test(totals, sums_by_process_and_puts_most_cpu_first)
{
	struct fixture f = fixture_new();
	uint32_t big = build_process(f.m, 200, "big", 0), idle = build_process(f.m, 90, "idle", 0);
	uint32_t t = build_thread(f.m, big, 200, "big", 5 * BUILD_SECOND, 'R');
	struct totals *totals;

	build_thread(f.m, idle, 90, "idle", 0, 'S');
	BUILD_SAMPLES(f.m, t, 7, f.main);
	BUILD_SAMPLES(f.m, f.t2, 1, f.main);
	build_slice(f.m, 2 * BUILD_SECOND, BUILD_SECOND, BUILD_SECOND / 2, 50);
	build_slice(f.m, BUILD_SECOND, BUILD_SECOND, 0, 50);
	model_loss_add(f.m, LOSS_SIDEBAND, 3);
	model_loss_add(f.m, LOSS_SIDEBAND, 4);
	totals = totals_new(f.m);
	cr_assert(totals);
	cr_expect_eq(totals->processes[0].process, big);
	cr_expect_eq(totals->processes[0].samples, 7);
	cr_expect_eq(totals->processes[1].process, f.process);
	cr_expect_eq(totals->processes[1].on_cpu_ns, 4 * BUILD_SECOND);
	cr_expect_eq(totals->processes[1].threads_ran, 2);
	cr_expect_eq(totals->processes[2].threads_ran, 0);
	cr_expect_eq(totals->processes[2].threads, 1);
	cr_expect_eq(totals->on_cpu_ns, 9 * BUILD_SECOND);
	cr_expect_eq(totals->samples, 8);
	cr_expect_eq(totals->elapsed_ns, 3 * BUILD_SECOND);
	cr_expect_eq(totals->cpu_capacity_ns, 6 * BUILD_SECOND);
	cr_expect_eq(totals->accounted_ns, 4 * BUILD_SECOND);
	cr_expect_eq(totals->unaccounted_ns, BUILD_SECOND);
	cr_expect_eq(totals->ticks_taken, 200);
	cr_expect_eq(totals->losses[LOSS_SIDEBAND], 7);
	totals_free(totals);
	model_free(f.m);
}

Test(unnamed, counts_frames_leaves_and_breaks_by_reason)
{
	struct fixture f = fixture_new();
	uint32_t jit = build_unnamed(f.m, "doublemapper", 0x10, KIND_JIT, REASON_NO_PERF_MAP);
	uint32_t lib = build_unnamed(f.m, "lib.so", 0x10, KIND_NATIVE, REASON_NO_SYMBOL);
	struct unnamed *u;

	BUILD_SAMPLES(f.m, f.t1, 10, f.main, jit, lib);
	BUILD_SAMPLES(f.m, f.t1, 5, f.main, jit, f.read);
	BUILD_BROKEN(f.m, f.t1, 3, STACK_BROKEN, f.work);
	build_broken_at(f.m, "/lib/libc.so.6");
	BUILD_BROKEN(f.m, f.t1, 1, STACK_BROKEN, f.main);
	BUILD_BROKEN(f.m, f.t1, 1, STACK_TRUNCATED, f.main);
	u = unnamed_new(f.m, f.process);
	cr_assert(u);
	cr_expect_eq(u->samples, 20);
	cr_expect_eq(u->frames, 30 + 15 + 3 + 1 + 1);
	cr_expect_eq(u->by_reason[REASON_NO_PERF_MAP], 15);
	cr_expect_eq(u->by_reason[REASON_NO_SYMBOL], 10);
	cr_expect_eq(u->by_reason[REASON_TRUNCATED], 1);
	cr_expect_eq(u->leaves[REASON_NO_SYMBOL], 10);
	cr_expect_eq(u->leaves[REASON_NAMED], 10);
	cr_expect_eq(unnamed_frames(u), 25);
	cr_expect_eq(unnamed_commonest(u), REASON_NO_PERF_MAP);
	cr_expect_eq(u->user_stacks, 20);
	cr_expect_eq(u->broken, 4);
	cr_assert_eq(u->breaks_cnt, 2);
	cr_expect_str_eq(u->breaks[0].place, "libc.so.6");
	cr_expect_eq(u->breaks[0].samples, 3);
	cr_expect_eq(u->breaks[1].place, BREAK_IN_UNKNOWN);
	unnamed_free(u);
	model_free(f.m);
}

Test(unnamed, a_file_known_in_two_ways_is_one_place_and_code_without_file_another)
{
	struct fixture f = fixture_new();
	struct model_module other = {.path = "/lib/libc.so.6", .inode = 7};
	struct unnamed *u;

	BUILD_BROKEN(f.m, f.t1, 2, STACK_BROKEN, f.work);
	build_broken_at(f.m, "/lib/libc.so.6");
	BUILD_BROKEN(f.m, f.t1, 3, STACK_BROKEN, f.work, f.work);
	f.m->stacks[f.m->stacks_cnt - 1].broken_module = model_module_get(f.m, &other);
	BUILD_BROKEN(f.m, f.t1, 4, STACK_BROKEN, f.main);
	build_broken_at(f.m, "");
	BUILD_BROKEN(f.m, f.t1, 2, STACK_BROKEN, f.main, f.main);
	build_broken_at(f.m, "/memfd:doublemapper (deleted)");
	BUILD_BROKEN(f.m, f.t1, 1, STACK_BROKEN, f.main, f.work);
	u = unnamed_new(f.m, f.process);
	cr_assert(u);
	cr_assert_eq(u->breaks_cnt, 3, "%zu", u->breaks_cnt);
	cr_expect_str_eq(u->breaks[0].place, BREAK_IN_CODE);
	cr_expect_eq(u->breaks[0].samples, 6);
	cr_expect_str_eq(u->breaks[1].place, "libc.so.6");
	cr_expect_eq(u->breaks[1].samples, 5);
	cr_expect_eq(u->breaks[2].place, BREAK_IN_UNKNOWN);
	cr_expect_eq(u->broken, 12);
	unnamed_free(u);
	model_free(f.m);
}

Test(share, error_is_the_usual_one_for_many_samples_and_never_nothing)
{
	cr_expect(fabs(share_error(500, 1000) - 1.96 * sqrt(0.25 / 1000)) < 1e-4);
	cr_expect(share_error(1000, 1000) > 0.001 && share_error(1000, 1000) < 0.004);
	cr_expect(share_error(0, 10) > 0.1);
	cr_expect_eq(share_error(0, 0), 1);
	cr_expect_eq(share_of(1, 0), 0);
}

Test(share, range_never_reaches_beyond_nothing_and_all)
{
	static const uint64_t cases[][2] = {{0, 0},   {0, 20},	  {1, 20},  {10, 20},
					    {19, 20}, {20, 20},	  {52, 53}, {1, 1000000},
					    {3, 97},  {999, 1000}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double low, high, share = share_of(cases[i][0], cases[i][1]);

		share_range(cases[i][0], cases[i][1], &low, &high);
		cr_expect(low >= 0 && high <= 1 && low < high, "%zu: %f %f", i, low, high);
		cr_expect(low <= share && share <= high, "%zu: %f %f", i, low, high);
		cr_expect(fabs(high - low - 2 * share_error(cases[i][0], cases[i][1])) < 1e-9 ||
				  !cases[i][1],
			  "%zu: %f %f", i, low, high);
	}
}

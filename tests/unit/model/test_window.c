/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of a capture in time: which slices, the worst ones, and the cut. */
#include <criterion/criterion.h>

#include <errno.h>

#include "build_model.h"
#include "model/sched.h"
#include "model/window.h"

#define MS 1000000ull

/* Slices of one second, in each of which thread 0 waited so many ms. */
static struct model *waits_by_second(const uint64_t *waited_ms, uint32_t cnt)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 10, "p", 0);

	build_thread(m, p, 10, "t", 0, 'S');
	for (uint32_t i = 0; i < cnt; i++) {
		struct sched_figures did = {.on_cpu_ns = 100 * MS, .waited_ns = waited_ms[i] * MS};

		build_account(m, i, 0, &did);
		build_slice(m, BUILD_SECOND, 50 * MS, 0, 10);
	}
	return m;
}

static const uint64_t four_seconds[] = {10, 20, 30, 40};

Test(window, holds_the_slices_that_overlap_the_time)
{
	static const struct {
		const char *name;
		uint64_t from_ms, to_ms;
		int err;
		uint32_t first, last;
	} rows[] = {
		{"all", 0, 4000, 0, 0, 3},
		{"one", 1000, 2000, 0, 1, 1},
		{"parts of two", 1999, 2001, 0, 1, 2},
		{"an end is exclusive", 0, 1000, 0, 0, 0},
		{"to the end and beyond", 3500, 99000, 0, 3, 3},
		{"beyond the end", 4000, 5000, -ERANGE, 0, 0},
		{"nothing", 1000, 1000, -ERANGE, 0, 0},
		{"backwards", 2000, 1000, -ERANGE, 0, 0},
	};
	struct model *m = waits_by_second(four_seconds, 4);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct window w = {77, 77};

		cr_expect_eq(window_of(m, rows[i].from_ms * MS, rows[i].to_ms * MS, &w),
			     rows[i].err, "%s", rows[i].name);
		if (rows[i].err) {
			cr_expect_eq(w.first, 77, "%s: touched on failure", rows[i].name);
			continue;
		}
		cr_expect(w.first == rows[i].first && w.last == rows[i].last, "%s: %u to %u",
			  rows[i].name, w.first, w.last);
		cr_expect_eq(window_from_ns(m, &w), w.first * BUILD_SECOND);
		cr_expect_eq(window_to_ns(m, &w), (w.last + 1) * BUILD_SECOND);
	}
	model_free(m);
}

Test(window, the_worst_one_has_most_waiting)
{
	static const struct {
		const char *name;
		uint64_t waited_ms[6];
		uint32_t cnt;
		uint64_t length_ms;
		uint32_t first, last;
	} rows[] = {
		{"one second", {10, 20, 90, 30, 5, 5}, 6, 1000, 2, 2},
		{"two seconds", {10, 20, 90, 30, 5, 5}, 6, 2000, 2, 3},
		{"at least as long", {10, 20, 90, 30, 5, 5}, 6, 1500, 2, 3},
		{"a high plain beats a peak", {90, 0, 0, 50, 50, 50}, 6, 3000, 3, 5},
		{"the last one", {1, 2, 3, 4, 5, 6}, 6, 2000, 4, 5},
		{"the first among equals", {5, 9, 5, 9, 5, 5}, 6, 1000, 1, 1},
		{"nothing waited", {0, 0, 0, 0, 0, 0}, 6, 2000, 0, 1},
		{"all of a shorter capture", {10, 20, 30}, 3, 60000, 0, 2},
		{"exactly all", {10, 20, 30}, 3, 3000, 0, 2},
		{"no length is one slice", {10, 20, 5}, 3, 0, 1, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct model *m = waits_by_second(rows[i].waited_ms, rows[i].cnt);
		struct window w;

		cr_assert_eq(window_worst(m, rows[i].length_ms * MS, &w), 0, "%s", rows[i].name);
		cr_expect(w.first == rows[i].first && w.last == rows[i].last, "%s: %u to %u",
			  rows[i].name, w.first, w.last);
		model_free(m);
	}
}

Test(window, the_worst_one_goes_by_time_and_counts_throttling)
{
	struct model *m = build_model(1, 99);
	uint32_t p = build_process(m, 10, "p", 0), t = build_thread(m, p, 10, "t", 0, 'S');
	const struct sched_figures waited = {.waited_ns = 500 * MS};
	const struct sched_figures throttled = {.throttled_ns = 400 * MS};
	struct window w;

	build_account(m, 0, t, &waited);
	build_slice(m, 2 * BUILD_SECOND, 0, 0, 0);
	build_account(m, 1, t, &throttled);
	build_slice(m, BUILD_SECOND, 0, 0, 0);
	cr_assert_eq(window_worst(m, BUILD_SECOND, &w), 0);
	cr_expect(w.first == 1 && w.last == 1);
	model_free(m);
}

Test(window, slices_a_little_short_are_long_enough)
{
	struct model *m = build_model(1, 99);
	struct window w;

	for (int i = 0; i < 4; i++)
		build_slice(m, BUILD_SECOND - 50000, 0, 0, 0);
	cr_assert_eq(window_worst(m, 2 * BUILD_SECOND, &w), 0);
	cr_expect_eq(w.last - w.first, 1);
	model_free(m);
}

Test(window, a_capture_without_slices_has_none)
{
	struct model *m = build_model(1, 99);
	struct window w = {0, 0};

	cr_expect_eq(window_of(m, 0, BUILD_SECOND, &w), -ERANGE);
	cr_expect_eq(window_worst(m, BUILD_SECOND, &w), -ERANGE);
	cr_expect_eq(window_cut(m, &w), -ERANGE);
	model_free(m);
}

static void add_sample(struct model *m, uint64_t time_ns)
{
	struct model_sample sample = {.time_ns = time_ns, .kind = 1};

	cr_assert_eq(model_sample_add(m, &sample), 0);
}

Test(window, a_cut_forgets_what_lies_outside)
{
	struct model *m = waits_by_second(four_seconds, 4);
	struct window w = {1, 2};
	struct sched *s;

	for (uint32_t i = 0; i < 4; i++) {
		build_delays(m, i, 0, (i + 1) * 10 * MS, i + 1);
		build_contention(m, i, 0, MODEL_NONE, i + 1);
		build_throttle(m, i, build_cgroup(m, 1, MODEL_NONE, "/a", 0, 0), i + 1, 0, 0);
	}
	add_sample(m, BUILD_START_NS + BUILD_SECOND - 1);
	add_sample(m, BUILD_START_NS + BUILD_SECOND);
	add_sample(m, BUILD_START_NS + 3 * BUILD_SECOND - 1);
	add_sample(m, BUILD_START_NS + 3 * BUILD_SECOND);
	cr_assert_eq(window_cut(m, &w), 0);
	cr_expect_eq(m->slices_cnt, 2);
	cr_expect_eq(m->host.start_ns, BUILD_START_NS + BUILD_SECOND);
	cr_expect_eq(m->host.end_ns, BUILD_START_NS + 3 * BUILD_SECOND);
	cr_expect_eq(m->slices[0].start_ns, m->host.start_ns);
	cr_expect_eq(m->samples_cnt, 2);
	cr_expect_eq(m->samples[0].time_ns, m->host.start_ns, "the beginning is in");
	cr_assert(m->accounts_cnt == 2 && m->delays_cnt == 2 && m->contentions_cnt == 2 &&
		  m->throttles_cnt == 2 && m->cpus_cnt == 4);
	for (uint32_t i = 0; i < 2; i++) {
		cr_expect_eq(m->accounts[i].slice, i);
		cr_expect_eq(m->accounts[i].sched.waited_ns, (i + 2) * 10 * MS);
		cr_expect(m->delays[i].slice == i && m->delays[i].count == i + 2);
		cr_expect(m->contentions[i].slice == i && m->contentions[i].weight == i + 2);
		cr_expect(m->throttles[i].slice == i && m->throttles[i].periods == i + 2);
		cr_expect_eq(m->cpus[2 * i].slice, i);
	}
	cr_expect_eq(m->threads[0].sched.waited_ns, 50 * MS);
	cr_expect_eq(m->threads[0].sched.on_cpu_ns, 200 * MS);
	cr_expect_eq(m->threads[0].delay_max_ns, 32768000, "30 ms lie in 16.4 to 32.8");
	s = sched_new(m);
	cr_assert(s);
	cr_expect_eq(s->elapsed_ns, 2 * BUILD_SECOND);
	cr_expect_eq(s->host.sched.waited_ns, 50 * MS);
	sched_free(s);
	cr_expect_eq(m->processes_cnt + m->threads_cnt, 2, "rows that others name stay");
	model_free(m);
}

Test(window, a_cut_to_all_changes_nothing)
{
	struct model *m = waits_by_second(four_seconds, 4);
	struct window w = {0, 3};

	build_delays(m, 3, 0, 7 * MS, 1);
	m->threads[0].delay_max_ns = 7 * MS;
	cr_assert_eq(window_cut(m, &w), 0);
	cr_expect_eq(m->slices_cnt, 4);
	cr_expect_eq(m->accounts_cnt, 4);
	cr_expect_eq(m->threads[0].sched.waited_ns, 100 * MS);
	cr_expect_eq(m->threads[0].delay_max_ns, 7 * MS);
	cr_expect_eq(m->host.start_ns, BUILD_START_NS);
	cr_expect_eq(m->host.end_ns, BUILD_START_NS + 4 * BUILD_SECOND);
	model_free(m);
}

Test(window, losses_stay_with_their_slice)
{
	struct model *m = build_model(1, 99);
	struct window w = {1, 1};

	model_loss_add(m, LOSS_SIDEBAND, 1); /* before the first slice: of slice 0 */
	build_slice(m, BUILD_SECOND, 0, 0, 0);
	build_slice(m, BUILD_SECOND, 0, 0, 0);
	model_loss_add(m, LOSS_SIDEBAND, 20);
	build_slice(m, BUILD_SECOND, 0, 0, 0);
	model_loss_add(m, LOSS_SIDEBAND, 300);
	cr_assert_eq(window_cut(m, &w), 0);
	cr_assert_eq(m->losses_cnt, 1);
	cr_expect_eq(m->losses[0].count, 20);
	cr_expect_eq(m->losses[0].slice, 0);
	model_free(m);
}

Test(window, a_window_that_is_not_there_is_refused)
{
	static const struct window rows[] = {{4, 4}, {0, 4}, {2, 1}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct model *m = waits_by_second(four_seconds, 4);

		cr_expect_eq(window_cut(m, &rows[i]), -ERANGE, "%zu", i);
		cr_expect_eq(m->slices_cnt, 4, "%zu: touched on failure", i);
		model_free(m);
	}
}

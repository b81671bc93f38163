/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slices become minutes: of the host and of each kind of process. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "build_model.h"
#include "watch/minutes.h"
#include "watched.h"

/* A minute begins at this second of the monotonic clock of build_model.h, 1,000. */
#define WALL_S	  1795392000ll
#define OFFSET_NS ((WALL_S - 1000) * 1000000000ll)

static void add(struct minutes *s, struct watched *w, int64_t offset_ns)
{
	uint32_t slice = (uint32_t)w->m->slices_cnt;

	watched_slice(w);
	w->m->slices[slice].wall_offset_ns = offset_ns;
	cr_assert_eq(minutes_slice(s, w->m, slice), 0);
}

static void judge(struct minutes *s, const struct watched *w, uint32_t slice, bool hurt,
		  enum verdict verdict)
{
	const struct verdict_input input = {.cpus_available = 1.5};
	const struct verdict_result calm = {.verdict = VERDICT_HEALTHY},
				    bad = {.verdict = verdict, .hurt = hurt};

	minutes_judge(s, slice, w->shop, &input, &bad);
	minutes_judge(s, slice, w->batch, &input, &calm);
	minutes_judge(s, slice, MODEL_NONE, &input, hurt ? &bad : &calm);
}

static const struct history_row *row_of(const struct history_minute *m, const char *name)
{
	for (size_t i = 0; i < m->rows_cnt; i++)
		if (name ? m->rows[i].name && !strcmp(m->rows[i].name, name) : !m->rows[i].name)
			return &m->rows[i];
	return NULL;
}

Test(minutes, sums_are_those_of_the_slices)
{
	struct watched w = watched_host();
	struct minutes *s = minutes_new();
	struct history_minute m;
	const struct history_row *row;

	for (int i = 0; i < 60; i++) {
		add(s, &w, OFFSET_NS);
		if (i % 10 == 9) {
			/* Ten at a time, and those of before again. */
			for (uint32_t k = 0; k <= (uint32_t)i; k++)
				judge(s, &w, k, k >= 20 && k < 25, VERDICT_STARVED);
			minutes_judged(s);
		}
		cr_assert_not(minutes_take(s, false, &m), "it goes on");
	}
	/* Verdicts of its last seconds may come. */
	for (int i = 0; i < 30; i++) {
		add(s, &w, OFFSET_NS);
		cr_assert_not(minutes_take(s, false, &m), "%d s after it", i);
	}
	add(s, &w, OFFSET_NS);
	cr_assert(minutes_take(s, false, &m));
	cr_expect_eq(m.time_s, WALL_S);
	row = row_of(&m, "Shop.Api");
	cr_assert(row);
	cr_expect_str_eq(row->place, "prod/shop/api");
	cr_expect_eq(row->figures.observed_ms, 60000);
	cr_expect_eq(row->figures.judged_ms, 60000);
	cr_expect_eq(row->figures.cpu_ms, 36000);
	cr_expect_eq(row->figures.waited_ms, 15000);
	cr_expect_eq(row->figures.throttled_ms, 1200);
	cr_expect_eq(row->figures.available_mcpu, 1500);
	cr_expect_eq(row->figures.requests, 660);
	cr_expect_eq(row->figures.slow, 60);
	cr_expect_eq(row->figures.hurt_ms, 5000);
	cr_expect_eq(row->figures.bad_minutes, 1);
	cr_expect_eq(row->figures.verdict, VERDICT_STARVED);
	cr_expect(row->figures.median_us > 4000 && row->figures.median_us < 6500, "%lu",
		  (unsigned long)row->figures.median_us);
	cr_expect(row->figures.p99_us > 500000 && row->figures.p99_us < 700000);
	row = row_of(&m, "batch");
	cr_assert(row);
	cr_expect_str_eq(row->place, "batch.service");
	cr_expect_eq(row->figures.cpu_ms, 18000);
	cr_expect_eq(row->figures.requests, 0);
	cr_expect_eq(row->figures.hurt_ms, 0);
	cr_expect_eq(row->figures.median_us, 0);
	row = row_of(&m, "kernel threads");
	cr_assert(row);
	cr_expect_eq(row->figures.cpu_ms, 3000);
	row = row_of(&m, NULL);
	cr_assert(row);
	cr_expect_eq(row, &m.rows[0]);
	cr_expect_eq(row->figures.cpu_ms, 2 * 60 * (475 + 10));
	cr_expect_eq(row->figures.available_mcpu, 2000);
	cr_expect_eq(row->figures.hurt_ms, 5000);
	cr_expect_eq(row->figures.requests, 660);
	cr_expect_not(minutes_take(s, false, &m));
	/* The end: the one that goes on, too. */
	cr_assert(minutes_take(s, true, &m));
	cr_expect_eq(m.time_s, WALL_S + 60);
	cr_expect_eq(row_of(&m, "Shop.Api")->figures.cpu_ms, 31 * 600);
	cr_expect_not(minutes_take(s, true, &m));
	minutes_free(s);
	model_free(w.m);
}

Test(minutes, unknown_is_no_bad_minute)
{
	struct watched w = watched_host();
	struct minutes *s = minutes_new();
	struct history_minute m;
	const struct history_row *row;

	for (uint32_t i = 0; i < 60; i++) {
		add(s, &w, OFFSET_NS);
		judge(s, &w, i, false, i % 2 ? VERDICT_UNKNOWN : VERDICT_HEALTHY);
		minutes_judged(s);
	}
	cr_assert(minutes_take(s, true, &m));
	row = row_of(&m, "Shop.Api");
	cr_assert(row);
	cr_expect_eq(row->figures.hurt_ms, 0);
	cr_expect_eq(row->figures.bad_minutes, 0);
	cr_expect_eq(row->figures.verdict, VERDICT_UNKNOWN, "nor a good one");
	minutes_free(s);
	model_free(w.m);
}

Test(minutes, the_unanswered_count_once)
{
	struct watched w = watched_host();
	struct minutes *s = minutes_new();
	struct model_service hang = {.endpoint = w.endpoint,
				     .late = 200,
				     .stuck = 200,
				     .open = 200,
				     .oldest_ns = 12 * BUILD_SECOND};
	struct history_minute m;
	const struct history_row *row;

	for (int i = 0; i < 10; i++) {
		hang.slice = (uint32_t)w.m->slices_cnt;
		build_service(w.m, &hang);
		build_slice(w.m, BUILD_SECOND, 0, 0, 0);
		w.m->slices[hang.slice].wall_offset_ns = OFFSET_NS;
		cr_assert_eq(minutes_slice(s, w.m, hang.slice), 0);
	}
	cr_assert(minutes_take(s, true, &m));
	row = row_of(&m, "Shop.Api");
	cr_assert(row, "it hangs, and uses no CPU");
	cr_expect_eq(row->figures.requests, 200);
	cr_expect_eq(row->figures.slow, 200);
	cr_expect_eq(row->figures.stuck, 200);
	cr_expect_eq(row->figures.observed_ms, 10000);
	minutes_free(s);
	model_free(w.m);
}

Test(minutes, a_clock_that_is_set_loses_nothing)
{
	static const int64_t steps_s[] = {0, 3600, -86400, 12ll * 365 * 86400, 30, -30, 0};
	struct watched w = watched_host();
	struct minutes *s = minutes_new();
	struct history_minute m;
	uint64_t cpu_ms = 0;

	for (size_t i = 0; i < sizeof(steps_s) / sizeof(steps_s[0]); i++) {
		for (int k = 0; k < 10; k++) {
			add(s, &w, OFFSET_NS + steps_s[i] * 1000000000ll);
			while (minutes_take(s, false, &m))
				cpu_ms += row_of(&m, "Shop.Api")->figures.cpu_ms;
		}
	}
	while (minutes_take(s, true, &m))
		cpu_ms += row_of(&m, "Shop.Api")->figures.cpu_ms;
	cr_expect_eq(cpu_ms, 70 * 600);
	minutes_free(s);
	model_free(w.m);
}

/* A storm of new names: those that work keep their rows. */
Test(minutes, new_names_without_end_are_one_row)
{
	struct watched w = watched_host();
	struct minutes *s = minutes_new();
	const struct sched_figures little = {.on_cpu_ns = 1000000}, much = {.on_cpu_ns = 50000000};
	uint32_t late = 0, thread = 0;
	struct history_minute m;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < 10; i++) {
		for (uint32_t k = 0; k < 400; k++) {
			char name[32];
			uint32_t p, t;

			snprintf(name, sizeof(name), "evil-%u-%u", i, k);
			p = build_process(w.m, 1000 + i * 400 + k, name, 0);
			t = build_thread(w.m, p, 1000 + i * 400 + k, name, 0, 'R');
			build_account(w.m, (uint32_t)w.m->slices_cnt, t, &little);
		}
		/* It comes when there is no place any more. */
		if (i == 3) {
			late = build_process(w.m, 900, "late", 0);
			thread = build_thread(w.m, late, 900, "late", 0, 'R');
		}
		if (i >= 3)
			build_account(w.m, (uint32_t)w.m->slices_cnt, thread, &much);
		add(s, &w, OFFSET_NS);
	}
	cr_assert(minutes_take(s, true, &m));
	cr_expect_leq(m.rows_cnt, MINUTES_KINDS + 2);
	cr_assert(row_of(&m, "Shop.Api"));
	cr_expect_eq(row_of(&m, "Shop.Api")->figures.cpu_ms, 6000);
	cr_assert(row_of(&m, "late"));
	cr_expect_geq(row_of(&m, "late")->figures.cpu_ms, 300);
	cr_assert(row_of(&m, ""));
	for (size_t i = 1; i < m.rows_cnt; i++)
		sum += m.rows[i].figures.cpu_ms;
	cr_expect_eq(sum, 4000 + 350 + 10 * 950, "%lu", (unsigned long)sum);
	minutes_free(s);
	model_free(w.m);
}

Test(minutes, hostile_names_are_cut)
{
	struct watched w = watched_host();
	struct minutes *s = minutes_new();
	char name[2000];
	struct history_minute m;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	w.m->processes[w.batch].name = model_str(w.m, name);
	w.m->processes[w.batch].unit = model_str(w.m, name);
	w.m->processes[w.shop].name = model_str(w.m, "");
	w.m->processes[w.shop].comm = model_str(w.m, "");
	add(s, &w, OFFSET_NS);
	cr_assert(minutes_take(s, true, &m));
	for (size_t i = 1; i < m.rows_cnt; i++)
		cr_expect_lt(strlen(m.rows[i].name), HISTORY_NAME_BYTES);
	minutes_free(s);
	model_free(w.m);
}

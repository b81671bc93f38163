/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What cpu.stat tells of groups, by kind of process: whose limit holds, and each group once for
 * each kind. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "build_model.h"
#include "exposition.h"
#include "recorder.h"
#include "watched.h"

#define MS 1000000ull

/* A pod with a limit, in it a container with one of its own and one without; beside it a unit with
 * a limit. */
enum { POD = 1, API, SIDECAR, UNIT, FREE, GROUPS_CNT };

struct limited {
	struct recorder r;
	uint32_t groups[GROUPS_CNT];
};

static void make_groups(struct limited *l)
{
	static const struct {
		uint32_t parent;
		const char *path;
		uint64_t quota_ns;
	} rows[GROUPS_CNT] = {
		[POD] = {0, "/pod", 80 * MS},
		[API] = {POD, "/pod/api", 30 * MS},
		[SIDECAR] = {POD, "/pod/sidecar", 0},
		[UNIT] = {0, "/unit", 50 * MS},
		[FREE] = {0, "/free", 0},
	};

	for (uint32_t i = POD; i < GROUPS_CNT; i++)
		l->groups[i] = build_cgroup(l->r.m, 100 + i,
					    rows[i].parent ? l->groups[rows[i].parent] : MODEL_NONE,
					    rows[i].path, rows[i].quota_ns, 100 * MS);
}

static struct limited limited_of(size_t top)
{
	struct limited l = {.r = recorder_of(top)};

	make_groups(&l);
	return l;
}

/* It runs in this slice: who has never run has no place. */
static uint32_t process_in(struct limited *l, const char *name, uint32_t tgid, uint32_t group)
{
	uint32_t thread = recorder_thread(&l->r, name, tgid);

	build_in_cgroup(l->r.m, l->r.m->threads[thread].process, l->groups[group]);
	recorder_ran(&l->r, thread, 20 * MS);
	return thread;
}

/* One slice: the pod had 10 periods and was stopped in 1, its container 9 and 8, the unit 7 and
 * 2. */
static void slice(struct limited *l)
{
	static const struct {
		uint32_t group;
		uint64_t periods, throttled;
	} rows[] = {{POD, 10, 1}, {API, 9, 8}, {UNIT, 7, 2}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		build_throttle(l->r.m, (uint32_t)l->r.m->slices_cnt, l->groups[rows[i].group],
			       rows[i].periods, rows[i].throttled, MS);
	recorder_close(&l->r, NULL);
}

static void expect(const struct limited *l, const char *name, uint64_t periods, uint64_t throttled)
{
	const struct metrics_process *p = recorder_find(l->r.s, name);

	cr_assert_not_null(p, "%s", name);
	cr_expect_eq(p->limit_periods, periods, "%s: %llu periods", name,
		     (unsigned long long)p->limit_periods);
	cr_expect_eq(p->limit_throttled_periods, throttled, "%s: throttled in %llu", name,
		     (unsigned long long)p->limit_throttled_periods);
}

Test(series_limits, the_nearest_limit_holds)
{
	static const struct {
		const char *name;
		uint32_t group;
		uint64_t periods, throttled;
	} rows[] = {
		{"own, below another", API, 9, 8},
		{"of the group above", SIDECAR, 10, 1},
		{"in the limited one itself", POD, 10, 1},
		{"none", FREE, 0, 0},
	};

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct limited l = limited_of(10);

		process_in(&l, rows[i].name, 10, rows[i].group);
		slice(&l);
		slice(&l);
		expect(&l, rows[i].name, 2 * rows[i].periods, 2 * rows[i].throttled);
		expect(&l, "other", 0, 0);
		recorder_free(&l.r);
	}
}

Test(series_limits, a_limit_that_was_not_in_force_is_not_that_of_the_group_above)
{
	struct limited l = limited_of(10);

	process_in(&l, "api", 10, API);
	build_throttle(l.r.m, 0, l.groups[POD], 10, 10, MS);
	recorder_close(&l.r, NULL);
	expect(&l, "api", 0, 0);
	recorder_free(&l.r);
}

Test(series_limits, each_group_counts_once_for_each_kind_in_it)
{
	struct limited l = limited_of(10);

	/* By turns: equal kinds do not stand side by side. */
	for (uint32_t i = 0; i < 6; i++)
		process_in(&l, i % 2 ? "worker" : "proxy", 10 + i, API);
	process_in(&l, "worker", 20, UNIT);
	process_in(&l, "worker", 21, UNIT);
	slice(&l);
	expect(&l, "proxy", 9, 8);
	expect(&l, "worker", 9 + 7, 8 + 2);
	recorder_free(&l.r);
}

Test(series_limits, those_without_a_place_count_a_group_once)
{
	struct limited l = limited_of(1);
	uint32_t busy = recorder_thread(&l.r, "busy", 1);

	recorder_ran(&l.r, busy, 900 * MS);
	process_in(&l, "a", 10, API);
	process_in(&l, "b", 11, API);
	process_in(&l, "c", 12, UNIT);
	slice(&l);
	expect(&l, "busy", 0, 0);
	expect(&l, "other", 9 + 7, 8 + 2);
	recorder_free(&l.r);
}

Test(series_limits, who_moved_counts_where_it_is_now)
{
	struct limited l = limited_of(10);
	uint32_t thread = process_in(&l, "api", 10, API);

	slice(&l);
	build_in_cgroup(l.r.m, l.r.m->threads[thread].process, l.groups[UNIT]);
	slice(&l);
	expect(&l, "api", 9 + 7, 8 + 2);
	build_in_cgroup(l.r.m, l.r.m->threads[thread].process, l.groups[FREE]);
	slice(&l);
	expect(&l, "api", 9 + 7, 8 + 2);
	recorder_free(&l.r);
}

Test(series_limits, who_has_ended_or_is_in_no_known_group_counts_nothing)
{
	struct limited l = limited_of(10);
	uint32_t gone = process_in(&l, "gone", 10, API),
		 unknown = process_in(&l, "unknown", 11, API);

	slice(&l);
	recorder_end(&l.r, gone);
	l.r.m->processes[l.r.m->threads[unknown].process].cgroup_id = 0;
	slice(&l);
	l.r.m->processes[l.r.m->threads[unknown].process].cgroup_id = 999;
	slice(&l);
	expect(&l, "gone", 9, 8);
	expect(&l, "unknown", 9, 8);
	recorder_free(&l.r);
}

Test(series_limits, counters_go_on_when_the_model_is_renewed)
{
	struct limited l = limited_of(10);

	process_in(&l, "api", 10, API);
	for (uint32_t round = 1; round <= 5; round++) {
		slice(&l);
		expect(&l, "api", round * 9, round * 8);
		recorder_renew(&l.r);
		/* Rows mean others now. */
		if (round % 2)
			build_cgroup(l.r.m, 1, MODEL_NONE, "/first", 10 * MS, 100 * MS);
		make_groups(&l);
		recorder_close(&l.r, NULL); /* nobody is known yet, no limit was in force */
		expect(&l, "api", round * 9, round * 8);
		process_in(&l, "web", 9, UNIT);
		process_in(&l, "api", 10, API);
	}
	expect(&l, "web", 4 * 7, 4 * 2);
	recorder_free(&l.r);
}

Test(series_limits, only_the_slice_that_is_counted)
{
	struct limited l = limited_of(10);
	struct model_slice second = {.start_ns = BUILD_START_NS,
				     .end_ns = BUILD_START_NS + BUILD_SECOND};

	/* The ring keeps older ones, and newer ones may be there. */
	process_in(&l, "api", 10, API);
	for (uint32_t i = 0; i < 3; i++) {
		build_throttle(l.r.m, i, l.groups[API], 10 + i, i, MS);
		cr_assert_eq(model_slice_add(l.r.m, &second), 0);
	}
	cr_assert_eq(series_slice(l.r.s, l.r.m, 1, NULL), 0);
	expect(&l, "other", 11, 1);
	cr_assert_eq(series_slice(l.r.s, l.r.m, 2, NULL), 0);
	expect(&l, "other", 11 + 12, 1 + 2);
	recorder_free(&l.r);
}

/* Lines are there for kinds that have counted periods, and for these both. */
Test(series_limits, lines_only_where_there_were_periods)
{
	struct limited l = limited_of(10);
	struct metrics_own own = watched_own();
	_cleanup_free_ char *page = NULL;

	process_in(&l, "calm", 10, UNIT);
	process_in(&l, "free", 11, FREE);
	build_throttle(l.r.m, 0, l.groups[UNIT], 7, 0, 0);
	recorder_close(&l.r, NULL);
	page = watched_page(l.r.s, &own);
	exposition_check(page, strlen(page));
	cr_expect_eq(exposition_value(page, "hotrun_process_limit_periods_total{process=\"calm\"}"),
		     7);
	cr_expect_eq(
		exposition_value(page,
				 "hotrun_process_limit_throttled_periods_total{process=\"calm\"}"),
		0);
	cr_expect_null(strstr(page, "periods_total{process=\"free\"}"));
	cr_expect_null(strstr(page, "periods_total{process=\"other\"}"));
	recorder_free(&l.r);
}

Test(series_limits, ten_thousand_processes_in_a_thousand_groups)
{
	struct limited l = limited_of(500);
	uint64_t periods = 0, throttled = 0;

	for (uint32_t i = 0; i < 1000; i++)
		build_cgroup(l.r.m, 1000 + i, l.groups[POD], "/pod/x", i % 2 ? 30 * MS : 0,
			     100 * MS);
	for (uint32_t i = 1; i < 1000; i += 2)
		build_throttle(l.r.m, 0, model_cgroup_find(l.r.m, 1000 + i), 10, 5, MS);
	for (uint32_t i = 0; i < 10000; i++) {
		char name[32];
		uint32_t thread;

		snprintf(name, sizeof(name), "job-%u", i % 400);
		thread = recorder_thread(&l.r, name, 10 + i);
		recorder_ran(&l.r, thread, 10 * MS);
		l.r.m->processes[l.r.m->threads[thread].process].cgroup_id = 1000 + i % 1000;
	}
	slice(&l);
	for (size_t i = 0; i < series_metrics(l.r.s)->processes_cnt; i++) {
		periods += series_metrics(l.r.s)->processes[i].limit_periods;
		throttled += series_metrics(l.r.s)->processes[i].limit_throttled_periods;
	}
	/* 200 kinds in 5 groups each that have a limit, and 200 below that of the pod alone. */
	cr_expect_eq(periods, 200 * 5 * 10 + 200 * 10);
	cr_expect_eq(throttled, 200 * 5 * 5 + 200 * 1);
	recorder_free(&l.r);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of waiting by host, process, thread and cgroup; percentiles; what there was to have. */
#include <criterion/criterion.h>

#include "build_model.h"
#include "model/sched.h"

#define US 1000ull
#define MS 1000000ull

static struct sched_figures figures(uint64_t on_cpu_ns, uint64_t waited_ns, uint64_t throttled_ns)
{
	return (struct sched_figures){.on_cpu_ns = on_cpu_ns,
				      .waited_ns = waited_ns,
				      .behind_own_ns = waited_ns / 2,
				      .throttled_ns = throttled_ns,
				      .voluntary = 1};
}

/* Two processes: rows 0 (threads 0 and 1) and 1 (thread 2); thread 3 of row 1 sleeps. */
static struct model *two_processes(void)
{
	struct model *m = build_model(2, 99);
	uint32_t shop = build_process(m, 100, "shop", 0), other = build_process(m, 200, "other", 0);

	build_thread(m, shop, 100, "main", 0, 'S');
	build_thread(m, shop, 101, "work", 0, 'S');
	build_thread(m, other, 200, "main", 0, 'S');
	build_thread(m, other, 201, "idle", 0, 'S');
	return m;
}

static struct sched *sums(const struct model *m)
{
	struct sched *s = sched_new(m);

	cr_assert(s);
	return s;
}

Test(sched, adds_up_what_the_slices_hold)
{
	struct model *m = two_processes();
	struct sched_figures a = figures(100, 20, 3), b = figures(1, 2, 0), c = figures(0, 0, 7);
	struct sched *s;

	build_account(m, 0, 0, &a);
	build_account(m, 0, 1, &b);
	build_account(m, 1, 0, &a);
	build_account(m, 1, 2, &c);
	build_delays(m, 0, 0, 5 * US, 3);
	build_delays(m, 1, 0, 100 * US, 2);
	build_delays(m, 1, 1, 5 * US, 1);
	build_slice(m, BUILD_SECOND, 0, 0, 0);
	build_slice(m, BUILD_SECOND / 2, 0, 0, 0);
	s = sums(m);
	cr_expect_eq(s->elapsed_ns, 3 * BUILD_SECOND / 2);
	cr_expect_eq(s->threads[0].sched.on_cpu_ns, 200);
	cr_expect_eq(s->threads[0].sched.behind_own_ns, 20);
	cr_expect_eq(s->processes[0].sched.on_cpu_ns, 201);
	cr_expect_eq(s->processes[0].sched.waited_ns, 42);
	cr_expect_eq(s->processes[0].sched.voluntary, 3);
	cr_expect_eq(s->processes[1].sched.throttled_ns, 7);
	cr_expect_eq(s->host.sched.throttled_ns, 13);
	cr_expect_eq(sched_delay_cnt(&s->threads[0]), 5);
	cr_expect_eq(s->processes[0].delays[2], 4, "4 to 8 us");
	cr_expect_eq(s->processes[0].delays[6], 2, "64 to 128 us");
	cr_expect_eq(sched_delay_cnt(&s->host), 6);
	cr_expect_eq(s->processes[0].threads, 2);
	cr_expect_eq(s->processes[1].threads, 1, "one slept all the time");
	cr_expect_eq(s->host.threads, 3);
	sched_free(s);
	model_free(m);
}

Test(sched, of_a_recording_that_goes_on_the_slice_at_hand_counts)
{
	struct model *m = two_processes();
	struct sched_figures a = figures(100, 20, 0);
	struct sched *s;

	build_account(m, 0, 0, &a);
	build_slice(m, BUILD_SECOND, 0, 0, 0);
	model_forget_slice(m);
	build_account(m, 1, 0, &a);
	build_slice(m, BUILD_SECOND / 4, 0, 0, 0);
	s = sums(m);
	cr_expect_eq(s->elapsed_ns, BUILD_SECOND / 4);
	cr_expect_eq(s->threads[0].sched.on_cpu_ns, 100, "not the 200 since the start");
	sched_free(s);
	model_free(m);
}

Test(sched, books_made_by_hand_agree_with_their_threads)
{
	struct model *m = two_processes();
	const struct sched_figures had = figures(7, 5, 3), more = figures(1000000001, 11, 13);
	struct sched *s;

	build_account(m, 0, 0, &had);
	build_sched(m, 0, &more);
	build_sched(m, 2, &more);
	build_books(m, 3);
	s = sums(m);
	cr_expect_eq(s->elapsed_ns, 3 * BUILD_SECOND);
	for (size_t i = 0; i < m->threads_cnt; i++)
		cr_expect_arr_eq(&s->threads[i].sched, &m->threads[i].sched,
				 sizeof(struct sched_figures), "thread %zu", i);
	cr_expect_eq(s->threads[0].sched.on_cpu_ns, 1000000008);
	cr_expect_eq(m->accounts[m->accounts_cnt - 1].slice, 2);
	sched_free(s);
	model_free(m);
}

Test(sched, an_empty_capture_has_empty_sums)
{
	struct model *m = build_model(2, 99);
	struct sched *s = sums(m);

	cr_expect_eq(s->elapsed_ns + s->host.sched.on_cpu_ns + s->host.delay_max_ns, 0);
	cr_expect_eq(sched_delay_ns(&s->host, 0.99), 0);
	sched_free(s);
	sched_free(NULL);
	model_free(m);
}

/* --- cgroups --------------------------------------------------------------------------------- */

Test(sched, a_group_has_what_groups_below_it_have)
{
	struct model *m = two_processes();
	uint32_t root = build_cgroup(m, 1, MODEL_NONE, "/", 0, 0);
	uint32_t slice = build_cgroup(m, 2, root, "/app.slice", 0, 0);
	uint32_t shop = build_cgroup(m, 3, slice, "/app.slice/shop", 0, 0);
	uint32_t empty = build_cgroup(m, 4, root, "/empty", 0, 0);
	struct sched_figures a = figures(100, 20, 3), b = figures(10, 0, 0);
	struct sched *s;

	build_in_cgroup(m, 0, shop);
	build_in_cgroup(m, 1, slice);
	build_account(m, 0, 0, &a);
	build_account(m, 0, 1, &a);
	build_account(m, 0, 2, &b);
	build_delays(m, 0, 0, 10 * US, 1);
	build_delays(m, 0, 2, 900 * US, 1);
	s = sums(m);
	cr_expect_eq(s->cgroups[shop].sched.on_cpu_ns, 200);
	cr_expect_eq(s->cgroups[slice].sched.on_cpu_ns, 210);
	cr_expect_eq(s->cgroups[root].sched.on_cpu_ns, 210);
	cr_expect_eq(s->cgroups[root].sched.waited_ns, 40);
	cr_expect_eq(s->cgroups[empty].sched.on_cpu_ns, 0);
	cr_expect_eq(sched_delay_cnt(&s->cgroups[shop]), 1);
	cr_expect_eq(sched_delay_cnt(&s->cgroups[root]), 2);
	cr_expect_eq(s->cgroups[shop].delay_max_ns, 10 * US);
	cr_expect_eq(s->cgroups[root].delay_max_ns, 900 * US);
	cr_expect_eq(s->cgroups[shop].threads, 2);
	cr_expect_eq(s->cgroups[root].threads, 3);
	sched_free(s);
	model_free(m);
}

Test(sched, a_thread_that_moves_leaves_its_past_in_the_old_group)
{
	struct model *m = two_processes();
	uint32_t a = build_cgroup(m, 1, MODEL_NONE, "/a", 0, 0);
	uint32_t b = build_cgroup(m, 2, MODEL_NONE, "/b", 0, 0);
	struct sched_figures did = figures(100, 20, 0);
	struct sched *s;

	build_in_cgroup(m, 0, a);
	build_account(m, 0, 0, &did);
	build_in_cgroup(m, 0, b);
	build_account(m, 1, 0, &did);
	build_delays(m, 0, 0, 100 * MS, 1);
	build_delays(m, 1, 0, 3 * US, 2);
	s = sums(m);
	cr_expect_eq(s->cgroups[a].sched.on_cpu_ns, 100);
	cr_expect_eq(s->cgroups[b].sched.on_cpu_ns, 100);
	cr_expect_eq(sched_delay_cnt(&s->cgroups[a]), 1);
	cr_expect_eq(sched_delay_cnt(&s->cgroups[b]), 2);
	cr_expect_eq(s->cgroups[a].delay_max_ns, 100 * MS);
	cr_expect_eq(s->cgroups[b].delay_max_ns, 4 * US, "what its histogram allows");
	cr_expect_eq(s->cgroups[a].threads + s->cgroups[b].threads, 1, "counted where it is");
	sched_free(s);
	model_free(m);
}

/* --- the longest delay ----------------------------------------------------------------------- */

Test(sched, the_longest_delay_is_no_longer_than_the_slices_allow)
{
	static const struct {
		const char *name;
		uint64_t longest_ns, waited_ns; /* of the whole recording; in these slices */
		uint64_t delay_ns, delays;
		uint64_t expected_ns;
	} rows[] = {
		{"is one of these", 5 * US, 10 * US, 5 * US, 2, 5 * US},
		{"was elsewhere", 900 * MS, 10 * US, 5 * US, 2, 8 * US},
		{"was elsewhere, and nothing waited here", 900 * MS, 0, 0, 0, 0},
		{"goes on, and none ended", 900 * MS, 100 * MS, 0, 0, 900 * MS},
		{"goes on after short ones", 900 * MS, 900 * MS + 10 * US, 5 * US, 2, 900 * MS},
		{"a shorter one goes on here", 900 * MS, 300 * MS + 8 * US, 5 * US, 2, 300 * MS},
		{"of the last slot", 90000 * MS, 80000 * MS, 80000 * MS, 1, 90000 * MS},
		{"many short ones make up the time", 900 * MS, 140 * US, 7 * US, 20, 8 * US},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct model *m = two_processes();
		struct sched_figures did = figures(1, rows[i].waited_ns, 0);
		struct sched *s;

		build_account(m, 0, 0, &did);
		if (rows[i].delays)
			build_delays(m, 0, 0, rows[i].delay_ns, rows[i].delays);
		m->threads[0].delay_max_ns = rows[i].longest_ns;
		s = sums(m);
		cr_expect_eq(s->threads[0].delay_max_ns, rows[i].expected_ns, "%s: %llu",
			     rows[i].name, (unsigned long long)s->threads[0].delay_max_ns);
		cr_expect_eq(s->processes[0].delay_max_ns, rows[i].expected_ns, "%s", rows[i].name);
		cr_expect_eq(s->host.delay_max_ns, rows[i].expected_ns, "%s", rows[i].name);
		sched_free(s);
		model_free(m);
	}
}

Test(sched, sums_of_absurd_counts_do_not_turn_over)
{
	struct model *m = two_processes();
	struct sched_figures did = figures(1, 1ull << 60, 0);
	struct sched *s;

	build_account(m, 0, 0, &did);
	build_delays(m, 0, 0, 40000 * MS, 1ull << 60);
	s = sums(m);
	cr_expect_eq(s->host.delay_max_ns, 40000 * MS);
	cr_expect_leq(sched_delay_ns(&s->host, 0.5), 40000 * MS);
	sched_free(s);
	model_free(m);
}

/* --- percentiles ----------------------------------------------------------------------------- */

static bool near(uint64_t a, double b)
{
	return (double)a > b * 0.999 - 1 && (double)a < b * 1.001 + 1;
}

Test(sched, slots_are_powers_of_two_of_a_microsecond)
{
	cr_expect_eq(sched_slot_ns(0), 0);
	cr_expect_eq(sched_slot_ns(1), 2 * US);
	cr_expect_eq(sched_slot_ns(10), 1024 * US);
	cr_expect_eq(sched_slot_ns(DELAY_SLOTS - 1), (1ull << 25) * US);
	cr_expect_eq(sched_slot_ns(DELAY_SLOTS), UINT64_MAX);
	cr_expect_eq(sched_slot_ns(UINT32_MAX), UINT64_MAX);
}

Test(sched, percentiles_lie_within_their_slot)
{
	static const struct {
		const char *name;
		struct {
			unsigned int slot;
			uint64_t cnt;
		} delays[3];
		uint64_t longest_ns;
		double q, expected_ns;
	} rows[] = {
		{"none", {{0, 0}}, 0, 0.99, 0},
		{"middle of a slot", {{4, 100}}, 31 * US, 0.5, 16000 * 1.41421356},
		{"begin of a slot", {{4, 100}}, 31 * US, 0, 16000},
		{"end of a slot", {{4, 100}}, 32 * US, 1, 32000},
		{"slot 0 is even", {{0, 100}}, 1999, 0.25, 500},
		{"never beyond the longest", {{4, 100}}, 17 * US, 0.99, 17000},
		{"last of the lower slot", {{0, 50}, {10, 50}}, 2000 * US, 0.5, 2000},
		{"first of the upper slot", {{0, 50}, {10, 50}}, 2000 * US, 0.51, 1024e3 * 1.0139},
		{"across slots", {{1, 90}, {5, 9}, {20, 1}}, 1100000 * US, 0.99, 64e3},
		{"one in a hundred", {{1, 90}, {5, 9}, {20, 1}}, 2000000 * US, 0.995, 1.4829e9},
		{"the last slot ends with the longest",
		 {{25, 4}},
		 4 * (1ull << 25) * US,
		 0.5,
		 2.0 * (1ull << 25) * 1000},
		{"more than all", {{3, 5}}, 15 * US, 1.5, 15000},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sched_sum sum = {.delay_max_ns = rows[i].longest_ns};
		uint64_t got;

		for (size_t k = 0; k < 3; k++)
			sum.delays[rows[i].delays[k].slot] += rows[i].delays[k].cnt;
		got = sched_delay_ns(&sum, rows[i].q);
		cr_expect(near(got, rows[i].expected_ns), "%s: %llu, not %.0f", rows[i].name,
			  (unsigned long long)got, rows[i].expected_ns);
	}
}

/* --- figures --------------------------------------------------------------------------------- */

Test(sched, figures_of_nothing_are_defined)
{
	struct sched_figures none = {0}, some = figures(300, 100, 200);

	cr_expect_eq(sched_mean(5, 0), 0);
	cr_expect_eq(sched_mean(3 * BUILD_SECOND, 2 * BUILD_SECOND), 1.5);
	cr_expect_eq(sched_wanted_ns(&some), 600);
	cr_expect_eq(sched_progress(&some), 0.5);
	cr_expect_eq(sched_progress(&none), 1, "who wants nothing lacks nothing");
	cr_expect_eq(sched_slice_ns(&none), 0);
	some.voluntary = 1;
	some.involuntary = 2;
	cr_expect_eq(sched_slice_ns(&some), 100);
}

Test(sched, who_yields_waits_of_its_own_will)
{
	static const struct {
		const char *name;
		struct sched_figures of;
		uint64_t yielded_ns;
	} rows[] = {
		{"nothing", {0}, 0},
		{"asleep and awake, never preempted",
		 {.on_cpu_ns = 2 * MS, .waited_ns = 50 * MS, .voluntary = 100},
		 0},
		{"preempted once, after next to nothing",
		 {.on_cpu_ns = MS / 100, .waited_ns = 900 * MS, .involuntary = 1},
		 0},
		{"preempted after 1 ms each",
		 {.on_cpu_ns = 250 * MS,
		  .waited_ns = 2900 * MS,
		  .voluntary = 5,
		  .involuntary = 250},
		 0},
		{"preempted after 200 us each",
		 {.on_cpu_ns = 20 * MS, .waited_ns = 300 * MS, .voluntary = 9, .involuntary = 101},
		 0},
		{"of 100 switches 9 may be preemptions",
		 {.on_cpu_ns = 1600000, .waited_ns = 300 * MS, .involuntary = 100},
		 273 * MS},
		{"of 300 waits 100 follow sleep",
		 {.on_cpu_ns = 0, .waited_ns = 300 * MS, .voluntary = 100, .involuntary = 200},
		 199 * MS},
		{"never more than it waited",
		 {.waited_ns = UINT64_MAX, .voluntary = UINT64_MAX, .involuntary = UINT64_MAX},
		 UINT64_MAX / 2},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(sched_yielded_ns(&rows[i].of), rows[i].yielded_ns, "%s: %llu",
			     rows[i].name, (unsigned long long)sched_yielded_ns(&rows[i].of));
}

/* --- what there was to have ------------------------------------------------------------------ */

Test(sched, a_process_can_use_what_its_mask_and_the_quotas_above_it_allow)
{
	static const struct {
		const char *name;
		uint32_t online, allowed[2];
		uint64_t own_ms, parent_ms; /* quota of each 100 ms, 0 = none */
		double cpus, quota;
		uint32_t mask;
		int limit; /* group: 0 parent, 1 own, -1 none */
	} rows[] = {
		{"no limit", 8, {8, 8}, 0, 0, 8, 0, 8, -1},
		{"mask unknown", 8, {0, 0}, 0, 0, 8, 0, 8, -1},
		{"the widest thread counts", 8, {1, 3}, 0, 0, 3, 0, 3, -1},
		{"no more than are on line", 2, {64, 64}, 0, 0, 2, 0, 2, -1},
		{"own quota", 8, {8, 8}, 150, 0, 1.5, 1.5, 8, 1},
		{"quota of the group above", 8, {8, 8}, 0, 50, 0.5, 0.5, 8, 0},
		{"the smaller quota", 8, {8, 8}, 200, 400, 2, 2, 8, 1},
		{"the smaller quota is above", 8, {8, 8}, 400, 200, 2, 2, 8, 0},
		{"a quota beyond the mask", 8, {2, 2}, 400, 0, 2, 4, 2, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct model *m = two_processes();
		uint32_t parent, own;
		struct sched_available a;

		m->host.cpus_online = rows[i].online;
		parent = build_cgroup(m, 1, MODEL_NONE, "/a", rows[i].parent_ms * MS, 100 * MS);
		own = build_cgroup(m, 2, parent, "/a/b", rows[i].own_ms * MS, 100 * MS);
		build_in_cgroup(m, 0, own);
		m->threads[0].cpus_allowed = rows[i].allowed[0];
		m->threads[1].cpus_allowed = rows[i].allowed[1];
		m->threads[2].cpus_allowed = 7; /* another process's */
		a = sched_available(m, 0);
		cr_expect_eq(a.cpus, rows[i].cpus, "%s: %f", rows[i].name, a.cpus);
		cr_expect_eq(a.quota, rows[i].quota, "%s: %f", rows[i].name, a.quota);
		cr_expect_eq(a.mask, rows[i].mask, "%s: %u", rows[i].name, a.mask);
		cr_expect_eq(a.cgroup, rows[i].limit < 0 ? MODEL_NONE : (uint32_t)rows[i].limit,
			     "%s: %u", rows[i].name, a.cgroup);
		model_free(m);
	}
}

Test(sched, groups_above_may_be_later_rows)
{
	struct model *m = two_processes();
	uint32_t below = build_cgroup(m, 2, MODEL_NONE, "/a/b", 0, 100 * MS);
	uint32_t above = build_cgroup(m, 1, MODEL_NONE, "/a", 50 * MS, 100 * MS);
	struct sched_figures did = figures(100, 0, 0);
	struct sched *s;

	m->cgroups[below].parent = above;
	build_in_cgroup(m, 0, below);
	build_account(m, 0, 0, &did);
	cr_expect_eq(sched_available(m, 0).cgroup, above);
	s = sums(m);
	cr_expect_eq(s->cgroups[below].sched.on_cpu_ns, 100);
	cr_expect_eq(s->cgroups[above].sched.on_cpu_ns, 100);
	sched_free(s);
	model_free(m);
}

Test(sched, the_group_of_a_process_is_that_of_its_last_account)
{
	struct model *m = two_processes();
	uint32_t a = build_cgroup(m, 1, MODEL_NONE, "/a", 0, 0);
	uint32_t b = build_cgroup(m, 2, MODEL_NONE, "/b", 0, 0);
	struct sched_figures did = figures(1, 0, 0);

	cr_expect_eq(sched_cgroup_of(m, 0), MODEL_NONE);
	build_in_cgroup(m, 0, a);
	cr_expect_eq(sched_cgroup_of(m, 0), a, "as its process says");
	build_in_cgroup(m, 1, b);
	build_account(m, 0, 0, &did);
	build_account(m, 0, 2, &did);
	m->processes[0].cgroup_id = 99;
	cr_expect_eq(sched_cgroup_of(m, 0), a, "as its threads' accounts say");
	cr_expect_eq(sched_cgroup_of(m, 1), b);
	cr_expect_eq(m->cgroups_cnt, 2, "nothing was added");
	model_free(m);
}

/* Of what was waited while nobody looked at switches, half was behind own threads, as in the
 * rest. */
/* The longest wait of a thread may be older than the capture; the histogram, which is of the full
 * gear alone, tells how long one in it can have been. What was waited in the quiet gear does
 * not. */
Test(sched, the_longest_wait_of_both_gears_is_bound_by_the_full_one)
{
	struct model *m = two_processes();
	struct sched_figures quiet = {.waited_ns = 5 * BUILD_SECOND};
	struct sched_figures full = {.waited_ns = 3 * MS};
	struct sched *s;

	build_account(m, 0, 0, &quiet);
	build_account(m, 1, 0, &full);
	build_delays(m, 1, 0, 3 * MS, 1);
	m->threads[0].delay_max_ns = 2 * BUILD_SECOND;
	build_slice(m, BUILD_SECOND, 0, 0, 0);
	model_slice_gear(m, true, 5);
	build_slice(m, BUILD_SECOND, 0, 0, 0);
	s = sums(m);
	cr_expect_eq(s->threads[0].delay_max_ns, 4096000, "%llu",
		     (unsigned long long)s->threads[0].delay_max_ns);
	cr_expect_eq(s->host.delay_max_ns, 4096000);
	sched_free(s);
	model_free(m);
}

Test(sched, behind_whom_is_estimated_in_slices_of_the_quiet_gear)
{
	struct model *m = two_processes();
	struct sched_figures full = figures(100, 20, 0), quiet = figures(100, 60, 0);
	struct sched *s;

	quiet.behind_own_ns = 0;
	build_account(m, 0, 0, &quiet);
	build_account(m, 0, 2, &quiet);
	build_account(m, 1, 0, &full);
	build_slice(m, BUILD_SECOND, 0, 0, 0);
	model_slice_gear(m, true, 5);
	build_slice(m, BUILD_SECOND, 0, 0, 0);
	cr_expect_eq(model_off(m) & (OFF_SWITCHES | OFF_OWN), 0u, "one of two is quiet");
	cr_expect_eq(model_slice_off(m, &m->slices[0]), OFF_SWITCHES | OFF_OWN);
	cr_expect_eq(model_slice_off(m, &m->slices[1]), 0u);
	cr_expect_float_eq(model_full_share(m), 0.5, 1e-9);
	cr_expect_eq(model_effective(m, 600), 200u, "one weighs five times as much");
	s = sums(m);
	cr_expect_eq(s->threads[0].sched.waited_ns, 80);
	cr_expect_eq(s->threads[0].sched.behind_own_ns, 40);
	cr_expect_eq(s->processes[0].sched.behind_own_ns, 40);
	cr_expect_eq(s->processes[1].sched.behind_own_ns, 0, "it did not wait in the other");
	cr_expect_eq(s->host.sched.behind_own_ns, 70, "of 140");
	cr_assert(s->own_unknown);
	cr_expect_not(s->own_unknown[0], "a quarter of its waits was seen");
	cr_expect(s->own_unknown[1], "none of its waits was");
	sched_free(s);
	model_keep_slices(m, 0, 0);
	cr_expect_eq(model_off(m) & (OFF_SWITCHES | OFF_OWN), OFF_SWITCHES | OFF_OWN);
	cr_expect_eq(model_effective(m, 600), 120u);
	model_free(m);
}

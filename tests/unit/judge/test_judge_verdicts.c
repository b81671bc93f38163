/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <linux/types.h>

#include "base/helper_names.h"
#include "bpf/events.h"
#include "build_model.h"
#include "judged.h"

#define CS (BUILD_SECOND / 100)
#define MS (BUILD_SECOND / 1000)

Test(verdicts, idle_host_is_healthy_and_says_nothing)
{
	struct model *m = build_model(2, 99);
	struct judged j;

	judged_add(m, 10, "cron", 1, 0, 0, 0);
	build_books(m, 10);
	j = judged_of(m);
	judged_expect_host(&j, VERDICT_HEALTHY);
	cr_expect_eq(j.v->rows_cnt, 0);
	cr_expect_eq(j.v->judged, 1);
	cr_expect_eq(j.v->slices, 10);
	cr_expect_null(j.v->missing);
	judged_free(&j);
}

Test(verdicts, busy_and_fast_is_no_alarm)
{
	struct model *m = build_model(2, 99);
	uint32_t p = judged_add(m, 10, "Shop.Api", 1900, 1800, 900, 0);
	struct judged j;

	judged_answers(m, build_endpoint(m, p, "0.0.0.0", 80), 10, 2 * MS, 40000);
	build_books(m, 10);
	j = judged_of(m);
	judged_expect(&j, p, VERDICT_BUSY_ELASTIC);
	judged_expect_host(&j, VERDICT_BUSY_ELASTIC);
	cr_expect_eq(j.v->hurt, 0);
	cr_expect_eq(j.v->requests_cnt, 400000);
	judged_free(&j);
}

Test(verdicts, hang_without_any_CPU_is_inelastic)
{
	struct model *m = build_model(2, 99);
	uint32_t p = judged_add(m, 10, "Shop.Api", 0, 0, 0, 0), e;
	struct judged j;

	e = build_endpoint(m, p, "0.0.0.0", 80);
	build_books(m, 10);
	for (uint32_t i = 0; i < 10; i++)
		judged_leaves(m, e, i, 200, (8 + i) * BUILD_SECOND);
	j = judged_of(m);
	judged_expect(&j, p, VERDICT_INELASTIC);
	judged_expect_host(&j, VERDICT_INELASTIC);
	cr_assert(judged_row(&j, p));
	cr_expect_eq(judged_row(&j, p)->input.stuck, 200);
	cr_expect_eq(judged_row(&j, p)->input.oldest_ns, 17 * BUILD_SECOND);
	judged_free(&j);
}

Test(verdicts, starved_and_the_host_overloaded)
{
	struct model *m = build_model(2, 99);
	uint32_t web = judged_add(m, 10, "Shop.Web", 300, 900, 100, 0);
	uint32_t hog = judged_add(m, 20, "spinner", 1700, 300, 0, 0), i;
	struct judged j;

	build_books(m, 10);
	j = judged_waiting(m);
	judged_expect(&j, web, VERDICT_STARVED);
	judged_expect(&j, hog, VERDICT_BUSY_UNMEASURED);
	judged_expect_host(&j, VERDICT_HOST_OVERLOADED);
	for (i = 0; i + 1 < j.v->rows_cnt; i++)
		cr_expect_leq(verdict_compare(verdicts_result(&j.v->rows[i])->verdict,
					      verdicts_result(&j.v->rows[i + 1])->verdict),
			      0);
	judged_free(&j);
}

/* The same host, of which nobody said that anybody minds. */
Test(verdicts, a_build_and_a_load_generator_alarm_nobody)
{
	struct model *m = build_model(2, 99);
	uint32_t build = judged_add(m, 10, "cc1plus", 300, 900, 100, 0);
	uint32_t hog = judged_add(m, 20, "wrk", 1690, 300, 0, 0);
	uint32_t web = judged_add(m, 30, "Shop.Web", 5, 2, 0, 0);
	struct judged j;

	judged_answers(m, build_endpoint(m, web, "::", 80), 10, 2 * MS, 300);
	build_books(m, 10);
	j = judged_of(m);
	judged_expect(&j, build, VERDICT_CONTENDED);
	judged_expect(&j, hog, VERDICT_BUSY_UNMEASURED);
	judged_expect(&j, web, VERDICT_HEALTHY);
	judged_expect_host(&j, VERDICT_CONTENDED);
	cr_expect_eq(j.v->hurt, 0);
	cr_expect_eq(j.v->contended, 1);
	cr_expect_not(j.v->host.result.hurt);
	cr_expect_not(j.v->host.episode);
	cr_expect_eq(j.v->rows[0].process, build);
	cr_expect_eq(j.v->rows[0].hurt_slices, 0);
	judged_free(&j);
}

/* It serves some requests, too few to judge by, and in most seconds none. */
Test(verdicts, who_serves_little_is_judged_by_its_waits)
{
	struct model *m = build_model(2, 99);
	uint32_t web = judged_add(m, 10, "Shop.Web", 300, 900, 100, 0), e;
	struct judged j;

	e = build_endpoint(m, web, "::", 80);
	build_books(m, 10);
	build_answers(m, 1, e, 40 * MS, 2);
	build_answers(m, 6, e, 40 * MS, 1);
	j = judged_of(m);
	judged_expect(&j, web, VERDICT_STARVED);
	cr_assert(judged_row(&j, web));
	cr_expect_eq(judged_row(&j, web)->hurt_slices, 10);
	judged_free(&j);
}

/* Somebody waits to be let in, and it lacks a CPU to do so. */
Test(verdicts, who_is_asked_and_does_not_accept_is_judged_by_its_waits)
{
	struct model *m = build_model(2, 99);
	uint32_t web = judged_add(m, 10, "Shop.Web", 100, 900, 100, 0), e;
	struct judged j;

	e = build_endpoint(m, web, "::", 80);
	build_books(m, 10);
	build_service(
		m, &(struct model_service){.slice = 4, .endpoint = e, .queued = 3, .backlog = 512});
	j = judged_of(m);
	judged_expect(&j, web, VERDICT_STARVED);
	judged_free(&j);
}

/* What listens serves, and nothing says how; what is not known to listen may. */
Test(verdicts, where_requests_are_not_measured_what_serves_is_unknown)
{
	static const struct {
		const char *name;
		uint32_t flags;
		uint64_t ran, waited, signal_ppm;
		bool declared;
		enum verdict verdict, host;
	} cases[] = {
		{"idle listener", PROCESS_SOCKETS | PROCESS_LISTENS, 0, 0, 0, false,
		 VERDICT_UNKNOWN, VERDICT_UNKNOWN},
		{"busy listener", PROCESS_SOCKETS | PROCESS_LISTENS, 1900, 0, 0, false,
		 VERDICT_UNKNOWN, VERDICT_UNKNOWN},
		{"listener that waits", PROCESS_SOCKETS | PROCESS_LISTENS, 300, 900, 0, false,
		 VERDICT_UNKNOWN, VERDICT_UNKNOWN},
		{"not read", 0, 300, 900, 0, false, VERDICT_UNKNOWN, VERDICT_UNKNOWN},
		{"declared", PROCESS_SOCKETS | PROCESS_LISTENS, 300, 900, 0, true, VERDICT_STARVED,
		 VERDICT_STARVED},
		{"its own signal", PROCESS_SOCKETS | PROCESS_LISTENS, 0, 0, 1, false,
		 VERDICT_HEALTHY, VERDICT_HEALTHY},
		{"its own bad signal", PROCESS_SOCKETS | PROCESS_LISTENS, 300, 900, 500000, false,
		 VERDICT_STARVED, VERDICT_STARVED},
		{"serves nothing", PROCESS_SOCKETS, 100, 0, 0, false, VERDICT_HEALTHY,
		 VERDICT_HEALTHY},
		{"serves nothing, busy", PROCESS_SOCKETS, 1900, 0, 0, false,
		 VERDICT_BUSY_UNMEASURED, VERDICT_BUSY_UNMEASURED},
		{"serves nothing, waits", PROCESS_SOCKETS, 300, 900, 0, false, VERDICT_CONTENDED,
		 VERDICT_CONTENDED},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model *m = build_model(2, 99);
		uint32_t p = judged_add(m, 10, cases[i].name, cases[i].ran, cases[i].waited, 0, 0);
		const struct verdict_row *row;
		struct judged j;

		m->host.off = OFF_REQUESTS;
		m->processes[p].flags |= cases[i].flags;
		for (uint32_t k = 0; k < 10 && cases[i].signal_ppm; k++)
			model_signal_add(m, &(struct model_signal){
						    .slice = k,
						    .process = p,
						    .value_ppm = (uint32_t)cases[i].signal_ppm});
		build_books(m, 10);
		j = cases[i].declared ? judged_waiting(m) : judged_of(m);
		judged_expect(&j, p, cases[i].verdict);
		judged_expect_host(&j, cases[i].host);
		row = judged_row(&j, p);
		cr_expect_eq(j.v->unknown, cases[i].verdict == VERDICT_UNKNOWN, "%s",
			     cases[i].name);
		cr_expect_eq(j.v->host.result.hurt, cases[i].verdict == VERDICT_STARVED);
		if (cases[i].verdict == VERDICT_UNKNOWN) {
			cr_assert(row, "%s", cases[i].name);
			cr_expect_str_eq(row->unmeasured, model_requests_why(m));
			cr_expect_eq(row->listens, (cases[i].flags & PROCESS_LISTENS) != 0);
			cr_expect_eq(row->hurt_slices, 0);
		}
		judged_free(&j);
	}
}

/* Nothing is claimed of what ended before; of what came and went there is a row where it did
 * something. Listeners come first. */
Test(verdicts, unknown_ones_that_ended)
{
	struct model *m = build_model(2, 99);
	uint32_t before = judged_add(m, 10, "before", 0, 0, 0, 0),
		 brief = judged_add(m, 11, "brief", 1, 0, 0, 0),
		 busy = judged_add(m, 12, "busy", 500, 0, 0, 0),
		 web = judged_add(m, 13, "web", 1, 0, 0, 0);
	struct judged j;

	m->host.off = OFF_REQUESTS;
	build_books(m, 10);
	m->processes[web].flags |= PROCESS_SOCKETS | PROCESS_LISTENS;
	m->processes[before].exit_ns = m->slices[0].start_ns - 1;
	m->processes[brief].exit_ns = m->processes[busy].exit_ns = m->processes[web].exit_ns =
		m->slices[5].start_ns;
	j = judged_of(m);
	cr_assert_eq(j.v->rows_cnt, 2);
	cr_expect_eq(j.v->rows[0].process, web);
	cr_expect_eq(j.v->rows[1].process, busy);
	cr_expect_eq(j.v->unknown, 3);
	judged_free(&j);
}

/* A service hurt for some seconds on a host that is contended all the time. */
Test(verdicts, what_hurts_for_a_while_is_told_beside_what_is_calm_all_the_time)
{
	struct model *m = build_model(2, 99);
	uint32_t build = judged_add(m, 10, "cc1plus", 5800, 9000, 100, 0);
	uint32_t web = judged_add(m, 20, "Shop.Web", 60, 0, 0, 0), e;
	struct judged j;

	e = build_endpoint(m, web, "::", 80);
	judged_answers(m, e, 30, 2 * MS, 300);
	for (uint32_t i = 12; i < 16; i++) {
		build_answers(m, i, e, 900 * MS, 100);
		build_account(m, i, judged_thread(m, web),
			      &(struct sched_figures){.waited_ns = 2 * BUILD_SECOND});
	}
	build_books(m, 30);
	j = judged_of(m);
	judged_expect(&j, build, VERDICT_CONTENDED);
	judged_expect(&j, web, VERDICT_STARVED);
	judged_expect_host(&j, VERDICT_CONTENDED);
	cr_expect(j.v->host.episode);
	cr_expect_eq(j.v->host.worst_result.verdict, VERDICT_HOST_OVERLOADED);
	cr_expect_eq(j.v->host.first, 12);
	cr_expect_eq(j.v->host.last, 15);
	cr_expect_eq(j.v->rows[0].process, web, "who is hurt comes first");
	judged_free(&j);
}

Test(verdicts, a_service_at_its_limit_has_a_row_though_nobody_is_hurt)
{
	struct model *m = build_model(8, 99);
	uint32_t web = judged_add(m, 10, "Shop.Web", 300, 0, 0, 2670);
	uint32_t bursts = judged_add(m, 20, "Shop.Push", 100, 0, 0, 20);
	uint32_t build = judged_add(m, 30, "cc1plus", 4000, 4000, 0, 0);
	struct judged j;

	build_in_cgroup(m, web, build_cgroup(m, 5, MODEL_NONE, "/w", 30 * MS, 100 * MS));
	build_in_cgroup(m, bursts, build_cgroup(m, 6, MODEL_NONE, "/p", 50 * MS, 100 * MS));
	judged_answers(m, build_endpoint(m, web, "::", 80), 10, 277 * MS, 300);
	judged_answers(m, build_endpoint(m, bursts, "::", 81), 10, 5 * MS, 300);
	build_books(m, 10);
	j = judged_of(m);
	judged_expect(&j, web, VERDICT_BUSY_ELASTIC);
	judged_expect(&j, bursts, VERDICT_HEALTHY);
	judged_expect(&j, build, VERDICT_CONTENDED);
	cr_expect_eq(j.v->hurt, 0);
	cr_expect_eq(j.v->at_limit, 2);
	cr_assert_eq(j.v->rows_cnt, 3);
	cr_expect_eq(j.v->rows[0].process, web);
	cr_expect_eq(j.v->rows[1].process, bursts);
	cr_expect_eq(j.v->rows[2].process, build);
	judged_free(&j);
}

/* declared: that waiting hurts. */
static void expect_limited_and_crowded(bool declared)
{
	struct model *m = build_model(8, 99);
	uint32_t batch = judged_add(m, 10, "batch", 500, 0, 0, 700);
	uint32_t crowd = judged_add(m, 20, "crowd", 5000, 60000, 59000, 0);
	uint32_t small = judged_add(m, 30, "small", 480, 10, 0, 0);
	struct judged j;

	build_in_cgroup(m, batch, build_cgroup(m, 5, MODEL_NONE, "/b", 50 * MS, 100 * MS));
	build_in_cgroup(m, small, build_cgroup(m, 6, MODEL_NONE, "/s", 50 * MS, 100 * MS));
	build_books(m, 10);
	j = declared ? judged_waiting(m) : judged_of(m);
	judged_expect(&j, batch, declared ? VERDICT_THROTTLED : VERDICT_CONTENDED);
	judged_expect(&j, crowd, declared ? VERDICT_OVERSUBSCRIBED : VERDICT_CONTENDED);
	judged_expect(&j, small, VERDICT_BUSY_UNMEASURED);
	judged_expect_host(&j, declared ? VERDICT_HOST_OVERLOADED : VERDICT_CONTENDED);
	cr_assert(judged_row(&j, small) && judged_row(&j, batch) && judged_row(&j, crowd));
	cr_expect_float_eq(judged_row(&j, small)->input.cpus_available, 0.5, 1e-9);
	cr_expect_eq(judged_row(&j, batch)->result.cause, FIGURE_THROTTLED);
	cr_expect_eq(judged_row(&j, crowd)->result.cause, FIGURE_BEHIND_OWN);
	judged_free(&j);
}

Test(verdicts, quota_and_own_threads)
{
	expect_limited_and_crowded(true);
	expect_limited_and_crowded(false);
}

/* In slices of the quiet gear nobody sees behind whom it was waited; who waited in these alone is
 * not behind others for that. */
Test(verdicts, behind_whom_is_not_known_of_who_waited_in_the_quiet_gear_alone)
{
	struct model *m = build_model(2, 99);
	uint32_t early = judged_add(m, 10, "early", 100, 3000, 2900, 0);
	uint32_t late = judged_add(m, 20, "late", 1500, 20000, 0, 0);
	struct judged j;

	build_books(m, 10);
	for (uint32_t i = 1; i < 10; i++)
		m->slices[i].quiet = true;
	model_keep_slices(m, 0, 9);
	for (size_t i = 0; i < m->accounts_cnt; i++)
		if (!m->accounts[i].slice && m->threads[m->accounts[i].thread].process == late)
			m->accounts[i].sched.waited_ns = 0;
	j = judged_waiting(m);
	cr_assert(judged_row(&j, early) && judged_row(&j, late));
	cr_expect(judged_row(&j, early)->input.own_known);
	cr_expect_not(judged_row(&j, late)->input.own_known);
	judged_expect(&j, late, VERDICT_OVERSUBSCRIBED);
	judged_free(&j);
}

Test(verdicts, steal_blames_the_platform)
{
	struct model *m = build_model(2, 99);
	uint32_t web = judged_add(m, 10, "Shop.Web", 600, 900, 100, 0);
	struct judged j;

	build_books(m, 10);
	for (size_t i = 0; i < m->cpus_cnt; i++)
		m->cpus[i].steal_ns = 150 * MS;
	j = judged_waiting(m);
	judged_expect(&j, web, VERDICT_STOLEN);
	judged_expect_host(&j, VERDICT_STOLEN);
	judged_free(&j);
}

Test(verdicts, who_asked_to_wait_is_not_hurt)
{
	static const struct {
		uint8_t policy;
		int8_t nice;
		enum verdict verdict;
	} classes[] = {
		{0, 0, VERDICT_STARVED},  {0, -5, VERDICT_STARVED}, {0, 1, VERDICT_HEALTHY},
		{0, 19, VERDICT_HEALTHY}, {3, 0, VERDICT_HEALTHY},  {5, 0, VERDICT_HEALTHY},
		{1, 0, VERDICT_STARVED},
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		struct model *m = build_model(2, 99);
		uint32_t p = judged_add(m, 10, "backup", 50, 900, 0, 0);
		struct judged j;

		m->threads[0].policy = classes[i].policy;
		m->threads[0].nice = classes[i].nice;
		build_books(m, 10);
		j = judged_waiting(m);
		judged_expect(&j, p, classes[i].verdict);
		judged_free(&j);
	}
}

Test(verdicts, one_normal_thread_that_matters_is_no_background)
{
	struct model *m = build_model(2, 99);
	uint32_t p = judged_add(m, 10, "mixed", 50, 900, 0, 0), t;
	struct judged j;

	m->threads[0].nice = 19;
	t = build_thread(m, p, 11, "normal", 0, 'S');
	build_sched(m, t, &(struct sched_figures){.on_cpu_ns = 110 * CS});
	build_books(m, 10);
	j = judged_of(m);
	judged_expect(&j, p, VERDICT_CONTENDED);
	judged_free(&j);
}

Test(verdicts, many_normal_threads_that_matter_together_are_no_background)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 10, "crowd", 0);
	struct judged j;

	for (uint32_t i = 0; i < 64; i++) {
		uint32_t t = build_thread(m, p, 10 + i, "worker", 0, 'R');

		build_sched(m, t,
			    &(struct sched_figures){.on_cpu_ns = 31 * CS,
						    .waited_ns = 969 * CS,
						    .behind_own_ns = 960 * CS});
		m->threads[t].cpus_allowed = m->host.cpus_online;
	}
	build_books(m, 10);
	j = judged_of(m);
	judged_expect(&j, p, VERDICT_CONTENDED);
	judged_free(&j);
}

/* Helpers stand at nice 19: on a full host each of them waits. */
Test(verdicts, hotrun_its_helpers_and_the_kernel_get_none)
{
	static const struct {
		const char *comm, *exe;
		uint32_t parent_tgid;
		enum verdict expected;
	} cases[] = {
		{HELPER_NURSERY, "/usr/bin/hotrun", 9000, VERDICT_HEALTHY},
		{HELPER_OPENER, "/usr/bin/hotrun", 9001, VERDICT_HEALTHY},
		{HELPER_PARSER, "", 9001, VERDICT_HEALTHY},
		{HELPER_SIGNALS, "/usr/bin/hotrun", 9000, VERDICT_HEALTHY},
		/* Who has the name, and the file; what hotrun starts. */
		{HELPER_OPENER, "/usr/bin/hotrun", 1, VERDICT_CONTENDED},
		{"shop", "/app/shop", 9000, VERDICT_CONTENDED},
		{HELPER_PARSER, "/app/shop", 9001, VERDICT_CONTENDED},
	};
	struct model *m = build_model(2, 99);
	uint32_t self = judged_add(m, 9000, "hotrun", 10, 900, 0, 0);
	uint32_t rows[sizeof(cases) / sizeof(cases[0])];
	uint32_t kernel = judged_add(m, 40, "kworker/0:1", 10, 900, 0, 0);
	struct judged j;

	m->processes[self].flags |= PROCESS_SELF;
	m->processes[self].exe = "/usr/bin/hotrun";
	m->processes[kernel].flags |= PROCESS_KERNEL;
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rows[i] = judged_add(m, 9001 + i, cases[i].comm, 10, 900, 0, 0);
		m->processes[rows[i]].parent_tgid = cases[i].parent_tgid;
		m->processes[rows[i]].exe = cases[i].exe;
	}
	build_books(m, 10);
	j = judged_of(m);
	cr_expect_eq(j.v->judged, 3);
	judged_expect(&j, self, VERDICT_HEALTHY);
	judged_expect(&j, kernel, VERDICT_HEALTHY);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		judged_expect(&j, rows[i], cases[i].expected);
	judged_free(&j);
}

/* --- what passed ----------------------------------------------------------------------------- */

static void starve(struct model *m, uint32_t thread, uint32_t first, uint32_t cnt)
{
	for (uint32_t i = first; i < first + cnt; i++)
		build_account(
			m, i, thread,
			&(struct sched_figures){.on_cpu_ns = 20 * CS,
						.waited_ns = (i == first + 1 ? 99 : 60) * CS});
}

Test(verdicts, three_bad_seconds_of_thirty_are_told_two_are_not)
{
	for (uint32_t bad = 2; bad <= 3; bad++) {
		struct model *m = build_model(2, 99);
		uint32_t p = judged_add(m, 10, "Shop.Web", 2400, 0, 0, 0);
		const struct verdict_row *row;
		struct judged j;

		starve(m, judged_thread(m, p), 12, bad);
		build_books(m, 30);
		j = judged_waiting(m);
		row = judged_row(&j, p);
		cr_expect_eq(row != NULL, bad == 3);
		cr_expect_eq(j.v->hurt, bad == 3);
		if (row) {
			cr_expect(row->episode);
			cr_expect_eq(row->result.verdict, VERDICT_HEALTHY);
			judged_expect(&j, p, VERDICT_STARVED);
			cr_expect_eq(row->hurt_slices, 3);
			cr_expect_eq(row->first, 12);
			cr_expect_eq(row->last, 14);
			cr_expect_eq(row->worst, 13);
			cr_expect_float_eq(row->worst_input.waiting, 0.99, 0.01);
		}
		judged_expect_host(&j, VERDICT_HEALTHY);
		judged_free(&j);
	}
}

/* Over all seconds its slow answers look as if they came from elsewhere: it had CPU enough then. */
Test(verdicts, what_hurt_for_less_than_half_is_judged_by_that_time)
{
	for (uint32_t bad = 5; bad <= 22; bad += 17) {
		struct model *m = build_model(2, 99);
		uint32_t p = judged_add(m, 10, "Shop.Web", 3000, 0, 0, 0), e;
		const struct verdict_row *row;
		struct judged j;

		e = build_endpoint(m, p, "::", 80);
		for (uint32_t i = 0; i < 40; i++)
			build_answers(m, i, e, i >= 4 && i < 4 + bad ? 900 * MS : 2 * MS, 100);
		starve(m, judged_thread(m, p), 4, bad);
		build_books(m, 40);
		j = judged_of(m);
		row = judged_row(&j, p);
		cr_assert(row);
		cr_expect(row->result.hurt);
		cr_expect_eq(row->hurt_slices, bad);
		cr_expect_eq(row->episode, bad == 5, "%u bad seconds", bad);
		if (row->episode) {
			cr_expect_eq(row->result.verdict, VERDICT_INELASTIC);
			cr_expect_eq(row->episode_input.requests, 500);
			cr_expect_float_eq(row->episode_input.slow_share, 1, 0.001);
			judged_expect(&j, p, VERDICT_STARVED);
			judged_expect_host(&j, VERDICT_STARVED);
		}
		judged_free(&j);
	}
}

/* Each has a run of its own; the last ones are told by their worst second. */
Test(verdicts, of_many_runs_each_is_judged)
{
	enum { MANY = 24 };
	struct model *m = build_model(2, 99);
	uint32_t p[MANY];
	struct judged j;

	for (uint32_t i = 0; i < MANY; i++) {
		p[i] = judged_add(m, 10 + i, "Shop.Web", 800, 0, 0, 0);
		starve(m, judged_thread(m, p[i]), i, 4);
	}
	build_books(m, 30);
	j = judged_waiting(m);
	for (uint32_t i = 0; i < MANY; i++) {
		const struct verdict_row *row = judged_row(&j, p[i]);

		cr_assert(row, "%u", i);
		cr_expect(row->episode, "%u", i);
		cr_expect_eq(row->first, i);
		cr_expect_eq(row->episode_result.verdict, VERDICT_STARVED, "%u", i);
	}
	judged_free(&j);
}

/* Nobody has to hear that a build waited for some seconds. */
Test(verdicts, contended_seconds_are_not_told)
{
	struct model *m = build_model(2, 99);
	uint32_t p = judged_add(m, 10, "cc1plus", 2400, 0, 0, 0);
	struct judged j;

	starve(m, judged_thread(m, p), 12, 5);
	build_books(m, 30);
	j = judged_of(m);
	cr_expect_null(judged_row(&j, p));
	cr_expect_eq(j.v->contended, 0);
	judged_expect_host(&j, VERDICT_HEALTHY);
	cr_expect_not(j.v->host.episode);
	judged_free(&j);
}

Test(verdicts, seconds_of_a_service_with_few_requests_that_are_fast_are_not_bad)
{
	struct model *m = build_model(2, 99);
	uint32_t p = judged_add(m, 10, "Shop.Web", 60, 0, 0, 0);
	struct judged j;

	judged_answers(m, build_endpoint(m, p, "::", 80), 30, 2 * MS, 10);
	starve(m, judged_thread(m, p), 12, 5);
	build_books(m, 30);
	j = judged_of(m);
	judged_expect(&j, p, VERDICT_HEALTHY);
	judged_expect_host(&j, VERDICT_HEALTHY);
	cr_expect_eq(j.v->hurt, 0);
	judged_free(&j);
}

Test(verdicts, worst_second_of_what_lasted)
{
	struct model *m = build_model(2, 99);
	uint32_t p = judged_add(m, 10, "Shop.Web", 100, 900, 0, 0);
	struct judged j;

	build_account(m, 4, judged_thread(m, p),
		      &(struct sched_figures){.waited_ns = 3 * BUILD_SECOND});
	build_books(m, 10);
	j = judged_waiting(m);
	cr_assert(judged_row(&j, p));
	cr_expect_not(judged_row(&j, p)->episode);
	cr_expect_eq(judged_row(&j, p)->hurt_slices, 10);
	cr_expect_eq(judged_row(&j, p)->worst, 4);
	judged_free(&j);
}

/* --- limits, and what is asked for ----------------------------------------------------------- */

Test(verdicts, limits_of_a_name_a_unit_or_a_port)
{
	struct verdict_section sections[3] = {
		{.name = "Shop.Push"}, {.name = "poll.service"}, {.port = 8443}};
	struct verdict_policy policy = {.sections = sections, .sections_cnt = 3};
	static const char *const names[] = {"Shop.Push", "dotnet", "Shop.Ports", "Shop.Api"};
	struct model *m = build_model(2, 99);
	uint32_t p[4], e[4];
	struct judged j;

	verdict_limits_default(&policy.limits);
	for (int i = 0; i < 3; i++) {
		sections[i].limits = policy.limits;
		sections[i].limits.stuck_ns = 600 * BUILD_SECOND;
	}
	for (uint32_t i = 0; i < 4; i++) {
		p[i] = judged_add(m, 10 + i, names[i], 1, 0, 0, 0);
		e[i] = build_endpoint(m, p[i], "::", i == 2 ? 8443 : 80);
	}
	m->processes[p[1]].unit = model_str(m, "poll.service");
	build_books(m, 10);
	for (uint32_t i = 0; i < 4; i++)
		judged_leaves(m, e[i], 9, 1, 60 * BUILD_SECOND);
	j = judged_with(m, &(struct verdict_sources){.policy = &policy});
	for (uint32_t i = 0; i < 4; i++)
		judged_expect(&j, p[i], i < 3 ? VERDICT_HEALTHY : VERDICT_INELASTIC);
	judged_free(&j);
}

Test(verdicts, that_waiting_hurts_is_declared_of_one_of_several)
{
	struct verdict_section section = {.name = "Shop.Mail"};
	struct verdict_policy policy = {.sections = &section, .sections_cnt = 1};
	struct model *m = build_model(2, 99);
	uint32_t mail = judged_add(m, 10, "Shop.Mail", 300, 900, 0, 0);
	uint32_t build = judged_add(m, 20, "cc1plus", 300, 1200, 0, 0);
	struct judged j;

	verdict_limits_default(&policy.limits);
	section.limits = policy.limits;
	section.limits.hurt_by = HURT_BY_WAITING;
	build_books(m, 10);
	j = judged_with(m, &(struct verdict_sources){.policy = &policy});
	judged_expect(&j, mail, VERDICT_STARVED);
	judged_expect(&j, build, VERDICT_CONTENDED);
	judged_expect_host(&j, VERDICT_STARVED);
	cr_expect_eq(j.v->rows[0].process, mail);
	cr_expect_eq(j.v->hurt, 1);
	cr_expect_eq(j.v->contended, 1);
	judged_free(&j);
}

Test(verdicts, healthy_ones_have_a_row_where_they_are_asked_for)
{
	struct model *m = build_model(2, 99);
	uint32_t a = judged_add(m, 10, "a", 100, 0, 0, 0), b = judged_add(m, 20, "b", 0, 0, 0, 0);
	struct judged j;

	build_books(m, 10);
	j = judged_with(m, &(struct verdict_sources){.asked = &b, .asked_cnt = 1});
	cr_expect(judged_row(&j, b));
	cr_expect_not(judged_row(&j, a));
	verdicts_free(j.v);
	requests_free(j.requests);
	sched_free(j.sched);
	totals_free(j.totals);
	j = judged_with(m, &(struct verdict_sources){.all = true});
	cr_expect(judged_row(&j, a));
	cr_expect_not(judged_row(&j, b), "it did nothing");
	judged_free(&j);
}

Test(verdicts, gap_in_the_books_withholds_all_but_who_hangs)
{
	struct model *m = build_model(2, 99);
	uint32_t web = judged_add(m, 10, "Shop.Web", 300, 900, 0, 0);
	uint32_t hung = judged_add(m, 20, "Shop.Api", 1, 0, 0, 0), e;
	struct judged j;

	e = build_endpoint(m, hung, "::", 80);
	build_books(m, 10);
	judged_leaves(m, e, 9, 9, 60 * BUILD_SECOND);
	m->accounts_cnt /= 2;
	for (size_t i = 0; i < m->threads_cnt; i++)
		m->threads[i].sched.on_cpu_ns /= 2;
	j = judged_of(m);
	cr_assert(j.books.switches_gap);
	judged_expect_host(&j, VERDICT_NO_EVIDENCE);
	cr_expect(j.v->missing);
	cr_expect_null(judged_row(&j, web));
	cr_assert(judged_row(&j, hung));
	judged_expect(&j, hung, VERDICT_NO_EVIDENCE);
	cr_expect(judged_row(&j, hung)->result.hurt);
	judged_free(&j);
}

Test(verdicts, nothing_is_judged_without_waits)
{
	struct model *m = build_model(2, 99);
	struct totals *totals;
	struct verdict_sources s = {.m = m};
	struct verdicts *v;
	struct books books;

	judged_add(m, 10, "a", 1900, 0, 0, 0);
	build_books(m, 10);
	m->host.off = OFF_ACCOUNTS;
	totals = totals_new(m);
	books = books_of(m, totals);
	s.totals = totals;
	s.books = &books;
	v = verdicts_new(&s);
	cr_assert(v);
	cr_expect_eq(v->host.result.verdict, VERDICT_NO_EVIDENCE);
	cr_expect_str_eq(v->missing, model_off_text(m, OFF_ACCOUNTS));
	cr_expect_eq(v->rows_cnt, 0);
	verdicts_free(v);
	m->host.off |= OFF_SWITCHES;
	v = verdicts_new(&s);
	cr_assert(v);
	cr_expect_eq(v->host.result.verdict, VERDICT_NO_EVIDENCE);
	cr_expect_str_eq(v->missing, model_off_text(m, OFF_SWITCHES));
	verdicts_free(v);
	totals_free(totals);
	model_free(m);
}

/* --- a model that goes on -------------------------------------------------------------------- */

static const struct verdict_row *recent_row(const struct verdicts *v, uint32_t process)
{
	for (size_t i = 0; i < v->rows_cnt; i++)
		if (v->rows[i].process == process)
			return &v->rows[i];
	return NULL;
}

Test(verdicts, of_the_newest_seconds_leave_out_what_was_before)
{
	struct model *m = build_model(2, 99);
	uint32_t p = judged_add(m, 10, "Shop.Api", 1000, 0, 0, 0), e;
	struct verdict_policy policy = {0};
	const struct verdict_row *row;
	struct verdicts *v;

	verdict_limits_default(&policy.limits);
	e = build_endpoint(m, p, "0.0.0.0", 80);
	for (uint32_t i = 0; i < 10; i++)
		build_answers(m, i, e, i < 7 ? 2000 * MS : 2 * MS, 100);
	build_books(m, 10);
	v = verdicts_recent(m, 7, &policy, true);
	cr_assert(v);
	cr_expect_null(v->missing, "%s", v->missing);
	cr_expect_eq(v->slices, 3);
	cr_expect_eq(v->hurt, 0, "slow answers were before");
	verdicts_free(v);
	v = verdicts_recent(m, 5, &policy, true);
	cr_assert(v);
	cr_expect_null(v->missing);
	row = recent_row(v, p);
	cr_assert(row);
	cr_expect_eq(row->result.verdict, VERDICT_INELASTIC);
	cr_expect_eq(row->hurt_slices, 2);
	cr_expect_eq(row->newest, 6);
	verdicts_free(v);
	model_free(m);
}

Test(verdicts, of_seconds_have_a_row_for_one_bad_second)
{
	struct model *m = build_model(2, 99);
	uint32_t p = judged_add(m, 10, "Shop.Api", 100, 0, 0, 0), e;
	struct verdict_policy policy = {0};
	const struct verdict_row *row;
	struct verdicts *v;

	verdict_limits_default(&policy.limits);
	policy.limits.no_capture = true;
	e = build_endpoint(m, p, "0.0.0.0", 80);
	for (uint32_t i = 0; i < 10; i++)
		build_answers(m, i, e, i == 8 ? 2000 * MS : 2 * MS, i == 8 ? 50 : 5000);
	build_books(m, 10);
	v = verdicts_recent(m, 7, &policy, true);
	cr_assert(v);
	row = recent_row(v, p);
	cr_assert(row);
	cr_expect_not(row->result.hurt);
	cr_expect_eq(row->newest, 8);
	cr_expect_eq(row->worst_result.verdict, VERDICT_INELASTIC);
	cr_expect(row->no_capture);
	verdicts_free(v);
	v = verdicts_recent(m, 7, &policy, false);
	cr_expect_null(recent_row(v, p), "only where seconds are asked for");
	verdicts_free(v);
	model_free(m);
}

Test(verdicts, without_a_least_time_who_was_never_hurt_has_no_episode)
{
	struct model *m = build_model(2, 99);
	uint32_t p = judged_add(m, 10, "Shop.Web", 800, 0, 0, 0);
	struct verdict_policy policy = {0};
	const struct verdict_row *row;
	struct verdicts *v;

	verdict_limits_default(&policy.limits);
	policy.limits.episode_ns = 0;
	build_books(m, 20);
	v = verdicts_recent(m, 0, &policy, true);
	cr_assert(v);
	row = recent_row(v, p);
	cr_expect(!row || !row->episode);
	cr_expect_not(v->host.episode);
	verdicts_free(v);
	model_free(m);
}

/* Threads have their figures since the model began. */
Test(verdicts, of_the_newest_seconds_have_books_of_their_own)
{
	struct model *m = build_model(2, 99);
	struct verdict_policy policy = {0};
	struct verdicts *v;

	verdict_limits_default(&policy.limits);
	judged_add(m, 10, "batch", 9000, 0, 0, 0);
	build_books(m, 50);
	model_forget_before(m, 45);
	v = verdicts_recent(m, 0, &policy, false);
	cr_assert(v);
	cr_expect_null(v->missing, "%s", v->missing);
	cr_expect_eq(v->host.result.verdict, VERDICT_BUSY_UNMEASURED);
	verdicts_free(v);
	model_free(m);
}

/* Whoever is hurt by verdicts_recent() is not calm; the least that may be. */
static const struct calm {
	const char *name;
	uint64_t waited_cs, late, slow, refused;
	bool calm;
} calms[] = {
	{"at rest", 0, 0, 0, 0, true},	      {"a short wait", 1, 0, 0, 0, true},
	{"a long wait", 2, 0, 0, 0, false},   {"a late request", 0, 1, 0, 0, false},
	{"a slow answer", 0, 0, 1, 0, false}, {"a refused connection", 0, 0, 0, 1, false},
};

Test(verdicts, all_are_calm_where_nobody_can_be_hurt)
{
	for (size_t i = 0; i < sizeof(calms) / sizeof(calms[0]); i++) {
		const struct calm *c = &calms[i];
		struct model *m = build_model(2, 99);
		uint32_t p = judged_add(m, 10, "Shop.Api", 10, 0, 0, 0), e;
		struct verdict_policy policy = {0};

		verdict_limits_default(&policy.limits);
		e = build_endpoint(m, p, "0.0.0.0", 80);
		build_answers(m, 1, e, 2 * MS, 1000);
		build_answers(m, 1, e, 2000 * MS, c->slow);
		build_service(m, &(struct model_service){.slice = 1,
							 .endpoint = e,
							 .late = (uint32_t)c->late,
							 .served = {.refused = c->refused}});
		build_account(m, 1, judged_thread(m, p),
			      &(struct sched_figures){.waited_ns = c->waited_cs * CS});
		build_books(m, 2);
		cr_expect_eq(verdicts_all_calm(m, 1, &policy), c->calm, "%s", c->name);
		model_free(m);
	}
}

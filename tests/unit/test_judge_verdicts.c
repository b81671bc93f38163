/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <math.h>
#include <stdlib.h>

#include "bpf/events.h"
#include "build_model.h"
#include "judge/verdicts.h"

#define CS (BUILD_SECOND / 100)
#define MS (BUILD_SECOND / 1000)

/* A model and what verdicts are made from. */
struct judged {
	struct model *m;
	struct totals *totals;
	struct sched *sched;
	struct requests *requests;
	struct books books;
	struct verdicts *v;
};

static struct judged judge_with(struct model *m, const struct verdict_sources *options)
{
	struct judged j = {.m = m};
	struct verdict_sources s = *options;

	j.totals = totals_new(m);
	j.sched = sched_new(m);
	j.requests = requests_new(m);
	cr_assert(j.totals && j.sched && j.requests);
	j.books = books_of(m, j.totals);
	s.m = m;
	s.totals = j.totals;
	s.sched = j.sched;
	s.books = &j.books;
	s.requests = j.requests;
	j.v = verdicts_new(&s);
	cr_assert(j.v);
	return j;
}

static struct judged judge(struct model *m)
{
	return judge_with(m, &(struct verdict_sources){0});
}

static void done(struct judged *j)
{
	verdicts_free(j->v);
	requests_free(j->requests);
	sched_free(j->sched);
	totals_free(j->totals);
	model_free(j->m);
}

static const struct verdict_row *row_of(const struct judged *j, uint32_t process)
{
	for (size_t i = 0; i < j->v->rows_cnt; i++)
		if (j->v->rows[i].process == process)
			return &j->v->rows[i];
	return NULL;
}

static void expect(const struct judged *j, uint32_t process, enum verdict verdict)
{
	const struct verdict_row *row = row_of(j, process);
	enum verdict is = row ? verdicts_result(row)->verdict : VERDICT_HEALTHY;

	cr_expect_eq(is, verdict, "%s is %s, not %s", j->m->processes[process].name, verdict_id(is),
		     verdict_id(verdict));
}

static void expect_host(const struct judged *j, enum verdict verdict)
{
	cr_expect_eq(j->v->host.result.verdict, verdict, "the host is %s, not %s",
		     verdict_id(j->v->host.result.verdict), verdict_id(verdict));
}

/* Hundredths of a second. */
static uint32_t add(struct model *m, uint32_t tgid, const char *name, uint64_t ran, uint64_t waited,
		    uint64_t own, uint64_t throttled)
{
	uint32_t p = build_process(m, tgid, name, 0);
	uint32_t t = build_thread(m, p, tgid, name, 0, 'S');

	build_sched(m, t,
		    &(struct model_sched){.on_cpu_ns = ran * CS,
					  .waited_ns = waited * CS,
					  .behind_own_ns = own * CS,
					  .throttled_ns = throttled * CS});
	m->threads[t].cpus_allowed = m->host.cpus_online;
	return p;
}

static uint32_t thread_of(const struct model *m, uint32_t process)
{
	uint32_t t = 0;

	while (m->threads[t].process != process)
		t++;
	return t;
}

static void answer(struct model *m, uint32_t endpoint, uint32_t seconds, uint64_t time_ns,
		   uint64_t cnt)
{
	for (uint32_t i = 0; i < seconds; i++)
		build_answers(m, i, endpoint, time_ns, cnt);
}

static void unanswered(struct model *m, uint32_t endpoint, uint32_t slice, uint32_t cnt,
		       uint64_t oldest_ns)
{
	build_service(m, &(struct model_service){
				 .slice = slice,
				 .endpoint = endpoint,
				 .in_progress = cnt,
				 .late = oldest_ns > 500 * MS ? cnt : 0,
				 .stuck = oldest_ns > STUCK_NS ? cnt : 0,
				 .oldest_ns = oldest_ns,
			 });
}

Test(verdicts, idle_host_is_healthy_and_says_nothing)
{
	struct model *m = build_model(2, 99);
	struct judged j;

	add(m, 10, "cron", 1, 0, 0, 0);
	build_books(m, 10);
	j = judge(m);
	expect_host(&j, VERDICT_HEALTHY);
	cr_expect_eq(j.v->rows_cnt, 0);
	cr_expect_eq(j.v->judged, 1);
	cr_expect_eq(j.v->slices, 10);
	cr_expect_null(j.v->missing);
	done(&j);
}

Test(verdicts, busy_and_fast_is_no_alarm)
{
	struct model *m = build_model(2, 99);
	uint32_t p = add(m, 10, "Shop.Api", 1900, 1800, 900, 0);
	struct judged j;

	answer(m, build_endpoint(m, p, "0.0.0.0", 80), 10, 2 * MS, 40000);
	build_books(m, 10);
	j = judge(m);
	expect(&j, p, VERDICT_BUSY_ELASTIC);
	expect_host(&j, VERDICT_BUSY_ELASTIC);
	cr_expect_eq(j.v->degraded, 0);
	cr_expect_eq(j.v->requests_cnt, 400000);
	done(&j);
}

Test(verdicts, hang_without_any_CPU_is_inelastic)
{
	struct model *m = build_model(2, 99);
	uint32_t p = add(m, 10, "Shop.Api", 0, 0, 0, 0), e;
	struct judged j;

	e = build_endpoint(m, p, "0.0.0.0", 80);
	build_books(m, 10);
	for (uint32_t i = 0; i < 10; i++)
		unanswered(m, e, i, 200, (8 + i) * BUILD_SECOND);
	j = judge(m);
	expect(&j, p, VERDICT_INELASTIC);
	expect_host(&j, VERDICT_INELASTIC);
	cr_assert(row_of(&j, p));
	cr_expect_eq(row_of(&j, p)->input.stuck, 200);
	cr_expect_eq(row_of(&j, p)->input.oldest_ns, 17 * BUILD_SECOND);
	done(&j);
}

Test(verdicts, starved_and_the_host_overloaded)
{
	struct model *m = build_model(2, 99);
	uint32_t web = add(m, 10, "Shop.Web", 300, 900, 100, 0);
	uint32_t hog = add(m, 20, "spinner", 1700, 300, 0, 0), i;
	struct judged j;

	build_books(m, 10);
	j = judge(m);
	expect(&j, web, VERDICT_STARVED);
	expect(&j, hog, VERDICT_BUSY_UNMEASURED);
	expect_host(&j, VERDICT_HOST_OVERLOADED);
	for (i = 0; i + 1 < j.v->rows_cnt; i++)
		cr_expect_leq(verdict_compare(verdicts_result(&j.v->rows[i])->verdict,
					      verdicts_result(&j.v->rows[i + 1])->verdict),
			      0);
	done(&j);
}

Test(verdicts, quota_and_own_threads)
{
	struct model *m = build_model(8, 99);
	uint32_t batch = add(m, 10, "batch", 500, 0, 0, 700);
	uint32_t crowd = add(m, 20, "crowd", 5000, 60000, 59000, 0);
	uint32_t small = add(m, 30, "small", 480, 10, 0, 0);
	struct judged j;

	build_in_cgroup(m, batch, build_cgroup(m, 5, MODEL_NONE, "/b", 50 * MS, 100 * MS));
	build_in_cgroup(m, small, build_cgroup(m, 6, MODEL_NONE, "/s", 50 * MS, 100 * MS));
	build_books(m, 10);
	j = judge(m);
	expect(&j, batch, VERDICT_THROTTLED);
	expect(&j, crowd, VERDICT_OVERSUBSCRIBED);
	expect(&j, small, VERDICT_BUSY_UNMEASURED);
	cr_assert(row_of(&j, small));
	cr_expect_float_eq(row_of(&j, small)->input.cpus_available, 0.5, 1e-9);
	done(&j);
}

Test(verdicts, steal_blames_the_platform)
{
	struct model *m = build_model(2, 99);
	uint32_t web = add(m, 10, "Shop.Web", 600, 900, 100, 0);
	struct judged j;

	build_books(m, 10);
	for (size_t i = 0; i < m->cpus_cnt; i++)
		m->cpus[i].steal_ns = 150 * MS;
	j = judge(m);
	expect(&j, web, VERDICT_STOLEN);
	expect_host(&j, VERDICT_STOLEN);
	done(&j);
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
		uint32_t p = add(m, 10, "backup", 50, 900, 0, 0);
		struct judged j;

		m->threads[0].policy = classes[i].policy;
		m->threads[0].nice = classes[i].nice;
		build_books(m, 10);
		j = judge(m);
		expect(&j, p, classes[i].verdict);
		done(&j);
	}
}

Test(verdicts, one_normal_thread_that_matters_is_no_background)
{
	struct model *m = build_model(2, 99);
	uint32_t p = add(m, 10, "mixed", 50, 900, 0, 0), t;
	struct judged j;

	m->threads[0].nice = 19;
	t = build_thread(m, p, 11, "normal", 0, 'S');
	build_sched(m, t, &(struct model_sched){.on_cpu_ns = 110 * CS});
	build_books(m, 10);
	j = judge(m);
	expect(&j, p, VERDICT_STARVED);
	done(&j);
}

Test(verdicts, many_normal_threads_that_matter_together_are_no_background)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 10, "crowd", 0);
	struct judged j;

	for (uint32_t i = 0; i < 64; i++) {
		uint32_t t = build_thread(m, p, 10 + i, "worker", 0, 'R');

		build_sched(m, t,
			    &(struct model_sched){.on_cpu_ns = 31 * CS,
						  .waited_ns = 969 * CS,
						  .behind_own_ns = 960 * CS});
		m->threads[t].cpus_allowed = m->host.cpus_online;
	}
	build_books(m, 10);
	j = judge(m);
	expect(&j, p, VERDICT_OVERSUBSCRIBED);
	done(&j);
}

Test(verdicts, hotrun_its_helpers_and_the_kernel_get_none)
{
	struct model *m = build_model(2, 99);
	uint32_t self = add(m, 9000, "hotrun", 10, 900, 0, 0);
	uint32_t files = add(m, 9001, "hotrun-files", 10, 900, 0, 0);
	uint32_t file = add(m, 9002, "hotrun-file", 10, 900, 0, 0);
	uint32_t other = add(m, 9003, "hotrun-file", 10, 900, 0, 0);
	uint32_t kernel = add(m, 40, "kworker/0:1", 10, 900, 0, 0);
	struct judged j;

	m->processes[self].flags |= PROCESS_SELF;
	m->processes[files].parent_tgid = 9000;
	m->processes[file].parent_tgid = 9001;
	m->processes[other].parent_tgid = 1;
	m->processes[kernel].flags |= PROCESS_KERNEL;
	build_books(m, 10);
	j = judge(m);
	cr_expect_eq(j.v->judged, 1);
	expect(&j, self, VERDICT_HEALTHY);
	expect(&j, files, VERDICT_HEALTHY);
	expect(&j, file, VERDICT_HEALTHY);
	expect(&j, kernel, VERDICT_HEALTHY);
	expect(&j, other, VERDICT_STARVED);
	done(&j);
}

/* --- what passed ----------------------------------------------------------------------------- */

static void starve(struct model *m, uint32_t thread, uint32_t first, uint32_t cnt)
{
	for (uint32_t i = first; i < first + cnt; i++)
		build_account(m, i, thread,
			      &(struct model_sched){.on_cpu_ns = 20 * CS,
						    .waited_ns = (i == first + 1 ? 99 : 60) * CS});
}

Test(verdicts, three_bad_seconds_of_thirty_are_told_two_are_not)
{
	for (uint32_t bad = 2; bad <= 3; bad++) {
		struct model *m = build_model(2, 99);
		uint32_t p = add(m, 10, "Shop.Web", 2400, 0, 0, 0);
		const struct verdict_row *row;
		struct judged j;

		starve(m, thread_of(m, p), 12, bad);
		build_books(m, 30);
		j = judge(m);
		row = row_of(&j, p);
		cr_expect_eq(row != NULL, bad == 3);
		cr_expect_eq(j.v->degraded, bad == 3);
		if (row) {
			cr_expect(row->episode);
			cr_expect_eq(row->result.verdict, VERDICT_HEALTHY);
			expect(&j, p, VERDICT_STARVED);
			cr_expect_eq(row->degraded_slices, 3);
			cr_expect_eq(row->first, 12);
			cr_expect_eq(row->last, 14);
			cr_expect_eq(row->worst, 13);
			cr_expect_float_eq(row->worst_input.waiting, 0.99, 0.01);
		}
		expect_host(&j, VERDICT_HEALTHY);
		done(&j);
	}
}

Test(verdicts, seconds_of_a_service_with_few_requests_that_are_fast_are_not_bad)
{
	struct model *m = build_model(2, 99);
	uint32_t p = add(m, 10, "Shop.Web", 60, 0, 0, 0);
	struct judged j;

	answer(m, build_endpoint(m, p, "::", 80), 30, 2 * MS, 10);
	starve(m, thread_of(m, p), 12, 5);
	build_books(m, 30);
	j = judge(m);
	expect(&j, p, VERDICT_HEALTHY);
	expect_host(&j, VERDICT_HEALTHY);
	cr_expect_eq(j.v->degraded, 0);
	done(&j);
}

Test(verdicts, worst_second_of_what_lasted)
{
	struct model *m = build_model(2, 99);
	uint32_t p = add(m, 10, "Shop.Web", 100, 900, 0, 0);
	struct judged j;

	build_account(m, 4, thread_of(m, p), &(struct model_sched){.waited_ns = 3 * BUILD_SECOND});
	build_books(m, 10);
	j = judge(m);
	cr_assert(row_of(&j, p));
	cr_expect_not(row_of(&j, p)->episode);
	cr_expect_eq(row_of(&j, p)->degraded_slices, 10);
	cr_expect_eq(row_of(&j, p)->worst, 4);
	done(&j);
}

/* --- requests -------------------------------------------------------------------------------- */

Test(verdicts, requests_of_any_protocol_count_and_what_blurs_them_is_told)
{
	static const uint8_t protocols[] = {PROTOCOL_HTTP1, PROTOCOL_HTTP2, PROTOCOL_TLS};

	for (size_t i = 0; i < sizeof(protocols); i++) {
		struct model *m = build_model(2, 99);
		uint32_t p = add(m, 10, "Shop.Api", 1, 0, 0, 0), e;
		struct judged j;

		e = build_endpoint(m, p, "::", 443);
		m->endpoints[e].protocols = protocols[i];
		build_books(m, 10);
		unanswered(m, e, 9, 100, 60 * BUILD_SECOND);
		j = judge(m);
		expect(&j, p, VERDICT_INELASTIC);
		cr_assert(row_of(&j, p));
		cr_expect_eq(row_of(&j, p)->blur != NULL, protocols[i] != PROTOCOL_HTTP1);
		done(&j);
	}
}

Test(verdicts, what_perhaps_wants_no_answer_is_no_hang)
{
	struct model *m = build_model(2, 99);
	uint32_t p = add(m, 10, "logstash", 1, 0, 0, 0), e;
	struct judged j;

	e = build_endpoint(m, p, "::", 5044);
	build_books(m, 10);
	build_service(m, &(struct model_service){.slice = 9, .endpoint = e, .unsure = 40});
	j = judge(m);
	expect(&j, p, VERDICT_HEALTHY);
	done(&j);
}

Test(verdicts, hang_that_ended_is_told)
{
	struct model *m = build_model(2, 99);
	uint32_t p = add(m, 10, "Shop.Api", 1, 0, 0, 0), e;
	struct judged j;

	e = build_endpoint(m, p, "::", 80);
	build_books(m, 10);
	unanswered(m, e, 2, 9, 12 * BUILD_SECOND);
	build_answers(m, 5, e, MS, 1000);
	j = judge(m);
	expect(&j, p, VERDICT_INELASTIC);
	cr_assert(row_of(&j, p));
	cr_expect_eq(row_of(&j, p)->worst, 2);
	done(&j);
}

Test(verdicts, refused_connections_count_where_the_queue_was_full)
{
	static const struct {
		uint32_t queued, backlog;
		enum verdict verdict;
	} queues[] = {
		{0, 512, VERDICT_HEALTHY},     {255, 512, VERDICT_HEALTHY},
		{256, 512, VERDICT_INELASTIC}, {513, 512, VERDICT_INELASTIC},
		{0, 0, VERDICT_HEALTHY},
	};

	for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++) {
		struct model *m = build_model(2, 99);
		uint32_t p = add(m, 10, "Shop.Api", 1, 0, 0, 0);
		struct judged j;

		build_endpoint(m, p, "::", 80);
		build_books(m, 10);
		build_service(m, &(struct model_service){
					 .slice = 3,
					 .served = {.drops = 7},
					 .queued = queues[i].queued,
					 .backlog = queues[i].backlog,
				 });
		j = judge(m);
		expect(&j, p, queues[i].verdict);
		done(&j);
	}
}

Test(verdicts, why_a_process_has_no_signal)
{
	static const struct {
		uint32_t off;
		const char *expected;
	} reasons[] = {
		{0, "it serves no requests that hotrun sees"},
		{OFF_REQUESTS, NULL},
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		const char *expected = reasons[i].expected;
		struct model *m = build_model(2, 99);
		uint32_t p = add(m, 10, "Shop.Api", 1900, 0, 0, 0);
		struct judged j;

		m->host.off = reasons[i].off;
		build_endpoint(m, p, "::", 443);
		build_books(m, 10);
		j = judge(m);
		expect(&j, p, VERDICT_BUSY_UNMEASURED);
		cr_assert(row_of(&j, p));
		cr_expect_str_eq(row_of(&j, p)->unmeasured,
				 expected ? expected : model_off_text(OFF_REQUESTS));
		done(&j);
	}
}

Test(verdicts, operators_own_signal)
{
	struct model *m = build_model(2, 99);
	uint32_t fast = add(m, 10, "worker", 900, 400, 0, 0);
	uint32_t slow = add(m, 20, "queue", 1, 0, 0, 0);
	uint32_t none = add(m, 30, "other", 300, 400, 0, 0);
	struct judged j;

	build_books(m, 10);
	for (uint32_t i = 0; i < 10; i++) {
		model_signal_add(m, &(struct model_signal){i, fast, 10000});
		model_signal_add(m, &(struct model_signal){i, slow, 500000});
	}
	j = judge(m);
	expect(&j, fast, VERDICT_HEALTHY);
	expect(&j, slow, VERDICT_INELASTIC);
	expect(&j, none, VERDICT_STARVED);
	done(&j);
}

/* Over all it is no more than usual, and for some seconds nothing works. */
Test(verdicts, operators_signal_of_some_seconds)
{
	struct model *m = build_model(2, 99);
	uint32_t queue = add(m, 20, "queue", 1, 0, 0, 0);
	struct judged j;

	build_books(m, 60);
	for (uint32_t i = 0; i < 60; i++)
		model_signal_add(m,
				 &(struct model_signal){i, queue, i >= 20 && i < 25 ? 900000 : 0});
	j = judge(m);
	cr_assert(row_of(&j, queue));
	cr_expect(row_of(&j, queue)->episode);
	cr_expect_eq(row_of(&j, queue)->first, 20);
	cr_expect_eq(row_of(&j, queue)->last, 24);
	expect(&j, queue, VERDICT_INELASTIC);
	done(&j);
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
		p[i] = add(m, 10 + i, names[i], 1, 0, 0, 0);
		e[i] = build_endpoint(m, p[i], "::", i == 2 ? 8443 : 80);
	}
	m->processes[p[1]].unit = model_str(m, "poll.service");
	build_books(m, 10);
	for (uint32_t i = 0; i < 4; i++)
		unanswered(m, e[i], 9, 1, 60 * BUILD_SECOND);
	j = judge_with(m, &(struct verdict_sources){.policy = &policy});
	for (uint32_t i = 0; i < 4; i++)
		expect(&j, p[i], i < 3 ? VERDICT_HEALTHY : VERDICT_INELASTIC);
	done(&j);
}

Test(verdicts, healthy_ones_have_a_row_where_they_are_asked_for)
{
	struct model *m = build_model(2, 99);
	uint32_t a = add(m, 10, "a", 100, 0, 0, 0), b = add(m, 20, "b", 0, 0, 0, 0);
	struct judged j;

	build_books(m, 10);
	j = judge_with(m, &(struct verdict_sources){.asked = &b, .asked_cnt = 1});
	cr_expect(row_of(&j, b));
	cr_expect_not(row_of(&j, a));
	verdicts_free(j.v);
	requests_free(j.requests);
	sched_free(j.sched);
	totals_free(j.totals);
	j = judge_with(m, &(struct verdict_sources){.all = true});
	cr_expect(row_of(&j, a));
	cr_expect_not(row_of(&j, b), "it did nothing");
	done(&j);
}

Test(verdicts, gap_in_the_books_withholds_all_but_who_hangs)
{
	struct model *m = build_model(2, 99);
	uint32_t web = add(m, 10, "Shop.Web", 300, 900, 0, 0);
	uint32_t hung = add(m, 20, "Shop.Api", 1, 0, 0, 0), e;
	struct judged j;

	e = build_endpoint(m, hung, "::", 80);
	build_books(m, 10);
	unanswered(m, e, 9, 9, 60 * BUILD_SECOND);
	m->accounts_cnt /= 2;
	for (size_t i = 0; i < m->threads_cnt; i++)
		m->threads[i].sched.on_cpu_ns /= 2;
	j = judge(m);
	cr_assert(j.books.switches_gap);
	expect_host(&j, VERDICT_NO_EVIDENCE);
	cr_expect(j.v->missing);
	cr_expect_null(row_of(&j, web));
	cr_assert(row_of(&j, hung));
	expect(&j, hung, VERDICT_NO_EVIDENCE);
	cr_expect(row_of(&j, hung)->result.degraded);
	done(&j);
}

Test(verdicts, nothing_is_judged_without_waits)
{
	struct model *m = build_model(2, 99);
	struct totals *totals;
	struct verdict_sources s = {.m = m};
	struct verdicts *v;
	struct books books;

	add(m, 10, "a", 1900, 0, 0, 0);
	build_books(m, 10);
	m->host.off = OFF_ACCOUNTS;
	totals = totals_new(m);
	books = books_of(m, totals);
	s.totals = totals;
	s.books = &books;
	v = verdicts_new(&s);
	cr_assert(v);
	cr_expect_eq(v->host.result.verdict, VERDICT_NO_EVIDENCE);
	cr_expect_str_eq(v->missing, model_off_text(OFF_ACCOUNTS));
	cr_expect_eq(v->rows_cnt, 0);
	verdicts_free(v);
	m->host.off |= OFF_SWITCHES;
	v = verdicts_new(&s);
	cr_assert(v);
	cr_expect_eq(v->host.result.verdict, VERDICT_NO_EVIDENCE);
	cr_expect_str_eq(v->missing, model_off_text(OFF_SWITCHES));
	verdicts_free(v);
	totals_free(totals);
	model_free(m);
}

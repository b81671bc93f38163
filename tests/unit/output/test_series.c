/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /metrics counts: who has series of their own, and that counters never fall. */
#include <criterion/criterion.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "build_model.h"
#include "exposition.h"
#include "recorder.h"
#include "watched.h"

#define MS 1000000ull

static struct series *series_of(size_t top)
{
	struct series_options options = {.top = top};
	struct series *s = series_new(&options);

	cr_assert_not_null(s);
	return s;
}

static uint64_t ran_of(const struct series *s, const char *name)
{
	const struct metrics_process *p = recorder_find(s, name);

	return p ? p->sched.sum.on_cpu_ns : 0;
}

/* --- counting -------------------------------------------------------------------------------- */

Test(series, sums_of_processes_are_the_host)
{
	static const size_t tops[] = {1, 2, 30};

	for (size_t t = 0; t < sizeof(tops) / sizeof(tops[0]); t++) {
		struct watched w = watched_host();
		struct series *s = series_of(tops[t]);
		const struct metrics_figures *f = series_metrics(s);
		uint64_t ran_ns = 0, waited_ns = 0, roles_ns = 0, delays = 0, samples = 0,
			 answered = 0;

		for (uint32_t i = 0; i < 3; i++) {
			watched_slice(&w);
			cr_assert_eq(series_slice(s, w.m, i, NULL), 0);
		}
		cr_expect_eq(f->processes_cnt, 1 + (tops[t] < 3 ? tops[t] : 3));
		for (size_t i = 0; i < f->processes_cnt; i++) {
			const struct metrics_process *p = &f->processes[i];

			ran_ns += p->sched.sum.on_cpu_ns;
			waited_ns += p->sched.sum.waited_ns;
			samples += p->samples;
			for (uint32_t k = 0; k < ROLE_CNT; k++)
				roles_ns += p->cpu_ns[k];
			for (uint32_t k = 0; k < METRICS_DELAY_BUCKETS; k++)
				delays += p->sched.delays[k];
			for (uint32_t k = 0; k < METRICS_PORTS; k++)
				answered += p->ports[k].sum.served.answered;
		}
		cr_expect_eq(ran_ns, 3 * 950 * MS);
		cr_expect_eq(ran_ns, f->host.sched.sum.on_cpu_ns);
		cr_expect_eq(roles_ns, ran_ns);
		cr_expect_eq(waited_ns, f->host.sched.sum.waited_ns);
		cr_expect_eq(delays, 300);
		cr_expect_eq(samples, 12);
		cr_expect_eq(answered, 33);
		cr_expect_eq(f->losses[LOSS_SAMPLE_RING_FULL], 3);
		cr_expect_eq(f->host.steal_ns, 90 * MS);
		series_free(s);
		model_free(w.m);
	}
}

Test(series, what_stands_is_of_the_last_slice)
{
	struct recorder r = recorder_of(10);
	uint32_t p = build_process(r.m, 10, "web", 0), e = build_endpoint(r.m, p, "::", 80);
	struct model_service row = {.endpoint = e,
				    .open = 7,
				    .stuck = 2,
				    .oldest_ns = 11 * BUILD_SECOND,
				    .queued = 5,
				    .backlog = 128,
				    .served = {.answered = 3}};
	const struct metrics_port *port;

	model_service_add(r.m, &row);
	recorder_close(&r, NULL);
	port = &recorder_find(r.s, "web")->ports[1];
	cr_expect(port->used && port->port == 80 && port->sum.open == 7 && port->sum.stuck == 2);
	recorder_close(&r, NULL);
	cr_expect(port->sum.open == 0 && port->sum.stuck == 0 && port->sum.oldest_ns == 0);
	cr_expect_eq(port->sum.served.answered, 3);
	recorder_free(&r);
}

Test(series, a_service_that_restarts_goes_on_counting)
{
	struct recorder r = recorder_of(10);
	uint32_t t = recorder_thread(&r, "web", 10);

	recorder_ran(&r, t, 300 * MS);
	recorder_close(&r, NULL);
	recorder_end(&r, t);
	recorder_close(&r, NULL);
	cr_expect_eq(recorder_find(r.s, "web")->processes, 0);
	recorder_ran(&r, recorder_thread(&r, "web", 11), 200 * MS);
	recorder_close(&r, NULL);
	cr_expect_eq(ran_of(r.s, "web"), 500 * MS);
	cr_expect_eq(recorder_find(r.s, "web")->processes, 1);
	recorder_free(&r);
}

Test(series, rows_mean_others_after_the_model_was_renewed)
{
	struct recorder r = recorder_of(10);

	for (uint32_t round = 0; round < 20; round++) {
		/* The same rows, the other way round; often at the same address, too. */
		uint32_t a = recorder_thread(&r, round % 2 ? "b" : "a", 10 + round),
			 b = recorder_thread(&r, round % 2 ? "a" : "b", 1000 + round);

		recorder_ran(&r, a, (round % 2 ? 5 : 100) * MS);
		recorder_ran(&r, b, (round % 2 ? 100 : 5) * MS);
		recorder_close(&r, NULL);
		cr_assert_eq(ran_of(r.s, "a"), (round + 1) * 100 * MS);
		cr_assert_eq(ran_of(r.s, "b"), (round + 1) * 5 * MS);
		cr_assert_eq(recorder_find(r.s, "a")->threads, 1);
		recorder_renew(&r);
	}
	cr_expect_eq(ran_of(r.s, "other"), 0);
	recorder_free(&r);
}

Test(series, older_slices_may_be_in_the_tables_and_numbers_may_change)
{
	struct watched w = watched_host();
	struct series *s = series_of(10);

	for (uint32_t i = 0; i < 5; i++)
		watched_slice(&w);
	cr_assert_eq(series_slice(s, w.m, 2, NULL), 0);
	cr_expect_eq(series_metrics(s)->host.sched.sum.on_cpu_ns, 950 * MS);
	cr_expect_eq(series_metrics(s)->host.busy_ns, 950 * MS);
	cr_expect_eq(series_metrics(s)->losses[LOSS_SAMPLE_RING_FULL], 1);
	cr_assert_eq(series_slice(s, w.m, 4, NULL), 0);
	cr_expect_eq(series_metrics(s)->host.sched.sum.on_cpu_ns, 2 * 950 * MS);
	series_free(s);
	model_free(w.m);
}

Test(series, a_process_that_learns_its_name_counts_under_the_new_one)
{
	struct recorder r = recorder_of(10);
	uint32_t t = recorder_thread(&r, "dotnet", 10), idle = recorder_thread(&r, "dotnet", 11);

	recorder_ran(&r, t, 100 * MS);
	recorder_close(&r, NULL);
	r.m->processes[0].name = model_str(r.m, "Shop.Api");
	r.m->processes[1].name = model_str(r.m, "Shop.Api");
	recorder_ran(&r, t, 50 * MS);
	for (uint32_t i = 0; i < 10; i++)
		recorder_close(&r, NULL);
	cr_expect_eq(ran_of(r.s, "dotnet"), 100 * MS);
	cr_expect_eq(ran_of(r.s, "Shop.Api"), 50 * MS);
	/* The one that did nothing was looked at again, too. */
	cr_expect_eq(recorder_find(r.s, "Shop.Api")->processes, 2);
	cr_expect_eq(recorder_find(r.s, "dotnet")->processes, 0);
	(void)idle;
	recorder_free(&r);
}

/* --- places ---------------------------------------------------------------------------------- */

Test(series, the_busiest_get_the_places_and_keep_them)
{
	struct recorder r = recorder_of(3);
	uint32_t t[6];
	char name[2] = "a";

	for (uint32_t i = 0; i < 6; i++) {
		name[0] = (char)('a' + i);
		t[i] = recorder_thread(&r, name, 10 + i);
	}
	for (uint32_t second = 0; second < 1200; second++) {
		for (uint32_t i = 0; i < 6; i++)
			recorder_ran(&r, t[i], (10 + i) * MS);
		recorder_close(&r, NULL);
	}
	cr_expect_eq(ran_of(r.s, "d"), 1200 * 13 * MS);
	cr_expect_eq(ran_of(r.s, "f"), 1200 * 15 * MS);
	cr_expect_null(recorder_find(r.s, "c"));
	cr_expect_eq(ran_of(r.s, "other"), 1200 * 33 * MS);
	recorder_free(&r);
}

Test(series, a_busy_newcomer_takes_the_place_of_the_least_busy)
{
	struct recorder r = recorder_of(2);
	uint32_t idle = recorder_thread(&r, "idle", 1), base = recorder_thread(&r, "base", 2), web;

	for (uint32_t second = 0; second < 90; second++) {
		recorder_ran(&r, idle, MS);
		recorder_ran(&r, base, 300 * MS);
		recorder_close(&r, NULL);
	}
	web = recorder_thread(&r, "web", 3);
	recorder_ran(&r, web, 500 * MS);
	recorder_ran(&r, idle, MS);
	recorder_close(&r, NULL);
	cr_expect_eq(ran_of(r.s, "web"), 500 * MS);
	cr_expect_null(recorder_find(r.s, "idle"));
	cr_expect_eq(ran_of(r.s, "base"), 90 * 300 * MS);
	/* What idle did before it had wanted enough for a place, and after it had lost it. */
	cr_expect_leq(ran_of(r.s, "other"), 8 * MS);
	recorder_free(&r);
}

Test(series, a_hang_is_seen_although_it_uses_no_cpu)
{
	struct recorder r = recorder_of(3);
	uint32_t busy[8], web = build_process(r.m, 99, "web", 0);
	struct verdict_row row = {.process = web,
				  .result = {.verdict = VERDICT_INELASTIC, .hurt = true}};
	struct verdicts v = {.rows = &row, .rows_cnt = 1, .judged = 9, .hurt = 1};
	char name[2] = "a";

	build_thread(r.m, web, 99, "web", 0, 'S');
	for (uint32_t i = 0; i < 8; i++) {
		name[0] = (char)('a' + i);
		busy[i] = recorder_thread(&r, name, 10 + i);
	}
	for (uint32_t second = 0; second < 240; second++) {
		for (uint32_t i = 0; i < 8; i++)
			recorder_ran(&r, busy[i], 200 * MS);
		recorder_close(&r, second < 100 ? NULL : &v);
	}
	cr_assert_not_null(recorder_find(r.s, "web"));
	cr_expect(recorder_find(r.s, "web")->state.hurt);
	cr_expect_eq(recorder_find(r.s, "web")->state.verdict, VERDICT_INELASTIC);
	for (uint32_t second = 0; second < 61; second++)
		recorder_close(&r, NULL);
	cr_expect_not(recorder_find(r.s, "web")->state.judged, "a verdict of a minute ago is none");
	recorder_free(&r);
}

Test(series, who_is_gone_keeps_its_place_for_ten_minutes)
{
	struct recorder r = recorder_of(2);
	uint32_t job = recorder_thread(&r, "job", 1), base = recorder_thread(&r, "base", 2), late;

	recorder_ran(&r, job, 100 * MS);
	recorder_ran(&r, base, 100 * MS);
	recorder_close(&r, NULL);
	recorder_end(&r, job);
	late = recorder_thread(&r, "late", 3);
	for (uint32_t second = 0; second < 590; second++) {
		recorder_ran(&r, base, 100 * MS);
		recorder_ran(&r, late, 100 * MS);
		recorder_close(&r, NULL);
	}
	cr_expect_eq(ran_of(r.s, "job"), 100 * MS);
	cr_expect_null(recorder_find(r.s, "late"));
	for (uint32_t second = 0; second < 20; second++) {
		recorder_ran(&r, late, 100 * MS);
		recorder_close(&r, NULL);
	}
	cr_expect_not_null(recorder_find(r.s, "late"));
	cr_expect_null(recorder_find(r.s, "job"));
	recorder_free(&r);
}

/* Kinds that have series now and had none at the last look. names: of the last look. */
static size_t newcomers(const struct series *s, char names[][64], size_t *cnt)
{
	const struct metrics_figures *f = series_metrics(s);
	size_t fresh = 0;

	for (size_t i = 1; i < f->processes_cnt; i++) {
		fresh += i >= *cnt || strcmp(names[i], f->processes[i].labels);
		snprintf(names[i], sizeof(names[i]), "%s", f->processes[i].labels);
	}
	*cnt = f->processes_cnt;
	return fresh;
}

/* Containers that live for some seconds each, 10,000 of them, beside a service: hours of it. */
Test(series, ten_thousand_containers_come_and_go)
{
	struct recorder r = recorder_of(30);
	struct series_options fewer = {.top = 5};
	uint64_t web_ns = 0, all_ns = 0, last_other_ns = 0, last_web_ns = 0;
	uint32_t alive[3] = {MODEL_NONE, MODEL_NONE, MODEL_NONE},
		 web = recorder_thread(&r, "web", 1);
	uint32_t made = 0;
	size_t bytes = 0, series = 0, last_cnt = 0;
	char names[31][64];

	for (uint32_t second = 0; second < 10000; second++) {
		char name[32];

		snprintf(name, sizeof(name), "job-%u", made++);
		if (alive[second % 3] != MODEL_NONE)
			recorder_end(&r, alive[second % 3]);
		alive[second % 3] = recorder_thread(&r, name, 100 + second);
		for (uint32_t i = 0; i < 3 && second > 3; i++, all_ns += 50 * MS)
			recorder_ran(&r, alive[i], 50 * MS);
		recorder_ran(&r, web, 20 * MS);
		web_ns += 20 * MS;
		all_ns += 20 * MS;
		recorder_close(&r, NULL);
		cr_assert_leq(series_metrics(r.s)->processes_cnt, 31);
		series += newcomers(r.s, names, &last_cnt);
		cr_assert_geq(ran_of(r.s, "other"), last_other_ns, "the rest fell in second %u",
			      second);
		cr_assert_geq(ran_of(r.s, "web"), last_web_ns);
		last_other_ns = ran_of(r.s, "other");
		last_web_ns = ran_of(r.s, "web");
		if (second % 600 == 599) {
			recorder_renew(&r);
			web = recorder_thread(&r, "web", 1);
			alive[0] = alive[1] = alive[2] = MODEL_NONE;
			for (uint32_t i = 0; i < 3; i++)
				alive[i] = recorder_thread(&r, "job-late", 50 + i);
		}
		if (second == 5000)
			bytes = series_bytes(r.s);
	}
	cr_expect_leq(series, 30 + 10000 / 15 + 1, "%zu kinds had series", series);
	cr_expect_eq(ran_of(r.s, "web"), web_ns);
	cr_expect_eq(series_metrics(r.s)->host.sched.sum.on_cpu_ns, all_ns);
	cr_expect_leq(series_bytes(r.s), bytes + bytes / 8, "%zu bytes, were %zu",
		      series_bytes(r.s), bytes);
	cr_assert_eq(series_set(r.s, &fewer), 0);
	recorder_ran(&r, web, 20 * MS);
	recorder_close(&r, NULL);
	cr_expect_eq(series_metrics(r.s)->processes_cnt, 6);
	cr_expect_eq(ran_of(r.s, "web"), web_ns + 20 * MS, "who is busy stays");
	recorder_free(&r);
}

Test(series, more_kinds_at_a_time_than_are_weighed)
{
	struct recorder r = recorder_of(4);
	uint32_t web = recorder_thread(&r, "web", 1), first = MODEL_NONE;
	const uint32_t cnt = 2 * SERIES_KINDS + 100;

	for (uint32_t i = 0; i < cnt; i++) {
		char name[32];
		uint32_t t;

		snprintf(name, sizeof(name), "job-%u", i);
		t = recorder_thread(&r, name, 10 + i);
		first = i ? first : t;
	}
	for (uint32_t second = 0; second < 3; second++) {
		recorder_ran(&r, web, 900 * MS);
		for (uint32_t i = 0; i < cnt; i++)
			recorder_ran(&r, first + i, MS);
		recorder_close(&r, NULL);
	}
	cr_expect_eq(ran_of(r.s, "web"), 3 * 900 * MS);
	cr_expect_eq(series_metrics(r.s)->host.sched.sum.on_cpu_ns, 3 * (900 + cnt) * MS);
	recorder_free(&r);
}

/* --- strangers ------------------------------------------------------------------------------- */

Test(series, names_that_would_give_one_line_are_one)
{
	static const char *const names[] = {"other", "[kernel]", "",	  "a\x01", "a\x02", "a\"",
					    "a\\",   "a\xff",	 "a\xfe", "\n",	   "# HELP"};
	struct recorder r = recorder_of(500);
	struct metrics_own own = watched_own();
	_cleanup_free_ char *page = NULL;
	char longer[300];

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		recorder_ran(&r, recorder_thread(&r, names[i], 10 + i), 10 * MS);
	recorder_ran(&r, recorder_thread(&r, "", 90), 10 * MS);
	r.m->processes[r.m->processes_cnt - 1].comm = model_str(r.m, "other");
	for (uint32_t i = 0; i < 26; i++) {
		memset(longer, 'x', sizeof(longer) - 1);
		longer[sizeof(longer) - 1] = '\0';
		longer[150] = (char)('a' + i); /* in what is cut away */
		recorder_ran(&r, recorder_thread(&r, longer, 100 + i), 10 * MS);
	}
	recorder_close(&r, NULL);
	page = watched_page(r.s, &own);
	exposition_check(page, strlen(page));
	cr_expect_eq(ran_of(r.s, "other"), 30 * MS, "its own words");
	cr_expect_eq(series_metrics(r.s)->host.sched.sum.on_cpu_ns, (12 + 26) * 10 * MS);
	recorder_free(&r);
}

Test(series, ports_are_bounded)
{
	struct recorder r = recorder_of(2);
	uint32_t p = build_process(r.m, 10, "web", 0);
	const struct metrics_process *web;
	uint64_t answered = 0;

	for (uint16_t i = 0; i < 300; i++) {
		struct model_service row = {.endpoint =
						    build_endpoint(r.m, p, "::", (uint16_t)(1 + i)),
					    .served = {.answered = 1}};

		model_service_add(r.m, &row);
	}
	recorder_close(&r, NULL);
	web = recorder_find(r.s, "web");
	for (uint32_t i = 0; i < METRICS_PORTS; i++)
		answered += web->ports[i].sum.served.answered;
	cr_expect_eq(answered, 300);
	cr_expect_eq(web->ports[0].sum.served.answered, 300 - METRICS_PORTS + 1);
	recorder_free(&r);
}

Test(series, who_is_out_of_the_selection_counts_with_the_others)
{
	static struct selection selection;
	struct series_options options = {.top = 5, .selection = &selection};
	struct recorder r = recorder_of(5);
	uint32_t t = recorder_thread(&r, "secret", 10), web = recorder_thread(&r, "web", 11);

	cr_assert_eq(selection_add(&selection, false, "secret"), 0);
	recorder_ran(&r, t, 100 * MS);
	recorder_ran(&r, web, 10 * MS);
	recorder_close(&r, NULL);
	cr_expect_not_null(recorder_find(r.s, "secret"));
	cr_assert_eq(series_set(r.s, &options), 0);
	recorder_ran(&r, t, 100 * MS);
	recorder_ran(&r, web, 10 * MS);
	recorder_close(&r, NULL);
	cr_expect_eq(ran_of(r.s, "other"), 100 * MS);
	cr_expect_eq(ran_of(r.s, "web"), 20 * MS);
	recorder_free(&r);
}

Test(series, the_largest_page_is_bounded)
{
	static const struct {
		size_t top, most_bytes;
	} rows[] = {{30, 4u << 20}, {500, 40u << 20}};
	char name[200];

	memset(name, '"', sizeof(name));
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct recorder r = recorder_of(rows[k].top);
		struct metrics_own own = watched_own();
		_cleanup_free_ char *page = NULL;
		uint32_t first = (uint32_t)r.m->services_cnt;

		for (uint32_t i = 0; i < rows[k].top; i++) {
			uint32_t t, e;

			snprintf(name + 180, 20, "%u", i);
			t = recorder_thread(&r, name, 10 + i);
			r.m->processes[r.m->threads[t].process].pod = model_str(r.m, name);
			r.m->processes[r.m->threads[t].process].namespace = model_str(r.m, name);
			r.m->processes[r.m->threads[t].process].container = model_str(r.m, name);
			recorder_ran(&r, t, 10 * MS);
			for (uint16_t port = 1; port < 6; port++) {
				struct model_service row = {.served = {.answered = 1}};

				e = build_endpoint(r.m, r.m->threads[t].process, "::", port);
				row.endpoint = e;
				model_service_add(r.m, &row);
			}
		}
		cr_assert_eq(first, 0);
		recorder_close(&r, NULL);
		page = watched_page(r.s, &own);
		exposition_check(page, strlen(page));
		printf("largest page of %zu series: %zu bytes\n", rows[k].top, strlen(page));
		cr_expect_lt(strlen(page), rows[k].most_bytes);
		recorder_free(&r);
	}
}

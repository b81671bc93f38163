/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of requests over a capture, and what is read from them. */
#include <criterion/criterion.h>

#include <string.h>

#include "build_model.h"
#include "model/requests.h"
#include "model/window.h"

#define US 1000ull
#define MS 1000000ull

/* Two processes of three endpoints, three slices. */
struct shop {
	struct model *m;
	uint32_t api, db;
	uint32_t http, https, sql; /* endpoints */
};

static struct shop shop_new(void)
{
	struct shop s = {.m = build_model(2, 99)};

	s.api = build_process(s.m, 10, "Shop.Api", PROCESS_DOTNET);
	s.db = build_process(s.m, 20, "postgres", 0);
	s.http = build_endpoint(s.m, s.api, "0.0.0.0", 8080);
	s.https = build_endpoint(s.m, s.api, "::", 8443);
	s.sql = build_endpoint(s.m, s.db, "127.0.0.1", 5432);
	for (int i = 0; i < 3; i++)
		build_slice(s.m, BUILD_SECOND, 0, 0, 0);
	return s;
}

static void stand(struct shop *s, uint32_t slice, uint32_t endpoint, uint32_t stuck,
		  uint64_t oldest_ns, uint32_t queued)
{
	struct model_service row = {
		.slice = slice,
		.endpoint = endpoint,
		.open = stuck + 1,
		.late = stuck,
		.stuck = stuck,
		.oldest_ns = oldest_ns,
		.queued = queued,
		.backlog = 512,
		.unsure = stuck + 2,
	};

	build_service(s->m, &row);
}

Test(requests, add_up_by_endpoint_process_and_host)
{
	struct shop s = shop_new();
	struct requests *r;

	build_answers(s.m, 0, s.http, 1 * MS, 90);
	build_answers(s.m, 2, s.http, 700 * MS, 10);
	build_answers(s.m, 1, s.https, 3000 * MS, 5);
	build_answers(s.m, 1, s.sql, 100 * US, 1000);
	r = requests_new(s.m);
	cr_assert(r);
	cr_expect_eq(r->elapsed_ns, 3 * BUILD_SECOND);
	cr_expect_eq(r->endpoints[s.http].served.answered, 100);
	cr_expect_eq(r->endpoints[s.http].served.slow, 10);
	cr_expect_eq(r->endpoints[s.http].time_max_ns, 700 * MS);
	cr_expect_eq(r->processes[s.api].served.answered, 105);
	cr_expect_eq(r->processes[s.api].served.slow, 15);
	cr_expect_eq(r->processes[s.api].served.very_slow, 5);
	cr_expect_eq(r->processes[s.api].endpoints, 2);
	cr_expect_eq(r->processes[s.db].served.answered, 1000);
	cr_expect_eq(r->host.served.answered, 1105);
	cr_expect_eq(r->host.endpoints, 3);
	requests_free(r);
	model_free(s.m);
}

Test(requests, what_stands_is_of_the_last_slice_and_the_worst_of_all)
{
	struct shop s = shop_new();
	struct requests *r;

	stand(&s, 0, s.http, 40, 12 * BUILD_SECOND, 7);
	stand(&s, 0, s.https, 2, 11 * BUILD_SECOND, 1);
	stand(&s, 1, s.http, 30, 13 * BUILD_SECOND, 0);
	stand(&s, 2, s.http, 3, 14 * BUILD_SECOND, 2);
	r = requests_new(s.m);
	cr_assert(r);
	cr_expect_eq(r->processes[s.api].open, 4);
	cr_expect_eq(r->processes[s.api].late, 3);
	cr_expect_eq(r->processes[s.api].stuck, 3);
	cr_expect_eq(r->processes[s.api].stuck_max, 42);
	cr_expect_eq(r->processes[s.api].queued, 2);
	cr_expect_eq(r->processes[s.api].queued_max, 8);
	cr_expect_eq(r->processes[s.api].backlog, 512);
	cr_expect_eq(r->processes[s.api].unsure, 5);
	cr_expect_eq(r->processes[s.api].oldest_ns, 14 * BUILD_SECOND);
	cr_expect_eq(r->endpoints[s.https].stuck_max, 2);
	cr_expect_eq(r->endpoints[s.https].stuck, 0, "nothing stood at the end");
	cr_expect_eq(r->endpoints[s.https].oldest_max_ns, 11 * BUILD_SECOND);
	cr_expect_eq(r->processes[s.db].endpoints, 0);
	requests_free(r);
	model_free(s.m);
}

/* As the judge adds up a second, and the metrics all seconds as they come. */
Test(requests, sums_of_slices_are_the_sum_of_all)
{
	struct shop s = shop_new();
	struct requests_sum all = {0}, last = {0};
	const struct requests_sum *same;
	struct requests *r;

	s.m->endpoints[s.http].protocols = PROTOCOL_HTTP1;
	s.m->endpoints[s.https].protocols = PROTOCOL_TLS;
	build_answers(s.m, 0, s.http, 1 * MS, 90);
	build_answers(s.m, 1, s.https, 3000 * MS, 5);
	stand(&s, 0, s.http, 40, 12 * BUILD_SECOND, 7);
	stand(&s, 1, s.https, 2, 11 * BUILD_SECOND, 256);
	stand(&s, 2, s.http, 3, 14 * BUILD_SECOND, 2);
	for (size_t i = 0; i < s.m->services_cnt; i++) {
		struct model_service *row = &s.m->services[i];

		row->served.refused = 4;
		row->served.abandoned = 1;
	}
	r = requests_new(s.m);
	cr_assert(r);
	same = &r->processes[s.api];
	for (uint32_t slice = 0; slice < 3; slice++) {
		requests_sum_restart(&all);
		for (size_t i = 0; i < s.m->services_cnt; i++) {
			const struct model_service *row = &s.m->services[i];

			if (row->slice == slice)
				requests_sum_add(&all, s.m, row, true);
			if (row->slice == slice && slice == 2)
				requests_sum_add(&last, s.m, row, true);
		}
	}
	cr_expect_eq(memcmp(&all.served, &same->served, sizeof(all.served)), 0);
	cr_expect_eq(all.stuck_max, same->stuck_max);
	cr_expect(all.stuck == 3 && same->stuck == 3 && last.stuck == 3);
	cr_expect_eq(last.stuck_max, 3);
	cr_expect_eq(all.open_ns, 48 * BUILD_SECOND, "%zu", (size_t)all.open_ns);
	cr_expect_eq(same->late_ns, 45 * BUILD_SECOND);
	cr_expect_eq(last.late_ns, 3 * BUILD_SECOND);
	cr_expect_eq(same->plain_answered, 90, "TLS is no plain HTTP");
	cr_expect_gt(same->served.abandoned, same->plain_abandoned);
	cr_expect_eq(same->full_refused, 4, "refused elsewhere for want of memory");
	requests_free(r);
	model_free(s.m);
}

Test(requests, a_window_holds_its_own)
{
	struct shop s = shop_new();
	struct window w = {1, 1};
	struct requests *r;

	build_answers(s.m, 0, s.http, 1 * MS, 90);
	build_answers(s.m, 1, s.http, 20 * MS, 7);
	build_answers(s.m, 2, s.http, 700 * MS, 10);
	stand(&s, 1, s.http, 5, 11 * BUILD_SECOND, 0);
	cr_assert_eq(window_cut(s.m, &w), 0);
	r = requests_new(s.m);
	cr_assert(r);
	cr_expect_eq(r->elapsed_ns, BUILD_SECOND);
	cr_expect_eq(r->host.served.answered, 7);
	cr_expect_eq(r->host.stuck, 5);
	cr_expect_eq(r->host.time_max_ns, 20 * MS);
	cr_expect_eq(s.m->services[0].slice, 0);
	cr_expect_eq(s.m->responses_cnt, 1);
	requests_free(r);
	model_free(s.m);
}

Test(requests, slots_are_quarters_of_powers_of_two)
{
	static const struct {
		uint32_t slot;
		uint64_t us;
	} rows[] = {
		{0, 0},	    {1, 1},	     {3, 3},	       {4, 4},		 {5, 5},   {7, 7},
		{8, 8},	    {9, 10},	     {11, 14},	       {12, 16},	 {16, 32}, {17, 40},
		{40, 2048}, {100, 1u << 26}, {103, 117440512}, {104, 117440512},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(requests_slot_ns(rows[i].slot), rows[i].us * US, "slot %u: %llu",
			     rows[i].slot, (unsigned long long)requests_slot_ns(rows[i].slot));
	for (uint32_t i = 1; i < RESPONSE_SLOTS; i++)
		cr_expect_gt(requests_slot_ns(i), requests_slot_ns(i - 1), "slot %u", i);
}

Test(requests, percentiles_lie_within_their_slot)
{
	static const struct {
		const char *name;
		uint64_t times_us[3], counts[3];
		double share;
		uint64_t least_us, most_us;
	} rows[] = {
		{"none", {0}, {0}, 0.5, 0, 0},
		{"one", {1000}, {1}, 0.5, 896, 1000},
		{"one, the longest", {1000}, {1}, 1, 1000, 1000},
		{"median of two groups", {100, 5000}, {90, 10}, 0.5, 96, 112},
		{"tail of two groups", {100, 5000}, {90, 10}, 0.99, 4096, 5000},
		{"edge of two groups", {100, 5000}, {90, 10}, 0.9, 96, 112},
		{"past all slots", {200000000}, {3}, 0.5, 117440512, 200000000},
		{"under a microsecond", {0}, {5}, 0.99, 0, 0},
		{"a tail of one", {100, 5000, 1000000}, {980, 19, 1}, 0.9995, 917504, 1000000},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct shop s = shop_new();
		struct requests *r;
		uint64_t ns;

		for (int k = 0; k < 3 && rows[i].counts[k]; k++)
			build_answers(s.m, 0, s.http, rows[i].times_us[k] * US, rows[i].counts[k]);
		r = requests_new(s.m);
		cr_assert(r);
		ns = requests_time_ns(&r->host, rows[i].share);
		cr_expect(ns >= rows[i].least_us * US && ns <= rows[i].most_us * US, "%s: %llu ns",
			  rows[i].name, (unsigned long long)ns);
		requests_free(r);
		model_free(s.m);
	}
}

Test(requests, slow_share_and_score_count_what_is_unanswered_and_late)
{
	static const struct {
		const char *name;
		uint64_t answered, slow, very_slow;
		uint32_t late;
		double share, score;
	} rows[] = {
		{"nothing", 0, 0, 0, 0, 0, 1},
		{"all fast", 100, 0, 0, 0, 0, 1},
		{"half tolerable", 100, 50, 0, 0, 0.5, 0.75},
		{"half frustrated", 100, 50, 50, 0, 0.5, 0.5},
		{"a complete hang", 0, 0, 0, 200, 1, 0},
		{"as many hang as were fast", 100, 0, 0, 100, 0.5, 0.5},
		{"torn counters: more slow than answered", 10, 12, 3, 0, 1, 0.25},
		{"torn counters: more frustrated than slow", 10, 2, 5, 0, 0.2, 0.8},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct requests_sum sum = {.served = {.answered = rows[i].answered,
						      .slow = rows[i].slow,
						      .very_slow = rows[i].very_slow},
					   .late = rows[i].late};

		cr_expect_float_eq(requests_slow_share(&sum), rows[i].share, 1e-9, "%s: %f",
				   rows[i].name, requests_slow_share(&sum));
		cr_expect_float_eq(requests_score(&sum), rows[i].score, 1e-9, "%s: %f",
				   rows[i].name, requests_score(&sum));
		cr_expect_eq(requests_judged(&sum), rows[i].answered + rows[i].late);
	}
}

/* --- not all connections were followed ------------------------------------------------------- */

/* One slice of which so many answers were seen, each of which stands for weight. */
static void add_seen(struct shop *s, uint32_t slice, uint64_t seen, uint64_t slow, uint64_t weight)
{
	struct model_service row = {.slice = slice, .endpoint = s->http};

	row.served = (struct model_served){.begun = seen * weight,
					   .answered = seen * weight,
					   .slow = slow * weight,
					   .unseen = seen * (weight - 1)};
	build_service(s->m, &row);
}

static void range_of(struct shop *s, double *ret_low, double *ret_high)
{
	struct requests *r = requests_new(s->m);

	requests_slow_range(&r->processes[s->api], ret_low, ret_high);
	requests_free(r);
}

Test(requests, a_share_of_answers_that_were_all_seen_has_no_range)
{
	struct shop s = shop_new();
	double low, high;

	add_seen(&s, 0, 100, 7, 1);
	range_of(&s, &low, &high);
	cr_expect_float_eq(low, 0.07, 1e-12);
	cr_expect_float_eq(high, 0.07, 1e-12);
	model_free(s.m);
}

/* 10,000 seen, each for 8 with the chance that this adds, tell as much as 2,857 alone: 0.1 +- 1.1 %
 * by the book, n = (8 * 10,000)^2 / (10,000 * 8 * 7) / 4. */
Test(requests, a_share_of_answers_that_were_not_all_seen_has_a_range)
{
	struct shop s = shop_new();
	struct requests *r;
	double low, high;

	add_seen(&s, 0, 10000, 1000, 8);
	range_of(&s, &low, &high);
	cr_expect_float_eq(low, 0.0895, 0.0003, "%f", low);
	cr_expect_float_eq(high, 0.1116, 0.0003, "%f", high);
	/* A slice that was seen whole adds answers and no doubt. */
	add_seen(&s, 1, 80000, 8000, 1);
	range_of(&s, &low, &high);
	cr_expect_float_eq(high - low, 0.0221 / 2, 0.0003, "%f", high - low);
	r = requests_new(s.m);
	cr_expect_eq(r->processes[s.api].unseen, 70000);
	requests_free(r);
	model_free(s.m);
}

Test(requests, what_is_late_is_known_of_all_connections)
{
	struct shop s = shop_new();
	struct model_service row = {.slice = 2, .endpoint = s.http, .open = 900, .late = 900};
	double low, high;

	add_seen(&s, 0, 25, 0, 4);
	build_service(s.m, &row);
	range_of(&s, &low, &high);
	cr_expect_float_eq(low, 0.9, 1e-9, "%f", low);
	cr_expect_gt(high, 0.9);
	cr_expect_lt(high, 0.99);
	model_free(s.m);
}

Test(requests, few_that_were_seen_tell_little)
{
	struct shop s = shop_new();
	double low, high;

	add_seen(&s, 0, 3, 3, 64);
	range_of(&s, &low, &high);
	cr_expect_float_eq(low, 0, 1e-9, "%f", low);
	cr_expect_float_eq(high, 1, 1e-9);
	model_free(s.m);
}

static double chance(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(*state >> 11) / 9007199254740992.0;
}

/* Services of 1,500 connections with up to 30 answers each, of which every other connection is slow
 * three times as often: of what one in eight connections tells, the range holds the truth. */
Test(requests, ranges_hold_the_truth_of_connections_that_are_not_alike)
{
	enum { TRIALS = 400, CONNECTIONS = 1500 };
	unsigned int held = 0;
	uint64_t state = 12345;
	double widths = 0;

	for (int trial = 0; trial < TRIALS; trial++) {
		uint64_t all = 0, all_slow = 0, seen = 0, seen_slow = 0;
		struct shop s = shop_new();
		double low, high, truth;

		for (int c = 0; c < CONNECTIONS; c++) {
			unsigned int answers = (unsigned int)(chance(&state) * 30), slow = 0;
			double share = chance(&state) < 0.5 ? 0.05 : 0.15;
			bool followed = chance(&state) < 1.0 / 8;

			for (unsigned int i = 0; i < answers; i++)
				slow += chance(&state) < share;
			all += answers;
			all_slow += slow;
			seen += followed ? answers : 0;
			seen_slow += followed ? slow : 0;
		}
		add_seen(&s, 0, seen, seen_slow, 8);
		range_of(&s, &low, &high);
		truth = (double)all_slow / (double)all;
		held += low <= truth && truth <= high;
		widths += high - low;
		model_free(s.m);
	}
	cr_expect_geq(held, TRIALS * 95 / 100, "%u", held);
	cr_expect_lt(widths / TRIALS, 0.06, "%f: that tells something", widths / TRIALS);
}

Test(requests, blurred_figures_say_why)
{
	static const struct {
		const char *name;
		struct model_served served;
		uint8_t protocols;
		const char *begins; /* NULL = plain */
	} rows[] = {
		{"plain",
		 {.begun = 100, .answered = 100, .joined = 10, .pushed = 400},
		 PROTOCOL_HTTP1,
		 NULL},
		{"nothing", {0}, 0, NULL},
		{"HTTP/2",
		 {.begun = 100, .answered = 100},
		 PROTOCOL_HTTP2 | PROTOCOL_TLS,
		 "HTTP/2"},
		{"TLS", {.begun = 100, .answered = 100}, PROTOCOL_TLS, "TLS"},
		{"WebSocket",
		 {.begun = 1, .answered = 1},
		 PROTOCOL_HTTP1 | PROTOCOL_WEBSOCKET,
		 "WebSocket"},
		{"in pieces",
		 {.begun = 100, .answered = 100, .joined = 11},
		 PROTOCOL_HTTP1,
		 "data"},
		{"pushes", {.begun = 100, .answered = 100, .pushed = 404}, PROTOCOL_HTTP1, "most"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct requests_sum sum = {.served = rows[i].served,
					   .protocols = rows[i].protocols};
		const char *blur = requests_blur(&sum);

		cr_expect_eq(!blur, !rows[i].begins, "%s", rows[i].name);
		if (blur && rows[i].begins)
			cr_expect(!strncmp(blur, rows[i].begins, strlen(rows[i].begins)), "%s: %s",
				  rows[i].name, blur);
	}
}

Test(requests, ports_hold_what_several_sockets_serve)
{
	struct shop s = shop_new();
	uint32_t six = build_endpoint(s.m, s.api, "::", 8080);
	struct requests *r;

	build_answers(s.m, 0, s.http, 1 * MS, 90);
	build_answers(s.m, 1, six, 2 * MS, 10);
	build_answers(s.m, 1, s.sql, 2 * MS, 200);
	build_answers(s.m, 1, s.https, 2 * MS, 1);
	stand(&s, 1, s.http, 2, 11 * BUILD_SECOND, 0);
	stand(&s, 1, six, 1, 12 * BUILD_SECOND, 0);
	s.m->endpoints[s.sql].slow_ns = 100 * MS;
	r = requests_new(s.m);
	cr_assert(r);
	cr_assert_eq(r->ports_cnt, 3);
	qsort(r->ports, r->ports_cnt, sizeof(*r->ports), requests_compare_ports);
	cr_expect_eq(r->ports[0].port, 8080, "who hangs comes first");
	cr_expect_str_eq(r->ports[0].address, "", "two of them");
	cr_expect_eq(r->ports[0].sum.served.begun, 100);
	cr_expect_eq(r->ports[0].sum.stuck_max, 3);
	cr_expect_eq(r->ports[0].sum.endpoints, 2);
	cr_expect_eq(r->ports[0].slow_ns, REQUESTS_SLOW_NS);
	cr_expect_eq(requests_time_ns(&r->ports[0].sum, 1), 2 * MS);
	cr_expect_eq(r->ports[1].port, 5432, "then who serves most");
	cr_expect_str_eq(r->ports[1].address, "127.0.0.1");
	cr_expect_eq(r->ports[1].slow_ns, 100 * MS);
	cr_expect_eq(r->processes[s.api].endpoints, 3);
	requests_free(r);
	s.m->endpoints[six].slow_ns = 1;
	r = requests_new(s.m);
	cr_assert(r);
	cr_expect_eq(r->ports[0].slow_ns, 0, "thresholds differ");
	requests_free(r);
	model_free(s.m);
}

Test(requests, the_worst_slices_are_found_and_told_in_their_order)
{
	static const struct {
		const char *name;
		size_t most, cnt;
		uint32_t slices[4];
	} rows[] = {
		{"one", 1, 1, {5}},	      {"two", 2, 2, {2, 5}}, {"three", 3, 3, {2, 5, 7}},
		{"four", 4, 4, {2, 5, 7, 8}}, {"none", 0, 0, {0}},
	};
	struct model *m = build_model(2, 99);
	uint32_t api = build_process(m, 10, "Shop.Api", 0), other = build_process(m, 20, "x", 0);
	uint32_t http = build_endpoint(m, api, "::", 80),
		 noise = build_endpoint(m, other, "::", 81);
	struct requests_slice got[REQUESTS_SLICES_MAX];
	struct model_service stuck = {.slice = 5, .endpoint = http, .stuck = 1};
	size_t cnt, all;

	for (uint32_t i = 0; i < 10; i++) {
		build_slice(m, BUILD_SECOND, 0, 0, 0);
		build_answers(m, i, noise, 9000 * MS, 1000);
		if (i != 3)
			build_answers(m, i, http, (i + 1) * US, 10 + i);
	}
	build_service(m, &stuck);
	build_answers(m, 2, http, 800 * MS, 5);
	build_answers(m, 7, http, 400 * MS, 1);
	build_answers(m, 8, http, 300 * MS, 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_eq(requests_worst_slices(m, api, rows[i].most, got, &cnt, &all), 0);
		cr_expect_eq(all, 9, "%s: %zu", rows[i].name, all);
		cr_assert_eq(cnt, rows[i].cnt, "%s: %zu", rows[i].name, cnt);
		for (size_t k = 0; k < cnt; k++)
			cr_expect_eq(got[k].slice, rows[i].slices[k], "%s: %u", rows[i].name,
				     got[k].slice);
	}
	cr_assert_eq(requests_worst_slices(m, api, 1000, got, &cnt, &all), 0);
	cr_assert_eq(cnt, 9);
	cr_expect_eq(got[2].slice, 2);
	cr_expect_eq(got[2].sum.served.answered, 17);
	cr_expect_eq(got[2].sum.time_max_ns, 800 * MS);
	cr_expect_eq(requests_time_ns(&got[2].sum, 1), 800 * MS);
	cr_expect_eq(got[4].sum.stuck, 1);
	cr_assert_eq(requests_worst_slices(m, MODEL_NONE, 1000, got, &cnt, &all), 0);
	cr_expect_eq(all, 10);
	cr_expect_eq(got[3].sum.served.answered, 1000);
	model_free(m);
}

Test(requests, an_empty_capture_has_empty_sums)
{
	struct model *m = build_model(2, 99);
	struct requests *r = requests_new(m);

	cr_assert(r);
	cr_expect_eq(r->host.served.begun, 0);
	cr_expect_eq(requests_time_ns(&r->host, 0.99), 0);
	requests_free(r);
	model_free(m);
}

static uint32_t slot_at(uint64_t ns)
{
	uint32_t slot = 0;

	while (slot + 1 < RESPONSE_SLOTS && requests_slot_ns(slot + 1) <= ns)
		slot++;
	return slot;
}

Test(requests, what_a_timer_ends_takes_the_same_time)
{
	static const struct {
		uint64_t first_ms, second_ms, slow; /* a hundred answers each */
		bool timed;
	} rows[] = {
		{1005, 1005, 200, true},      {5010, 4990, 200, true},
		{700, 700, 200, false},	      {1100, 3000, 200, false},
		{200000, 900000, 200, false}, {1100, 30000, 100, false}, /* T is between them */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t times[RESPONSE_SLOTS] = {0};
		struct requests_sum sum = {.times = times, .served.slow = rows[i].slow};

		times[slot_at(rows[i].first_ms * 1000000)] += 100;
		times[slot_at(rows[i].second_ms * 1000000)] += 100;
		cr_expect_eq(requests_are_timed(&sum), rows[i].timed, "row %zu", i);
	}
}

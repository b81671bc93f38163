/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the report says about requests. */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "golden.h"
#include "output/report.h"
#include "output/report_text.h"
#include "report_support.h"

#define US 1000ull
#define MS 1000000ull

/* The lines from the one that begins with from up to the one that begins with to, as a string. */
static char *part_of(char *text, const char *from, const char *to)
{
	char *begin = strstr(text, from), *end;

	cr_assert(begin, "no %s", from);
	end = strstr(begin, to);
	cr_assert(end, "no %s after %s", to, from);
	*end = '\0';
	return begin;
}

static void expect_section(const char *golden, struct model *m,
			   const struct report_options *options)
{
	size_t len;
	char *text = report_text(m, options, &len);
	char *part = part_of(text, "requests: from data", "\nscheduler");

	golden_expect(golden, part, strlen(part));
	free(text);
	model_free(m);
}

/* Ten seconds of a shop: a service that hangs, a fast one, one over TLS, a database with its own
 * T. */
struct shop {
	struct model *m;
	uint32_t hung, web, db;
};

static void add_hang(struct shop *s)
{
	uint32_t endpoint;
	struct model_service row = {
		.open = 200,
		.backlog = 512,
		.served = {.received_bytes = 400, .abandoned = 3, .begun = 3, .connections = 20},
	};

	s->hung = build_process(s->m, 4711, "Shop.Orders", PROCESS_DOTNET);
	build_thread(s->m, s->hung, 4711, ".NET TP Worker", 20 * MS, 'S');
	endpoint = build_endpoint(s->m, s->hung, "0.0.0.0", 8080);
	build_answers(s->m, 0, endpoint, 30 * MS, 120);
	build_answers(s->m, 0, endpoint, 900 * MS, 40);
	build_answers(s->m, 1, endpoint, 2500 * MS, 4);
	for (uint32_t i = 1; i < 10; i++) {
		row.slice = i;
		row.endpoint = endpoint;
		row.late = i > 1 ? 200 : 12;
		row.oldest_ns = (i + 4) * BUILD_SECOND;
		row.stuck = i > 6 ? (i - 6) * 60 : 0;
		row.queued = i * 50;
		row.served.refused = i > 8 ? 77 : 0;
		build_service(s->m, &row);
	}
}

static void add_web(struct shop *s)
{
	uint32_t plain, tls;

	s->web = build_process(s->m, 1234, "Shop.Web", PROCESS_DOTNET);
	s->m->processes[s->web].unit = model_str(s->m, "shop-web.service");
	build_thread(s->m, s->web, 1234, ".NET TP Worker", 5000 * MS, 'R');
	plain = build_endpoint(s->m, s->web, "::", 5000);
	tls = build_endpoint(s->m, s->web, "::", 5001);
	s->m->endpoints[tls].protocols = PROTOCOL_TLS;
	for (uint32_t i = 0; i < 10; i++) {
		struct model_service row = {
			.slice = i,
			.endpoint = plain,
			.open = 7,
			.oldest_ns = 3 * MS,
			.served = {.received_bytes = 9000000, .sent_bytes = 123456789},
		};

		build_answers(s->m, i, plain, 300 * US, 7000);
		build_answers(s->m, i, plain, 1500 * US, 300);
		build_answers(s->m, i, tls, 2 * MS, 50);
		build_service(s->m, &row);
	}
	build_answers(s->m, 4, plain, 620 * MS, 9);
}

static struct shop shop_new(void)
{
	struct shop s = {.m = build_model(2, 99)};
	uint32_t endpoint;

	add_hang(&s);
	add_web(&s);
	s.db = build_process(s.m, 800, "postgres", 0);
	build_thread(s.m, s.db, 800, "postgres", 500 * MS, 'S');
	endpoint = build_endpoint(s.m, s.db, "127.0.0.1", 5432);
	s.m->endpoints[endpoint].slow_ns = 20 * MS;
	s.m->endpoints[endpoint].protocols = PROTOCOL_OTHER;
	build_answers(s.m, 3, endpoint, 80 * US, 4000);
	build_answers(s.m, 3, endpoint, 90 * MS, 4);
	build_service(s.m, &(struct model_service){.slice = 9, .endpoint = endpoint, .unsure = 3});
	build_books(s.m, 10);
	return s;
}

Test(report_requests, who_hangs_comes_first)
{
	expect_section("report_requests.txt", shop_new().m, NULL);
}

Test(report_requests, in_80_columns)
{
	expect_section("report_requests_80.txt", shop_new().m,
		       &(struct report_options){.width = 80, .rows = 2});
}

/* From its third second on, of one connection in eight; sockets were not looked at in each. */
Test(report_requests, what_stands_for_more_is_told_with_its_error)
{
	struct shop s = shop_new();

	for (size_t i = 2; i < s.m->slices_cnt; i++) {
		s.m->slices[i].one_followed_of = 8;
		s.m->slices[i].followed = 120;
		s.m->slices[i].sockets_age_ns = i % 5 * BUILD_SECOND;
	}
	for (size_t i = 0; i < s.m->services_cnt; i++) {
		struct model_service *row = &s.m->services[i];

		if (row->slice >= 2)
			row->served.unseen = row->served.answered * 7 / 8;
	}
	expect_section("report_requests_followed.txt", s.m, NULL);
}

Test(report_requests, one_process_tells_its_times_and_worst_seconds)
{
	struct shop s = shop_new();
	struct report_options o = {.processes = &s.hung, .process_cnt = 1};
	size_t len;
	char *text = report_text(s.m, &o, &len), *part;

	part = part_of(text, "── Shop.Orders", "\n   cores");
	golden_expect("report_requests_process.txt", part, strlen(part));
	free(text);
	o.processes = &s.db;
	text = report_text(s.m, &o, &len);
	part = part_of(text, "requests: from", "\nscheduler");
	cr_expect_lt(strstr(part, "postgres"), strstr(part, "Shop.Orders"), "asked for: first");
	free(text);
	model_free(s.m);
}

Test(report_requests, what_is_not_known_is_told_with_its_reason)
{
	struct shop s = shop_new();
	struct model *quiet = build_model(2, 99), *empty = build_model(2, 99);

	s.m->host.off = OFF_REQUESTS;
	report_says(s.m, NULL, "n/a: recorded without requests\n");
	model_free(s.m);
	build_books(quiet, 1);
	report_says(quiet, NULL, "  none were seen\n");
	model_free(quiet);
	report_says(empty, NULL, "n/a: the capture has no slice\n");
	model_free(empty);
}

Test(report_requests, what_ended_without_an_answer_is_told)
{
	static const struct {
		uint64_t answered, abandoned;
		bool told;
	} cases[] = {{990, 10, true}, {991, 9, false}, {1000, 10, false}, {0, 10, true}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model *m = build_model(2, 99);
		uint32_t p = build_process(m, 10, "Shop.Api", 0);
		uint32_t e = build_endpoint(m, p, "::", 8080);

		build_books(m, 1);
		build_answers(m, 0, e, MS, cases[i].answered);
		build_service(m, &(struct model_service){
					 .endpoint = e,
					 .served = {.begun = cases[i].abandoned,
						    .abandoned = cases[i].abandoned},
				 });
		if (cases[i].told)
			report_says(m, &(struct report_options){.width = 200},
				    "port 8080: 10 requests (");
		else
			report_says_not(m, NULL, "ended without an answer");
		model_free(m);
	}
}

/* As a stranger's capture may have it: every figure at its largest, names that steer terminals. */
static struct model *hostile(void)
{
	struct model *m = build_model(2, 99);
	struct model_service row = {
		.served = {1ull << 60, 1ull << 60, 1ull << 60, 1ull << 60, 1ull << 60, 1ull << 60,
			   1ull << 60, 1ull << 60, 1ull << 60, 1ull << 60, 1ull << 60, 1ull << 60,
			   1ull << 60},
		.time_max_ns = INT64_MAX,
		.open = UINT32_MAX,
		.late = UINT32_MAX,
		.stuck = UINT32_MAX,
		.oldest_ns = INT64_MAX,
		.queued = UINT32_MAX,
		.backlog = UINT32_MAX,
		.unsure = UINT32_MAX,
	};

	for (uint32_t i = 0; i < 40; i++) {
		uint32_t p = build_process(m, 4194000 + i, "\x1b[2Jevil\nname\xff;<script>%n", 0);
		uint32_t endpoint = build_endpoint(m, p, "\x1b]0;owned\a::ffff:1.2.3.4\n%s", 65535);
		struct model_response response = {.endpoint = endpoint, .count = 1ull << 60};

		build_thread(m, p, 4194000 + i, "x", i * MS, 'S');
		m->endpoints[endpoint].slow_ns = i % 2 ? INT64_MAX - i : 0;
		m->endpoints[endpoint].protocols = (uint8_t)(255 - i);
		row.endpoint = endpoint;
		build_service(m, &row);
		for (uint32_t slot = 0; i < 10 && slot < RESPONSE_SLOTS; slot++) {
			response.slot = (uint8_t)slot;
			cr_assert_eq(model_response_add(m, &response), 0);
		}
	}
	build_books(m, 2);
	return m;
}

Test(report_requests, hostile_captures_stay_within_the_page)
{
	for (unsigned int width = 80; width < 130; width += 7) {
		struct model *m = hostile();
		struct report_options o = {.width = width, .process_cnt = 2};
		size_t len, columns;
		char *text = report_text(m, &o, &len), *part, *line;

		for (size_t i = 0; i < len; i++)
			cr_expect((unsigned char)text[i] >= ' ' || text[i] == '\n', "byte %x",
				  text[i]);
		part = strstr(text, "requests: from");
		cr_assert(part);
		line = strtok(part, "\n");
		for (; line && strncmp(line, "scheduler", 9) != 0; line = strtok(NULL, "\n")) {
			columns = text_columns(line);
			cr_expect_leq(columns, width, "%zu of %u: %s", columns, width, line);
		}
		free(text);
		model_free(m);
	}
}

Test(report_requests, details_of_a_hostile_process_stay_within_the_page)
{
	struct model *m = hostile();
	uint32_t process = 1;
	struct report_options o = {.width = 80, .processes = &process, .process_cnt = 1};
	size_t len;
	char *text = report_text(m, &o, &len), *line;

	cr_assert(strstr(text, "serves port 65535"));
	line = strtok(strstr(text, "   serves port"), "\n");
	for (; line; line = strtok(NULL, "\n"))
		cr_expect_leq(text_columns(line), 80, "%s", line);
	free(text);
	model_free(m);
}

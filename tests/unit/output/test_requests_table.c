/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of `hotrun requests`. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "golden.h"
#include "output/report_text.h"
#include "output/requests_table.h"

#define US 1000ull
#define MS 1000000ull

static char *table_text(const struct model *m, const struct requests_table_options *options,
			size_t *ret_len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_len);

	cr_assert(out);
	cr_assert_eq(requests_table_write(out, m, options), 0);
	fclose(out);
	return text;
}

static void expect_table(const char *golden, const struct model *m,
			 const struct requests_table_options *options)
{
	size_t len;
	char *text = table_text(m, options, &len);

	golden_expect(golden, text, len);
	free(text);
}

static void expect_says(const struct model *m, const struct requests_table_options *options,
			const char *words, bool said)
{
	size_t len;
	char *text = table_text(m, options, &len);

	cr_expect_eq(strstr(text, words) != NULL, said, "'%s' in:\n%s", words, text);
	free(text);
}

struct shop {
	struct model *m;
	uint32_t api, db, proxy;
	uint32_t http, grpc, sql, edge, idle; /* endpoints */
};

/* A service that hangs on one of its ports, a database, a proxy that speaks TLS; two seconds. */
static struct shop shop_new(void)
{
	struct shop s = {.m = build_model(2, 99)};
	struct model_service stand = {.slice = 1};

	s.api = build_process(s.m, 4711, "Shop.Api", PROCESS_DOTNET);
	s.db = build_process(s.m, 99, "ev\033[31mil\n\xff", 0);
	s.proxy = build_process(s.m, 15, "a-proxy-with-a-name-that-is-much-too-long-for-it", 0);
	s.m->processes[s.api].unit = model_str(s.m, "shop.service");
	s.http = build_endpoint(s.m, s.api, "0.0.0.0", 8080);
	s.grpc = build_endpoint(s.m, s.api, "::1", 8081);
	s.sql = build_endpoint(s.m, s.db, "127.0.0.1", 5432);
	s.edge = build_endpoint(s.m, s.proxy, "::", 443);
	s.idle = build_endpoint(s.m, s.proxy, "::", 80);
	s.m->endpoints[s.grpc].protocols = PROTOCOL_HTTP2;
	s.m->endpoints[s.edge].protocols = PROTOCOL_TLS | PROTOCOL_OTHER;
	s.m->endpoints[s.edge].slow_ns = 2000 * MS;
	build_slice(s.m, BUILD_SECOND, 0, 0, 0);
	build_slice(s.m, BUILD_SECOND, 0, 0, 0);
	build_answers(s.m, 0, s.http, 900 * US, 7000);
	build_answers(s.m, 0, s.http, 30 * MS, 900);
	build_answers(s.m, 1, s.http, 800 * MS, 70);
	build_answers(s.m, 1, s.http, 3500 * MS, 30);
	build_answers(s.m, 1, s.sql, 90 * US, 123456);
	build_answers(s.m, 1, s.edge, 2 * MS, 3);
	build_answers(s.m, 0, s.grpc, 5 * MS, 11);
	stand.endpoint = s.http;
	stand.served = (struct model_served){.begun = 40,
					     .abandoned = 2,
					     .connections = 64,
					     .received_bytes = 1234567,
					     .sent_bytes = 98765432,
					     .refused = 17};
	stand.open = 40;
	stand.late = 38;
	stand.stuck = 25;
	stand.oldest_ns = 12300 * MS;
	stand.queued = 512;
	stand.backlog = 512;
	build_service(s.m, &stand);
	return s;
}

static const struct {
	const char *golden;
	struct requests_table_options options;
} tables[] = {
	{"requests_130.txt", {0}},
	{"requests_80.txt", {.width = 80}},
	{"requests_100.txt", {.width = 100, .rows = 2}},
	{"requests_verbose.txt", {.verbose = true, .rows = 2}},
};

Test(requests_table, golden)
{
	struct shop s = shop_new();

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		expect_table(tables[i].golden, s.m, &tables[i].options);
	model_free(s.m);
}

Test(requests_table, those_that_hang_come_first_then_most_answers)
{
	struct shop s = shop_new();
	struct requests *r = requests_new(s.m);
	uint32_t wanted[] = {s.http, s.sql, s.grpc, s.edge}, *rows;
	size_t cnt, all;

	rows = requests_table_endpoints(r, NULL, 0, 10, &cnt, &all);
	cr_assert_eq(cnt, 4, "a socket that nobody spoke to is not listed");
	for (size_t i = 0; i < cnt; i++)
		cr_expect_eq(rows[i], wanted[i], "row %zu", i);
	free(rows);
	rows = requests_table_endpoints(r, &s.api, 1, 1, &cnt, &all);
	cr_expect_eq(cnt, 1);
	cr_expect_eq(all, 2);
	free(rows);
	requests_free(r);
	model_free(s.m);
}

Test(requests_table, processes_that_were_asked_for_alone)
{
	struct shop s = shop_new();
	struct requests_table_options options = {.processes = &s.proxy, .process_cnt = 1};

	expect_says(s.m, &options, " 443 ", true);
	expect_says(s.m, &options, " 8080 ", false);
	options.process_cnt = 0;
	expect_says(s.m, &options, "no request, and none unanswered\n", true);
	model_free(s.m);
}

Test(requests_table, what_blurs_the_figures_is_told)
{
	struct shop s = shop_new();

	expect_says(s.m, NULL, "Shop.Api (shop.service), port 8081: HTTP/2: ", true);
	expect_says(s.m, NULL, ", port 443: TLS: ", true);
	expect_says(s.m, NULL, ", port 8080: ", false);
	model_free(s.m);
}

Test(requests_table, an_empty_capture_is_no_failure)
{
	struct model *m = build_model(2, 99);

	expect_says(m, NULL, "no request, and none unanswered\n", true);
	model_free(m);
}

/* Whatever the names are, no line has control bytes or more columns than it may. */
Test(requests_table, lines_keep_their_width)
{
	struct shop s = shop_new();

	for (unsigned int width = 80; width < 220; width += 7) {
		struct requests_table_options options = {.width = width, .verbose = true};
		size_t len;
		char *text = table_text(s.m, &options, &len), *next;

		for (char *line = text; *line; line = next) {
			next = strchr(line, '\n');
			cr_assert(next);
			*next++ = '\0';
			cr_expect(text_columns(line) <= width, "%u: %s", width, line);
			for (char *c = line; *c; c++)
				cr_expect((unsigned char)*c >= ' ' && *c != 0x7f);
		}
		free(text);
	}
	model_free(s.m);
}

Test(requests_table, a_full_disk_is_told)
{
	FILE *out = fopen("/dev/full", "w");
	struct shop s = shop_new();

	cr_assert(out);
	cr_expect_eq(requests_table_write(out, s.m, NULL), -EIO);
	fclose(out);
	model_free(s.m);
}

Test(requests_table, what_ended_without_an_answer_is_told)
{
	const struct requests_table_options wide = {.width = 300};
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 10, "Shop.Api", 0);
	uint32_t e = build_endpoint(m, p, "::", 8080);

	build_books(m, 1);
	build_answers(m, 0, e, 1000000, 990);
	build_service(m, &(struct model_service){.endpoint = e, .served = {.abandoned = 9}});
	expect_says(m, &wide, "ended without", false);
	build_service(m, &(struct model_service){.endpoint = e, .served = {.abandoned = 1}});
	expect_says(m, &wide, "Shop.Api, port 8080: 10 requests (1.0 %) ended without an answer",
		    true);
	model_free(m);
}

Test(requests_table, what_stands_for_more_is_told_with_its_error)
{
	const struct requests_table_options wide = {.width = 300};
	struct model *m = build_model(2, 99);
	uint32_t e = build_endpoint(m, build_process(m, 10, "Shop.Api", 0), "::", 8080);

	build_books(m, 1);
	build_answers(m, 0, e, 1000000, 7200);
	build_answers(m, 0, e, 900000000, 800);
	build_service(m, &(struct model_service){.endpoint = e, .served = {.unseen = 7000}});
	m->slices[0].one_followed_of = 8;
	m->slices[0].followed = 40;
	expect_says(m, &wide, "at the busiest ports 1 of 8 connections followed for 1.0 s of 1.0 s",
		    true);
	expect_says(m, &wide, "±29.0 %", true);
	expect_says(m, &wide, "slow 10.0 % (", true);
	model_free(m);
}

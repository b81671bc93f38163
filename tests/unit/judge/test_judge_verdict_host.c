/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict of the host, and the words of all. */
#include <criterion/criterion.h>
#include <math.h>

#include "judge/verdict.h"

#define SECOND 1000000000ull

#define FAST .has_requests = true, .requests = 1000, .slow_share = 0.01

struct host_case {
	const char *name;
	struct verdict_input in;
	uint32_t cpus, seen;
	enum verdict verdict;
};

#define BIT(v) VERDICT_BIT(VERDICT_##v)

static const struct host_case hosts[] = {
	{"idle", {.host_busy = 0.01}, 4, 0, VERDICT_HEALTHY},
	{"just below high", {.host_busy = 0.6999}, 4, 0, VERDICT_HEALTHY},
	{"high, nothing measured", {.host_busy = 0.7}, 4, 0, VERDICT_BUSY_UNMEASURED},
	{"high and fast", {.host_busy = 0.99, FAST}, 4, 0, VERDICT_BUSY_ELASTIC},
	{"saturated, nobody hurt",
	 {.host_busy = 1, .host_waiting = 90},
	 4,
	 0,
	 VERDICT_BUSY_UNMEASURED},
	{"busy just below", {.host_busy = 0.9499}, 4, BIT(STARVED), VERDICT_STARVED},
	{"busy at", {.host_busy = 0.95}, 4, BIT(STARVED), VERDICT_HOST_OVERLOADED},
	{"waiting at", {.host_waiting = 10}, 4, BIT(STARVED), VERDICT_STARVED},
	{"waiting above", {.host_waiting = 10.01}, 4, BIT(STARVED), VERDICT_HOST_OVERLOADED},
	{"waiting at half of many CPUs", {.host_waiting = 48}, 96, BIT(STARVED), VERDICT_STARVED},
	{"waiting above half of many CPUs",
	 {.host_waiting = 48.1},
	 96,
	 BIT(STARVED),
	 VERDICT_HOST_OVERLOADED},
	{"a hang on an idle host", {.host_busy = 0.02}, 4, BIT(INELASTIC), VERDICT_INELASTIC},
	{"the most urgent of several",
	 {.host_busy = 0.5},
	 4,
	 BIT(STARVED) | BIT(THROTTLED) | BIT(OVERSUBSCRIBED),
	 VERDICT_THROTTLED},
	{"stolen, though all CPUs are taken",
	 {.host_busy = 1, .host_steal = 0.1},
	 4,
	 BIT(STOLEN),
	 VERDICT_STOLEN},
	{"steal just below",
	 {.host_busy = 1, .host_steal = 0.0999},
	 4,
	 BIT(STARVED),
	 VERDICT_HOST_OVERLOADED},
	{"somebody wants more, nobody is hurt",
	 {.host_busy = 0.5},
	 4,
	 BIT(CONTENDED),
	 VERDICT_CONTENDED},
	{"all want more, nobody is hurt",
	 {.host_busy = 1, .host_waiting = 90},
	 4,
	 BIT(CONTENDED),
	 VERDICT_CONTENDED},
	{"beside a service that is fast",
	 {.host_busy = 1, FAST},
	 4,
	 BIT(CONTENDED),
	 VERDICT_CONTENDED},
	{"somebody wants more, and a service lacks it",
	 {.host_busy = 1},
	 4,
	 BIT(CONTENDED) | BIT(STARVED),
	 VERDICT_HOST_OVERLOADED},
	{"somebody wants more, and a service lacks it on a host with room",
	 {.host_busy = 0.5},
	 4,
	 BIT(CONTENDED) | BIT(OVERSUBSCRIBED),
	 VERDICT_OVERSUBSCRIBED},
	{"steal from who only wants more",
	 {.host_busy = 0.5, .host_steal = 0.4},
	 4,
	 BIT(CONTENDED),
	 VERDICT_CONTENDED},
	{"a gap, and somebody wants more",
	 {.host_busy = 1, .books_gap = true},
	 4,
	 BIT(CONTENDED),
	 VERDICT_NO_EVIDENCE},
	{"steal that hurts nobody", {.host_busy = 0.5, .host_steal = 0.4}, 4, 0, VERDICT_HEALTHY},
	{"gap", {.host_busy = 1, .books_gap = true}, 4, BIT(STARVED), VERDICT_NO_EVIDENCE},
	/* Without requests it is not known whether a calm host is. */
	{"unmeasured, idle", {.unmeasured = true}, 4, 0, VERDICT_UNKNOWN},
	{"unmeasured, busy", {.host_busy = 0.99, .unmeasured = true}, 4, 0, VERDICT_UNKNOWN},
	{"unmeasured, and somebody wants more",
	 {.unmeasured = true},
	 4,
	 BIT(CONTENDED),
	 VERDICT_CONTENDED},
	{"unmeasured, and one that was declared is hurt",
	 {.host_busy = 0.99, .unmeasured = true},
	 4,
	 BIT(STARVED),
	 VERDICT_HOST_OVERLOADED},
	{"unmeasured, and a gap",
	 {.books_gap = true, .unmeasured = true},
	 4,
	 0,
	 VERDICT_NO_EVIDENCE},
};

Test(verdict, of_the_host)
{
	struct verdict_limits limits;

	verdict_limits_default(&limits);
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		struct verdict_input in = hosts[i].in;
		struct verdict_result r;

		in.elapsed_ns = SECOND;
		in.host_cpus = hosts[i].cpus;
		verdict_of_host(&in, hosts[i].seen, &limits, &r);
		cr_expect_eq(r.verdict, hosts[i].verdict, "%s: %s", hosts[i].name,
			     verdict_id(r.verdict));
		cr_expect_eq(r.hurt, (hosts[i].seen & ~BIT(CONTENDED)) != 0, "%s", hosts[i].name);
		cr_expect(r.evidence_cnt, "%s: no evidence", hosts[i].name);
	}
}

Test(verdict, words_and_urgency_of_each)
{
	static const char *const ids[VERDICT_CNT] = {
		"healthy",   "busy-elastic", "busy-unmeasured", "host-overloaded",
		"inelastic", "throttled",    "starved",		"oversubscribed",
		"stolen",    "no-evidence",  "contended",	"unknown"};

	for (enum verdict v = 0; v < VERDICT_CNT; v++) {
		cr_expect_str_eq(verdict_id(v), ids[v]);
		cr_expect(*verdict_text(v));
		cr_expect_eq(!*verdict_remedy(v), v == VERDICT_HEALTHY);
		for (enum verdict w = 0; w < VERDICT_CNT; w++)
			cr_expect_eq(verdict_compare(v, w), -verdict_compare(w, v));
	}
	for (enum verdict_figure f = 0; f < FIGURE_CNT; f++)
		cr_expect(*verdict_figure_id(f) && verdict_figure_unit(f));
	cr_expect_lt(verdict_compare(VERDICT_INELASTIC, VERDICT_STARVED), 0);
	cr_expect_lt(verdict_compare(VERDICT_OVERSUBSCRIBED, VERDICT_NO_EVIDENCE), 0);
	cr_expect_lt(verdict_compare(VERDICT_NO_EVIDENCE, VERDICT_CONTENDED), 0);
	cr_expect_lt(verdict_compare(VERDICT_CONTENDED, VERDICT_UNKNOWN), 0);
	cr_expect_lt(verdict_compare(VERDICT_UNKNOWN, VERDICT_BUSY_UNMEASURED), 0);
}

Test(verdict, distance_is_a_part_of_the_limit)
{
	static const struct {
		struct verdict_evidence e;
		double distance;
	} distances[] = {
		{{FIGURE_SLOW_SHARE, 0.2, 0.1, true}, 1},
		{{FIGURE_SLOW_SHARE, 0.05, 0.1, false}, -0.5},
		{{FIGURE_PROGRESS, 0.4, 0.8, true}, 0.5},
		{{FIGURE_PROGRESS, 1, 0.8, false}, -0.25},
		{{FIGURE_REFUSED, 3, 0, true}, 3},
	};

	for (size_t i = 0; i < sizeof(distances) / sizeof(distances[0]); i++)
		cr_expect(fabs(verdict_distance(&distances[i].e) - distances[i].distance) < 1e-9,
			  "%zu: %f", i, verdict_distance(&distances[i].e));
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is usual for a service at this hour of the week, from weeks that are known. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "judge/past.h"
#include "judge/verdict.h"

/* A Monday, 10:00 UTC. */
#define NOW  1795428000ll
#define HOUR HISTORY_HOUR_S
#define WEEK HISTORY_WEEK_S

static const struct history_kind web = {.id = 5,
					.name = "Shop.Web",
					.place = "shop.service",
					.first_s = NOW - 20 * WEEK,
					.minutes = 9000},
				 canary = {.id = 6,
					   .name = "Shop.Web",
					   .place = "canary.service",
					   .first_s = NOW - WEEK,
					   .minutes = 100};

static struct history_figures hour_of(double cpus, uint64_t requests, double slow, double hurt_s,
				      uint64_t median_us)
{
	return (struct history_figures){
		.observed_ms = HOUR * 1000,
		.judged_ms = HOUR * 1000,
		.cpu_ms = (uint64_t)(cpus * HOUR * 1000),
		.requests = requests,
		.slow = (uint64_t)(slow * (double)requests + 0.5),
		.hurt_ms = (uint64_t)(hurt_s * 1000),
		.median_us = median_us,
	};
}

static void add(struct past *p, int64_t time_s, uint32_t kind, struct history_figures f)
{
	cr_assert_eq(past_hour(p, time_s, kind, &f), 0);
}

static struct past *begin(void)
{
	struct past *p = past_new(NOW + 1234);

	cr_assert(p);
	cr_assert_eq(past_kind(p, &web), 0);
	cr_assert_eq(past_kind(p, &canary), 0);
	return p;
}

/* Each hour of so many weeks: on Mondays at 10 the service uses week / 10 CPUs, else 5. */
static void add_weeks(struct past *p, int weeks)
{
	for (int64_t h = 1; h <= weeks * 168; h++) {
		int64_t week = (h + 84) / 168;
		double cpus = h % 168 == 0 ? (double)week / 10 : 5;

		add(p, NOW - h * HOUR, HISTORY_HOST, hour_of(1, 0, 0, 0, 0));
		add(p, NOW - h * HOUR, 5, hour_of(cpus, 36000, 0.01 * (double)week, 60, 2000));
	}
}

Test(past, knows_nothing_before_two_weeks)
{
	struct past *p = begin();
	struct past_usual u;

	cr_expect_not(past_usual(p, "Shop.Web", "shop.service", &u));
	cr_expect_eq(u.weeks, 0);
	add_weeks(p, 1);
	past_ready(p);
	cr_expect_not(past_usual(p, "Shop.Web", "shop.service", &u));
	cr_expect_eq(u.weeks, 1);
	cr_expect_not(past_usual(p, "Shop.Mail", NULL, &u));
	cr_expect_eq(u.weeks, 0);
	past_free(p);
}

Test(past, tells_the_usual_range_of_this_hour_of_the_week)
{
	struct past *p = begin();
	struct past_usual u;

	add_weeks(p, 10);
	past_ready(p);
	cr_assert(past_usual(p, "Shop.Web", "shop.service", &u));
	cr_expect_eq(u.weeks, 10);
	/* Three a week, but for the one that would be before the first. */
	cr_expect_eq(u.hours, 29);
	cr_expect_eq(u.served, 29);
	/* Of 29, ten are of Monday at 10, 0.1 to 1 CPU; the others are the hours beside. */
	cr_expect_float_eq(u.cpus.low, 0.3, 1e-6);
	cr_expect_float_eq(u.cpus.high, 5, 1e-6);
	cr_expect_float_eq(u.slow.median, 0.05, 0.011);
	cr_expect_float_eq(u.hurt_s.median, 60, 1e-3);
	cr_expect_float_eq(u.rate.median, 10, 1e-6);
	/* Without a place, of those of that name the one that is known best. */
	cr_expect(past_usual(p, "Shop.Web", NULL, &u));
	cr_expect_eq(u.hours, 29);
	past_free(p);
}

Test(past, hours_without_a_row_are_of_rest_and_unobserved_ones_of_nothing)
{
	struct past *p = begin();
	struct past_usual u;

	for (int week = 1; week <= 8; week++) {
		struct history_figures host = hour_of(1, 0, 0, 0, 0);

		if (week % 2)
			host.observed_ms /= 4;
		add(p, NOW - week * WEEK, HISTORY_HOST, host);
		if (week % 4 == 0)
			add(p, NOW - week * WEEK, 5, hour_of(2, 36000, 0.5, 3600, 2000));
	}
	/* The hour that goes on, and one that is still to come. */
	add(p, NOW, HISTORY_HOST, hour_of(1, 0, 0, 0, 0));
	add(p, NOW + WEEK, HISTORY_HOST, hour_of(1, 0, 0, 0, 0));
	past_ready(p);
	cr_assert(past_usual(p, "Shop.Web", "shop.service", &u));
	cr_expect_eq(u.weeks, 4);
	cr_expect_eq(u.hours, 4);
	cr_expect_eq(u.served, 2);
	cr_expect_float_eq(u.cpus.low, 0, 1e-9);
	cr_expect_float_eq(u.cpus.high, 2, 1e-6);
	cr_expect_float_eq(u.slow.low, 0.5, 1e-6);
	past_free(p);
}

Test(past, tells_how_often_it_was_so_bad)
{
	struct past *p = begin();
	struct past_usual u;

	for (int week = 1; week <= 8; week++) {
		struct history_figures f = hour_of(2, 36000, 0.5, 1800, 2000);

		f.bad_minutes = week <= 4 ? 30 : 6;
		f.verdict = week <= 4 ? 6 : 4;
		add(p, NOW - week * WEEK, HISTORY_HOST, hour_of(1, 0, 0, 0, 0));
		add(p, NOW - week * WEEK, 5, f);
	}
	past_ready(p);
	cr_assert(past_usual(p, "Shop.Web", NULL, &u));
	cr_expect_float_eq(u.bad_share[6], 0.25, 1e-6);
	cr_expect_float_eq(u.bad_share[4], 0.05, 1e-6);
	cr_expect_float_eq(u.bad_share[0], 0, 1e-9);
	past_free(p);
}

Test(past, hours_in_which_requests_were_not_measured_are_neither_good_nor_bad)
{
	struct past *p = begin();
	struct past_usual u;

	for (int week = 1; week <= 8; week++) {
		struct history_figures f = hour_of(2, 36000, 0.5, 1800, 2000);

		f.bad_minutes = week <= 4 ? 30 : 0;
		f.verdict = week <= 4 ? VERDICT_STARVED : VERDICT_UNKNOWN;
		add(p, NOW - week * WEEK, HISTORY_HOST, hour_of(1, 0, 0, 0, 0));
		add(p, NOW - week * WEEK, 5, f);
	}
	past_ready(p);
	cr_assert(past_usual(p, "Shop.Web", NULL, &u));
	cr_expect_eq(u.hours, 4);
	cr_expect_float_eq(u.bad_share[VERDICT_STARVED], 0.5, 1e-6);
	past_free(p);
}

Test(past, a_service_is_known_from_its_first_hour_on)
{
	struct past *p = begin();
	struct past_usual u;

	add_weeks(p, 10);
	past_ready(p);
	cr_expect_not(past_usual(p, "Shop.Web", "canary.service", &u));
	cr_expect_eq(u.weeks, 1);
	past_free(p);
}

Test(past, tells_how_fast_it_is_at_that_rate)
{
	struct past *p = begin();
	struct past_speed s;

	for (int i = 1; i <= 40; i++) {
		/* 10 a second in 2 ms, 1,000 a second in 30 ms. */
		add(p, NOW - i * HOUR, 5,
		    i % 2 ? hour_of(1, 36000, 0, 0, 2000) : hour_of(1, 3600000, 0.04, 0, 30000));
	}
	past_ready(p);
	cr_assert(past_speed(p, "Shop.Web", NULL, 10.5, &s));
	cr_expect_eq(s.hours, 20);
	cr_expect(s.median_us.high >= 2000 && s.median_us.high < 2000 * 1.42, "%f",
		  s.median_us.high);
	cr_assert(past_speed(p, "Shop.Web", NULL, 1000, &s));
	cr_expect(s.median_us.low >= 30000 && s.median_us.high < 30000 * 1.42);
	cr_expect_float_eq(s.slow.high, 0.04, 0.01);
	/* Rates of which little or nothing is known. */
	cr_expect_not(past_speed(p, "Shop.Web", NULL, 100, &s));
	cr_expect_not(past_speed(p, "Shop.Web", NULL, 0, &s));
	cr_expect_not(past_speed(p, "Shop.Web", NULL, 1e30, &s));
	cr_expect_not(past_speed(p, "Shop.Mail", NULL, 10, &s));
	past_free(p);
}

Test(past, ten_years_fit)
{
	struct past *p = begin();
	struct past_usual u;

	for (int64_t h = 1; h <= 10 * 365 * 24; h++) {
		add(p, NOW - h * HOUR, HISTORY_HOST, hour_of(1, 0, 0, 0, 0));
		add(p, NOW - h * HOUR, 5, hour_of(1, 1000000000, 0, 0, 1u << 31));
	}
	past_ready(p);
	cr_assert(past_usual(p, "Shop.Web", NULL, &u));
	cr_expect_eq(u.weeks, 20 + 1 - 1);
	past_free(p);
}

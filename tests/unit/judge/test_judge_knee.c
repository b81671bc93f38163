/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Knees that are known: found where they are, and nowhere else. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "judge/knee.h"

#define MINUTE 60
#define START  1795000000

/* A service in minutes: its load swings with the day, its slow share follows a line. */
struct service {
	double cpus_least, cpus_most;
	double knee, before, slope, level; /* slow = before + slope (cpus - knee), at most level */
	double requests;		   /* a minute: what a share is counted of */
	double noise;			   /* of the share, standard deviation */
	double incidents; /* share of hours in which half of all is slow, whatever the CPU */
};

static double uniform(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(*seed >> 11) / 9007199254740992.0;
}

static double normal(uint64_t *seed)
{
	return sqrt(-2 * log(uniform(seed) + 1e-12)) * cos(2 * M_PI * uniform(seed));
}

static struct knee_point *make(const struct service *s, size_t cnt, uint64_t seed)
{
	struct knee_point *points = calloc(cnt + 1, sizeof(*points));
	double incident = 0, drift = 0;

	cr_assert(points);
	for (size_t i = 0; i < cnt; i++) {
		double day = 0.5 - 0.5 * cos(2 * M_PI * (double)i / 1440), share;
		struct knee_point *p = &points[i];

		if (i % 60 == 0)
			incident = uniform(&seed) < s->incidents;
		/* Minutes beside each other are alike. */
		drift = 0.8 * drift + 0.2 * normal(&seed);
		p->time_s = START + (int64_t)i * MINUTE;
		p->cpus = s->cpus_least +
			  (s->cpus_most - s->cpus_least) * fmin(1, fmax(0, day + 0.15 * drift));
		share = s->before + (p->cpus > s->knee ? s->slope * (p->cpus - s->knee) : 0);
		share = fmin(share, s->level) + s->noise * normal(&seed);
		if (incident > 0)
			share = 0.5;
		/* As many of so many requests, by chance. */
		share = fmin(1, fmax(0, share));
		share += normal(&seed) * sqrt(share * (1 - share) / s->requests);
		p->slow = fmin(1, fmax(0, share));
	}
	return points;
}

static struct knee knee_of_service(const struct service *s, size_t cnt, uint64_t seed)
{
	struct knee_point *points = make(s, cnt, seed);
	struct knee knee;

	cr_assert_eq(knee_of(points, cnt, &knee), 0);
	free(points);
	return knee;
}

Test(knee, is_found_where_it_is)
{
	static const struct {
		const char *name;
		struct service s;
		size_t minutes;
	} rows[] = {
		{"sharp", {0.1, 2, 1.4, 0.002, 2, 1, 600, 0.005, 0}, 7 * 1440},
		{"early", {0.1, 8, 2.0, 0.01, 0.2, 1, 600, 0.01, 0}, 7 * 1440},
		{"slow to rise", {0.2, 4, 2.5, 0.0, 0.1, 1, 600, 0.01, 0}, 14 * 1440},
		{"levels off", {0.1, 2, 0.8, 0.01, 2, 0.4, 600, 0.01, 0}, 7 * 1440},
		{"few requests", {0.1, 2, 1.2, 0.02, 1, 1, 30, 0.01, 0}, 14 * 1440},
		{"incidents", {0.1, 2, 1.4, 0.01, 1.5, 1, 600, 0.01, 0.05}, 14 * 1440},
		{"much noise", {0.1, 2, 1.2, 0.05, 1, 1, 600, 0.1, 0}, 14 * 1440},
		{"a day", {0.1, 2, 1.4, 0.01, 1.5, 1, 600, 0.01, 0}, 1440},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double width = rows[i].s.cpus_most - rows[i].s.cpus_least;
		int within = 0;

		for (uint64_t seed = 1; seed <= 5; seed++) {
			struct knee k = knee_of_service(&rows[i].s, rows[i].minutes, seed);

			cr_expect_eq(k.answer, KNEE_FOUND, "%s, %lu: answer %d", rows[i].name,
				     (unsigned long)seed, k.answer);
			cr_expect_leq(fabs(k.at - rows[i].s.knee), 0.15 * width,
				      "%s, %lu: at %.3f, not %.3f", rows[i].name,
				      (unsigned long)seed, k.at, rows[i].s.knee);
			cr_expect(k.low <= k.at && k.at <= k.high, "%s: %.3f..%.3f..%.3f",
				  rows[i].name, k.low, k.at, k.high);
			within += k.low <= rows[i].s.knee && rows[i].s.knee <= k.high;
		}
		/* An interval of 90 %. */
		cr_expect_geq(within, 4, "%s: in %d of 5 intervals", rows[i].name, within);
	}
}

Test(knee, is_nowhere_where_there_is_none)
{
	static const struct {
		const char *name;
		struct service s;
		size_t minutes;
	} rows[] = {
		{"elastic", {0.1, 2, 9, 0.002, 0, 1, 600, 0.002, 0}, 7 * 1440},
		{"noise", {0.1, 2, 9, 0.1, 0, 1, 600, 0.1, 0}, 7 * 1440},
		{"slow all the time", {0.1, 2, 9, 0.4, 0, 1, 100, 0.05, 0}, 7 * 1440},
		{"incidents", {0.1, 2, 9, 0.005, 0, 1, 600, 0.01, 0.1}, 30 * 1440},
		{"few requests", {0.1, 2, 9, 0.05, 0, 1, 20, 0, 0}, 3 * 1440},
		{"hardly risen", {0.1, 2, 1.9, 0.01, 0.2, 1, 600, 0.01, 0}, 14 * 1440},
		{"two hours", {0.1, 2, 9, 0.02, 0, 1, 600, 0.02, 0}, 120},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (uint64_t seed = 1; seed <= 5; seed++) {
			struct knee k = knee_of_service(&rows[i].s, rows[i].minutes, seed);

			cr_expect_neq(k.answer, KNEE_FOUND, "%s, %lu: a knee at %.3f", rows[i].name,
				      (unsigned long)seed, k.at);
		}
	}
}

Test(knee, needs_minutes_and_different_cpu_use)
{
	static const struct service steady = {1.0, 1.05, 1.02, 0, 10, 1, 600, 0, 0},
				    swings = {0.1, 2, 1, 0, 1, 1, 600, 0, 0};

	cr_expect_eq(knee_of_service(&steady, 7 * 1440, 1).answer, KNEE_TOO_LITTLE);
	cr_expect_eq(knee_of_service(&swings, KNEE_MINUTES - 1, 1).answer, KNEE_TOO_LITTLE);
	cr_expect_eq(knee_of_service(&swings, 0, 1).answer, KNEE_TOO_LITTLE);
}

Test(knee, tells_what_it_rests_on)
{
	static const struct service s = {0.1, 2, 1.4, 0.01, 1.5, 1, 600, 0.005, 0};
	struct knee k = knee_of_service(&s, 7 * 1440, 3);
	size_t minutes = 0;

	cr_expect_eq(k.minutes, 7 * 1440);
	cr_expect_float_eq(k.before, 0.01, 0.01);
	cr_expect_float_eq(k.most, 2, 0.1);
	cr_expect_gt(k.after, 0.5);
	cr_assert_gt(k.bins_cnt, 10);
	for (size_t i = 0; i < k.bins_cnt; i++) {
		minutes += k.bins[i].minutes;
		cr_expect(!i || k.bins[i].cpus > k.bins[i - 1].cpus);
		cr_expect_float_eq(k.bins[i].slow,
				   0.01 + (k.bins[i].cpus > 1.4 ? 1.5 * (k.bins[i].cpus - 1.4) : 0),
				   0.08);
	}
	cr_expect_geq(minutes, 7 * 1440 - 200);
}

Test(knee, hostile_points_do_no_harm)
{
	static const double odd[] = {0, 1e300, -5, 0.5, 1e-300, 3};
	struct knee_point points[600];
	struct knee knee;

	for (size_t i = 0; i < 600; i++)
		points[i] = (struct knee_point){(int64_t)(i * 7919) % 600 - 300, odd[i % 6],
						odd[(i / 6) % 6]};
	cr_expect_eq(knee_of(points, 600, &knee), 0);
}

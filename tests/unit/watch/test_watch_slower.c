/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Services are held against their own past. */
#include <criterion/criterion.h>
#include <string.h>

#include "build_model.h"
#include "watch/slower.h"

#define MS 1000000ull

/* What the past says, and what it was asked. */
struct past_of_shop {
	bool known;
	struct past_speed speed;
	double rate;
	unsigned int asked;
};

static bool speed(void *ctx, const char *name, const char *place, double rate,
		  struct past_speed *ret_speed)
{
	struct past_of_shop *past = ctx;

	cr_expect_str_eq(name, "Shop.Api");
	cr_expect_str_eq(place, "");
	past->rate = rate;
	past->asked++;
	*ret_speed = past->speed;
	return past->known;
}

static struct past_of_shop usually(double median_us, double slow)
{
	return (struct past_of_shop){.known = true,
				     .speed = {.hours = 40,
					       .median_us = {median_us / 2, median_us, median_us},
					       .slow = {0, slow, slow}}};
}

struct shop {
	struct model *m;
	uint32_t process, endpoint;
	struct slower slower;
};

static struct shop shop(void)
{
	struct shop s = {.m = build_model(2, 99)};

	s.process = build_process(s.m, 100, "Shop.Api", PROCESS_DOTNET);
	s.endpoint = build_endpoint(s.m, s.process, "0.0.0.0", 80);
	return s;
}

/* A second in which so many answers took 20 ms, and so many of these were slow. */
static void second(struct shop *s, struct past_of_shop *past, uint64_t cnt, uint64_t slow)
{
	uint32_t slice = (uint32_t)s->m->slices_cnt;

	build_slice(s->m, BUILD_SECOND, BUILD_SECOND / 2, 0, 99);
	build_answers(s->m, slice, s->endpoint, 20 * MS, cnt);
	build_service(s->m, &(struct model_service){.slice = slice,
						    .endpoint = s->endpoint,
						    .served = {.slow = slow}});
	cr_assert_eq(slower_slice(&s->slower, s->m, speed, past), 0);
}

Test(slower, a_minute_is_held_against_the_past)
{
	struct past_of_shop past = usually(5000, 0);
	struct shop s = shop();

	for (int i = 0; i < 58; i++)
		second(&s, &past, 100, 0);
	cr_expect_eq(past.asked, 0, "not before a minute is over");
	for (int i = 0; i < 12; i++)
		second(&s, &past, 100, 0);
	cr_expect_geq(past.asked, 1);
	cr_expect_float_eq(past.rate, 100, 1);
	cr_assert_gt(s.m->pasts_cnt, 0);
	for (size_t i = 0; i < s.m->pasts_cnt; i++) {
		const struct model_past *row = &s.m->pasts[i];

		cr_expect_eq(row->slice, 70 - s.m->pasts_cnt + i, "each second from then on");
		cr_expect_eq(row->process, s.process);
		cr_expect_eq(row->hours, 40);
		cr_expect_eq(row->usual_ns, 5 * MS);
		cr_expect(row->median_ns > 15 * MS && row->median_ns <= 20 * MS);
		cr_expect_eq(row->slow_ppm, 0);
	}
	model_free(s.m);
}

Test(slower, looks_each_ten_seconds)
{
	struct past_of_shop past = usually(5000, 0);
	struct shop s = shop();

	for (int i = 0; i < 180; i++)
		second(&s, &past, 100, 0);
	cr_expect(past.asked >= 11 && past.asked <= 13, "%u", past.asked);
	model_free(s.m);
}

Test(slower, what_is_usual_is_not_told)
{
	struct past_of_shop past = usually(20001, 0.1);
	struct shop s = shop();

	for (int i = 0; i < 80; i++)
		second(&s, &past, 100, 10);
	cr_expect_gt(past.asked, 0);
	cr_expect_eq(s.m->pasts_cnt, 0);
	/* The share that is slow is held against it, too. */
	past.speed.slow.high = 0.05;
	for (int i = 0; i < 12; i++)
		second(&s, &past, 100, 10);
	cr_assert_gt(s.m->pasts_cnt, 0);
	cr_expect_eq(s.m->pasts[0].slow_ppm, 100000);
	cr_expect_eq(s.m->pasts[0].usual_ppm, 50000);
	/* And it ends with what it was told for. */
	past.known = false;
	for (int i = 0; i < 12; i++)
		second(&s, &past, 100, 10);
	cr_expect_neq(s.m->pasts[s.m->pasts_cnt - 1].slice, s.m->slices_cnt - 1);
	model_free(s.m);
}

Test(slower, few_requests_tell_nothing)
{
	struct past_of_shop past = usually(5000, 0);
	struct shop s = shop();

	for (int i = 0; i < 80; i++)
		second(&s, &past, 1, 0);
	cr_expect_eq(past.asked, 0);
	model_free(s.m);
}

/* Rows of another model are not those of this one. */
Test(slower, a_renewed_model_begins_anew)
{
	struct past_of_shop past = usually(5000, 0);
	struct shop s = shop(), t;

	for (int i = 0; i < 70; i++)
		second(&s, &past, 100, 0);
	t = shop();
	t.m->host.start_ns = 7;
	t.slower = s.slower;
	second(&t, &past, 100, 0);
	cr_expect_eq(t.m->pasts_cnt, 0);
	model_free(s.m);
	model_free(t.m);
}

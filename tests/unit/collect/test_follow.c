/* SPDX-License-Identifier: GPL-2.0-or-later */
/* On how many connections requests are followed. */
#include <criterion/criterion.h>
#include <linux/types.h>

#include "bpf/events.h"
#include "collect/follow.h"

#define SECOND 1000000000ull
#define MOST   4000u

/* A host that serves at that rate, all connections alike: so many of its requests are seen in a
 * second. */
static unsigned int second(struct follow *f, uint64_t rate)
{
	return follow_next(f, rate >> f->shift, SECOND);
}

Test(follow, all_are_followed_up_to_the_bound)
{
	struct follow f = {.most = MOST};

	for (int i = 0; i < 100; i++)
		cr_expect_eq(second(&f, MOST), 0);
}

Test(follow, beyond_it_as_few_at_once_as_keep_it)
{
	static const struct {
		uint64_t rate;
		unsigned int shift;
	} rows[] = {{4001, 1},
		    {8000, 1},
		    {8001, 2},
		    {40000, 4},
		    {64000, 4},
		    {100000, 5},
		    {100000000, FOLLOW_SHIFT_MAX}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct follow f = {.most = MOST};

		cr_expect_eq(second(&f, rows[i].rate), rows[i].shift, "%zu", i);
		for (int k = 0; k < 30; k++)
			cr_expect_eq(second(&f, rows[i].rate), rows[i].shift, "%zu: to and fro", i);
	}
}

Test(follow, the_length_of_the_stretch_counts)
{
	struct follow f = {.most = MOST};

	cr_expect_eq(follow_next(&f, 10000, 5 * SECOND), 0);
	cr_expect_eq(follow_next(&f, 1000, SECOND / 10), 2);
	cr_expect_eq(follow_next(&f, 1000000, 0), 2, "a stretch of no length says nothing");
}

Test(follow, calm_brings_connections_back_one_step_in_ten_seconds)
{
	struct follow f = {.most = MOST};

	second(&f, 100000);
	for (unsigned int shift = 5; shift > 0; shift--) {
		for (int i = 0; i < 9; i++)
			cr_expect_eq(second(&f, 100), shift);
		cr_expect_eq(second(&f, 100), shift - 1);
	}
	for (int i = 0; i < 30; i++)
		cr_expect_eq(second(&f, 100), 0);
}

Test(follow, a_busy_second_begins_the_calm_anew)
{
	struct follow f = {.most = MOST};

	second(&f, 8000);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 9; i++)
			cr_expect_eq(second(&f, 1000), 1);
		cr_expect_eq(second(&f, 2 * 1600), 1);
	}
}

/* What is just below the bound with twice as many connections must not bring them in. */
Test(follow, there_is_room_for_chance_after_a_step_back)
{
	struct follow f = {.most = MOST};

	second(&f, 8000);
	for (int i = 0; i < 60; i++)
		cr_expect_eq(second(&f, 3300), 1);
	for (int i = 0; i < 10; i++)
		second(&f, 3100);
	cr_expect_eq(f.shift, 0);
	cr_expect_eq(second(&f, 3100 * 5 / 4), 0);
}

Test(follow, without_a_bound_all_are_followed)
{
	struct follow f = {.most = MOST};

	cr_expect_eq(second(&f, 100000), 5);
	f.most = 0;
	cr_expect_eq(second(&f, 100000), 0);
}

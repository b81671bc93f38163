/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/extents.h"

static struct extents extents_of(uint32_t first, uint32_t cnt, uint32_t boundary)
{
	struct extents e = {.boundary = boundary};

	cr_assert_eq(extents_add(&e, first, cnt), 0);
	return e;
}

Test(extents, gives_the_lowest_run_that_is_long_enough)
{
	struct extents e = extents_of(10, 100, 0);

	cr_expect_eq(extents_take(&e, 30), 10);
	cr_expect_eq(extents_take(&e, 30), 40);
	cr_expect_eq(extents_take(&e, 41), EXTENTS_NONE);
	cr_expect_eq(extents_take(&e, 40), 70);
	cr_expect_eq(extents_take(&e, 1), EXTENTS_NONE);
	cr_expect_eq(e.taken, 100);
	cr_expect_eq(extents_give_back(&e, 40, 30), 0);
	cr_expect_eq(extents_give_back(&e, 10, 5), 0);
	cr_expect_eq(e.taken, 65);
	cr_expect_eq(extents_take(&e, 6), 40, "the first hole is too small");
	cr_expect_eq(extents_take(&e, 5), 10);
	extents_clear(&e);
	cr_expect_eq(e.taken + e.free_cnt, 0);
}

Test(extents, joins_what_is_given_back_with_both_neighbours)
{
	struct extents e = extents_of(0, 30, 0);

	cr_assert_eq(extents_take(&e, 30), 0);
	extents_give_back(&e, 0, 10);
	extents_give_back(&e, 20, 10);
	cr_expect_eq(extents_take(&e, 11), EXTENTS_NONE);
	extents_give_back(&e, 10, 10);
	cr_expect_eq(e.free_cnt, 1);
	cr_expect_eq(extents_take(&e, 30), 0);
	extents_clear(&e);
}

Test(extents, no_run_crosses_a_boundary)
{
	struct extents e = extents_of(0, 16, 16);

	extents_add(&e, 16, 16);
	cr_expect_eq(extents_take(&e, 17), EXTENTS_NONE);
	cr_expect_eq(extents_take(&e, 10), 0);
	cr_expect_eq(extents_take(&e, 10), 16);
	cr_expect_eq(extents_take(&e, 6), 10);
	extents_give_back(&e, 16, 10);
	extents_give_back(&e, 10, 6);
	cr_expect_eq(extents_take(&e, 16), 16, "not the end of one with the beginning of another");
	extents_clear(&e);
}

#define NUMBERS	 512u
#define BOUNDARY 64u

/* Where the lowest run of free numbers begins that is long enough. */
static uint32_t lowest(const bool *taken, uint32_t cnt)
{
	for (uint32_t first = 0; first + cnt <= NUMBERS; first++) {
		uint32_t n = 0;

		while (n < cnt && !taken[first + n] && (!n || (first + n) % BOUNDARY))
			n++;
		if (n == cnt)
			return first;
	}
	return EXTENTS_NONE;
}

Test(extents, any_order_of_taking_and_giving_back_is_as_a_list_of_all_numbers_says)
{
	struct extents e = {.boundary = BOUNDARY};
	struct extent held[NUMBERS];
	bool taken[NUMBERS] = {false};
	uint32_t held_cnt = 0, numbers = 0;

	for (uint32_t i = 0; i < NUMBERS; i += BOUNDARY)
		extents_add(&e, i, BOUNDARY);
	srand(4711);
	for (int step = 0; step < 20000; step++) {
		if (rand() % 2) {
			uint32_t cnt = (uint32_t)rand() % 20 + 1, want = lowest(taken, cnt);

			cr_assert_eq(extents_take(&e, cnt), want, "step %d", step);
			if (want == EXTENTS_NONE)
				continue;
			held[held_cnt++] = (struct extent){want, cnt};
			numbers += cnt;
			for (uint32_t i = 0; i < cnt; i++)
				taken[want + i] = true;
		} else if (held_cnt) {
			uint32_t at = (uint32_t)rand() % held_cnt;
			struct extent x = held[at];

			held[at] = held[--held_cnt];
			numbers -= x.cnt;
			for (uint32_t i = 0; i < x.cnt; i++)
				taken[x.first + i] = false;
			cr_assert_eq(extents_give_back(&e, x.first, x.cnt), 0);
		}
		cr_assert_eq(e.taken, numbers);
	}
	extents_clear(&e);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose naming is set set_aside, and for how long, over simulated hours. */
#include <criterion/criterion.h>

#include "base/clock.h"
#include "watch/set_aside.h"

#define NOW_NS (1000 * SECOND_NS)

static struct set_aside set_aside;

static bool is_aside(uint64_t party, uint64_t now_ns)
{
	const struct set_aside_row *rows[SET_ASIDE_MAX];
	size_t cnt = set_aside_now(&set_aside, now_ns, rows);

	for (size_t i = 0; i < cnt; i++)
		if (rows[i]->party == party)
			return true;
	return false;
}

Test(set_aside, the_costliest_first_and_no_more_of_them_than_it_takes)
{
	static const struct ledger_use most[] = {
		{7, 300000000}, {5, 100000000}, {3, 100000000}, {9, 1000000}};

	cr_expect_eq(set_aside_take(&set_aside, most, 4, 350000000, NOW_NS), 2);
	cr_expect(is_aside(7, NOW_NS) && is_aside(5, NOW_NS));
	cr_expect_not(is_aside(3, NOW_NS));
	cr_expect_not(is_aside(9, NOW_NS));
	cr_expect_eq(set_aside_take(&set_aside, most, 0, 350000000, NOW_NS), 0,
		     "nobody caused any");
}

Test(set_aside, who_does_it_again_waits_twice_as_long_and_who_does_not_is_forgiven)
{
	static const struct ledger_use use = {7, SECOND_NS};
	uint64_t now_ns = NOW_NS, ns = SET_ASIDE_NS;

	for (int i = 0; i < 10; i++) {
		cr_assert_eq(set_aside_take(&set_aside, &use, 1, 1, now_ns), 1);
		cr_expect(is_aside(7, now_ns + ns - 1), "%d", i);
		cr_expect_not(is_aside(7, now_ns + ns), "%d", i);
		now_ns += ns + 10 * SECOND_NS;
		ns = 2 * ns < SET_ASIDE_MOST_NS ? 2 * ns : SET_ASIDE_MOST_NS;
	}
	now_ns += 2 * SET_ASIDE_MOST_NS;
	cr_assert_eq(set_aside_take(&set_aside, &use, 1, 1, now_ns), 1);
	cr_expect_not(is_aside(7, now_ns + SET_ASIDE_NS));
}

/* What was begun before goes on for a moment. */
Test(set_aside, who_is_set_aside_already_is_so_no_longer_for_it)
{
	static const struct ledger_use use = {7, SECOND_NS};

	set_aside_take(&set_aside, &use, 1, 1, NOW_NS);
	set_aside_take(&set_aside, &use, 1, 1, NOW_NS + 10 * SECOND_NS);
	cr_expect_not(is_aside(7, NOW_NS + SET_ASIDE_NS));
}

Test(set_aside, has_room_for_so_many_and_the_next_is_not_taken)
{
	struct ledger_use most[2 * SET_ASIDE_MAX];

	for (uint64_t i = 0; i < 2 * SET_ASIDE_MAX; i++)
		most[i] = (struct ledger_use){i + 1, SECOND_NS};
	cr_expect(set_aside_has_room(&set_aside, NOW_NS));
	cr_expect_eq(set_aside_take(&set_aside, most, 2 * SET_ASIDE_MAX, UINT64_MAX, NOW_NS),
		     SET_ASIDE_MAX);
	cr_expect_not(set_aside_has_room(&set_aside, NOW_NS));
	cr_expect(set_aside_has_room(&set_aside, NOW_NS + SET_ASIDE_NS));
	for (uint64_t i = 0; i < 10 * SET_ASIDE_KNOWN; i++) {
		struct ledger_use use = {100 + i, SECOND_NS};
		uint64_t now_ns = NOW_NS + (i + 2) * SET_ASIDE_NS;

		cr_expect_eq(set_aside_take(&set_aside, &use, 1, 1, now_ns), 1, "%lu", i);
		cr_expect(is_aside(100 + i, now_ns));
	}
}

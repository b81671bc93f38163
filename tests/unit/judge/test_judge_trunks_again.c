/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trunks that come back over captures. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "judge/trunks_again.h"

Test(trunks_again, that_come_back_are_told_by_harm)
{
	static const struct history_trunk taken[] = {
		{100, "a", "Shop.Web", "Main > Load", 0.5, 10, 100},
		{200, "b", "Shop.Web", "Main > Load", 0.7, 4, 50},
		{300, "c", "Shop.Web", "Main > Save", 0.9, 30, 100},
		{400, "d", "Shop.Mail", "Main > Load", 0.9, 0, 1},
		{150, "e", "Shop.Mail", "Main > Load", 0.7, 0, 1},
		{160, "f", "Shop.Mail", "Main > Idle", 0.7, 0, 1},
	};
	struct trunks_again again = {0};

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		cr_assert_eq(trunks_again_add(&again, &taken[i]), 0);
	trunks_again_sort(&again);
	cr_assert_eq(again.rows_cnt, 4);
	cr_expect_str_eq(again.rows[0].path, "Main > Save");
	cr_expect_float_eq(again.rows[0].harm, 2700, 1e-9);
	cr_expect_str_eq(again.rows[1].path, "Main > Load");
	cr_expect_str_eq(again.rows[1].process, "Shop.Web");
	cr_expect_float_eq(again.rows[1].harm, 640, 1e-9);
	cr_expect_eq(again.rows[1].captures, 2);
	cr_expect_float_eq(again.rows[1].share, 0.6, 1e-9);
	cr_expect_float_eq(again.rows[1].people, 100, 1e-9);
	cr_expect_eq(again.rows[1].first_s, 100);
	cr_expect_eq(again.rows[1].last_s, 200);
	/* Nobody was hurt: more captures first. */
	cr_expect_eq(again.rows[2].captures, 2);
	cr_expect_eq(again.rows[2].first_s, 150);
	trunks_again_clear(&again);
}

Test(trunks_again, many_different_ones_are_bounded)
{
	struct trunks_again again = {0};
	char path[32];

	for (int i = 0; i < 3 * TRUNKS_AGAIN_MAX; i++) {
		struct history_trunk t = {100, "a", "p", path, 0.5, 1, i == 7 ? 1e9 : 1};

		snprintf(path, sizeof(path), "path %d", i);
		cr_assert_eq(trunks_again_add(&again, &t), 0);
	}
	trunks_again_sort(&again);
	cr_expect_leq(again.rows_cnt, TRUNKS_AGAIN_MAX);
	cr_expect_str_eq(again.rows[0].path, "path 7");
	trunks_again_clear(&again);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>

#include "names/given_files.h"

static struct target_mapping at(uint64_t n)
{
	return (struct target_mapping){0x1000 * n, 0x1000 * n + 0x1000};
}

Test(given_files, stay_while_they_are_of_use)
{
	struct given_files g = {0};
	struct target_mapping needs[] = {at(1), at(2), at(1)};

	cr_expect_eq(given_files_take(&g, 0, needs, 3), 2, "the same one once");
	cr_assert_eq(g.cnt, 2);
	cr_expect_eq(given_files_take(&g, 1, needs, 1), 0, "wanting still: nothing to be had");
	for (unsigned i = 0; i <= GIVEN_IDLE_MAX; i++)
		given_files_take(&g, 1, NULL, 0);
	cr_assert_eq(g.cnt, 1);
	cr_expect_eq(g.files[0].start, 0x1000);
}

Test(given_files, make_room_for_what_is_wanting)
{
	struct given_files g = {0};
	struct target_mapping many[TARGET_GIVEN_MAX], one = at(1000), none = {0x5000, 0x4000};

	for (uint32_t i = 0; i < TARGET_GIVEN_MAX; i++)
		many[i] = at(i + 1);
	cr_expect_eq(given_files_take(&g, 0, many, TARGET_GIVEN_MAX), TARGET_GIVEN_MAX);
	cr_expect_eq(given_files_take(&g, UINT64_MAX, &one, 1), 0, "all are of use");
	cr_expect_eq(given_files_take(&g, ~2ull, &one, 1), 1);
	cr_expect_eq(g.files[1].start, one.start);
	cr_expect_eq(given_files_take(&g, 0, &none, 1), 0);
	cr_expect_eq(given_files_take(&g, 0, many, UINT32_MAX), 1, "no more than there may be");
}

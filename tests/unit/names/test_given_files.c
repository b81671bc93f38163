/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>

#include "names/given_files.h"

static struct target_mapping at(uint64_t n)
{
	return (struct target_mapping){0x1000 * n, 0x1000 * n + 0x1000};
}

static uint32_t take(struct given_files *g, uint64_t used, const struct target_mapping *files,
		     uint32_t cnt, uint64_t wanting)
{
	return given_files_take(g, used, &(struct given_needs){files, cnt, wanting});
}

Test(given_files, stay_while_they_are_of_use)
{
	struct given_files g = {0};
	struct target_mapping needs[] = {at(1), at(2), at(1)};

	cr_expect_eq(take(&g, 0, needs, 3, 7), 2, "the same one once");
	cr_assert_eq(g.cnt, 2);
	cr_expect_eq(take(&g, 1, needs, 1, 1), 0, "wanting still: nothing to be had");
	for (unsigned i = 0; i <= GIVEN_IDLE_MAX; i++)
		take(&g, 1, NULL, 0, 0);
	cr_assert_eq(g.cnt, 1);
	cr_expect_eq(g.files[0].start, 0x1000);
}

Test(given_files, make_room_for_what_is_wanting)
{
	struct given_files g = {0};
	struct target_mapping many[TARGET_GIVEN_MAX], one = at(1000), none = {0x5000, 0x4000};

	for (uint32_t i = 0; i < TARGET_GIVEN_MAX; i++)
		many[i] = at(i + 1);
	cr_expect_eq(take(&g, 0, many, TARGET_GIVEN_MAX, UINT64_MAX), TARGET_GIVEN_MAX);
	cr_expect_eq(take(&g, UINT64_MAX, &one, 1, 1), 0, "all are of use");
	cr_expect_eq(take(&g, ~2ull, &one, 1, 1), 1);
	cr_expect_eq(g.files[1].start, one.start);
	cr_expect_eq(take(&g, 0, &none, 1, 1), 0);
	cr_expect_eq(take(&g, 0, many, UINT32_MAX, UINT64_MAX), 1, "no more than there may be");
}

Test(given_files, what_came_along_and_was_never_of_use_goes_soon)
{
	struct given_files g = {0};
	struct target_mapping needs[] = {at(1), at(2), at(3)};

	/* The last one was looked for, but cannot be had. */
	take(&g, 0, needs, 3, 1 | 4);
	take(&g, 1, NULL, 0, 0);
	for (unsigned i = 1; i < GIVEN_USELESS_MAX; i++)
		take(&g, 0, NULL, 0, 0);
	cr_expect_eq(g.cnt, 3);
	take(&g, 0, NULL, 0, 0);
	cr_assert_eq(g.cnt, 2);
	cr_expect_eq(g.files[0].start, 0x1000, "it was of use once");
	cr_expect_eq(g.files[1].start, 0x3000, "not asked for again each time");
}

Test(given_files, where_room_is_scarce_what_is_wanting_comes_first_and_stays)
{
	struct given_files g = {0};
	struct target_mapping many[TARGET_GIVEN_MAX], needs[] = {at(1000), at(1001), at(1002)};

	for (uint32_t i = 0; i < TARGET_GIVEN_MAX; i++)
		many[i] = at(i + 1);
	take(&g, 0, many, TARGET_GIVEN_MAX, UINT64_MAX);
	cr_expect_eq(take(&g, ~0x30ull, needs, 3, 4), 2, "of two there is room");
	cr_expect_eq(g.files[4].start, needs[2].start);
	cr_expect_eq(g.files[5].start, needs[0].start);
}

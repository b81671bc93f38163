/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>

#include "names/memory_pace.h"

#define SECOND 1000000000ull

Test(memory_pace, what_is_new_waits_where_a_process_is_warm_and_nothing_comes_and_goes)
{
	uint64_t begun = 100 * SECOND, warm = begun + MEMORY_WARM_NS;

	cr_expect_eq(memory_pace_new(warm, 0, 0), 0, "never read");
	cr_expect_eq(memory_pace_new(begun, begun, 0), 0);
	cr_expect_eq(memory_pace_new(warm - 1, begun, 0), 0);
	cr_expect_eq(memory_pace_new(warm, begun, 0), MEMORY_WARM_READ_NS);
	cr_expect_eq(memory_pace_new(warm, begun, warm - MEMORY_CHURN_NS + 1), 0);
	cr_expect_eq(memory_pace_new(warm, begun, warm + 5), 0, "met since it was looked at");
	cr_expect_eq(memory_pace_new(warm, begun, warm - MEMORY_CHURN_NS), MEMORY_WARM_READ_NS);
	cr_expect_eq(memory_pace_new(begun + 24 * SECOND, begun, 0), 3 * SECOND);
	cr_expect_eq(memory_pace_new(begun + 3600 * SECOND, begun, 0), MEMORY_WARM_READ_MOST_NS);
}

Test(memory_pace, a_fleeting_body_is_read_the_less_often_the_longer_it_was_there)
{
	cr_expect_eq(memory_pace_fleeting(0), 0);
	cr_expect_eq(memory_pace_fleeting(MEMORY_STEADY_NS - 1), 0);
	cr_expect_eq(memory_pace_fleeting(MEMORY_STEADY_NS), MEMORY_STEADY_READ_NS);
	cr_expect_eq(memory_pace_fleeting(16 * SECOND), 2 * SECOND);
	cr_expect_eq(memory_pace_fleeting(3600 * SECOND), MEMORY_STEADY_READ_MOST_NS);
	for (uint64_t age = MEMORY_STEADY_NS; age < 100 * SECOND; age += SECOND / 2)
		cr_expect_leq(memory_pace_fleeting(age), age / 2,
			      "what ends unseen was known for most of its time");
}

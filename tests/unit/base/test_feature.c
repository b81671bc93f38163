/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <string.h>

#include "base/feature.h"

Test(feature, each_row_says_what_it_is_and_what_is_lost)
{
	for (enum feature f = 0; f < FEATURE_CNT; f++) {
		const struct feature_row *row = &feature_rows[f];

		cr_assert(row->id && row->title && row->lost && row->remedy, "%d", f);
		cr_expect_eq(feature_of_id(row->id), f, "%s", row->id);
		cr_expect(!strncmp(row->finding, "feature.", 8) &&
				  !strcmp(row->finding + 8, row->id),
			  "%s", row->finding);
		cr_expect(*row->lost, "%s", row->id);
		cr_expect_eq(row->needs & FEATURE_BIT(f), 0u, "%s needs itself", row->id);
		cr_expect(row->programs || row->needs, "%s is nothing", row->id);
	}
	cr_expect_eq(feature_of_id("no such"), FEATURE_CNT);
}

Test(feature, one_that_is_refused_takes_those_with_it_that_need_it_and_no_other)
{
	struct feature_set set = {0};

	feature_ask(&set, FEATURE_ALL);
	for (enum feature f = 0; f < FEATURE_CNT; f++)
		cr_expect(feature_is_on(&set, f), "%s", feature_rows[f].id);
	feature_switch_off(&set, FEATURE_THREAD_STACKS, FEATURE_REFUSED, "no %s", "reason");
	for (enum feature f = 0; f < FEATURE_CNT; f++) {
		bool off =
			f == FEATURE_THREAD_STACKS || f == FEATURE_BLOCKED || f == FEATURE_WAKERS;

		cr_expect_eq(feature_is_on(&set, f), !off, "%s", feature_rows[f].id);
		cr_expect_eq(feature_why(&set, f) != NULL, off, "%s", feature_rows[f].id);
	}
	cr_expect_str_eq(feature_why(&set, FEATURE_THREAD_STACKS), "no reason");
	cr_expect_str_eq(feature_why(&set, FEATURE_WAKERS),
			 "it needs blocked time: it needs thread stacks: no reason");
	cr_expect_eq(set.status[FEATURE_THREAD_STACKS], FEATURE_REFUSED);
	cr_expect_eq(set.status[FEATURE_BLOCKED], FEATURE_NEEDS);
	/* The first reason stays. */
	feature_switch_off(&set, FEATURE_THREAD_STACKS, FEATURE_OFF, "another");
	cr_expect_str_eq(feature_why(&set, FEATURE_THREAD_STACKS), "no reason");
}

Test(feature, what_nobody_asked_for_is_neither_on_nor_off)
{
	struct feature_set set = {0};

	feature_ask(&set, FEATURE_BIT(FEATURE_COUNTERS) | FEATURE_BIT(FEATURE_RUN_QUEUES));
	cr_expect(feature_is_on(&set, FEATURE_COUNTERS));
	cr_expect_null(feature_why(&set, FEATURE_REQUESTS));
	cr_expect_str_eq(feature_why(&set, FEATURE_RUN_QUEUES),
			 "it needs CPU samples: not asked for");
	cr_expect_not(feature_uses_program(&set, "on_tick"));
	cr_expect(feature_uses_program(&set, "read_accounts"));
	cr_expect(feature_uses_map(&set, "accounts"));
	cr_expect_not(feature_uses_map(&set, "connections"));
}

Test(feature, of_rows_with_one_program_the_finer_one_goes_first)
{
	struct feature_set set = {0};

	feature_ask(&set, FEATURE_ALL);
	cr_expect_eq(feature_of_program(&set, "on_tick"), FEATURE_UNWIND_TABLES);
	feature_switch_off(&set, FEATURE_UNWIND_TABLES, FEATURE_REFUSED, "on_tick");
	cr_expect_eq(feature_of_program(&set, "on_tick"), FEATURE_SAMPLES);
	cr_expect_eq(feature_of_program(&set, "on_data"), FEATURE_REQUESTS);
	cr_expect_eq(feature_of_map(&set, "connections"), FEATURE_REQUESTS);
	cr_expect_eq(feature_of_program(&set, "no such"), FEATURE_CNT);
}

Test(feature, nothing_that_was_refused_is_proposed)
{
	for (enum feature f = 0; f < FEATURE_CNT; f++) {
		cr_expect_str_eq(feature_remedy(f, FEATURE_ON), "");
		cr_expect(*feature_remedy(f, FEATURE_REFUSED));
		cr_expect_null(strstr(feature_remedy(f, FEATURE_REFUSED), "Linux 5"));
	}
}

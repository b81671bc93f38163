/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is suspected, and since when, from second to second. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "watch/suspects.h"

#define SECOND 1000000000ull
#define BEGIN  (1000 * SECOND)

static struct suspect_row row_of(uint32_t tgid, enum verdict verdict, double value)
{
	return (struct suspect_row){
		.tgid = tgid,
		.start_ns = tgid * 10,
		.process = tgid + 1,
		.name = "Shop.Web",
		.unit = "",
		.result = {.verdict = verdict,
			   .hurt = true,
			   .evidence = {{FIGURE_SLOW_SHARE, value, 0.1, true}},
			   .evidence_cnt = 1},
	};
}

/* Second i: these are hurt. */
static void second(struct suspects *s, unsigned int i, const struct suspect_row *rows, size_t cnt)
{
	suspects_second(s, rows, cnt, true, BEGIN + i * SECOND, BEGIN + (i + 1) * SECOND);
}

/* How many are confirmed at the end of second i. */
static size_t confirmed(struct suspects *s, unsigned int i, uint64_t confirm_ns)
{
	struct suspect *rows[SUSPECTS_MAX];

	return suspects_confirmed(s, confirm_ns, BEGIN + (i + 1) * SECOND, rows);
}

Test(suspects, are_confirmed_by_so_much_bad_time)
{
	struct suspect_row row = row_of(7, VERDICT_INELASTIC, 0.9);
	struct suspects s = {0};

	cr_expect_null(suspects_first(&s));
	for (unsigned int i = 0; i < 3; i++) {
		cr_expect_eq(confirmed(&s, i, 3 * SECOND), 0);
		second(&s, i, &row, 1);
		cr_assert(suspects_first(&s));
		cr_expect_eq(suspects_first(&s)->since_ns, BEGIN);
	}
	cr_expect_eq(confirmed(&s, 2, 3 * SECOND), 1);
	cr_expect_eq(confirmed(&s, 2, 4 * SECOND), 0);
}

Test(suspects, slices_need_not_be_exact)
{
	struct suspect_row row = row_of(7, VERDICT_INELASTIC, 0.9);
	struct suspects s = {0};
	uint64_t at = BEGIN;

	for (int i = 0; i < 3; i++, at += SECOND - 5000000)
		suspects_second(&s, &row, 1, true, at, at + SECOND - 5000000);
	cr_expect(suspect_is_confirmed(&s.rows[0], 3 * SECOND, at));
}

Test(suspects, a_second_of_pause_ends_nothing_and_two_do)
{
	struct suspect_row row = row_of(7, VERDICT_INELASTIC, 0.9);
	struct suspects s = {0};

	second(&s, 0, &row, 1);
	second(&s, 1, NULL, 0);
	second(&s, 2, &row, 1);
	cr_expect_eq(confirmed(&s, 2, 3 * SECOND), 0, "only bad time counts");
	second(&s, 3, &row, 1);
	cr_expect_eq(confirmed(&s, 3, 3 * SECOND), 1);
	cr_expect_eq(suspects_first(&s)->since_ns, BEGIN);
	second(&s, 4, NULL, 0);
	cr_expect_eq(confirmed(&s, 4, 3 * SECOND), 0, "not in a second in which it is well");
	second(&s, 5, NULL, 0);
	cr_expect_null(suspects_first(&s));
	second(&s, 6, &row, 1);
	cr_expect_eq(suspects_first(&s)->since_ns, BEGIN + 6 * SECOND);
}

Test(suspects, a_second_without_evidence_is_as_if_it_had_not_been)
{
	struct suspect_row row = row_of(7, VERDICT_INELASTIC, 0.9);
	struct suspects s = {0};

	second(&s, 0, &row, 1);
	for (unsigned int i = 1; i < 5; i++)
		suspects_second(&s, NULL, 0, false, BEGIN + i * SECOND, BEGIN + (i + 1) * SECOND);
	cr_assert(suspects_first(&s));
	cr_expect_eq(suspects_first(&s)->bad_ns, SECOND);
	second(&s, 5, &row, 1);
	second(&s, 6, &row, 1);
	cr_expect_eq(confirmed(&s, 6, 3 * SECOND), 1);
}

Test(suspects, keep_the_worst_that_was_seen)
{
	struct suspect_row row = row_of(7, VERDICT_STARVED, 0.5);
	struct suspects s = {0};

	second(&s, 0, &row, 1);
	row = row_of(7, VERDICT_INELASTIC, 0.2);
	second(&s, 1, &row, 1);
	row = row_of(7, VERDICT_INELASTIC, 0.7);
	second(&s, 2, &row, 1);
	row = row_of(7, VERDICT_OVERSUBSCRIBED, 0.9);
	row.process = 99;
	second(&s, 3, &row, 1);
	cr_assert_eq(s.cnt, 1);
	cr_expect_eq(s.rows[0].result.verdict, VERDICT_INELASTIC);
	cr_expect_float_eq(s.rows[0].result.evidence[0].value, 0.7, 1e-9);
	cr_expect_eq(s.rows[0].process, 99, "rows are numbered anew");
}

/* The next process with that id. */
Test(suspects, are_known_by_pid_and_start)
{
	struct suspect_row row = row_of(7, VERDICT_INELASTIC, 0.9);
	struct suspects s = {0};

	second(&s, 0, &row, 1);
	row.start_ns++;
	second(&s, 1, &row, 1);
	cr_expect_eq(s.cnt, 2);
	cr_expect_eq(suspects_first(&s)->start_ns, 70);
}

Test(suspects, the_most_urgent_comes_first_and_the_host_before_others)
{
	struct suspect_row rows[] = {
		row_of(7, VERDICT_STARVED, 0.9), row_of(0, VERDICT_HOST_OVERLOADED, 0.9),
		row_of(8, VERDICT_INELASTIC, 0.9), row_of(9, VERDICT_HOST_OVERLOADED, 0.9)};
	struct suspect *found[SUSPECTS_MAX];
	struct suspects s = {0};

	second(&s, 0, rows, 4);
	cr_assert_eq(suspects_confirmed(&s, SECOND, BEGIN + SECOND, found), 4);
	cr_expect_eq(found[0]->tgid, 0);
	cr_expect_eq(found[1]->tgid, 9);
	cr_expect_eq(found[2]->tgid, 8);
	cr_expect_eq(found[3]->tgid, 7);
}

Test(suspects, are_bounded)
{
	struct suspect_row rows[SUSPECTS_MAX + 10];
	struct suspects s = {0};

	for (uint32_t i = 0; i < SUSPECTS_MAX + 10; i++)
		rows[i] = row_of(i + 1, VERDICT_INELASTIC, 0.9);
	second(&s, 0, rows, SUSPECTS_MAX + 10);
	cr_expect_eq(s.cnt, SUSPECTS_MAX);
	second(&s, 1, NULL, 0);
	second(&s, 2, NULL, 0);
	cr_expect_eq(s.cnt, 0);
}

static const struct people {
	struct verdict_input input;
	double want;
} crowds[] = {
	{{.requests = 0}, 0},
	{{.requests = 400, .slow_share = 0.5}, 200},
	{{.requests = 200, .slow_share = 1, .stuck = 200}, 200}, /* those who hang are slow, too */
	{{.requests = 10, .slow_share = 0.1, .stuck = 5}, 5},
	{{.ended = 100, .unanswered_share = 0.6}, 60},
	{{.refused = 7}, 7},
};

Test(suspects, people_are_counted_once)
{
	for (size_t i = 0; i < sizeof(crowds) / sizeof(crowds[0]); i++)
		cr_expect_float_eq(suspect_people(&crowds[i].input), crowds[i].want, 1e-6,
				   "%zu: %g", i, suspect_people(&crowds[i].input));
}

/* Who staggers for ever is looked at closely for half a minute, then a twentieth of the time. */
Test(suspects, looks_that_come_to_nothing_are_bounded)
{
	struct suspects s = {.cnt = 1};
	unsigned int looks = 0;

	for (int i = 0; i < 60; i++)
		looks += suspects_want_look(&s, SECOND);
	cr_expect(looks >= 30 && looks <= 32, "%u", looks);
	for (int i = 0; i < 2000; i++)
		looks += suspects_want_look(&s, SECOND);
	cr_expect(looks >= 110 && looks <= 140, "%u", looks);
	suspects_taken(&s);
	cr_expect(suspects_want_look(&s, SECOND), "it was worth it");
	s.rows[0].is_answered = true;
	cr_expect_not(suspects_want_look(&s, SECOND));
	s.cnt = 0;
	cr_expect_not(suspects_want_look(&s, SECOND));
}

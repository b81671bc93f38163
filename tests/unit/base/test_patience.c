/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>

#include "base/patience.h"

#define DEADLINE_NS 300000000u
#define LOOK_NS	    (DEADLINE_NS / PATIENCE_LOOKS)

/* What a helper does between two looks. */
struct habit {
	uint64_t runs_ns, waits_ns, turns;
	bool runnable;
};

/* For how many looks one is waited for that has habits by turns; 1000 = for longer. */
static unsigned looks_at(const struct habit *habits, unsigned habits_cnt)
{
	struct process_turns now = {.cpu_ns = 7000000, .delay_ns = 9000000, .turns = 3};
	struct patience p = patience_new(DEADLINE_NS, &now);
	unsigned looks = 0;

	while (looks < 1000) {
		const struct habit *h = &habits[looks++ % habits_cnt];

		now.cpu_ns += h->runs_ns;
		now.delay_ns += h->waits_ns;
		now.turns += h->turns;
		now.runnable = h->runnable;
		if (patience_is_over(&p, &now, LOOK_NS))
			break;
	}
	return looks;
}

Test(patience, ends_with_who_is_blocked_and_is_longer_with_who_waits_for_a_cpu)
{
	static const struct {
		const char *name;
		struct habit habits[4];
		unsigned habits_cnt, deadlines; /* for which it is waited */
	} rows[] = {
		{"blocked", {{0}}, 1, PATIENCE_BLOCKED},
		{"works all the time", {{LOOK_NS, 0, 0, true}}, 1, PATIENCE_DEADLINES},
		{"wants a CPU and gets none", {{0, 0, 0, true}}, 1, PATIENCE_DEADLINES},
		{"got one for a moment, is blocked when it is looked at",
		 {{100000, LOOK_NS - 100000, 1, false}},
		 1,
		 PATIENCE_DEADLINES},
		{"waited for one, ran too short for its clock",
		 {{0, LOOK_NS, 0, false}},
		 1,
		 PATIENCE_DEADLINES},
		{"blocked, but for a moment each time: it comes on, slowly",
		 {{0, 0, 0, false}, {0, 0, 0, false}, {0, 0, 0, false}, {1000, 0, 1, false}},
		 4,
		 PATIENCE_DEADLINES},
		{"where the kernel counts no waits: as little CPU time as there is",
		 {{1, 0, 0, false}},
		 1,
		 PATIENCE_DEADLINES},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned looks = looks_at(rows[i].habits, rows[i].habits_cnt),
			 most = rows[i].deadlines * PATIENCE_LOOKS;

		cr_expect_leq(looks, most, "%s: %u looks", rows[i].name, looks);
		cr_expect_gt(looks, most - PATIENCE_LOOKS, "%s: %u looks", rows[i].name, looks);
	}
}

/* What it did before it was blocked is no merit, and its being blocked counts from then on. */
Test(patience, begins_anew_when_it_moves)
{
	struct process_turns now = {.cpu_ns = 1};
	struct patience p = patience_new(DEADLINE_NS, &now);

	cr_expect_not(patience_is_over(&p, &now, PATIENCE_BLOCKED * DEADLINE_NS - 1));
	now.turns++;
	cr_expect_not(patience_is_over(&p, &now, DEADLINE_NS / 2));
	cr_expect_not(patience_is_over(&p, &now, PATIENCE_BLOCKED * DEADLINE_NS - 1));
	cr_expect(patience_is_over(&p, &now, 1));
}

Test(patience, looks_neither_seldom_nor_without_a_pause)
{
	struct process_turns now = {0};
	struct patience long_one = patience_new(DEADLINE_NS, &now),
			short_one = patience_new(5, &now);

	cr_expect_eq(patience_look_ns(&long_one), LOOK_NS);
	cr_expect_eq(patience_look_ns(&short_one), 1000000);
}

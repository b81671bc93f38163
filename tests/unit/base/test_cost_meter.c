/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>

#include "base/cost_meter.h"

#define GUESS_NS   300
#define OUTSIDE_NS 50

struct meter_case {
	const char *name;
	struct cost_counters first, second;
	uint64_t ns; /* after the second */
};

static const struct meter_case cases[] = {
	{"nothing_ran", {0, 0, 0}, {0, 0, 0}, 0},
	{"none_was_measured", {10, 0, 0}, {20, 0, 0}, 20 * (GUESS_NS + OUTSIDE_NS)},
	{"a_few_measured_are_taken_over_the_guess",
	 {10, 1, 100},
	 {20, 1, 100},
	 20 * (100 + OUTSIDE_NS)},
	{"all_so_far_count_where_few_are_new",
	 {1000, 100, 10000},
	 {2000, 110, 12000},
	 1000 * (100 + OUTSIDE_NS) + 1000 * (12000 / 110 + OUTSIDE_NS)},
	{"what_is_new_counts_where_it_is_enough",
	 {1000, 100, 10000},
	 {2000, 200, 60000},
	 1000 * (100 + OUTSIDE_NS) + 1000 * (500 + OUTSIDE_NS)},
	{"a_cheaper_time_takes_nothing_back",
	 {1000, 100, 100000},
	 {1001, 200, 100100},
	 1000 * (1000 + OUTSIDE_NS) + 1 + OUTSIDE_NS},
	{"counters_that_went_back_count_as_none",
	 {1000, 0, 0},
	 {10, 0, 0},
	 1000 * (GUESS_NS + OUTSIDE_NS)},
	{"a_million_switches_a_second_for_a_day_do_not_overflow",
	 {86400000000, 337500000, 100000000000},
	 {2 * 86400000000, 2 * 337500000ull, 200000000000},
	 2 * 86400000000ull * (100000000000 / 337500000 + OUTSIDE_NS)},
};

Test(cost_meter, runs_count_with_the_mean_of_those_that_were_measured)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct meter_case *c = &cases[i];
		struct cost_meter meter = {0};
		uint64_t first_ns;

		cost_meter_take(&meter, &c->first, GUESS_NS, OUTSIDE_NS);
		first_ns = meter.ns;
		cost_meter_take(&meter, &c->second, GUESS_NS, OUTSIDE_NS);
		cr_expect_geq(meter.ns, first_ns, "%s", c->name);
		cr_expect_float_eq((double)meter.ns, (double)c->ns, 0.01 * (double)c->ns,
				   "%s: %llu", c->name, (unsigned long long)meter.ns);
	}
}

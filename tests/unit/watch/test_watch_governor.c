/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The governor over simulated hours: what it costs is made up, and what it gives up is checked. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/clock.h"
#include "watch/governor.h"

#define CPUS 4

/* What the host would cost at each level, as a share of its CPUs. */
struct host {
	struct governor g;
	double cost[GOVERNOR_LEVEL_CNT];
	double naming;	/* on top of it, of parties that are not set aside */
	bool innocent;	/* that is not theirs who could be */
	uint64_t aside; /* times that it asked for somebody to be */
	uint64_t aside_ns;
	struct governor_input now;
	unsigned int changes;
};

static const struct governor_options options = {
	.budget = GOVERNOR_BUDGET, .hz = GOVERNOR_HZ, .requests = true, .full = true};

static void begin(struct host *h, const struct governor_options *o, enum governor_level level)
{
	*h = (struct host){.now = {.now_ns = 1000 * SECOND_NS, .cpus = CPUS}};
	governor_init(&h->g, o, level);
}

static void cost(struct host *h, double all, double half, double least, double fewer, double quiet)
{
	const double costs[] = {all, half, least, fewer, quiet};

	for (int i = 0; i < GOVERNOR_LEVEL_CNT; i++)
		h->cost[i] = costs[i];
}

static struct governor_plan run(struct host *h, unsigned int seconds)
{
	struct governor_plan plan = governor_step(&h->g, &h->now);

	for (unsigned int i = 0; i < seconds; i++) {
		enum governor_level was = h->g.level;
		double ns = h->cost[governor_plan(&h->g).level] * CPUS * (double)SECOND_NS;

		h->now.now_ns += SECOND_NS;
		double naming_ns = h->naming * CPUS * (double)SECOND_NS;

		h->now.own_cpu_ns += (uint64_t)(ns / 2 + naming_ns);
		h->now.naming_ns += h->innocent ? 0 : (uint64_t)naming_ns;
		h->now.bpf_ns += (uint64_t)(ns / 2);
		plan = governor_step(&h->g, &h->now);
		h->changes += h->g.level != was;
		if (plan.aside_ns) {
			h->aside++;
			h->aside_ns = plan.aside_ns;
			h->naming = 0;
		}
	}
	return plan;
}

Test(governor, leaves_everything_on_within_the_budget)
{
	struct host h;
	struct governor_plan plan;

	begin(&h, &options, GOVERNOR_ALL);
	cost(&h, 0.0049, 0.004, 0.003, 0.002, 0.001);
	plan = run(&h, 7 * 86400);
	cr_expect_eq(plan.level, GOVERNOR_ALL);
	cr_expect_eq(plan.sample_hz, GOVERNOR_HZ);
	cr_expect_not(plan.fewer_connections || plan.quiet);
	cr_expect_eq(h.changes, 0);
	cr_expect_float_eq(plan.cost, 0.0049, 0.0001);
}

Test(governor, gives_up_one_thing_after_the_other_in_its_order)
{
	static const struct {
		enum governor_level level;
		uint32_t hz;
		bool fewer, quiet;
	} steps[] = {{GOVERNOR_RATE_HALF, 9, false, false},
		     {GOVERNOR_RATE_LEAST, GOVERNOR_HZ_LEAST, false, false},
		     {GOVERNOR_FEWER_CONNECTIONS, GOVERNOR_HZ_LEAST, true, false},
		     {GOVERNOR_QUIET, GOVERNOR_HZ_LEAST, true, true}};
	struct host h;

	begin(&h, &options, GOVERNOR_ALL);
	cost(&h, 0.02, 0.018, 0.016, 0.01, 0.006);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct governor_plan plan = run(&h, 12);

		cr_expect_eq(plan.level, steps[i].level, "step %zu: %s", i,
			     governor_level_id(plan.level));
		cr_expect_eq(plan.sample_hz, steps[i].hz);
		cr_expect_eq(plan.fewer_connections, steps[i].fewer);
		cr_expect_eq(plan.quiet, steps[i].quiet);
	}
	/* There is no more to give up. */
	cr_expect_eq(run(&h, 3600).level, GOVERNOR_QUIET);
}

/* The evidence of all others stays. */
Test(governor, sets_aside_who_causes_costly_naming_before_it_gives_up_anything)
{
	struct host h;

	begin(&h, &options, GOVERNOR_ALL);
	cost(&h, 0.004, 0.003, 0.002, 0.002, 0.001);
	h.naming = 0.01;
	h.now.may_set_aside = true;
	cr_expect_eq(run(&h, 86400).level, GOVERNOR_ALL);
	cr_expect_eq(h.changes, 0);
	cr_expect_eq(h.aside, 1);
	/* 0.014 - 0.005 of four CPUs for ten seconds. */
	cr_expect(h.aside_ns > 355 * SECOND_NS / 1000 && h.aside_ns < 365 * SECOND_NS / 1000,
		  "%lu ms", h.aside_ns / 1000000);
}

Test(governor, gives_up_rates_where_naming_is_not_why)
{
	static const struct {
		const char *name;
		double naming;
		bool innocent, may_set_aside;
	} rows[] = {
		{"hardly any naming", 0.0001, false, true},
		{"nobody's who could be set aside", 0.02, true, true},
		{"too many are already", 0.02, false, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host h;

		begin(&h, &options, GOVERNOR_ALL);
		cost(&h, 0.02, 0.018, 0.016, 0.01, 0.006);
		h.naming = rows[i].naming;
		h.innocent = rows[i].innocent;
		h.now.may_set_aside = rows[i].may_set_aside;
		cr_expect_eq(run(&h, 12).level, GOVERNOR_RATE_HALF, "%s", rows[i].name);
		cr_expect_eq(h.aside, 0, "%s", rows[i].name);
	}
}

Test(governor, goes_on_with_rates_when_setting_aside_was_not_enough)
{
	struct host h;

	begin(&h, &options, GOVERNOR_ALL);
	cost(&h, 0.008, 0.0045, 0.003, 0.002, 0.001);
	h.naming = 0.01;
	h.now.may_set_aside = true;
	cr_expect_eq(run(&h, 12).level, GOVERNOR_ALL);
	cr_expect_eq(h.aside, 1);
	cr_expect_eq(run(&h, 12).level, GOVERNOR_RATE_HALF);
	cr_expect_eq(run(&h, 40).level, GOVERNOR_RATE_HALF);
}

Test(governor, stops_at_the_first_level_that_fits)
{
	struct host h;

	begin(&h, &options, GOVERNOR_ALL);
	cost(&h, 0.02, 0.018, 0.016, 0.0045, 0.001);
	cr_expect_eq(run(&h, 60).level, GOVERNOR_FEWER_CONNECTIONS);
	/* 0.0045 is within the budget, and too near to it to take more back. */
	cr_expect_eq(run(&h, 86400).level, GOVERNOR_FEWER_CONNECTIONS);
	cr_expect_eq(h.changes, 3);
}

Test(governor, takes_everything_back_when_it_is_quiet)
{
	struct host h;

	begin(&h, &options, GOVERNOR_ALL);
	cost(&h, 0.02, 0.018, 0.016, 0.01, 0.006);
	cr_assert_eq(run(&h, 60).level, GOVERNOR_QUIET);
	cost(&h, 0.001, 0.001, 0.001, 0.001, 0.001);
	cr_expect_eq(run(&h, 50).level, GOVERNOR_QUIET, "not at once");
	cr_expect_eq(run(&h, 40).level, GOVERNOR_FEWER_CONNECTIONS);
	cr_expect_eq(run(&h, 300).level, GOVERNOR_ALL);
}

Test(governor, waits_longer_each_time_that_it_was_too_early)
{
	struct host h;
	unsigned int first, later;

	/* Quiet with fewer connections, far too much with all: for ever. */
	begin(&h, &options, GOVERNOR_FEWER_CONNECTIONS);
	cost(&h, 0.02, 0.02, 0.02, 0.001, 0.001);
	run(&h, 3600);
	first = h.changes;
	h.changes = 0;
	run(&h, 6 * 3600);
	run(&h, 3600);
	later = h.changes;
	cr_expect_geq(first, 4, "it tries: %u", first);
	cr_expect_leq(later, 2 * 8, "and hardly any more: %u in seven hours", later);
}

Test(governor, is_patient_as_before_after_a_step_that_held)
{
	struct host h;

	begin(&h, &options, GOVERNOR_FEWER_CONNECTIONS);
	cost(&h, 0.02, 0.017, 0.014, 0.001, 0.001);
	run(&h, 2 * 3600);
	cost(&h, 0.001, 0.001, 0.001, 0.001, 0.001);
	cr_assert_eq(run(&h, 2 * 3600).level, GOVERNOR_ALL);
	cost(&h, 0.02, 0.017, 0.014, 0.001, 0.001);
	cr_assert_eq(run(&h, 60).level, GOVERNOR_FEWER_CONNECTIONS);
	cost(&h, 0.001, 0.001, 0.001, 0.001, 0.001);
	cr_expect_eq(run(&h, 90).level, GOVERNOR_RATE_LEAST);
}

Test(governor, skips_steps_that_give_up_nothing)
{
	const struct governor_options low = {.budget = GOVERNOR_BUDGET, .hz = 2, .full = true};
	struct host h;

	begin(&h, &low, GOVERNOR_ALL);
	cost(&h, 0.02, 0.02, 0.02, 0.02, 0.004);
	cr_expect_eq(run(&h, 12).level, GOVERNOR_QUIET);
	cr_expect_eq(run(&h, 120).level, GOVERNOR_QUIET);
	cr_expect_eq(h.changes, 1);
}

Test(governor, without_a_budget_gives_up_nothing)
{
	const struct governor_options none = {
		.budget = 0, .hz = GOVERNOR_HZ, .requests = true, .full = true};
	struct host h;

	begin(&h, &none, GOVERNOR_FEWER_CONNECTIONS);
	cost(&h, 0.5, 0.5, 0.5, 0.5, 0.5);
	cr_expect_eq(run(&h, 60).level, GOVERNOR_ALL);
}

Test(governor, takes_everything_back_at_once_when_the_budget_is_lifted)
{
	struct host h;

	begin(&h, &options, GOVERNOR_ALL);
	cost(&h, 0.5, 0.4, 0.3, 0.2, 0.1);
	cr_assert_eq(run(&h, 120).level, GOVERNOR_QUIET);
	h.g.options.budget = 0;
	cr_expect_eq(governor_step(&h.g, &h.now).level, GOVERNOR_ALL);
	cr_expect_eq(run(&h, 120).level, GOVERNOR_ALL);
}

Test(governor, begins_where_the_last_run_ended)
{
	struct host h;

	begin(&h, &options, GOVERNOR_FEWER_CONNECTIONS);
	cr_expect(governor_step(&h.g, &h.now).fewer_connections);
	begin(&h, &options, (enum governor_level)99);
	cr_expect_not(governor_step(&h.g, &h.now).fewer_connections);
}

Test(governor, does_not_trust_counters_that_fall_or_a_clock_that_stands)
{
	struct host h;

	begin(&h, &options, GOVERNOR_ALL);
	cost(&h, 0.001, 0.001, 0.001, 0.001, 0.001);
	run(&h, 30);
	h.now.bpf_ns = 0; /* the model, and its counters, began anew */
	cr_expect_eq(run(&h, 30).level, GOVERNOR_ALL);
	for (int i = 0; i < 100; i++) {
		h.now.own_cpu_ns += SECOND_NS;
		governor_step(&h.g, &h.now);
	}
	cr_expect_eq(h.g.level, GOVERNOR_ALL);
}

/* The quiet gear is not given up to be quiet. */
Test(governor, in_the_quiet_gear_has_a_step_less)
{
	const struct governor_options quiet = {
		.budget = GOVERNOR_BUDGET, .hz = GOVERNOR_HZ, .requests = true};
	struct host h;

	begin(&h, &quiet, GOVERNOR_ALL);
	cost(&h, 0.03, 0.02, 0.015, 0.01, 0.01);
	cr_expect_eq(run(&h, 3600).level, GOVERNOR_FEWER_CONNECTIONS);
	cr_expect_eq(h.changes, 3);
}

/* A capture costs what it costs: the windows before it and with it do not count. */
Test(governor, does_not_count_what_a_capture_costs)
{
	struct host h;

	begin(&h, &options, GOVERNOR_ALL);
	cost(&h, 0.001, 0.001, 0.001, 0.001, 0.001);
	run(&h, 15);
	h.now.capturing = true;
	cost(&h, 0.1, 0.1, 0.1, 0.1, 0.1);
	cr_expect_eq(run(&h, 45).level, GOVERNOR_ALL);
	h.now.capturing = false;
	cost(&h, 0.001, 0.001, 0.001, 0.001, 0.001);
	cr_expect_eq(run(&h, 60).level, GOVERNOR_ALL);
	cr_expect_eq(h.changes, 0);
	cr_expect_eq(h.aside, 0u);
}

/* Who makes somebody be captured is not safe for that. */
Test(governor, sets_aside_who_causes_costly_naming_while_a_capture_goes_on)
{
	struct host h;

	begin(&h, &options, GOVERNOR_ALL);
	cost(&h, 0.1, 0.1, 0.1, 0.1, 0.1);
	h.now.capturing = h.now.may_set_aside = true;
	h.naming = GOVERNOR_BUDGET / 2;
	run(&h, 60);
	cr_expect_eq(h.aside, 0u, "what is within the budget is what a capture needs");
	h.naming = 4 * GOVERNOR_BUDGET;
	cr_expect_eq(run(&h, 60).level, GOVERNOR_ALL);
	cr_expect_eq(h.aside, 1u);
	cr_expect_eq(h.changes, 0);
}

/* Very many threads cost what they cost: samples and connections are no reason to see less. */
Test(governor, takes_back_at_once_what_lowers_nothing)
{
	struct host h;
	struct governor_plan plan;
	char text[GOVERNOR_TEXT_BYTES];

	begin(&h, &options, GOVERNOR_ALL);
	cost(&h, 0.039, 0.0385, 0.038, 0.038, 0.038);
	plan = run(&h, 120);
	cr_expect_eq(plan.sample_hz, GOVERNOR_HZ);
	cr_expect_not(plan.fewer_connections || plan.quiet);
	cr_expect_eq(plan.level, GOVERNOR_ALL);
	governor_text(text, &h.g);
	cr_expect_str_eq(text, "everything is on, since nothing else lowers it");
	/* Only what lowers it stays given up. */
	begin(&h, &options, GOVERNOR_ALL);
	cost(&h, 0.039, 0.039, 0.039, 0.010, 0.010);
	plan = run(&h, 120);
	cr_expect_eq(plan.sample_hz, GOVERNOR_HZ);
	cr_expect(plan.fewer_connections && !plan.quiet);
	governor_text(text, &h.g);
	cr_expect_str_eq(text, "fewer connections followed");
	cost(&h, 0.001, 0.001, 0.001, 0.001, 0.001);
	cr_expect_eq(run(&h, 7200).level, GOVERNOR_ALL);
	cr_expect_eq(h.g.level, GOVERNOR_ALL);
}

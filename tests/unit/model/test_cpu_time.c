/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clocks of CPUs by /proc/stat: what is known of them, and what rounding and hotplug do to it. */
#include <criterion/criterion.h>

#include "model/cpu_time.h"

#define MS     1000000ull
#define SECOND (1000 * MS)
#define TICK   (10 * MS)

static struct cpu_clock read_at(struct cpu_time *time, uint64_t now_ns, uint64_t idle_ns,
				bool online)
{
	struct cpu_clock clock = {.ticks_taken = 7, .queue = {5}};

	cpu_time_read(time, now_ns, idle_ns, online, &clock);
	cr_expect_eq(clock.ticks_taken, 7u);
	cr_expect_eq(clock.queue[0], 5u);
	cr_expect_eq(clock.last_switch_ns, now_ns, "nothing is under way");
	cr_expect_eq(clock.unaccounted_ns, 0u);
	return clock;
}

Test(cpu_time, what_is_not_idle_ran)
{
	struct cpu_time time = {0};
	struct cpu_clock clock = read_at(&time, 100 * SECOND, 70 * SECOND, true);

	cr_expect_eq(clock.idle_ns + clock.accounted_ns, 0u, "counts from the first reading");
	clock = read_at(&time, 101 * SECOND, 70 * SECOND + 250 * MS, true);
	cr_expect_eq(clock.idle_ns, 250 * MS);
	cr_expect_eq(clock.accounted_ns, 750 * MS);
}

Test(cpu_time, rounding_to_a_tick_does_not_add_up)
{
	struct cpu_time time = {0};
	struct cpu_clock clock = {0};
	uint64_t now_ns = 0;

	/* Idle all the time, read at odd moments for an hour: of busy time a tick may be
	 * claimed. */
	for (int i = 0; i < 3600; i++) {
		now_ns = (uint64_t)i * (SECOND + 3333 * 1000);
		clock = read_at(&time, now_ns, now_ns / TICK * TICK, true);
	}
	cr_expect_leq(clock.accounted_ns, TICK);
	cr_expect_eq(clock.idle_ns + clock.accounted_ns, now_ns);
}

struct online_case {
	const char *name;
	bool online[3];
	uint64_t idle_ns[3]; /* by /proc/stat, of three readings a second apart */
	uint64_t idle, busy; /* in the end */
};

static const struct online_case online_cases[] = {
	{"stays", {true, true, true}, {9 * SECOND, 9 * SECOND, 10 * SECOND}, SECOND, SECOND},
	{"goes", {true, true, false}, {9 * SECOND, 9 * SECOND, 9 * SECOND}, SECOND, SECOND},
	{"comes", {false, true, true}, {0, 5 * SECOND, 5 * SECOND}, SECOND, SECOND},
	{"goes_and_comes_with_its_count_begun_anew",
	 {true, false, true},
	 {9 * SECOND, 9 * SECOND, 0},
	 2 * SECOND,
	 0},
	{"its_count_goes_back", {true, true, true}, {9 * SECOND, 10 * SECOND, 1}, SECOND, SECOND},
	{"its_count_leaps", {true, true, true}, {0, UINT64_MAX, UINT64_MAX}, 2 * SECOND, 0},
};

Test(cpu_time, without_a_cpu_there_is_no_busy_time)
{
	for (size_t i = 0; i < sizeof(online_cases) / sizeof(online_cases[0]); i++) {
		const struct online_case *c = &online_cases[i];
		struct cpu_time time = {0};
		struct cpu_clock clock = {0};

		for (uint64_t k = 0; k < 3; k++)
			clock = read_at(&time, (10 + k) * SECOND, c->idle_ns[k], c->online[k]);
		cr_expect_eq(clock.idle_ns, c->idle, "%s: %llu", c->name,
			     (unsigned long long)clock.idle_ns);
		cr_expect_eq(clock.accounted_ns, c->busy, "%s", c->name);
	}
}

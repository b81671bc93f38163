/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <math.h>

#include "bpf/events.h"
#include "build_model.h"
#include "judge/books.h"

/* Two CPUs of which each is busy half of ten seconds: 990 ticks are expected. */
struct books_case {
	const char *name;
	uint64_t ticks; /* a CPU and slice */
	uint32_t samples;
	uint64_t filtered; /* in all */
	uint64_t ring_full;
	bool gap;
	uint64_t dropped, dropped_known;
};

static const struct books_case cases[] = {
	{"all_there", 50, 1000, 0, 0, false, 0, 0},
	{"a_few_missed_are_noise", 48, 960, 0, 0, false, 0, 0},
	{"a_fifth_missed", 40, 800, 0, 0, true, 0, 0},
	{"a_tenth_dropped_by_a_full_ring", 50, 900, 0, 100, true, 100, 100},
	{"four_in_a_hundred_dropped", 50, 960, 0, 40, false, 40, 40},
	{"a_tenth_dropped_for_no_known_cause", 50, 900, 0, 0, true, 100, 0},
	{"filtered_ticks_are_no_loss", 50, 100, 900, 0, false, 0, 0},
	{"losses_of_a_filtered_capture_count_among_its_own", 50, 50, 900, 50, true, 50, 50},
	{"two_ticks_between_counters_and_ring", 50, 998, 0, 0, false, 2, 0},
};

static struct books books_for(struct model *m)
{
	struct totals *t = totals_new(m);
	struct books b;

	cr_assert(t);
	b = books_of(m, t);
	totals_free(t);
	return b;
}

Test(books, tell_losses_of_samples_from_noise_and_filter)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct books_case *c = &cases[i];
		struct model *m = build_model(2, 99);
		uint32_t p = build_process(m, 1, "a", 0);
		uint32_t t = build_thread(m, p, 1, "a", 10 * BUILD_SECOND, 'R');
		uint32_t f = build_symbol(m, "main", "a", KIND_NATIVE, true);
		struct books b;

		BUILD_SAMPLES(m, t, c->samples, f);
		for (int s = 0; s < 10; s++)
			build_slice(m, BUILD_SECOND, BUILD_SECOND / 2, 0, c->ticks);
		m->cpus[3].ticks_filtered = c->filtered;
		model_loss_add(m, LOSS_SAMPLE_RING_FULL, c->ring_full);
		b = books_for(m);
		cr_expect_eq(b.expected, 990, "%s", c->name);
		cr_expect_eq(b.samples_gap, c->gap, "%s: lost %f", c->name, b.lost_share);
		cr_expect_eq(b.dropped, c->dropped, "%s", c->name);
		cr_expect_eq(b.dropped_known, c->dropped_known, "%s", c->name);
		cr_expect_not(b.switches_gap, "%s: %f", c->name, b.switch_gap);
		model_free(m);
	}
}

Test(books, time_that_no_thread_holds_is_a_gap_of_the_switch_books)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 1, "a", 0);
	uint32_t t = build_thread(m, p, 1, "a", BUILD_SECOND, 'R');

	build_slice(m, BUILD_SECOND, BUILD_SECOND / 2, BUILD_SECOND / 10, 59);
	cr_expect_not(books_for(m).switches_gap);
	cr_expect(fabs(books_for(m).unaccounted_share - 0.1) < 1e-9);
	m->threads[t].sched.on_cpu_ns -= BUILD_SECOND / 5; /* a tenth of two seconds */
	cr_expect(books_for(m).switches_gap);
	cr_expect(fabs(books_for(m).switch_gap - 0.1) < 1e-9);
	model_free(m);
}

/* Accounts are read a moment before the CPUs, whatever is looked at: 1 %, and 50 ms of each CPU. */
Test(books, what_the_ends_may_lack_is_no_part_of_the_length)
{
	static const struct {
		uint32_t seconds;
		uint64_t lacks_ns;
		bool gap;
	} ends[] = {
		{1, 119000000, false}, {1, 121000000, true},	{5, 199000000, false},
		{5, 201000000, true},  {60, 1299000000, false}, {60, 1301000000, true},
	};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct model *m = build_model(2, 99);
		uint32_t p = build_process(m, 1, "a", 0);
		uint32_t t = build_thread(m, p, 1, "a", ends[i].seconds * BUILD_SECOND, 'R');

		for (uint32_t s = 0; s < ends[i].seconds; s++)
			build_slice(m, BUILD_SECOND, BUILD_SECOND / 2, 0, 50);
		m->threads[t].sched.on_cpu_ns -= ends[i].lacks_ns;
		cr_expect_eq(books_for(m).switches_gap, ends[i].gap, "%u s", ends[i].seconds);
		cr_expect_eq(books_for(m).threads_off, ends[i].gap, "%u s", ends[i].seconds);
		model_free(m);
	}
}

Test(books, time_that_a_cpu_does_not_cover_is_a_gap_too)
{
	struct model *m = build_model(2, 99);

	build_slice(m, BUILD_SECOND, 0, 0, 0);
	cr_expect_not(books_for(m).switches_gap);
	m->cpus[1].elapsed_ns -= BUILD_SECOND / 5;
	m->cpus[1].idle_ns -= BUILD_SECOND / 5;
	cr_expect(books_for(m).switches_gap);
	cr_expect_not(books_for(m).threads_off);
	cr_expect_eq(books_for(m).uncovered_ns, BUILD_SECOND / 5);
	model_free(m);
}

Test(books, a_cpu_that_ran_without_samples_is_missing_samples_not_cpu_time)
{
	struct model *m = build_model(2, 100);
	uint32_t p = build_process(m, 1, "a", 0);
	struct books b;

	build_thread(m, p, 1, "a", 9 * BUILD_SECOND, 'R');
	for (int i = 0; i < 10; i++) {
		build_slice(m, BUILD_SECOND, BUILD_SECOND / 2, 0, 50);
		m->cpus[m->cpus_cnt - 1].ticks_taken = 0;
		/* Busy without an account, and not even counted as such. */
		m->cpus[m->cpus_cnt - 1].accounted_ns -= BUILD_SECOND / 10;
	}
	model_loss_add(m, LOSS_CPU_UNATTACHED, 1);
	b = books_for(m);
	cr_expect_eq(b.expected, 1000, "%llu", (unsigned long long)b.expected);
	cr_expect_eq(b.missed, 500);
	cr_expect(b.samples_gap && b.cpu_unsampled);
	model_free(m);
}

Test(books, a_cpu_that_was_offline_is_no_gap_but_is_told)
{
	struct model *m = build_model(2, 99);

	build_slice(m, BUILD_SECOND, 0, 0, 0);
	build_slice(m, BUILD_SECOND, 0, 0, 0);
	m->cpus_cnt--;
	cr_expect_not(books_for(m).switches_gap);
	cr_expect(fabs(books_for(m).cpus_seen - 1.5) < 1e-9);
	model_free(m);
}

Test(books, of_an_idle_host_and_of_no_slice_have_no_gap)
{
	struct model *m = build_model(2, 99);

	cr_expect_not(books_for(m).have_cpus);
	cr_expect_not(books_for(m).samples_gap);
	build_slice(m, BUILD_SECOND, 0, 0, 0);
	cr_expect(books_for(m).have_cpus);
	cr_expect_not(books_for(m).samples_gap);
	model_free(m);
}

Test(books, more_ticks_than_busy_time_are_told_as_surplus)
{
	struct model *m = build_model(2, 99);

	build_slice(m, BUILD_SECOND, BUILD_SECOND / 2, 0, 99);
	cr_expect_eq(books_for(m).surplus, 99);
	cr_expect_eq(books_for(m).missed, 0);
	cr_expect(books_for(m).surplus > books_for(m).noise);
	model_free(m);
}

Test(books, without_switches_ticks_are_expected_and_cpu_time_is_not_checked)
{
	struct model *m = build_model(2, 99);
	struct books b;

	for (int s = 0; s < 10; s++)
		build_slice(m, BUILD_SECOND, BUILD_SECOND / 2, 0, 40);
	m->host.off = OFF_SWITCHES | OFF_ACCOUNTS;
	b = books_for(m);
	cr_expect_eq(b.expected, 990);
	cr_expect(b.samples_gap, "a fifth of the ticks is missing");
	cr_expect(!b.switches_gap && !b.threads_off);
	cr_expect_eq(b.capacity_ns, 0);
	m->host.off = 0;
	b = books_for(m);
	cr_expect(b.switches_gap, "no thread has an account");
	model_free(m);
}

/* Kernels that count interrupts apart, and hosts with a hypervisor, give threads less than CPUs
 * were busy: in the quiet gear that is no gap, wherever its slices lie. */
Test(books, of_both_gears_are_those_of_the_full_one)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 1, "a", 0);
	uint32_t t = build_thread(m, p, 1, "a", 0, 'R');
	struct sched_figures full = {.on_cpu_ns = BUILD_SECOND}, quiet = {.on_cpu_ns = 800000000};
	struct books b;

	for (uint32_t s = 0; s < 10; s++) {
		build_slice(m, BUILD_SECOND, BUILD_SECOND / 2, 0, 50);
		build_account(m, s, t, s < 6 ? &quiet : &full);
	}
	cr_expect(books_for(m).switches_gap, "all of the full gear: 1.2 s are missing");
	for (int s = 0; s < 6; s++)
		m->slices[s].quiet = true;
	model_keep_slices(m, 0, 9);
	b = books_for(m);
	cr_expect(!b.switches_gap && !b.threads_off);
	cr_expect_eq(b.capacity_ns, 8 * BUILD_SECOND);
	cr_expect_eq(b.covered_ns, 8 * BUILD_SECOND);
	cr_expect(fabs(b.cpus_seen - 2) < 1e-9);
	for (size_t i = 0; i < m->accounts_cnt; i++)
		m->accounts[i].sched.on_cpu_ns -= m->accounts[i].slice == 9 ? BUILD_SECOND / 2 : 0;
	cr_expect(books_for(m).switches_gap, "one of the full gear is a gap as ever");
	model_free(m);
}

/* A fifth of the rate: each tick counts five times, and chance as well. */
Test(books, of_a_low_rate_have_more_noise)
{
	struct model *m = build_model(2, 99);

	for (int s = 0; s < 10; s++)
		build_slice(m, BUILD_SECOND, BUILD_SECOND / 2, 0, 45);
	cr_expect_eq(books_for(m).missed, 90);
	cr_expect_eq(books_for(m).noise, 63 + 3);
	for (int s = 0; s < 10; s++)
		m->slices[s].sample_every = 5;
	model_keep_slices(m, 0, 9);
	cr_expect_eq(books_for(m).noise, 156, "%llu", (unsigned long long)books_for(m).noise);
	for (size_t i = 0; i < m->cpus_cnt; i++)
		m->cpus[i].ticks_taken -= 15;
	cr_expect(books_for(m).missed > books_for(m).noise && books_for(m).samples_gap);
	model_free(m);
}

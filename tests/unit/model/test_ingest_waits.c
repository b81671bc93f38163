/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures of waiting, run delays and contention, from the kernel's records to rows. */
#include <criterion/criterion.h>

#include "feed.h"

static struct event_task waiting_task(uint32_t tid)
{
	return feed_task(tid, tid, feed_boot(5), feed_boot(5));
}

/* Of an old thread, whose first record is the baseline. */
static void feed_two(struct feed *f, const struct event_task *first,
		     const struct event_task *second)
{
	ingest_task(f->in, first);
	ingest_task(f->in, second);
}

Test(ingest_waits, every_figure_is_the_difference_of_two_readings)
{
	struct feed f = feed_new(1);
	struct event_task a = waiting_task(7), b = a;
	const struct sched_figures *got, expected = {.on_cpu_ns = 1,
						     .waited_ns = 2,
						     .behind_own_ns = 3,
						     .throttled_ns = 4,
						     .uninterruptible_ns = 5,
						     .voluntary = 6,
						     .involuntary = 7,
						     .migrations = 8};

	a.sched.on_cpu_ns = a.sched.waited_ns = a.sched.behind_own_ns = a.sched.throttled_ns =
		a.sched.uninterruptible_ns = 1000;
	a.sched.voluntary = a.sched.involuntary = a.sched.migrations = a.blocked_ns = 1000;
	b.sched.on_cpu_ns = 1001;
	b.sched.waited_ns = 1002;
	b.sched.behind_own_ns = 1003;
	b.sched.throttled_ns = 1004;
	b.sched.uninterruptible_ns = 1005;
	b.sched.voluntary = 1006;
	b.sched.involuntary = 1007;
	b.sched.migrations = 1008;
	feed_two(&f, &a, &b);
	cr_assert_eq(f.m->accounts_cnt, 1);
	got = &f.m->accounts[0].sched;
	cr_expect_arr_eq(got, &expected, sizeof(expected));
	cr_expect_arr_eq(&f.m->threads[0].sched, &expected, sizeof(expected));
	feed_free(&f);
}

Test(ingest_waits, a_counter_that_falls_counts_as_no_rise)
{
	struct feed f = feed_new(1);
	struct event_task a = waiting_task(7), b = a, c = a;

	a.sched.waited_ns = 1000;
	b.sched.waited_ns = 400; /* the wait that goes on was read from an older clock */
	b.sched.on_cpu_ns = 1;
	c.sched.waited_ns = 1300;
	feed_two(&f, &a, &b);
	ingest_task(f.in, &c);
	cr_expect_eq(f.m->threads[0].sched.waited_ns, 300);
	feed_free(&f);
}

Test(ingest_waits, a_thread_that_only_waits_has_a_row)
{
	static const struct {
		const char *name;
		uint64_t on_cpu_ns, waited_ns;
		uint32_t delay;
		size_t rows;
	} rows[] = {
		{"sleeps", 0, 0, 0, 0},
		{"runs", 5, 0, 0, 1},
		{"waits", 0, 5, 0, 1},
		{"a wait of no time ended", 0, 0, 1, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct feed f = feed_new(1);
		struct event_task a = waiting_task(7), b = a;

		b.sched.on_cpu_ns = rows[i].on_cpu_ns;
		b.sched.waited_ns = rows[i].waited_ns;
		b.delays[0] = rows[i].delay;
		feed_two(&f, &a, &b);
		cr_expect_eq(f.m->accounts_cnt, rows[i].rows, "%s", rows[i].name);
		cr_expect_eq(f.m->delays_cnt, rows[i].delay, "%s", rows[i].name);
		feed_free(&f);
	}
}

Test(ingest_waits, run_delays_are_counted_modulo_32_bits)
{
	static const struct {
		const char *name;
		uint32_t first, second;
		uint64_t count; /* 0 = no row */
	} rows[] = {
		{"some", 10, 17, 7},
		{"none", 10, 10, 0},
		{"over the edge", 0xfffffffe, 3, 5},
		{"to the edge", 0, 0xffffffff, 0xffffffff},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct feed f = feed_new(1);
		struct event_task a = waiting_task(7), b = a;

		b.sched.waited_ns = 1;
		a.delays[25] = rows[i].first;
		b.delays[25] = rows[i].second;
		feed_two(&f, &a, &b);
		cr_assert_eq(f.m->delays_cnt, rows[i].count > 0, "%s", rows[i].name);
		if (rows[i].count) {
			cr_expect_eq(f.m->delays[0].count, rows[i].count, "%s", rows[i].name);
			cr_expect_eq(f.m->delays[0].slot, 25);
		}
		feed_free(&f);
	}
}

Test(ingest_waits, run_delays_name_their_thread_slice_and_slot)
{
	struct feed f = feed_new(1);
	struct event_task a = waiting_task(7), b = waiting_task(8);

	feed_two(&f, &a, &b);
	model_slice_add(f.m, &(struct model_slice){0});
	b.sched.waited_ns = 1;
	b.delays[3] = 4;
	b.delays[9] = 1;
	ingest_task(f.in, &b);
	cr_assert_eq(f.m->delays_cnt, 2);
	for (size_t i = 0; i < 2; i++) {
		cr_expect_eq(f.m->delays[i].slice, 1);
		cr_expect_eq(f.m->delays[i].thread, 1);
	}
	cr_expect_eq(f.m->delays[0].slot, 3);
	cr_expect_eq(f.m->delays[0].count, 4);
	cr_expect_eq(f.m->delays[1].slot, 9);
	feed_free(&f);
}

Test(ingest_waits, the_longest_delay_may_be_one_that_goes_on)
{
	static const struct {
		const char *name;
		uint64_t ended_ns, going_on_ns, longest_ns;
	} rows[] = {
		{"that ended", 700, 0, 700},
		{"that goes on", 0, 900, 900},
		{"ended, and a shorter one goes on", 700, 600, 700},
		{"ended, and a longer one goes on", 700, 800, 800},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct feed f = feed_new(1);
		struct event_task a = waiting_task(7), b = a;

		b.sched.waited_ns = 2000;
		b.delay_max_ns = rows[i].ended_ns;
		b.waiting_ns = rows[i].going_on_ns;
		feed_two(&f, &a, &b);
		cr_expect_eq(f.m->threads[0].delay_max_ns, rows[i].longest_ns, "%s", rows[i].name);
		b.sched.waited_ns = 3000;
		b.waiting_ns = 0;
		ingest_task(f.in, &b);
		cr_expect_eq(f.m->threads[0].delay_max_ns, rows[i].longest_ns, "%s: stays",
			     rows[i].name);
		feed_free(&f);
	}
}

Test(ingest_waits, an_account_is_in_the_group_of_its_last_reading)
{
	struct feed f = feed_new(1);
	struct event_task a = waiting_task(7);

	a.cgroup_id = 100;
	ingest_task(f.in, &a);
	a.sched.on_cpu_ns = 1;
	ingest_task(f.in, &a);
	a.cgroup_id = 200;
	a.sched.on_cpu_ns = 2;
	ingest_task(f.in, &a);
	cr_assert_eq(f.m->accounts_cnt, 1);
	cr_expect_eq(f.m->cgroups[f.m->accounts[0].cgroup].id, 200);
	model_slice_add(f.m, &(struct model_slice){0});
	a.cgroup_id = 100;
	a.sched.on_cpu_ns = 3;
	ingest_task(f.in, &a);
	cr_expect_eq(f.m->cgroups[f.m->accounts[1].cgroup].id, 100);
	cr_expect_eq(f.m->cgroups_cnt, 2, "each group once");
	a.cgroup_id = 0;
	a.sched.on_cpu_ns = 4;
	ingest_task(f.in, &a);
	cr_expect_eq(f.m->accounts[1].cgroup, MODEL_NONE, "a kernel without groups");
	feed_free(&f);
}

Test(ingest_waits, how_a_thread_is_scheduled_is_kept_as_last_read)
{
	struct feed f = feed_new(1);
	struct event_task a = waiting_task(7);
	const struct model_thread *t;

	a.cpus_allowed = 64;
	ingest_task(f.in, &a);
	f.m->threads[0].dirty = false;
	a.cpus_allowed = 2;
	a.policy = 1;
	a.nice = -20;
	a.rt_priority = 50;
	ingest_task(f.in, &a);
	t = &f.m->threads[0];
	cr_expect(t->cpus_allowed == 2 && t->policy == 1 && t->nice == -20 && t->rt_priority == 50);
	cr_expect(t->dirty, "or the file would keep the old values");
	feed_free(&f);
}

/* --- contention ------------------------------------------------------------------------------ */

static const struct model_contention *pair(const struct feed *f, uint32_t slice, uint32_t runner,
					   uint32_t waiter)
{
	const struct model_contention *found = NULL;

	for (size_t i = 0; i < f->m->contentions_cnt; i++) {
		const struct model_contention *c = &f->m->contentions[i];

		if (c->slice != slice || c->runner != runner || c->waiter != waiter)
			continue;
		cr_expect_null(found, "a pair has one row a slice");
		found = c;
	}
	return found;
}

/* Processes 10, 20, 30 are rows 0, 1, 2. */
static struct feed three_processes(void)
{
	struct feed f = feed_new(1);

	for (uint32_t tgid = 10; tgid <= 30; tgid += 10)
		feed_account(&f, tgid, tgid, tgid, tgid, 0);
	return f;
}

Test(ingest_waits, a_sample_tells_who_waited_while_its_process_ran)
{
	static const struct {
		const char *name;
		uint32_t waiters, waiting[4], waiting_cnt;
		uint64_t own, other, third, unknown; /* weights of rows 0, 1, 2, none */
	} rows[] = {
		{"nobody", 0, {0}, 0, 0, 0, 0, 0},
		{"cannot be read", WAITERS_UNKNOWN, {0}, 0, 0, 0, 0, 0},
		{"one", 1, {20}, 1, 0, 1000, 0, 0},
		{"own thread", 1, {10}, 1, 1000, 0, 0, 0},
		{"two of one", 2, {20, 20}, 2, 0, 2000, 0, 0},
		{"each of another", 3, {10, 20, 30}, 3, 1000, 1000, 1000, 0},
		{"found ones stand for all", 6, {20, 20, 30}, 3, 0, 4000, 2000, 0},
		{"none found", 3, {0}, 0, 0, 0, 0, 3000},
		{"never heard of", 2, {20, 77}, 2, 0, 1000, 0, 1000},
		{"to a thousandth", 10, {10, 20, 30}, 3, 3333, 3333, 3333, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct feed f = three_processes();
		const uint64_t expected[] = {rows[i].own, rows[i].other, rows[i].third,
					     rows[i].unknown};
		size_t pairs = 0;

		feed_waiting(&f, 10, rows[i].waiters, rows[i].waiting, rows[i].waiting_cnt, 0);
		for (uint32_t k = 0; k < 4; k++) {
			const struct model_contention *c = pair(&f, 0, 0, k < 3 ? k : MODEL_NONE);

			cr_expect_eq(c ? c->weight : 0, expected[k], "%s, row %u", rows[i].name, k);
			pairs += expected[k] > 0;
		}
		cr_expect_eq(f.m->contentions_cnt, pairs, "%s", rows[i].name);
		cr_expect_eq(f.m->samples_cnt, 1, "%s", rows[i].name);
		feed_free(&f);
	}
}

Test(ingest_waits, a_pair_has_one_row_a_slice)
{
	struct feed f = three_processes();
	const uint32_t second[] = {20}, third[] = {30};

	for (int i = 0; i < 3; i++)
		feed_waiting(&f, 10, 1, second, 1, 0);
	feed_waiting(&f, 10, 1, third, 1, 0);
	feed_waiting(&f, 20, 1, third, 1, 0);
	model_slice_add(f.m, &(struct model_slice){0});
	feed_waiting(&f, 10, 2, second, 1, 0);
	cr_expect_eq(f.m->contentions_cnt, 4);
	cr_expect_eq(pair(&f, 0, 0, 1)->weight, 3000);
	cr_expect_eq(pair(&f, 0, 0, 2)->weight, 1000);
	cr_expect_eq(pair(&f, 0, 1, 2)->weight, 1000);
	cr_expect_eq(pair(&f, 1, 0, 1)->weight, 2000);
	feed_free(&f);
}

Test(ingest_waits, contention_after_the_slice_was_written_is_not_lost)
{
	struct feed f = three_processes();
	const uint32_t second[] = {20}, third[] = {30};

	feed_waiting(&f, 10, 1, second, 1, 0);
	feed_waiting(&f, 10, 1, third, 1, 0);
	model_forget_slice(f.m); /* and no new slice yet */
	feed_waiting(&f, 10, 1, third, 1, 0);
	feed_waiting(&f, 10, 1, second, 1, 0);
	feed_waiting(&f, 10, 1, third, 1, 0);
	cr_expect_eq(f.m->contentions_cnt, 2);
	cr_expect_eq(pair(&f, 0, 0, 1)->weight, 1000);
	cr_expect_eq(pair(&f, 0, 0, 2)->weight, 2000);
	feed_free(&f);
}

Test(ingest_waits, a_sample_outside_the_choice_tells_who_waited_and_no_more)
{
	struct feed f = three_processes();
	const uint32_t second[] = {20};

	feed_waiting(&f, 10, 1, second, 1, SAMPLE_FILTERED);
	cr_expect_eq(f.m->samples_cnt, 0);
	cr_expect_not(f.m->processes[0].flags & PROCESS_SAMPLED);
	cr_expect_eq(pair(&f, 0, 0, 1)->weight, 1000);
	feed_free(&f);
}

Test(ingest_waits, the_waiter_is_who_had_that_id_then)
{
	struct feed f = feed_new(1);
	const uint32_t reused[] = {20};
	uint64_t later = feed_boot(FEED_START + FEED_SECOND);

	feed_account(&f, 10, 10, 10, 10, 0);
	feed_account(&f, 20, 20, 20, 20, 0);
	feed_account(&f, 20, 20, later, later, 0); /* its successor */
	feed_waiting(&f, 10, 1, reused, 1, 0);
	cr_assert_eq(f.m->contentions_cnt, 1);
	cr_expect_eq(f.m->contentions[0].waiter, 1, "the one that lived at the sample");
	feed_free(&f);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How threads and processes end, and what still counts then. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "feed.h"

Test(ingest_ends, a_last_account_ends_thread_and_process_at_its_time)
{
	struct feed f = feed_new(1);
	uint64_t start = feed_boot(FEED_START + 1);

	feed_last(&f, 7, 7, start, start, 300 * FEED_MS, FEED_START + 310 * FEED_MS);
	cr_expect_eq(f.m->threads[0].sched.on_cpu_ns, 300 * FEED_MS);
	cr_expect_eq(f.m->threads[0].exit_ns, FEED_START + 310 * FEED_MS);
	cr_expect_eq(f.m->threads[0].state, 'X');
	cr_expect_eq(f.m->processes[0].exit_ns, FEED_START + 310 * FEED_MS);
	feed_free(&f);
}

Test(ingest_ends, a_thread_that_no_pass_shows_any_more_has_ended)
{
	struct feed f = feed_new(1);
	uint64_t start = feed_boot(FEED_START + 1);

	ingest_pass_begin(f.in);
	feed_account(&f, 7, 7, start, start, 100);
	feed_account(&f, 7, 8, start, start, 100);
	ingest_pass_end(f.in, FEED_START + 100);
	cr_expect_eq(f.m->threads[1].exit_ns, 0);
	feed_sample(&f, 7, 9, start, start, FEED_START + 150); /* newer than any pass */
	ingest_pass_begin(f.in);
	feed_account(&f, 7, 7, start, start, 100);
	ingest_pass_end(f.in, FEED_START + 200);
	cr_expect_eq(f.m->threads[0].exit_ns, 0);
	cr_expect_eq(f.m->threads[1].exit_ns, FEED_START + 200);
	cr_expect_eq(f.m->threads[1].state, 'X');
	cr_expect_eq(f.m->threads[2].exit_ns, 0, "not known to any pass yet");
	cr_expect_eq(f.m->processes[0].exit_ns, 0);
	feed_free(&f);
}

Test(ingest_ends, a_last_account_after_the_pass_that_missed_it_still_counts)
{
	struct feed f = feed_new(1);
	uint64_t start = feed_boot(FEED_START + 1);

	ingest_pass_begin(f.in);
	feed_account(&f, 7, 7, start, start, 100);
	ingest_pass_end(f.in, FEED_START + 100);
	ingest_pass_begin(f.in);
	ingest_pass_end(f.in, FEED_START + 200);
	cr_expect_eq(f.m->processes[0].exit_ns, FEED_START + 200);
	feed_last(&f, 7, 7, start, start, 160, FEED_START + 190);
	cr_expect_eq(f.m->threads[0].sched.on_cpu_ns, 160);
	cr_expect_eq(f.m->threads[0].exit_ns, FEED_START + 190, "the exact time");
	cr_expect_eq(f.m->processes[0].exit_ns, FEED_START + 190);
	feed_free(&f);
}

Test(ingest_ends, a_zombie_in_a_pass_stays_ended)
{
	struct feed f = feed_new(1);
	struct event_task task;
	uint64_t start = feed_boot(FEED_START + 1);

	feed_last(&f, 7, 7, start, start, 100, FEED_START + 50);
	task = feed_task(7, 7, start, start);
	task.state = 'Z';
	task.time_ns = FEED_START + 900;
	task.sched.on_cpu_ns = 100;
	ingest_pass_begin(f.in);
	ingest_task(f.in, &task);
	ingest_pass_end(f.in, FEED_START + 901);
	cr_expect_eq(f.m->threads[0].state, 'X');
	cr_expect_eq(f.m->threads[0].exit_ns, FEED_START + 50);
	cr_expect_eq(f.m->processes[0].exit_ns, FEED_START + 50);
	cr_expect_eq(f.m->threads[0].sched.on_cpu_ns, 100);
	feed_free(&f);
}

Test(ingest_ends, a_process_whose_leader_left_lives_while_a_thread_does)
{
	struct feed f = feed_new(1);
	uint64_t start = feed_boot(FEED_START + 1);

	feed_map(&f, 7, FEED_START, 0x1000, 0x2000, "/app");
	feed_account(&f, 7, 8, start, start, 100);
	feed_map(&f, 7, FEED_START + 2, 0x1000, 0x2000, "/app");
	feed_last(&f, 7, 7, start, start, 100, FEED_START + 50);
	cr_expect_eq(f.m->processes[0].exit_ns, FEED_START + 50, "for all we know");
	feed_account_at(&f, 7, 8, start, start, 200, FEED_START + 100);
	ingest_slice_end(f.in);
	cr_expect_eq(f.m->processes[0].exit_ns, 0);
	cr_expect_eq(f.m->processes[0].mapping_cnt, 1);
	feed_last(&f, 7, 8, start, start, 300, FEED_START + 500);
	cr_expect_eq(f.m->processes[0].exit_ns, FEED_START + 500);
	ingest_slice_end(f.in);
	cr_expect_eq(f.m->processes[0].mapping_cnt, 0);
	feed_free(&f);
}

Test(ingest_ends, who_ended_before_the_start_and_is_told_of_later_ran_before_it)
{
	struct feed f = feed_new_unbegun(1);
	uint64_t start = feed_boot(FEED_START - FEED_SECOND);

	feed_account_at(&f, 7, 7, start, start, 100, FEED_START - 500);
	feed_account_at(&f, 8, 8, start, start, 100, FEED_START - 500);
	ingest_begin(f.in, FEED_START);
	model_slice_add(f.m, &(struct model_slice){0});
	feed_last(&f, 7, 7, start, start, 400, FEED_START - 100);
	cr_expect_eq(feed_on_cpu(&f, 0), 0u);
	cr_expect_eq(f.m->processes[0].exit_ns, FEED_START - 100);
	feed_last(&f, 8, 8, start, start, 400, FEED_START + 100);
	cr_expect_eq(feed_on_cpu(&f, 1), 300u);
	feed_free(&f);
}

Test(ingest_ends, a_sample_shows_life_too)
{
	struct feed f = feed_new(1);
	uint64_t start = feed_boot(FEED_START + 1);

	feed_last(&f, 7, 7, start, start, 100, FEED_START + 50);
	feed_sample(&f, 7, 7, start, start,
		    FEED_START + 40); /* before its end: comes over a ring */
	cr_expect_eq(f.m->processes[0].exit_ns, FEED_START + 50);
	cr_expect_eq(f.m->threads[0].exit_ns, FEED_START + 50);
	feed_sample(&f, 7, 8, start, start, FEED_START + 60);
	cr_expect_eq(f.m->processes[0].exit_ns, 0);
	cr_expect_eq(f.m->threads[0].exit_ns, FEED_START + 50);
	feed_free(&f);
}

Test(ingest_ends, a_dead_process_without_samples_leaves_no_mappings)
{
	struct feed f = feed_new(1);

	for (uint32_t tgid = 10; tgid < 13; tgid++) {
		ingest_fork(f.in, tgid, tgid, 1, FEED_START + 1);
		feed_map(&f, tgid, FEED_START + 2, 0x1000, 0x2000, "/bin/true");
	}
	feed_last(&f, 10, 10, feed_boot(FEED_START), feed_boot(FEED_START), 5, FEED_START + 9);
	feed_sample(&f, 11, 11, feed_boot(FEED_START), feed_boot(FEED_START), FEED_START + 5);
	feed_last(&f, 11, 11, feed_boot(FEED_START), feed_boot(FEED_START), 5, FEED_START + 9);
	ingest_slice_end(f.in);
	ingest_slice_end(f.in);
	cr_expect_eq(f.m->processes[0].mapping_cnt, 0);
	cr_expect_eq(f.m->processes[1].mapping_cnt, 1, "has samples to be named");
	cr_expect_eq(f.m->processes[2].mapping_cnt, 1, "lives");
	feed_free(&f);
}

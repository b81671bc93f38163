/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU books, samples and stacks, losses; who is who is in test_ingest.c. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "feed.h"

/* A reading of CPU 0: what its clock says, and when. Milliseconds since the beginning. */
struct reading {
	uint64_t now_ms, last_switch_ms; /* 0 = never switched */
	uint64_t idle_ms, accounted_ms, unaccounted_ms;
	uint32_t running_tid;
	uint64_t ticks_taken, steal_ms, switches;
	bool offline;
	uint64_t kernel_idle_ms, met_ms;
};

/* Of a CPU that is on line. */
static void read_clock(struct feed *f, uint32_t cpu, const struct cpu_clock *clock, uint64_t now_ns)
{
	ingest_cpu(f->in, cpu,
		   &(struct cpu_reading){.clock = clock, .now_ns = now_ns, .online = true});
}

static void read_cpu(struct feed *f, const struct reading *r)
{
	struct cpu_clock clock = {
		.last_switch_ns = r->last_switch_ms ? FEED_START + r->last_switch_ms * FEED_MS : 0,
		.idle_ns = r->idle_ms * FEED_MS,
		.accounted_ns = r->accounted_ms * FEED_MS,
		.unaccounted_ns = r->unaccounted_ms * FEED_MS,
		.running_tid = r->running_tid,
		.met_ns = r->met_ms ? FEED_START + r->met_ms * FEED_MS : 0,
		.ticks_taken = r->ticks_taken,
		.switches = r->switches,
	};

	ingest_cpu(f->in, 0,
		   &(struct cpu_reading){.clock = &clock,
					 .now_ns = FEED_START + r->now_ms * FEED_MS,
					 .steal_ns = r->steal_ms * FEED_MS,
					 .idle_ns = r->kernel_idle_ms * FEED_MS,
					 .online = !r->offline});
}

/* Sums of the rows of CPU 0, in ms. */
struct sums {
	uint64_t rows, elapsed, idle, accounted, unaccounted, steal, ticks, switches;
};

static struct sums sum(const struct feed *f)
{
	struct sums s = {.rows = f->m->cpus_cnt};

	for (size_t i = 0; i < f->m->cpus_cnt; i++) {
		const struct model_cpu *c = &f->m->cpus[i];

		cr_expect_eq(c->idle_ns + c->accounted_ns + c->unaccounted_ns, c->elapsed_ns);
		s.elapsed += c->elapsed_ns / FEED_MS;
		s.idle += c->idle_ns / FEED_MS;
		s.accounted += c->accounted_ns / FEED_MS;
		s.unaccounted += c->unaccounted_ns / FEED_MS;
		s.steal += c->steal_ns / FEED_MS;
		s.ticks += c->ticks_taken;
		s.switches += c->switches;
	}
	return s;
}

/* The first reading is the baseline, at the beginning. last_switch_ms is relative to it too, and so
 * a session that attached 300 ms before has last_switch_ms of 0 where it saw none. */
static const struct {
	const char *name;
	struct reading readings[4];
	struct sums expected;
} books[] = {
	{"what runs since the last switch counts for who runs",
	 {{0, 1, 0, 0, 0, 5, 0, 0, 0, false, 0, 0},
	  {1000, 600, 400, 200, 0, 5, 0, 0, 0, false, 0, 0}},
	 {1, 1000, 400, 600, 0, 0, 0, 0}},
	{"idle since the last switch",
	 {{0, 1, 0, 0, 0, 0, 0, 0, 0, false, 0, 0},
	  {1000, 600, 400, 200, 0, 0, 0, 0, 0, false, 0, 0}},
	 {1, 1000, 800, 200, 0, 0, 0, 0}},
	{"never a switch, no tick: idle",
	 {{0},
	  {1000, 0, 0, 0, 0, 0, 0, 0, 0, false, 0, 0},
	  {2000, 0, 0, 0, 0, 0, 0, 0, 0, false, 0, 0}},
	 {2, 2000, 2000, 0, 0, 0, 0, 0}},
	{"never a switch, ticks hit somebody: busy",
	 {{0},
	  {1000, 0, 0, 0, 0, 0, 99, 0, 0, false, 0, 0},
	  {2000, 0, 0, 0, 0, 0, 198, 0, 0, false, 0, 0}},
	 {2, 2000, 0, 2000, 0, 0, 198, 0}},
	{"the first switch closes an idle interval that began 300 ms before the recording",
	 {{0}, {1000, 900, 1200, 0, 0, 5, 9, 0, 1, false, 0, 0}},
	 {1, 1000, 900, 100, 0, 0, 9, 1}},
	{"the same where it was counted as idle for a slice",
	 {{0},
	  {1000, 0, 0, 0, 0, 0, 0, 0, 0, false, 0, 0},
	  {2000, 1900, 2200, 0, 0, 5, 9, 0, 1, false, 0, 0}},
	 {2, 2000, 1900, 100, 0, 0, 9, 1}},
	{"a long run turns out to be of a thread without account",
	 {{0, 1, 0, 0, 0, 7, 0, 0, 0, false, 0, 0},
	  {1000, 1, 0, 1, 0, 7, 99, 0, 0, false, 0, 0},
	  {2000, 1900, 0, 1, 1899, 0, 190, 0, 1, false, 0, 0}},
	 {2, 2000, 100, 1000, 900, 0, 190, 1}},
	{"a switch to the idle task that nobody saw: what was told too much is told less later",
	 {{0, 1, 0, 0, 0, 0, 0, 0, 0, false, 0, 0},
	  {1000, 400, 300, 100, 0, 5, 10, 0, 0, false, 0, 0},
	  {2000, 1900, 1800, 100, 0, 5, 10, 0, 1, false, 0, 0},
	  {3000, 2900, 1800, 1100, 0, 5, 110, 0, 1, false, 0, 0}},
	 {3, 3000, 1800, 1200, 0, 0, 110, 1}},
	{"a switch to the idle task that nobody saw: the kernel counts it as idle",
	 {{0, 1, 0, 0, 0, 0, 0, 0, 0, false, 5000, 0},
	  {1000, 300, 299, 1, 0, 5, 0, 0, 2, false, 5990, 0},
	  {2000, 300, 299, 1, 0, 5, 0, 0, 2, false, 6990, 0},
	  {3000, 2900, 2800, 100, 0, 0, 0, 0, 3, false, 7990, 0}},
	 {3, 3000, 2900, 100, 0, 0, 0, 3}},
	{"before the recording began, too",
	 {{0, 1, 0, 0, 0, 5, 0, 0, 0, false, 5000, 0},
	  {1000, 1, 1, 0, 0, 5, 0, 0, 0, false, 6000, 0}},
	 {1, 1000, 1000, 0, 0, 0, 0, 0}},
	{"who was met by a tick runs, whatever the kernel counted as idle before",
	 {{0, 1, 0, 0, 0, 0, 0, 0, 0, false, 5000, 0},
	  {1000, 600, 0, 100, 500, 5, 40, 0, 2, false, 5400, 990}},
	 {1, 1000, 0, 500, 500, 0, 40, 2}},
	{"what was idle unseen and is nobody's by now does not count again",
	 {{0, 1, 0, 0, 0, 0, 0, 0, 0, false, 5000, 0},
	  {1000, 900, 0, 500, 400, 5, 4, 0, 2, false, 5400, 0}},
	 {1, 1000, 0, 600, 400, 0, 4, 2}},
	{"nor what the kernel counted before the CPU came on line",
	 {{0, 0, 0, 0, 0, 0, 0, 0, 0, true, 0, 0},
	  {1000, 800, 800, 0, 0, 5, 0, 0, 1, false, 90000, 0},
	  {2000, 800, 800, 0, 0, 5, 0, 0, 1, false, 90000, 0}},
	 {2, 2000, 800, 1200, 0, 0, 0, 1}},
	{"the kernel's idle time is right to a tick",
	 {{0, 1, 0, 0, 0, 5, 0, 0, 0, false, 5000, 0},
	  {1000, 1, 0, 1, 0, 5, 0, 0, 0, false, 5020, 0}},
	 {1, 1000, 0, 1000, 0, 0, 0, 0}},
	{"off line: idle to the end of that slice, what ran before counts",
	 {{0, 1, 0, 0, 0, 5, 0, 0, 0, false, 0, 0},
	  {1000, 400, 0, 400, 0, 0, 40, 0, 1, true, 0, 0},
	  {2000, 400, 0, 400, 0, 0, 40, 0, 1, true, 0, 0}},
	 {1, 1000, 600, 400, 0, 0, 40, 1}},
	{"off line after a switch that nobody saw: idle, whoever seems to run",
	 {{0, 1, 0, 0, 0, 5, 0, 0, 0, false, 0, 0},
	  {1000, 400, 0, 400, 0, 19, 40, 0, 1, true, 0, 0},
	  {2000, 1900, 1500, 400, 0, 5, 50, 0, 2, false, 0, 0}},
	 {2, 2000, 1500, 500, 0, 0, 50, 2}},
	{"off line and back: nothing between, idle up to the return",
	 {{0, 1, 0, 0, 0, 0, 0, 0, 0, true, 0, 0},
	  {1000, 1, 0, 0, 0, 0, 0, 0, 0, true, 0, 0},
	  {2000, 1900, 1699, 200, 0, 5, 30, 0, 9, false, 0, 0},
	  {3000, 2900, 1699, 1200, 0, 0, 60, 0, 10, false, 0, 0}},
	 {2, 2000, 800, 1200, 0, 0, 60, 10}},
	{"counters that fall count nothing",
	 {{0, 1, 500, 500, 500, 0, 50, 90, 50, false, 0, 0},
	  {1000, 1000, 0, 0, 0, 0, 0, 0, 0, false, 0, 0}},
	 {1, 0, 0, 0, 0, 0, 0, 0}},
	{"a clock that stood still",
	 {{1000, 900, 800, 100, 0, 0, 0, 0, 0, false, 0, 0},
	  {1000, 900, 800, 100, 0, 0, 0, 0, 0, false, 0, 0}},
	 {1, 0, 0, 0, 0, 0, 0, 0}},
	{"books that claim more than the time that passed",
	 {{0, 1, 0, 0, 0, 0, 0, 0, 0, false, 0, 0},
	  {1000, 999, 500000, 400000, 300000, 0, 0, 0, 0, false, 0, 0}},
	 {1, 1000, 0, 0, 0, 0, 0, 0}},
	{"steal",
	 {{0, 1, 0, 0, 0, 0, 0, 30, 0, false, 0, 0},
	  {1000, 900, 900, 0, 0, 5, 0, 250, 0, false, 0, 0}},
	 {1, 1000, 900, 100, 0, 220, 0, 0}},
};

Test(ingest_books, of_a_cpu_add_up_to_the_time_that_passed)
{
	for (size_t i = 0; i < sizeof(books) / sizeof(books[0]); i++) {
		struct feed f = feed_new_unbegun(1);
		const struct sums *want = &books[i].expected;
		struct sums got;

		read_cpu(&f, &books[i].readings[0]);
		ingest_begin(f.in, FEED_START);
		for (size_t k = 1; k < 4 && books[i].readings[k].now_ms; k++) {
			read_cpu(&f, &books[i].readings[k]);
			model_slice_add(f.m, &(struct model_slice){0});
		}
		got = sum(&f);
		cr_expect_eq(got.rows, want->rows, "%s: %llu rows", books[i].name,
			     (unsigned long long)got.rows);
		cr_expect_eq(got.elapsed, want->elapsed, "%s: elapsed %llu", books[i].name,
			     (unsigned long long)got.elapsed);
		cr_expect_eq(got.steal, want->steal, "%s: steal", books[i].name);
		cr_expect_eq(got.ticks, want->ticks, "%s: ticks", books[i].name);
		cr_expect_eq(got.switches, want->switches, "%s: switches", books[i].name);
		if (want->idle + want->accounted + want->unaccounted) {
			cr_expect_eq(got.idle, want->idle, "%s: idle %llu", books[i].name,
				     (unsigned long long)got.idle);
			cr_expect_eq(got.accounted, want->accounted, "%s: accounted %llu",
				     books[i].name, (unsigned long long)got.accounted);
			cr_expect_eq(got.unaccounted, want->unaccounted, "%s: unaccounted %llu",
				     books[i].name, (unsigned long long)got.unaccounted);
		}
		feed_free(&f);
	}
}

Test(ingest_books, rows_name_their_cpu_and_slice)
{
	struct feed f = feed_new(3);
	struct cpu_clock clock = {.last_switch_ns = FEED_START};

	for (uint32_t slice = 0; slice < 3; slice++) {
		for (uint32_t cpu = 0; cpu < 5; cpu++) /* 3 and 4 are beyond the possible ones */
			read_clock(&f, cpu, &clock, FEED_START + slice * FEED_SECOND);
		if (slice < 2)
			model_slice_add(f.m, &(struct model_slice){0});
	}
	cr_assert_eq(f.m->cpus_cnt, 6);
	for (uint32_t i = 0; i < 6; i++) {
		cr_expect_eq(f.m->cpus[i].cpu, i % 3);
		cr_expect_eq(f.m->cpus[i].slice, 1 + i / 3);
		cr_expect_eq(f.m->cpus[i].elapsed_ns, FEED_SECOND);
	}
	feed_free(&f);
}

Test(ingest_books, ticks_by_threads_that_waited_are_differences_too)
{
	struct feed f = feed_new_unbegun(1);
	struct cpu_clock clock = {.last_switch_ns = FEED_START};

	for (uint64_t i = 0; i < QUEUE_SLOTS; i++)
		clock.queue[i] = 1000 + i;
	read_clock(&f, 0, &clock, FEED_START);
	ingest_begin(f.in, FEED_START);
	for (uint64_t i = 0; i < QUEUE_SLOTS; i++)
		clock.queue[i] += 10 * i;
	read_clock(&f, 0, &clock, FEED_START + FEED_SECOND);
	cr_assert_eq(f.m->cpus_cnt, 1);
	for (uint64_t i = 0; i < QUEUE_SLOTS; i++)
		cr_expect_eq(f.m->cpus[0].queue[i], 10 * i, "slot %llu", (unsigned long long)i);
	feed_free(&f);
}

Test(ingest_books, losses_count_from_the_beginning_and_only_grow)
{
	struct feed f = feed_new_unbegun(1);
	uint64_t counts[LOSS_KERNEL_CNT + 4] = {[LOSS_ACCOUNT_MISSING] = 5};

	ingest_losses(f.in, counts, LOSS_KERNEL_CNT);
	cr_expect_eq(f.m->losses_cnt, 0);
	ingest_begin(f.in, FEED_START);
	counts[LOSS_ACCOUNT_MISSING] = 7;
	counts[LOSS_SAMPLE_RING_FULL] = 1;
	counts[LOSS_KERNEL_CNT] = 99; /* beyond the kernel's causes */
	ingest_losses(f.in, counts, LOSS_KERNEL_CNT + 4);
	counts[LOSS_ACCOUNT_MISSING] = 6;
	ingest_losses(f.in, counts, LOSS_KERNEL_CNT);
	counts[LOSS_ACCOUNT_MISSING] = 8;
	ingest_losses(f.in, counts, LOSS_KERNEL_CNT);
	cr_assert_eq(f.m->losses_cnt, 2);
	for (size_t i = 0; i < 2; i++)
		cr_expect_eq(f.m->losses[i].count,
			     f.m->losses[i].cause == LOSS_ACCOUNT_MISSING ? 3 : 1);
	feed_free(&f);
}

/* What is dropped of ticks that stand for five is as many as was taken. */
Test(ingest_books, lost_samples_count_as_the_ticks_that_they_stood_for)
{
	struct feed f = feed_new_unbegun(1);
	uint64_t counts[LOSS_KERNEL_CNT] = {0};

	ingest_begin(f.in, FEED_START);
	ingest_set_every(f.in, 5);
	counts[LOSS_SAMPLE_RING_FULL] = 3;
	counts[LOSS_ACCOUNT_MISSING] = 3;
	ingest_losses(f.in, counts, LOSS_KERNEL_CNT);
	cr_assert_eq(f.m->losses_cnt, 2);
	for (size_t i = 0; i < 2; i++)
		cr_expect_eq(f.m->losses[i].count,
			     f.m->losses[i].cause == LOSS_SAMPLE_RING_FULL ? 15 : 3);
	feed_free(&f);
}

/* --- stacks and samples ---------------------------------------------------------------------- */

Test(ingest_books, kernel_frames_do_not_tell_where_the_kernel_lies)
{
	static const struct {
		const char *name;
		uint64_t text, address, expected;
	} rows[] = {
		{"relative to _text", 0xffffffff81000000, 0xffffffff81001234, 0x1234},
		{"a module above", 0xffffffff81000000, 0xffffffffc0000010, 0x3f000010},
		{"a module below, as on arm64", 0xffff800008000000, 0xffff800007fffff0,
		 (uint64_t)-16},
		{"place unknown", 0, 0xffffffff81abcdef, 0x0bcdef},
		{"place unknown, elsewhere", 0, 0xffffffff9a2bcdef, 0x0bcdef},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct feed f = feed_new(1);
		struct event_stack *stack = calloc(1, sizeof(*stack) + sizeof(__u64));

		f.m->kernel_text = rows[i].text;
		stack->id = 5;
		stack->flags = STACK_KERNEL;
		stack->frame_cnt = 1;
		stack->frames[0] = rows[i].address;
		ingest_stack(f.in, stack);
		cr_assert_eq(f.m->stacks_cnt, 1, "%s", rows[i].name);
		cr_expect_eq(f.m->frames[0], rows[i].expected, "%s: %llx", rows[i].name,
			     (unsigned long long)f.m->frames[0]);
		cr_expect_eq(f.m->stacks[0].process, MODEL_NONE, "%s", rows[i].name);
		cr_expect_eq(f.m->processes_cnt, 0, "%s", rows[i].name);
		free(stack);
		feed_free(&f);
	}
}

Test(ingest_books, user_frames_are_kept_as_they_are)
{
	struct feed f = feed_new(1);

	f.m->kernel_text = 0xffffffff81000000;
	feed_stack(&f, 7, feed_boot(5), 77, STACK_TRUNCATED, 3);
	cr_assert_eq(f.m->stacks_cnt, 1);
	cr_expect_eq(f.m->frames[2], 0x1020);
	cr_expect_eq(f.m->stacks[0].flags, STACK_TRUNCATED);
	cr_expect_eq(f.m->stacks[0].process, 0);
	cr_expect_eq(f.m->stacks[0].broken_module, MODEL_NONE);
	feed_stack(&f, 7, feed_boot(5), 77, 0, 9); /* sent again after it was pushed out */
	cr_expect_eq(f.m->stacks_cnt, 1);
	feed_free(&f);
}

Test(ingest_books, hostile_stacks_are_counted_and_dropped)
{
	static const struct {
		const char *name;
		uint64_t id;
		uint16_t frame_cnt;
		size_t stacks, losses;
	} rows[] = {
		{"without id", 0, 3, 0, 1},
		{"deeper than the contract", 5, STACK_MAX_FRAMES + 1, 0, 1},
		{"as deep as it gets", 5, STACK_MAX_FRAMES, 1, 0},
		{"without frames", 5, 0, 1, 0},
		{"id all ones", UINT64_MAX, 1, 1, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct feed f = feed_new(1);

		feed_stack(&f, 7, feed_boot(5), rows[i].id, 0, rows[i].frame_cnt);
		cr_expect_eq(f.m->stacks_cnt, rows[i].stacks, "%s", rows[i].name);
		cr_assert_eq(f.m->losses_cnt, rows[i].losses, "%s", rows[i].name);
		if (rows[i].losses)
			cr_expect_eq(f.m->losses[0].cause, LOSS_BAD_RECORD, "%s", rows[i].name);
		feed_free(&f);
	}
}

Test(ingest_books, a_sample_carries_over_whole)
{
	struct feed f = feed_new(1);
	struct event_sample sample = {
		.header = {.cpu = 8191},
		.time_ns = FEED_START + 5,
		.tgid = 7,
		.tid = 8,
		.process_start_ns = feed_boot(5),
		.thread_start_ns = feed_boot(6),
		.cgroup_id = 42,
		.kernel_stack = 11,
		.user_stack = 12,
		.waiters = WAITERS_UNKNOWN,
		.sample_kind = SAMPLE_ON_CPU,
		.flags = SAMPLE_KERNEL_THREAD | SAMPLE_KERNEL_STACK_FAULT,
	};
	const struct model_sample *s;

	ingest_sample(f.in, &sample);
	cr_assert_eq(f.m->samples_cnt, 1);
	s = &f.m->samples[0];
	cr_expect_eq(s->time_ns, FEED_START + 5);
	cr_expect_eq(s->cpu, 8191);
	cr_expect_eq(s->kernel_stack, 11);
	cr_expect_eq(s->user_stack, 12);
	cr_expect_eq(s->waiters, WAITERS_UNKNOWN);
	cr_expect_eq(s->kind, SAMPLE_ON_CPU);
	cr_expect_eq(s->flags, SAMPLE_KERNEL_THREAD | SAMPLE_KERNEL_STACK_FAULT);
	cr_expect_eq(f.m->threads[s->thread].tid, 8);
	cr_expect_eq(f.m->processes[0].flags, PROCESS_SAMPLED | PROCESS_KERNEL);
	cr_expect_eq(f.m->processes[0].cgroup_id, 42);
	feed_free(&f);
}

/* --- the clock ------------------------------------------------------------------------------ */

Test(ingest, a_process_forked_after_a_suspend_is_one_row)
{
	struct feed f = feed_new(1);
	uint64_t fork_ns = FEED_START + 5 * FEED_SECOND;
	uint64_t slept_ns = 3600 * FEED_SECOND, start_ns = feed_boot(fork_ns) + slept_ns;

	ingest_set_boot_offset(f.in, feed_boot(0) + slept_ns);
	ingest_fork(f.in, 50, 50, 1, fork_ns + 10 * FEED_US);
	feed_account_at(&f, 50, 50, start_ns, start_ns, 7 * FEED_MS, fork_ns + 20 * FEED_MS);
	cr_expect_eq(f.m->processes_cnt, 1);
	cr_expect_eq(feed_on_cpu(&f, 0), 7 * FEED_MS, "born in the recording: counts from zero");
	feed_free(&f);
}

/* Between the clocks of two gears 50 ms pass of which nobody tells; one row a slice all the
 * same. */
Test(ingest_books, another_clock_goes_on_where_the_first_one_ended)
{
	struct feed f = feed_new(1);
	struct cpu_clock clock = {.last_switch_ns = FEED_START + 350 * FEED_MS,
				  .idle_ns = 7000 * FEED_MS,
				  .accounted_ns = 9000 * FEED_MS,
				  .running_tid = 5};
	struct sums s;

	read_cpu(&f, &(struct reading){0});
	read_cpu(&f, &(struct reading){.now_ms = 300,
				       .last_switch_ms = 300,
				       .idle_ms = 100,
				       .accounted_ms = 200});
	/* It ran somebody from its last switch on. */
	ingest_cpu_change(f.in, 0, &clock, FEED_START + 350 * FEED_MS);
	clock.idle_ns += 250 * FEED_MS;
	clock.accounted_ns += 400 * FEED_MS;
	clock.last_switch_ns = FEED_START + 1000 * FEED_MS;
	read_clock(&f, 0, &clock, FEED_START + 1000 * FEED_MS);
	s = sum(&f);
	cr_expect_eq(s.rows, 1u);
	cr_expect_eq(s.elapsed, 1000u);
	cr_expect_eq(s.idle, 350u);
	cr_expect_eq(s.accounted, 600u);
	cr_expect_eq(s.unaccounted, 50u);
	feed_free(&f);
}

Test(ingest_books, ticks_weigh_what_they_stand_for)
{
	struct feed f = feed_new(1);
	struct sums s;

	read_cpu(&f, &(struct reading){0});
	ingest_set_every(f.in, 5);
	read_cpu(&f, &(struct reading){.now_ms = 1000,
				       .last_switch_ms = 1000,
				       .accounted_ms = 1000,
				       .ticks_taken = 20});
	s = sum(&f);
	cr_expect_eq(s.ticks, 100u);
	feed_free(&f);
}

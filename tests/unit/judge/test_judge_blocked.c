/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <math.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "judge/blocked.h"

#define MS 1000000ull

struct fixture {
	struct model *m;
	uint32_t program;
	uint32_t start, work, futex, nap, socket, epoll;
};

static struct fixture make(unsigned int slices)
{
	struct fixture f = {.m = build_model(2, 99)};
	struct model *m = f.m;

	f.program = build_process(m, 100, "waits", 0);
	f.start = build_symbol(m, "start_thread", "libc.so.6", KIND_NATIVE, false);
	f.work = build_symbol(m, "work", "waits", KIND_NATIVE, true);
	f.futex = build_symbol(m, "futex_wait", "[kernel]", KIND_KERNEL, false);
	f.nap = build_symbol(m, "do_nanosleep", "[kernel]", KIND_KERNEL, false);
	f.socket = build_symbol(m, "tcp_recvmsg", "[kernel]", KIND_KERNEL, false);
	f.epoll = build_symbol(m, "ep_poll", "[kernel]", KIND_KERNEL, false);
	for (unsigned int i = 0; i < slices; i++)
		build_slice(m, BUILD_SECOND, 0, 0, 0);
	return f;
}

/* A row of that thread in that slice. */
static struct model_stand *add(struct fixture *f, uint32_t slice, uint32_t tid, uint64_t blocked_ns,
			       uint64_t age_ns, uint32_t kernel)
{
	uint32_t thread = build_thread(f->m, f->program, tid, "mine", 0, 'S');
	struct model_stand s = {.age_ns = age_ns,
				.call = STAND_CALL_NONE,
				.state = 'S',
				.slice = slice,
				.blocked_ns = blocked_ns};

	BUILD_SAMPLES(f->m, thread, 1, f->start, f->work, kernel);
	s.at = f->m->samples[--f->m->samples_cnt];
	s.at.thread = thread;
	cr_assert_eq(model_stand_add(f->m, &s), 0);
	return &f->m->stands[f->m->stands_cnt - 1];
}

static const struct blocked_kind *kind_of(const struct blocked_process *p, enum stand_wait wait)
{
	for (size_t i = 0; i < p->kinds_cnt; i++)
		if (p->kinds[i].wait == wait)
			return &p->kinds[i];
	return NULL;
}

Test(blocked, time_is_summed_by_group_kind_and_process_and_idle_waits_stand_apart)
{
	struct fixture f = make(6);
	const struct blocked_process *p;
	struct blocked *b;

	for (uint32_t i = 0; i < 6; i++) {
		add(&f, i, 101, 500 * MS, (i + 1) * 500 * MS, f.futex);
		add(&f, i, 102, 500 * MS, 3 * MS, f.futex);
		add(&f, i, 103, 250 * MS, STAND_AGE_UNKNOWN, f.nap);
		add(&f, i, 104, 1000 * MS, 7 * MS, f.epoll);
	}
	/* Of a look at every thread alone: where it stands, no time. */
	add(&f, 5, 105, 0, 1000 * BUILD_SECOND, f.futex)->now = true;
	b = blocked_new(f.m);
	cr_assert(b);
	cr_assert_eq(b->processes_cnt, 1);
	cr_expect_eq(b->slices, 6);
	cr_expect_eq(b->elapsed_ns, 6 * BUILD_SECOND);
	p = blocked_find(b, f.program);
	cr_assert(p);
	cr_expect_eq(p->all.blocked_ns, 13500 * MS);
	cr_expect_eq(p->all.threads, 4);
	cr_expect_eq(p->waits.blocked_ns, 7500 * MS);
	cr_expect_eq(p->idle.blocked_ns, 6000 * MS);
	cr_assert_eq(p->groups_cnt, 3);
	cr_expect_eq(p->groups[0].sum.blocked_ns, 6000 * MS);
	cr_expect_eq(p->groups[0].sum.threads, 2);
	cr_expect_eq(p->groups[0].sum.longest_ns, 3000 * MS);
	cr_expect_eq(p->groups[1].sum.blocked_ns, 1500 * MS);
	cr_expect_eq(p->groups[1].sum.longest_ns, 0);
	cr_expect(p->groups[2].group->idle);
	cr_expect_float_eq(p->groups[0].sum.of_waits.share, 0.8, 1e-9);
	cr_expect_float_eq(p->groups[0].sum.of_all.share, 6.0 / 13.5, 1e-9);
	cr_expect(isnan(p->groups[2].sum.of_waits.share));
	/* Each slice is like the others: nothing is off. */
	cr_expect_float_eq(p->groups[0].sum.of_waits.error, 0, 1e-9);
	cr_expect_float_eq(blocked_mean(b, p->waits.blocked_ns), 1.25, 1e-9);
	cr_assert_eq(p->kinds_cnt, 3);
	cr_expect_eq(p->kinds[0].wait, WAIT_LOCK);
	cr_expect_eq(p->kinds[0].ages_ns[1], 3000 * MS);
	cr_expect_eq(p->kinds[0].ages_ns[3], 500 * MS);
	cr_expect_eq(p->kinds[0].ages_ns[4], 2500 * MS);
	cr_expect_eq(kind_of(p, WAIT_SLEEP)->ages_ns[BLOCKED_AGE_UNKNOWN], 1500 * MS);
	cr_expect(p->kinds[2].idle);
	blocked_free(b);
	model_free(f.m);
}

Test(blocked, a_slice_without_a_look_is_stood_for_by_the_next_one)
{
	struct fixture f = make(5);
	struct blocked *b;

	/* None ended in slices 1 and 4. */
	add(&f, 0, 101, 1000 * MS, MS, f.futex);
	add(&f, 2, 101, 2000 * MS, MS, f.futex);
	add(&f, 3, 101, 1000 * MS, MS, f.futex);
	b = blocked_new(f.m);
	cr_assert(b);
	cr_expect_eq(b->slices, 3);
	cr_expect_eq(b->elapsed_ns, 4 * BUILD_SECOND);
	cr_expect_float_eq(blocked_mean(b, b->processes[0].waits.blocked_ns), 1, 1e-9);
	blocked_free(b);
	model_free(f.m);
}

Test(blocked, few_slices_or_nothing_beside_have_no_error)
{
	for (unsigned int slices = BLOCKED_SLICES - 1; slices <= BLOCKED_SLICES; slices++) {
		struct fixture f = make(slices);
		struct blocked *b;

		for (uint32_t i = 0; i < slices; i++) {
			add(&f, i, 101, (500 + i) * MS, MS, f.futex);
			add(&f, i, 102, 500 * MS, MS, f.nap);
		}
		b = blocked_new(f.m);
		cr_assert(b);
		cr_expect_eq(isnan(b->groups[0].sum.of_waits.error), slices < BLOCKED_SLICES);
		cr_expect(isnan(b->processes[0].waits.of_waits.error));
		blocked_free(b);
		model_free(f.m);
	}
}

/* By hand: shares of 1, 0, 1, 0, 1 in five slices of equal length: R = 0.6, the residuals are
 * 0.4 and -0.6, sum of squares 1.2, t = 2.776. */
Test(blocked, the_error_is_that_of_the_ratio_estimator)
{
	struct fixture f = make(5);
	struct blocked *b;

	for (uint32_t i = 0; i < 5; i++)
		add(&f, i, 101, 1000 * MS, MS, i % 2 ? f.nap : f.futex);
	b = blocked_new(f.m);
	cr_assert(b);
	cr_expect_float_eq(b->groups[0].sum.of_waits.share, 0.6, 1e-9);
	cr_expect_float_eq(b->groups[0].sum.of_waits.error, 2.776 * sqrt(5.0 / 4.0 * 1.2) / 5.0,
			   0.003);
	blocked_free(b);
	model_free(f.m);
}

Test(blocked, who_waits_most_comes_first_and_nobody_is_no_process)
{
	struct fixture f = make(1);
	uint32_t first = f.program;
	struct blocked *b = blocked_new(f.m);

	cr_assert(b);
	cr_expect_eq(b->processes_cnt, 0);
	cr_expect_null(blocked_find(b, first));
	blocked_free(b);
	blocked_free(NULL);
	add(&f, 0, 101, 900 * MS, MS, f.epoll);
	f.program = build_process(f.m, 50, "other", 0);
	add(&f, 0, 51, 10 * MS, MS, f.futex);
	b = blocked_new(f.m);
	cr_assert(b);
	cr_assert_eq(b->processes_cnt, 2);
	cr_expect_eq(b->processes[0].process, f.program);
	cr_expect_eq(b->processes[1].process, first);
	blocked_free(b);
	model_free(f.m);
}

/* --- as samples ------------------------------------------------------------------------------ */

static uint64_t weight_of(const struct model *m)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < m->samples_cnt; i++)
		sum += model_weight(&m->samples[i]);
	return sum;
}

Test(blocked, samples_weigh_whole_milliseconds_and_lose_none_of_a_group)
{
	struct fixture f = make(20);

	for (uint32_t i = 0; i < 20; i++) {
		/* 0.7 ms each: 14 in all, though none makes a whole one. */
		add(&f, i, 101, 7 * MS / 10, MS, f.futex);
		add(&f, i, 102, 30 * MS, MS, f.nap);
		add(&f, i, 103, 500 * MS, MS, f.epoll);
	}
	add(&f, 0, 104, 0, MS, f.futex)->now = true;
	BUILD_SAMPLES(f.m, 0, 5, f.start);
	cr_assert_eq(blocked_as_samples(f.m, false), 0);
	cr_expect_eq(weight_of(f.m), 14 + 600);
	for (size_t i = 0; i < f.m->samples_cnt; i++)
		cr_expect_gt(f.m->samples[i].weight, 0);
	cr_assert_eq(blocked_as_samples(f.m, true), 0);
	cr_expect_eq(weight_of(f.m), 14 + 600 + 10000);
	model_free(f.m);
}

/* --- known truth ------------------------------------------------------------------------------ */

#define RUNS   400
#define LOOKS  20
#define SLICES 10

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

/*
 * One thread that is half of its time in a lock, 30 % in a timer and 20 % at a socket, each cycle
 * so long, looked at at random moments: how often the interval holds the truth.
 */
static unsigned int covered(uint64_t cycle_ns, uint64_t *state, double *ret_error)
{
	struct fixture f = make(0);
	const uint32_t kernel[] = {f.futex, f.nap, f.socket};
	unsigned int hits = 0;
	double errors = 0;

	for (unsigned int i = 0; i < SLICES; i++)
		build_slice(f.m, BUILD_SECOND, 0, 0, 0);
	for (unsigned int run = 0; run < RUNS; run++) {
		struct blocked *b;

		f.m->stands_cnt = 0;
		for (uint32_t slice = 0; slice < SLICES; slice++)
			for (unsigned int look = 0; look < LOOKS; look++) {
				uint64_t at =
					slice * BUILD_SECOND + next_random(state) % BUILD_SECOND;
				uint64_t in = (at + run * 37 * MS) % cycle_ns * 10 / cycle_ns;

				add(&f, slice, 101, BUILD_SECOND / LOOKS, MS,
				    kernel[in < 5   ? 0
					   : in < 8 ? 1
						    : 2]);
			}
		b = blocked_new(f.m);
		cr_assert(b);
		for (size_t i = 0; i < b->processes[0].kinds_cnt; i++) {
			const struct blocked_kind *k = &b->processes[0].kinds[i];
			double truth = k->wait == WAIT_LOCK    ? 0.5
				       : k->wait == WAIT_SLEEP ? 0.3
							       : 0.2;

			errors += k->sum.of_waits.error;
			hits += fabs(k->sum.of_waits.share - truth) <= k->sum.of_waits.error;
		}
		blocked_free(b);
	}
	*ret_error = errors / (3 * RUNS);
	model_free(f.m);
	return hits;
}

Test(blocked, the_interval_holds_the_truth_as_often_as_it_says, .timeout = 120)
{
	uint64_t state = 1;
	double error, wide;
	unsigned int fast = covered(10 * MS, &state, &error);
	unsigned int slow = covered(SLICES * BUILD_SECOND, &state, &wide);

	/* 95 %, less twice the standard error of so many. */
	cr_expect_geq(fast, 3 * RUNS * 93 / 100, "%u of %u", fast, 3 * RUNS);
	/* And no wider than 200 looks one by one have it, but by a quarter: t for z, mostly. */
	cr_expect_lt(error, 1.25 * 1.96 * sqrt(0.21 / (SLICES * LOOKS)), "%f", error);
	cr_expect_gt(wide, error);
	/* What lasts longer than a slice is not less sure than it says. */
	cr_expect_geq(slow, 3 * RUNS * 93 / 100, "%u of %u", slow, 3 * RUNS);
}

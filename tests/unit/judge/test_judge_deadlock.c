/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <stdlib.h>

#include "bpf/events.h"
#include "build_model.h"
#include "judge/deadlock.h"

#define NOBODY 99999u
/* When rows are read, unless a test says else, and since when their threads wait. */
#define READ_NS	 (2 * BUILD_START_NS)
#define AGE_NS	 (60 * BUILD_SECOND)
#define EXACT_NS STANDS_AGE_OFF_NS

struct fixture {
	struct model *m;
	struct stands stands;
	uint32_t shop, frames[3];
};

static struct fixture make(void)
{
	struct fixture f = {.m = build_model(1, 99)};

	f.shop = build_process(f.m, 10, "shop", 0);
	f.frames[0] = build_symbol(f.m, "start_thread", "libc.so.6", KIND_NATIVE, false);
	f.frames[1] = build_symbol(f.m, "pthread_mutex_lock", "libc.so.6", KIND_NATIVE, false);
	f.frames[2] = build_symbol(f.m, "futex_do_wait", "[kernel]", KIND_KERNEL, false);
	return f;
}

/* A thread that waits for a mutex which that one holds; 0: for nobody. */
static struct model_stand *put(struct fixture *f, uint32_t process, uint32_t tid, uint32_t holder)
{
	uint32_t thread = build_thread(f->m, process, tid, "worker", 0, 'S');
	struct model_stand s = {
		.age_ns = AGE_NS, .call = STAND_CALL_NONE, .state = 'S', .holder = holder};

	build_samples(f->m, thread, 1, 0, f->frames, 3);
	s.at = f->m->samples[f->m->samples_cnt - 1];
	s.at.thread = thread;
	s.at.time_ns = READ_NS;
	cr_assert_eq(stands_add(&f->stands, &s), 0);
	return &f->stands.rows[f->stands.cnt - 1];
}

static struct deadlocks *find(struct fixture *f)
{
	struct standing *s = standing_new(f->m, &f->stands);
	struct deadlocks *d;

	cr_assert(s);
	d = deadlocks_new(f->m, &f->stands, s);
	cr_assert(d);
	standing_free(s);
	return d;
}

static void drop(struct fixture *f, struct deadlocks *d)
{
	free(d);
	stands_clear(&f->stands);
	model_free(f->m);
}

static uint32_t tid(const struct fixture *f, const struct deadlock *d, uint32_t i)
{
	return f->m->threads[d->threads[i]].tid;
}

Test(deadlock, threads_that_wait_for_each_other_are_told_once)
{
	struct fixture f = make();
	uint32_t other = build_process(f.m, 50, "other", 0);
	struct deadlocks *d;

	put(&f, f.shop, 13, 11); /* a ring of three */
	put(&f, f.shop, 11, 12);
	put(&f, f.shop, 12, 13);
	put(&f, f.shop, 14, 11); /* behind it */
	put(&f, f.shop, 15, 10); /* for one that waits for nothing */
	put(&f, f.shop, 10, 0);
	put(&f, f.shop, 16, NOBODY); /* who is not there */
	put(&f, other, 51, 52);
	put(&f, other, 52, 51);
	d = find(&f);
	cr_assert_eq(d->cnt, 2);
	cr_expect_eq(d->rows[0].process, f.shop);
	cr_assert_eq(d->rows[0].cnt, 3);
	for (uint32_t i = 0; i < 3; i++)
		cr_expect_eq(tid(&f, &d->rows[0], i), 11 + i);
	cr_expect_eq(d->rows[1].process, other);
	cr_assert_eq(d->rows[1].cnt, 2);
	cr_expect_eq(tid(&f, &d->rows[1], 0), 51);
	drop(&f, d);
}

Test(deadlock, nobody_waits_for_a_lock_of_his_own)
{
	struct fixture f = make();
	struct deadlocks *d;

	put(&f, f.shop, 11, 11);
	d = find(&f);
	cr_expect_eq(d->cnt, 0);
	drop(&f, d);
}

Test(deadlock, a_ring_of_more_than_are_told_is_none)
{
	struct fixture f = make();
	struct deadlocks *d;

	for (uint32_t i = 0; i <= DEADLOCK_THREADS; i++)
		put(&f, f.shop, 100 + i, 100 + (i + 1) % (DEADLOCK_THREADS + 1));
	d = find(&f);
	cr_expect_eq(d->cnt, 0);
	drop(&f, d);
}

/* A ring of three, of which one was read so long after the others, when it waited for so long. */
static size_t rings(uint64_t later_ns, uint64_t age_ns)
{
	struct fixture f = make();
	struct model_stand *s;
	struct deadlocks *d;
	size_t cnt;

	put(&f, f.shop, 11, 12);
	s = put(&f, f.shop, 12, 13);
	s->at.time_ns += later_ns;
	s->age_ns = age_ns;
	put(&f, f.shop, 13, 11);
	d = find(&f);
	cnt = d->cnt;
	drop(&f, d);
	return cnt;
}

Test(deadlock, all_must_have_waited_before_one_was_read)
{
	uint64_t s = BUILD_SECOND;

	/* A pass that took long: it began to wait after the others were seen. */
	cr_expect_eq(rings(5 * s, 4 * s), 0);
	cr_expect_eq(rings(5 * s, 6 * s), 1);
	/* To what an age is exact. */
	cr_expect_eq(rings(5 * s, 5 * s), 0);
	cr_expect_eq(rings(5 * s, 5 * s + EXACT_NS), 0);
	cr_expect_eq(rings(5 * s, 5 * s + EXACT_NS + 1), 1);
	/* Whatever a capture says. */
	cr_expect_eq(rings(0, READ_NS + s), 1);
	cr_expect_eq(rings(UINT64_MAX - READ_NS, 4 * s), 0);
}

Test(deadlock, a_wait_that_is_young_or_of_no_known_age_makes_none)
{
	cr_expect_eq(rings(0, STAND_AGE_UNKNOWN), 0);
	cr_expect_eq(rings(0, 0), 0);
	cr_expect_eq(rings(0, DEADLOCK_LEAST_NS - 1), 0);
	cr_expect_eq(rings(0, DEADLOCK_LEAST_NS), 1);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From looks to blocked time: sums that are true whoever was chosen, stacks that are remembered,
 * and who is chosen. */
#include <criterion/criterion.h>

#include <stdlib.h>

#include "build_model.h"
#include "model/blocked_book.h"

#define MS 1000000ull

static struct look_share shares[8]; /* by tgid, less 100 */
static int sets;

static int set(void *ctx, uint32_t tgid, const struct look_share *share)
{
	cr_assert_null(ctx);
	shares[tgid - 100] = share ? *share : (struct look_share){0};
	sets++;
	return 0;
}

static void begin(struct model *m, struct blocked_book *b)
{
	const struct model_slice slice = {.start_ns = BUILD_START_NS};

	cr_assert_eq(model_slice_add(m, &slice), 0);
	blocked_book_begin_slice(b, true);
}

static struct model_stand stand_of(uint32_t thread, uint64_t switches, uint64_t age_ns)
{
	return (struct model_stand){
		.at = {.thread = thread, .kernel_stack = 1, .user_stack = 2},
		.age_ns = age_ns,
		.switches = switches,
		.call = 202,
		.state = 'S',
	};
}

static uint64_t sum_of(const struct model *m)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < m->stands_cnt; i++)
		sum += m->stands[i].blocked_ns;
	return sum;
}

Test(blocked_book, who_is_found_at_each_look_was_blocked_all_the_time)
{
	struct model *m = build_model(1, 99);
	struct blocked_book b = {0};
	uint32_t t = build_thread(m, build_process(m, 100, "one", 0), 101, "one", 0, 'S');
	struct model_stand s;

	begin(m, &b);
	for (int i = 0; i < 8; i++) {
		s = stand_of(t, 5, 2000 * MS + (uint64_t)i * 100 * MS);
		blocked_book_take(&b, m, &s, LOOK_ALL, i > 0);
		blocked_book_end_look(&b);
	}
	blocked_book_end_slice(&b, m, BUILD_SECOND);
	cr_expect_eq(m->slices[0].looks, 8);
	cr_assert_eq(m->stands_cnt, 1, "one wait is one row");
	cr_expect_eq(m->stands[0].blocked_ns, BUILD_SECOND);
	cr_expect_eq(m->stands[0].age_ns, 2700 * MS, "as of the last look");
	cr_expect_eq(m->stands[0].at.user_stack, 2);
	cr_expect_eq(m->stands[0].call, 202);
	blocked_book_clear(&b);
	model_free(m);
}

Test(blocked_book, lasting_waits_are_rows_of_their_own_and_brief_ones_at_one_place_are_one)
{
	struct model *m = build_model(1, 99);
	struct blocked_book b = {0};
	uint32_t t = build_thread(m, build_process(m, 100, "one", 0), 101, "one", 0, 'S');
	struct model_stand s;

	begin(m, &b);
	for (uint64_t i = 0; i < 4; i++) {
		s = stand_of(t, 5 + i, 20 * MS);
		blocked_book_take(&b, m, &s, LOOK_ALL, false);
		blocked_book_end_look(&b);
	}
	s = stand_of(t, 100, 20 * MS);
	s.at.user_stack = 3;
	blocked_book_take(&b, m, &s, LOOK_ALL, false);
	blocked_book_end_look(&b);
	s = stand_of(t, 200, 1500 * MS);
	blocked_book_take(&b, m, &s, LOOK_ALL, false);
	blocked_book_end_look(&b);
	blocked_book_end_slice(&b, m, 6 * 100 * MS);
	cr_assert_eq(m->stands_cnt, 3);
	cr_expect_eq(m->stands[0].blocked_ns, 400 * MS);
	cr_expect_eq(m->stands[1].blocked_ns, 100 * MS);
	cr_expect_eq(m->stands[2].blocked_ns, 100 * MS);
	blocked_book_clear(&b);
	model_free(m);
}

static bool wake(struct model *m, struct blocked_book *b, uint32_t thread, uint32_t by,
		 uint64_t switches)
{
	const struct model_waker waker = {.at = {.thread = by, .kernel_stack = 8, .user_stack = 9},
					  .woken = thread};

	return blocked_book_wake(b, m, &waker, switches);
}

Test(blocked_book, who_ends_a_wait_has_the_time_that_was_found_of_it)
{
	struct model *m = build_model(1, 99);
	struct blocked_book b = {0};
	uint32_t program = build_process(m, 100, "one", 0);
	uint32_t t = build_thread(m, program, 101, "one", 0, 'S');
	uint32_t by = build_thread(m, program, 102, "two", 0, 'S');
	struct model_stand s = stand_of(t, 5, 100 * MS);

	begin(m, &b);
	cr_expect_not(wake(m, &b, t, by, 5), "nothing is known of that thread");
	for (int i = 0; i < 4; i++) {
		blocked_book_take(&b, m, &s, i == 3 ? LOOK_ALL : 1u << 31, i > 0);
		blocked_book_end_look(&b);
	}
	cr_expect_not(wake(m, &b, t, by, 4), "an earlier wait");
	cr_expect_not(wake(m, &b, t, by, 6), "a later one");
	cr_assert(wake(m, &b, t, by, 5));
	cr_expect_not(wake(m, &b, t, by, 5), "it ends once");
	s = stand_of(t, 6, MS);
	s.at.user_stack = 3;
	blocked_book_take(&b, m, &s, LOOK_ALL, false);
	blocked_book_end_look(&b);
	cr_assert(wake(m, &b, t, by, 6));
	blocked_book_end_slice(&b, m, 500 * MS);
	cr_assert_eq(m->wakers_cnt, 2);
	/* Three looks stood for two threads each, one for itself. */
	cr_expect_eq(m->wakers[0].blocked_ns, 700 * MS);
	cr_expect_eq(m->wakers[0].wait_kernel, 1);
	cr_expect_eq(m->wakers[0].wait_user, 2);
	cr_expect_eq(m->wakers[0].at.user_stack, 9);
	cr_expect_eq(m->wakers[0].slice, 0);
	cr_expect_eq(m->wakers[1].blocked_ns, 100 * MS);
	cr_expect_eq(m->wakers[1].wait_user, 3);
	blocked_book_clear(&b);
	model_free(m);
}

Test(blocked_book, a_wait_that_ends_in_a_slice_without_a_look_counts_as_before)
{
	struct model *m = build_model(1, 99);
	struct blocked_book b = {0};
	uint32_t t = build_thread(m, build_process(m, 100, "one", 0), 101, "one", 0, 'S');
	struct model_stand s = stand_of(t, 5, 100 * MS);

	begin(m, &b);
	for (int i = 0; i < 4; i++) {
		blocked_book_take(&b, m, &s, LOOK_ALL, i > 0);
		blocked_book_end_look(&b);
	}
	blocked_book_end_slice(&b, m, BUILD_SECOND);
	begin(m, &b);
	cr_assert(wake(m, &b, t, t, 5));
	blocked_book_end_slice(&b, m, BUILD_SECOND);
	cr_expect_eq(m->wakers[0].blocked_ns, BUILD_SECOND);
	cr_expect_eq(m->wakers[0].slice, 1);
	blocked_book_clear(&b);
	model_free(m);
}

Test(blocked_book, slices_without_a_look_are_stood_for_by_the_next_one)
{
	struct model *m = build_model(1, 99);
	struct blocked_book b = {0};
	uint32_t t = build_thread(m, build_process(m, 100, "one", 0), 101, "one", 0, 'S');
	struct model_stand s = stand_of(t, 5, 2000 * MS);

	for (int i = 0; i < 3; i++) {
		begin(m, &b);
		blocked_book_end_slice(&b, m, BUILD_SECOND);
	}
	begin(m, &b);
	blocked_book_take(&b, m, &s, LOOK_ALL, false);
	blocked_book_end_look(&b);
	blocked_book_end_slice(&b, m, BUILD_SECOND);
	begin(m, &b);
	blocked_book_take(&b, m, &s, LOOK_ALL, true);
	blocked_book_end_look(&b);
	blocked_book_end_slice(&b, m, BUILD_SECOND);
	cr_assert_eq(m->stands_cnt, 2);
	cr_expect_eq(m->stands[0].blocked_ns, 4 * BUILD_SECOND);
	cr_expect_eq(m->stands[1].blocked_ns, BUILD_SECOND);
	cr_expect_eq(m->slices[2].looks, 0);
	blocked_book_clear(&b);
	model_free(m);
}

Test(blocked_book, rows_of_others_may_come_between)
{
	struct model *m = build_model(1, 99);
	struct blocked_book b = {0};
	uint32_t p = build_process(m, 100, "one", 0);
	uint32_t t = build_thread(m, p, 101, "one", 0, 'S'),
		 u = build_thread(m, p, 102, "u", 0, 'S');
	struct model_stand s = stand_of(t, 5, 2000 * MS), now = stand_of(u, 9, 0);

	begin(m, &b);
	now.now = true;
	for (int i = 0; i < 300; i++)
		cr_assert_eq(model_stand_add(m, &now), 0);
	blocked_book_take(&b, m, &s, LOOK_ALL, false);
	for (int i = 0; i < 300; i++)
		cr_assert_eq(model_stand_add(m, &now), 0);
	s = stand_of(u, 7, 0);
	blocked_book_take(&b, m, &s, LOOK_ALL, false);
	blocked_book_end_look(&b);
	blocked_book_end_slice(&b, m, BUILD_SECOND);
	cr_assert_eq(m->stands_cnt, 602);
	cr_expect_eq(m->stands[300].blocked_ns, BUILD_SECOND);
	cr_expect_eq(m->stands[601].blocked_ns, BUILD_SECOND);
	cr_expect_eq(sum_of(m), 2 * BUILD_SECOND);
	blocked_book_clear(&b);
	model_free(m);
}

Test(blocked_book, of_one_that_is_not_remembered_the_time_is_kept_and_nothing_made_up)
{
	struct model *m = build_model(1, 99);
	struct blocked_book b = {0};
	uint32_t t = build_thread(m, build_process(m, 100, "one", 0), 101, "one", 0, 'S');
	struct model_stand s = stand_of(t, 5, 0);

	begin(m, &b);
	s.at.kernel_stack = s.at.user_stack = 0; /* as the kernel tells it */
	blocked_book_take(&b, m, &s, LOOK_ALL, true);
	blocked_book_end_look(&b);
	blocked_book_end_again(&b, m, set, NULL);
	cr_expect_eq(shares[0].again, 1, "it is read at the next look");
	cr_expect_eq(shares[0].brief, LOOK_ALL);
	s = stand_of(t, 5, 0);
	blocked_book_take(&b, m, &s, LOOK_ALL, false);
	blocked_book_end_look(&b);
	blocked_book_end_again(&b, m, set, NULL);
	cr_expect_eq(shares[0].again, 0);
	/* Its stack was torn: it is blocked, and where is not known. */
	s.flags = STAND_MOVED;
	s.switches = 6;
	s.at.kernel_stack = s.at.user_stack = 0;
	blocked_book_take(&b, m, &s, LOOK_ALL, false);
	blocked_book_end_look(&b);
	s.flags = 0;
	blocked_book_take(&b, m, &s, LOOK_ALL, true);
	blocked_book_end_look(&b);
	blocked_book_end_again(&b, m, set, NULL);
	cr_expect_eq(shares[0].again, 1);
	blocked_book_end_slice(&b, m, BUILD_SECOND);
	cr_expect_eq(sum_of(m), BUILD_SECOND);
	for (size_t i = 0; i < m->stands_cnt; i++)
		cr_expect(m->stands[i].at.user_stack == 0 ||
			  (m->stands[i].at.user_stack == 2 && m->stands[i].switches == 5));
	blocked_book_clear(&b);
	model_free(m);
}

Test(blocked_book, time_in_which_nobody_was_to_look_is_stood_for_by_nobody)
{
	struct model *m = build_model(1, 99);
	struct blocked_book b = {0};
	uint32_t t = build_thread(m, build_process(m, 100, "one", 0), 101, "one", 0, 'S');
	struct model_stand s = stand_of(t, 5, 2000 * MS);
	const struct model_slice slice = {.quiet = true};

	for (int i = 0; i < 3; i++) {
		model_slice_add(m, &slice);
		blocked_book_begin_slice(&b, false);
		blocked_book_end_slice(&b, m, BUILD_SECOND);
	}
	begin(m, &b);
	blocked_book_take(&b, m, &s, LOOK_ALL, false);
	blocked_book_end_look(&b);
	blocked_book_end_slice(&b, m, BUILD_SECOND);
	cr_expect_eq(sum_of(m), BUILD_SECOND);
	blocked_book_clear(&b);
	model_free(m);
}

Test(blocked_book, a_look_that_finds_too_many_counts_for_shares_alone)
{
	enum { CROWD = 60000 };
	struct model *m = build_model(1, 99);
	struct blocked_book b = {0};
	uint32_t p = build_process(m, 103, "crowd", 0), first = (uint32_t)m->threads_cnt;
	uint32_t was;

	for (uint32_t i = 0; i < CROWD; i++)
		build_thread(m, p, 1000 + i, "crowd", 0, 'S');
	begin(m, &b);
	for (uint32_t i = 0; i < CROWD; i++) {
		struct model_stand s = stand_of(first + i, 1, 3000 * MS);

		blocked_book_count(&b, m, &s, LOOK_ALL);
	}
	blocked_book_end_count(&b);
	blocked_book_set_shares(&b, m, set, NULL);
	cr_expect_eq(m->stands_cnt, 0);
	cr_expect_lt(shares[3].lasting, LOOK_ALL / 100);
	cr_expect_gt(b.share, 0, "others, too: there may be as many of them");
	/* They may all be back at once: the share grows in steps. */
	was = shares[3].lasting;
	blocked_book_end_look(&b);
	blocked_book_set_shares(&b, m, set, NULL);
	cr_expect_eq(shares[3].lasting, was * 4);
	cr_expect_eq(b.share, 0);
	blocked_book_end_slice(&b, m, BUILD_SECOND);
	blocked_book_clear(&b);
	model_free(m);
}

/* As the kernel chooses. */
static bool is_chosen(uint32_t thread, uint32_t seed, uint32_t share)
{
	uint64_t hash = (thread + 1) * 0x9e3779b97f4a7c15ull + seed;

	hash = (hash ^ hash >> 31) * 0xbf58476d1ce4e5b9ull;
	return share == LOOK_ALL || hash >> 32 < share;
}

/* 3,000 threads in brief waits for half of the time, one in a lasting one, and a small process
 * beside them: after a few slices few are looked at, and the sums are true. */
Test(blocked_book, some_stand_for_others_and_the_sums_stay_true)
{
	enum { CROWD = 3000, SLICES = 200, LOOKS = 5 };
	struct model *m = build_model(1, 99);
	struct blocked_book b = {0};
	uint32_t crowd = build_process(m, 100, "crowd", 0),
		 small = build_process(m, 101, "small", 0);
	uint32_t first = (uint32_t)m->threads_cnt, lasting, alone;
	uint64_t taken = 0, brief_ns = 0, lasting_ns = 0, alone_ns = 0;

	for (uint32_t i = 0; i < CROWD; i++)
		build_thread(m, crowd, 1000 + i, "crowd", 0, 'S');
	lasting = build_thread(m, crowd, 9000, "crowd", 0, 'S');
	alone = build_thread(m, small, 101, "small", 0, 'S');
	srand(7);
	for (uint32_t slice = 0; slice < SLICES; slice++) {
		begin(m, &b);
		for (uint64_t look = 0; look < LOOKS; look++) {
			const struct look_share *share = &shares[0];
			uint32_t chosen = share->brief ?: LOOK_ALL;

			for (uint32_t i = 0; i < CROWD; i++) {
				struct model_stand s =
					stand_of(first + i, slice * 100 + look, 3 * MS);

				if (rand() & 1 || !is_chosen(i, slice, chosen))
					continue;
				taken++;
				blocked_book_take(&b, m, &s, chosen, false);
			}
			struct model_stand s = stand_of(lasting, 1, (slice + 5) * 1000 * MS);

			cr_expect_eq(share->lasting ?: LOOK_ALL, LOOK_ALL, "it is not left out");
			blocked_book_take(&b, m, &s, LOOK_ALL, slice + look > 0);
			s = stand_of(alone, slice * 100 + look, 3 * MS);
			cr_expect_eq(shares[1].brief ?: LOOK_ALL, LOOK_ALL, "nor is a small one");
			if (look % 2)
				blocked_book_take(&b, m, &s, LOOK_ALL, false);
			blocked_book_end_look(&b);
		}
		blocked_book_end_slice(&b, m, BUILD_SECOND);
		blocked_book_set_shares(&b, m, set, NULL);
		for (size_t i = 0; i < m->stands_cnt; i++) {
			uint32_t thread = m->stands[i].at.thread;

			*(thread == lasting ? &lasting_ns
			  : thread == alone ? &alone_ns
					    : &brief_ns) += m->stands[i].blocked_ns;
		}
		model_forget_slice(m);
	}
	cr_expect_eq(lasting_ns, SLICES * BUILD_SECOND);
	cr_expect_eq(alone_ns, SLICES * BUILD_SECOND * 2 / LOOKS);
	/* Of some 60 a look, in 200 slices: within 2 % (three standard errors). */
	cr_expect_float_eq((double)brief_ns / 1e9, CROWD / 2.0 * SLICES,
			   CROWD / 2.0 * SLICES * 0.02);
	cr_expect_lt(taken, (uint64_t)CROWD / 2 * LOOKS + (uint64_t)SLICES * LOOKS * 90);
	blocked_book_clear(&b);
	model_free(m);
}

Test(blocked_book, broken_stacks_are_read_again_for_some_slices)
{
	struct model *m = build_model(1, 99);
	struct blocked_book b = {0};
	uint32_t p = build_process(m, 102, "one", 0), t = build_thread(m, p, 102, "one", 0, 'S');
	const struct model_stack broken = {
		.id = 2, .process = p, .end = STACK_END_NOT_YET, .broken_module = MODEL_NONE};
	uint32_t again = 0;

	model_stack_add(m, &broken, NULL);
	for (uint32_t slice = 0; slice < 16; slice++) {
		struct model_stand s = stand_of(t, 5, 2000 * MS);

		begin(m, &b);
		blocked_book_take(&b, m, &s, LOOK_ALL, false);
		blocked_book_end_look(&b);
		blocked_book_end_again(&b, m, set, NULL);
		cr_expect_eq(shares[2].again, 0, "once a slice");
		blocked_book_end_slice(&b, m, BUILD_SECOND);
		blocked_book_set_shares(&b, m, set, NULL);
		again += shares[2].again;
		model_forget_slice(m);
	}
	cr_expect_eq(again, 9);
	m->processes[p].exit_ns = 1;
	begin(m, &b);
	blocked_book_end_look(&b);
	blocked_book_set_shares(&b, m, set, NULL);
	cr_expect_eq(shares[2].brief, 0, "who has ended is no longer in the map");
	cr_expect_eq(sum_of(m), 0);
	blocked_book_clear(&b);
	model_free(m);
}

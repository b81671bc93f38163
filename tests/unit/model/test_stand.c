/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who holds what threads wait for, told by the number that its own namespace has for it. */
#include <criterion/criterion.h>
#include <linux/types.h>

#include "build_model.h"
#include "bpf/events.h"
#include "model/stand.h"

static void add(struct stands *s, uint32_t thread, uint32_t ns_tid, uint32_t holder)
{
	const struct model_stand stand = {
		.at = {.thread = thread}, .ns_tid = ns_tid, .holder = holder, .state = 'S'};

	cr_assert_eq(stands_add(s, &stand), 0);
}

Test(stand, holders_are_told_by_the_numbers_of_the_host)
{
	struct model *m = build_model(1, 99);
	uint32_t box = build_process(m, 5000, "box", 0), other = build_process(m, 7, "other", 0);
	uint32_t first = build_thread(m, box, 5000, "box", 0, 'S');
	uint32_t second = build_thread(m, box, 5001, "box", 0, 'S');
	uint32_t stranger = build_thread(m, other, 7, "other", 0, 'S');
	struct stands s = {0};

	add(&s, first, 1, 7);	  /* in its container a thread of its own is 7 */
	add(&s, second, 7, 0);	  /* this one */
	add(&s, stranger, 7, 12); /* of whom nobody in its process is 12 */
	cr_assert_eq(stands_tell_holders(&s, m), 0);
	cr_expect_eq(s.rows[0].holder, 5001);
	cr_expect_eq(s.rows[1].holder, 0);
	cr_expect_eq(s.rows[2].holder, 0);
	stands_clear(&s);
	model_free(m);
}

Test(stand, of_several_looks_at_every_thread_the_newest_counts)
{
	struct model *m = build_model(1, 99);
	struct model_stand row = {.state = 'S'};

	cr_expect_eq(stands_now_slice(m), MODEL_NONE);
	model_stand_add(m, &row);
	cr_expect_eq(stands_now_slice(m), MODEL_NONE);
	row.now = true;
	row.slice = 4;
	model_stand_add(m, &row);
	row.slice = 9;
	model_stand_add(m, &row);
	row.slice = 11;
	row.now = false;
	model_stand_add(m, &row);
	cr_expect_eq(stands_now_slice(m), 9);
	model_free(m);
}

/* A row of the model's of that thread, as it stood at a time (ms), for so long. */
static struct model_stand *put_row(struct model *m, uint32_t thread, uint64_t at_ms,
				   uint64_t age_ms, uint64_t stack)
{
	struct model_stand row = {
		.at = {.thread = thread, .time_ns = at_ms * 1000000, .user_stack = stack},
		.age_ns = age_ms == UINT64_MAX ? STAND_AGE_UNKNOWN : age_ms * 1000000,
		.state = 'S'};

	cr_assert_eq(model_stand_add(m, &row), 0);
	return &m->stands[m->stands_cnt - 1];
}

static uint64_t build_stack(struct model *m, uint32_t thread, uint32_t frame, uint32_t end)
{
	uint64_t key;

	build_samples(m, thread, 1, 0, &frame, 1);
	key = m->samples[m->samples_cnt - 1].user_stack;
	m->stacks[model_stack_find(m, key)].end = end;
	return key;
}

Test(stand, what_was_not_walked_in_a_wait_is_what_was_walked_in_it_later)
{
	static const struct {
		const char *what;
		uint64_t at_ms, age_ms; /* of the later row; the first one is of 1,000 ms */
		bool same;
	} rows[] = {
		{"it has stood there for long", 3000, 9000, true},
		{"it began just before", 3000, 2040, true},
		{"too near to tell", 3000, 2010, false},
		{"it ran in between", 3000, 1500, false},
		{"since when it stands there nobody knows", 3000, UINT64_MAX, false},
		{"of an earlier time", 500, 9000, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct model *m = build_model(1, 99);
		uint32_t shop = build_process(m, 7, "shop", 0);
		uint32_t thread = build_thread(m, shop, 7, "shop", 0, 'S');
		uint32_t other = build_thread(m, shop, 8, "shop", 0, 'S');
		uint64_t broken =
			build_stack(m, thread, build_symbol(m, "read", "libc.so.6", KIND_NATIVE, 0),
				    STACK_END_NOT_YET);
		uint64_t whole = build_stack(
			m, thread, build_symbol(m, "main", "shop", KIND_NATIVE, 0), STACK_END_ROOT);

		put_row(m, thread, 1000, 900, broken);
		put_row(m, other, 1100, 900, broken); /* of whom nothing more is known */
		put_row(m, thread, rows[i].at_ms, rows[i].age_ms, whole);
		cr_assert_eq(stands_complete(m), 0);
		cr_expect_eq(m->stands[0].at.user_stack, rows[i].same ? whole : broken, "%s",
			     rows[i].what);
		cr_expect_eq(m->stands[1].at.user_stack, broken);
		cr_expect_eq(m->stands[2].at.user_stack, whole);
		model_free(m);
	}
}

Test(stand, what_the_runtime_says_of_a_lock_takes_the_place_of_a_mutex)
{
	static const struct {
		uint32_t holder, flags, found;
		bool object, monitor;
		uint32_t want, want_flags;
	} rows[] = {
		{0, 0, 7, true, false, 7, STAND_LOCK_OBJECT},
		{0, 0, 7, true, true, 7, STAND_LOCK_OBJECT | STAND_MONITOR},
		{0, 0, 7, false, true, 7, STAND_MONITOR},
		{3, STAND_LOCK, 7, true, false, 7, STAND_LOCK | STAND_LOCK_OBJECT},
		{3, STAND_LOCK, 0, false, false, 3, STAND_LOCK},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct model_stand s = {.holder = rows[i].holder, .flags = rows[i].flags};

		stand_tell_lock(&s, rows[i].found, rows[i].object, rows[i].monitor);
		cr_expect_eq(s.holder, rows[i].want, "%zu", i);
		cr_expect_eq(s.flags, rows[i].want_flags, "%zu", i);
	}
}

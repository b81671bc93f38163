/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What threads did between two looks at them. */
#include <criterion/criterion.h>

#include "model/look.h"

#define MS 1000000ull

static struct event_counts thread(uint32_t tgid, uint32_t tid, uint64_t ran_ns)
{
	return (struct event_counts){.tgid = tgid,
				     .tid = tid,
				     .process_start_ns = tgid,
				     .thread_start_ns = tid,
				     .ran_ns = ran_ns,
				     .waited_ns = 2 * ran_ns,
				     .parent_tgid = 1};
}

static void add(struct look *l, struct event_counts c)
{
	cr_assert_eq(look_add(l, &c), 0);
}

struct looks {
	struct look before, after;
	struct look_gone gone;
};

static void compare(struct looks *l)
{
	cr_assert_eq(look_gone(&l->before, &l->after, &l->gone), 0);
}

static void drop(struct looks *l)
{
	look_clear(&l->before);
	look_clear(&l->after);
	look_gone_clear(&l->gone);
}

Test(look, a_thread_did_what_its_counters_rose_by)
{
	struct looks l = {0};
	struct event_counts now = thread(10, 11, 70 * MS);
	struct look_rise rise;

	add(&l.before, thread(10, 10, 5 * MS));
	add(&l.before, thread(10, 11, 50 * MS));
	rise = look_rise(&l.before, &now);
	cr_expect_eq(rise.ran_ns, 20 * MS);
	cr_expect_eq(rise.waited_ns, 40 * MS);
	cr_expect(!rise.is_new);
	now.ran_ns = 40 * MS;
	cr_expect_eq(look_rise(&l.before, &now).ran_ns, 0, "a counter that fell is at fault");
	drop(&l);
}

Test(look, a_thread_whose_id_is_used_again_is_new)
{
	struct looks l = {0};
	struct event_counts now = thread(10, 11, 7 * MS);
	struct look_rise rise;

	add(&l.before, thread(10, 11, 50 * MS));
	now.thread_start_ns = 99;
	rise = look_rise(&l.before, &now);
	cr_expect_eq(rise.ran_ns, 7 * MS);
	cr_expect(rise.is_new);
	drop(&l);
}

Test(look, a_thread_that_is_told_twice_counts_once)
{
	struct looks l = {0};

	add(&l.before, thread(10, 11, 50 * MS));
	add(&l.before, thread(10, 11, 51 * MS));
	cr_expect_eq(l.before.cnt, 1);
	cr_expect_eq(look_find(&l.before, 11, 11), 0);
	cr_expect_eq(look_find(&l.before, 11, 12), HASH_NONE);
	look_empty(&l.before);
	cr_expect_eq(look_find(&l.before, 11, 11), HASH_NONE);
	drop(&l);
}

/* The kernel adds all that a thread ever ran to its process when it ends. */
Test(look, threads_that_ended_ran_only_what_they_had_not_before)
{
	struct looks l = {0};
	struct event_counts leader = thread(10, 10, 0);

	leader.ended_ns = 100 * MS;
	add(&l.before, leader);
	add(&l.before, thread(10, 11, 50 * MS));
	add(&l.before, thread(10, 12, 30 * MS));
	leader.ended_ns = 195 * MS; /* both, which ran for 15 more */
	add(&l.after, leader);
	compare(&l);
	cr_expect_eq(l.gone.threads, 2);
	cr_expect_eq(look_ended(&l.before, &l.gone, &leader).threads_ns, 15 * MS);
	cr_expect_eq(look_ended(&l.before, &l.gone, &leader).children_ns, 0);
	drop(&l);
}

Test(look, children_that_ended_are_their_parents)
{
	struct looks l = {0};
	struct event_counts parent = thread(10, 10, 0), child = thread(20, 20, 40 * MS);

	parent.children_ns = 1000 * MS;
	child.parent_tgid = 10;
	child.ended_ns = 5 * MS;
	child.children_ns = 3 * MS;
	add(&l.before, parent);
	add(&l.before, child);
	add(&l.before, (struct event_counts){.tgid = 20,
					     .tid = 21,
					     .thread_start_ns = 21,
					     .ran_ns = 2 * MS,
					     .parent_tgid = 10});
	/* That one, which ran 7 more, and one that came and went. */
	parent.children_ns = (1000 + 57 + 12) * MS;
	add(&l.after, parent);
	compare(&l);
	cr_expect_eq(look_ended(&l.before, &l.gone, &parent).children_ns, 19 * MS);
	drop(&l);
}

Test(look, children_that_nobody_waited_for_are_no_debt)
{
	struct looks l = {0};
	struct event_counts parent = thread(10, 10, 0), child = thread(20, 20, 40 * MS);

	child.parent_tgid = 10;
	add(&l.before, parent);
	add(&l.before, child);
	add(&l.after, parent);
	compare(&l);
	cr_expect_eq(look_ended(&l.before, &l.gone, &parent).children_ns, 0);
	drop(&l);
}

Test(look, a_process_that_is_new_has_all_that_its_children_had)
{
	struct looks l = {0};
	struct event_counts parent = thread(10, 10, 0);

	parent.children_ns = 9 * MS;
	add(&l.after, parent);
	compare(&l);
	cr_expect_eq(look_ended(&l.before, &l.gone, &parent).children_ns, 9 * MS);
	drop(&l);
}

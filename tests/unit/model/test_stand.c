/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who holds what threads wait for, told by the number that its own namespace has for it. */
#include <criterion/criterion.h>

#include "build_model.h"
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

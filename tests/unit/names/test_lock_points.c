/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <string.h>

#include "names/lock_points.h"

#define SP     0x7fff00000000ull
#define OBJECT 0x7f0012345678ull
#define OTHER  0x7f0012345690ull

static struct event_stand waits(void)
{
	return (struct event_stand){
		.ns_tid = 7, .sp = SP, .call = 202, .stack_bytes = STAND_STACK_BYTES / 2};
}

static void put(uint8_t *piece, uint32_t word, uint64_t value)
{
	memcpy(piece + 8 * word, &value, sizeof(value));
}

Test(lock_points, what_stands_there_often_comes_first)
{
	static uint8_t piece[STAND_STACK_BYTES];
	struct event_stand event = waits();
	struct perfmap_lock_wait wait;

	put(piece, 3, OTHER);
	put(piece, 10, OBJECT);
	put(piece, 20, OBJECT);
	cr_assert(lock_points(&event, piece, &wait));
	cr_expect_eq(wait.tid, 7);
	cr_expect_eq(wait.often_cnt, 1);
	cr_expect_eq(wait.points_cnt, 2);
	cr_expect_eq(wait.points[0], OBJECT);
	cr_expect_eq(wait.points[1], OTHER);
}

Test(lock_points, what_is_no_address_of_an_object_is_none)
{
	static const uint64_t words[] = {
		OBJECT + 4, 8, SP + 16, 0xffffffff81000000ull, 1ull << 47,
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		static uint8_t piece[STAND_STACK_BYTES];
		struct event_stand event = waits();
		struct perfmap_lock_wait wait;

		put(piece, 10, words[i]);
		put(piece, 20, words[i]);
		cr_expect_not(lock_points(&event, piece, &wait), "%zu", i);
	}
}

Test(lock_points, who_waits_for_no_futex_or_did_run_waits_for_no_lock)
{
	static uint8_t piece[STAND_STACK_BYTES];
	struct perfmap_lock_wait wait;
	struct event_stand event = waits();

	put(piece, 10, OBJECT);
	put(piece, 20, OBJECT);
	event.call = 7;
	cr_expect_not(lock_points(&event, piece, &wait));
	event = waits();
	event.flags = STAND_MOVED;
	cr_expect_not(lock_points(&event, piece, &wait));
	event = waits();
	event.stack_bytes = 160; /* one of them is not in it */
	cr_expect_not(lock_points(&event, piece, &wait));
}

Test(lock_points, more_than_there_is_room_for)
{
	static uint8_t piece[STAND_STACK_BYTES];
	struct event_stand event = waits();
	struct perfmap_lock_wait wait;

	for (uint32_t i = 0; i < 320; i++)
		put(piece, i, OBJECT + 64ull * (i / 2));
	cr_assert(lock_points(&event, piece, &wait));
	cr_expect_eq(wait.often_cnt, PERFMAP_LOCK_POINTS);
	cr_expect_eq(wait.points_cnt, PERFMAP_LOCK_POINTS);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of which threads that wait a runtime is asked who holds their lock, where there are very many. */
#include <criterion/criterion.h>
#include <string.h>

#include "build_model.h"
#include "collect/lock_waits.h"
#include "names/holders.h"

#define SP     0x7fff00000000ull
#define OBJECT 0x7f0012345678ull

static uint8_t piece[STAND_STACK_BYTES];
static size_t next;

/* Threads of one process, which wait for a futex. often: one of their words may be a lock. */
static void note(struct lock_waits *w, struct model *m, uint32_t process, size_t threads,
		 bool often)
{
	struct event_stand event = {.sp = SP, .call = 202, .stack_bytes = STAND_STACK_BYTES / 2};
	uint64_t word = OBJECT;

	memset(piece, 0, sizeof(piece));
	memcpy(piece + 80, &word, sizeof(word));
	if (often)
		memcpy(piece + 160, &word, sizeof(word));
	for (size_t i = 0; i < threads; i++, next++) {
		uint32_t tid = (uint32_t)next + 100000;
		struct model_stand stand = {.at.thread = model_thread_get(m, process, tid, 1)};

		cr_assert_neq(stand.at.thread, MODEL_NONE);
		event.tid = event.ns_tid = tid;
		lock_waits_note(w, m, &event, piece, &stand, next);
	}
}

static uint32_t service(struct model *m, uint32_t tgid)
{
	uint32_t row = build_process(m, tgid, "Shop.Api", 0);

	m->processes[row].flags |= PROCESS_DOTNET;
	return row;
}

static size_t cnt_of(const struct lock_waits *w, uint32_t process)
{
	size_t cnt = 0;

	for (size_t i = 0; i < w->cnt; i++)
		cnt += w->rows[i].process == process;
	return cnt;
}

Test(lock_waits, a_large_process_leaves_room_for_others)
{
	struct model *m = build_model(1, 99);
	uint32_t large = service(m, 100), small = service(m, 200);
	struct lock_waits w = {0};

	note(&w, m, large, 2300, true);
	note(&w, m, small, 2, true);
	cr_expect_eq(cnt_of(&w, large), LOCK_WAITS_SHARE);
	cr_expect_eq(cnt_of(&w, small), 2);
	cr_expect_eq(w.left_out, 2300 - LOCK_WAITS_SHARE);
	lock_waits_clear(&w);
	model_free(m);
}

Test(lock_waits, many_large_ones_leave_room_for_those_that_come_last)
{
	struct model *m = build_model(1, 99);
	struct lock_waits w = {0};
	size_t all = 0;

	for (uint32_t i = 0; i < 20; i++, all += 300)
		note(&w, m, service(m, 100 + i), 300, true);
	for (uint32_t i = 0; i < 40; i++, all += 2)
		note(&w, m, service(m, 200 + i), 2, true);
	for (uint32_t i = 0; i < m->processes_cnt; i++) {
		bool large = m->processes[i].tgid < 200;

		if (m->processes[i].flags & PROCESS_DOTNET)
			cr_expect(large ? cnt_of(&w, i) >= 64 : cnt_of(&w, i) == 2, "%u has %zu",
				  m->processes[i].tgid, cnt_of(&w, i));
	}
	cr_expect_leq(w.cnt, LOCK_WAITS_MAX);
	cr_expect_eq(w.cnt + w.left_out, all);
	lock_waits_clear(&w);
	model_free(m);
}

Test(lock_waits, stacks_without_a_lock_are_not_looked_through_without_end)
{
	struct model *m = build_model(1, 99);
	uint32_t row = service(m, 100);
	struct lock_waits w = {0};

	note(&w, m, row, LOCK_WAITS_SHARE + 10, false);
	note(&w, m, row, 1, true);
	cr_expect_eq(w.cnt, 0);
	cr_expect_eq(w.left_out, 11);
	lock_waits_clear(&w);
	model_free(m);
}

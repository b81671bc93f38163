/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who holds a lock, out of memory made by hand: three threads, two locks and their events. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "perfmap/memory/locks.h"

#define BASE	   0x10000000ull
#define BYTES	   0x4000u
#define AT(offset) (BASE + (offset))

/* Offsets. */
#define POINTER	  0x100u /* of the list of threads */
#define STORE	  0x140u
#define THREAD(i) (0x200u + 0x100 * (i))
#define TYPES	  0x600u /* of locks, of events, of handles */
#define LOCK(i)	  (0x1000u + 0x40 * (i))
#define EVENT(i)  (0x2000u + 0x40 * (i))
#define HANDLE	  0x3000u /* an object that looks like a lock but for its type */

/* Of Thread, and of what it is called by the runtime and by the system. */
#define ID	  16u
#define TID	  24u
#define NEXT	  48u
#define ID_OF(i)  (7u + (i))
#define TID_OF(i) (4000u + (i))

static uint8_t memory[BYTES];
/* Before that read what lies at an address becomes something else. */
static size_t reads, change_at;
static uint32_t change_offset, change_to;

static void put(uint32_t offset, uint64_t value, size_t len)
{
	memcpy(memory + offset, &value, len);
}

static ssize_t read_memory(void *source, void *buf, size_t len, uint64_t address)
{
	(void)source;
	if (++reads == change_at)
		put(change_offset, change_to, 4);
	if (address < BASE || address - BASE >= BYTES)
		return -EFAULT;
	if (len > BYTES - (address - BASE))
		len = BYTES - (address - BASE);
	memcpy(buf, memory + (address - BASE), len);
	return (ssize_t)len;
}

static void put_lock(uint32_t offset, uint32_t type, uint32_t event, uint32_t owner)
{
	put(offset, AT(TYPES + 0x40 * type), 8);
	put(offset + 8, AT(event), 8);
	put(offset + 16, owner, 4);
	put(offset + 20, 0x81, 4); /* held, one waits */
}

/* new_runtime: as .NET 11 has threads and locks. */
static void lay_out(struct perfmap_runtime *runtime, bool new_runtime)
{
	static const uint32_t bytes[] = {40, 24, 32};

	memset(memory, 0, sizeof(memory));
	reads = change_at = 0;
	*runtime = (struct perfmap_runtime){.threads = AT(POINTER)};
	for (size_t i = 0; i < PERFMAP_LAYOUT_CNT; i++)
		runtime->layout.at[i] = PERFMAP_LAYOUT_NONE;
	runtime->layout.at[PERFMAP_THREAD_ID] = ID;
	runtime->layout.at[PERFMAP_THREAD_TID] = TID;
	runtime->layout.at[PERFMAP_THREAD_NEXT] = NEXT;
	runtime->layout.at[PERFMAP_THREADS_FIRST] = 8;
	runtime->layout.at[PERFMAP_TYPE_BYTES] = 4;
	if (new_runtime)
		runtime->layout.at[PERFMAP_BLOCK_LOCK] = 0;
	put(POINTER, AT(STORE - 16), 8);
	put(STORE - 16, AT(STORE), 8);
	put(STORE + 8, AT(THREAD(0) + (new_runtime ? 0 : NEXT)), 8);
	for (uint32_t i = 0; i < 3; i++) {
		put(THREAD(i) + ID, ID_OF(i), 4);
		put(THREAD(i) + TID, TID_OF(i), 8);
		put(THREAD(i) + NEXT, i < 2 ? AT(THREAD(i + 1) + (new_runtime ? 0 : NEXT)) : 0, 8);
		put(TYPES + 0x40 * i + 4, bytes[i], 4);
	}
	for (uint32_t i = 0; i < 2; i++) {
		put_lock(LOCK(i), 0, EVENT(i), new_runtime ? ID_OF(1 + i) : TID_OF(1 + i));
		put(EVENT(i), AT(TYPES + 0x40), 8);
	}
	put_lock(HANDLE, 2, EVENT(1), new_runtime ? ID_OF(2) : TID_OF(2));
}

/* Of the first thread, which has these on its stack, the first ones of them often. */
static uint32_t holder(const struct perfmap_runtime *runtime, const uint64_t *points, uint16_t cnt,
		       uint16_t often)
{
	struct perfmap_memory_reader *r = malloc(sizeof(*r));
	struct perfmap_lock_wait wait = {.tid = TID_OF(0), .often_cnt = often, .points_cnt = cnt};
	struct perfmap_lock_holder found = {0};

	cr_assert(r);
	memcpy(wait.points, points, cnt * sizeof(*points));
	perfmap_memory_reader_init(r, read_memory, NULL, 1 << 24);
	cr_expect_eq(perfmap_locks_find(r, runtime, &wait, 1, &found), 0);
	cr_expect_eq(!found.tid, !found.kind);
	free(r);
	return found.tid;
}

Test(perfmap_locks, who_holds_the_lock_whose_event_a_thread_waits_for)
{
	static const struct {
		const char *what;
		uint64_t points[4];
		uint16_t cnt, often;
		uint32_t holder;
	} rows[] = {
		{"a lock and its event", {AT(LOCK(0)), AT(EVENT(0))}, 2, 1, TID_OF(1)},
		{"two, by the event", {AT(LOCK(0)), AT(LOCK(1)), AT(EVENT(1))}, 3, 2, TID_OF(2)},
		{"no event", {AT(LOCK(0)), AT(LOCK(1))}, 2, 2, 0},
		{"both events", {AT(LOCK(0)), AT(LOCK(1)), AT(EVENT(0)), AT(EVENT(1))}, 4, 2, 0},
		{"a lock that is there once", {AT(EVENT(0)), AT(LOCK(0))}, 2, 1, 0},
		{"what only looks like one", {AT(HANDLE), AT(EVENT(1))}, 2, 1, 0},
		{"a lock beside that", {AT(HANDLE), AT(LOCK(1)), AT(EVENT(1))}, 3, 2, TID_OF(2)},
		{"addresses of nothing", {AT(BYTES), 8, UINT64_MAX & ~7ull}, 3, 3, 0},
	};
	struct perfmap_runtime runtime;

	for (int new_runtime = 0; new_runtime < 2; new_runtime++)
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			lay_out(&runtime, new_runtime);
			cr_expect_eq(holder(&runtime, rows[i].points, rows[i].cnt, rows[i].often),
				     rows[i].holder, "%s, %d", rows[i].what, new_runtime);
		}
}

Test(perfmap_locks, nobody_is_named_where_the_lock_does_not_say_so)
{
	static const struct {
		const char *what;
		uint32_t offset, value;
	} rows[] = {
		{"nobody holds it", LOCK(0) + 20, 0x80},
		{"nobody waits", LOCK(0) + 20, 0x1},
		{"the one that waits holds it", LOCK(0) + 16, TID_OF(0)},
		{"a thread that is not there", LOCK(0) + 16, TID_OF(9)},
		{"its number for the runtime, of which this one makes none", LOCK(0) + 16,
		 ID_OF(1)},
		{"entered too often", LOCK(0) + 24, 0x10000},
		{"its event is none", EVENT(0), 0},
		{"a type of another size", TYPES + 4, 48},
	};
	static const uint64_t points[] = {AT(LOCK(0)), AT(EVENT(0))};
	struct perfmap_runtime runtime;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		lay_out(&runtime, false);
		put(rows[i].offset, rows[i].value, 4);
		cr_expect_eq(holder(&runtime, points, 2, 1), 0, "%s", rows[i].what);
	}
}

/* It is read twice. */
Test(perfmap_locks, a_lock_that_changes_hands_meanwhile_has_no_holder)
{
	static const uint64_t points[] = {AT(LOCK(0)), AT(EVENT(0))};
	struct perfmap_runtime runtime;
	bool changed = false;

	for (size_t at = 1; at < 12; at++) {
		uint32_t tid;

		lay_out(&runtime, false);
		change_at = at;
		change_offset = LOCK(0) + 16;
		change_to = TID_OF(2);
		tid = holder(&runtime, points, 2, 1);
		cr_expect(tid == TID_OF(1) || tid == TID_OF(2) || !tid);
		changed |= !tid;
	}
	cr_expect(changed);
}

Test(perfmap_locks, a_list_of_threads_that_never_ends_does)
{
	static const uint64_t points[] = {AT(LOCK(0)), AT(EVENT(0))};
	struct perfmap_runtime runtime;

	lay_out(&runtime, false);
	put(THREAD(2) + NEXT, AT(THREAD(0) + NEXT), 8);
	/* As far as its work goes. */
	cr_expect_eq(holder(&runtime, points, 2, 1), TID_OF(1));
}

Test(perfmap_locks, a_runtime_that_does_not_tell_where_its_threads_are)
{
	struct perfmap_memory_reader *r = malloc(sizeof(*r));
	struct perfmap_lock_wait wait = {0};
	struct perfmap_runtime runtime;
	struct perfmap_lock_holder found = {0};

	cr_assert(r);
	lay_out(&runtime, false);
	runtime.layout.at[PERFMAP_THREAD_TID] = PERFMAP_LAYOUT_NONE;
	perfmap_memory_reader_init(r, read_memory, NULL, 1 << 20);
	cr_expect_eq(perfmap_locks_find(r, &runtime, &wait, 1, &found), -ENOTSUP);
	free(r);
}

#define MONITOR(i) (0x3800u + 0x40 * (i))

Test(perfmap_locks, who_holds_a_monitor_is_found_by_its_address_on_the_stack)
{
	static const struct {
		const char *what;
		uint64_t points[3];
		uint16_t cnt, often;
		uint32_t holder;
	} rows[] = {
		{"its address, twice", {AT(MONITOR(0)), AT(BYTES)}, 2, 1, TID_OF(1)},
		{"once, which may be left from before", {AT(EVENT(0)), AT(MONITOR(0))}, 2, 1, 0},
		{"two of them", {AT(MONITOR(0)), AT(MONITOR(1))}, 2, 2, 0},
		{"one that nobody waits for", {AT(MONITOR(2))}, 1, 1, 0},
		{"one that it holds itself", {AT(MONITOR(3))}, 1, 1, 0},
		{"not aligned", {AT(MONITOR(0)) + 4}, 1, 1, 0},
		{"in the kernel", {~7ull}, 1, 1, 0},
		{"nowhere", {1 << 20}, 1, 1, 0},
	};
	static const struct {
		uint32_t state, recursion;
		uint64_t owner, tid;
	} monitors[] = {
		{0x41, 1, 11, TID_OF(1)},
		{0x81, 3, 12, TID_OF(2)},
		{0x01, 1, 11, TID_OF(1)},
		{0x41, 1, 10, TID_OF(0)},
	};

	memset(memory, 0, sizeof(memory));
	reads = change_at = 0;
	memcpy(memory + EVENT(0), "text", 4);
	for (uint32_t i = 0; i < sizeof(monitors) / sizeof(monitors[0]); i++)
		memcpy(memory + MONITOR(i), &monitors[i], sizeof(monitors[i]));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct perfmap_lock_wait wait = {
			.tid = TID_OF(0), .often_cnt = rows[i].often, .points_cnt = rows[i].cnt};
		struct perfmap_lock_holder found = {3, PERFMAP_LOCK_OBJECT};

		memcpy(wait.points, rows[i].points, sizeof(rows[i].points));
		perfmap_memory_monitors(read_memory, NULL, &wait, 1, &found);
		cr_expect_eq(found.tid, rows[i].holder ?: 3, "%s", rows[i].what);
		cr_expect_eq(found.kind,
			     rows[i].holder ? PERFMAP_LOCK_MONITOR : PERFMAP_LOCK_OBJECT, "%s",
			     rows[i].what);
	}
}

Test(perfmap_locks, a_monitor_that_changes_hands_meanwhile_has_no_holder)
{
	struct perfmap_lock_wait wait = {
		.tid = TID_OF(0), .often_cnt = 1, .points_cnt = 1, .points = {AT(MONITOR(0))}};
	struct perfmap_lock_holder found = {0};

	memset(memory, 0, sizeof(memory));
	put(MONITOR(0), 0x41, 4);
	put(MONITOR(0) + 4, 1, 4);
	put(MONITOR(0) + 8, 11, 8);
	put(MONITOR(0) + 16, TID_OF(1), 8);
	reads = 0;
	change_at = 2;
	change_offset = MONITOR(0) + 16;
	change_to = TID_OF(2);
	perfmap_memory_monitors(read_memory, NULL, &wait, 1, &found);
	cr_expect_eq(found.tid, 0);
	change_at = 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/memory/locks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "perfmap/bytes.h"

#define TID_MAX 4194304u /* PID_MAX_LIMIT, include/linux/threads.h of Linux */

/* Of a runtime. */
#define THREADS_MAX 65536u

/* An object of type Lock, what its state says, and how large the runtime makes it and the event,
 * with the word before each: other objects on such a stack refer to one another, too. */
#define LOCK_BASE      40u
#define EVENT_BASE     24u
#define LOCK_BYTES     28u
#define LOCK_EVENT     8u
#define LOCK_OWNER     16u
#define LOCK_STATE     20u
#define LOCK_RECURSION 24u
#define STATE_HELD     1u
#define STATE_WAITERS  7u /* their number is above that bit */
#define RECURSION_MOST 65536u

struct thread {
	uint32_t id, tid; /* for the runtime, for the system */
};

struct search {
	struct perfmap_memory_reader *r;
	const struct perfmap_runtime *runtime;
	struct thread *threads; /* THREADS_MAX */
	size_t threads_cnt;
};

/* A lock that somebody holds and others wait for. */
struct lock {
	uint64_t event;
	uint32_t owner;
};

static bool is_address(uint64_t a)
{
	return a >= 65536 && !(a >> 47) && !(a & 7);
}

/* Since .NET 11 monitors are locks, all of which have the runtime's number of a thread, and its
 * list of threads is of these themselves, not of a link in each. */
static bool has_own_numbers(const struct perfmap_layout *l)
{
	return perfmap_layout_has(l, PERFMAP_BLOCK_LOCK);
}

/* --- threads ---------------------------------------------------------------------------------- */

static bool read_thread(struct search *s, uint64_t address, struct thread *ret)
{
	const struct perfmap_layout *l = &s->runtime->layout;
	uint64_t tid = perfmap_memory_u64(s->r, address + l->at[PERFMAP_THREAD_TID]);

	*ret = (struct thread){perfmap_memory_u32(s->r, address + l->at[PERFMAP_THREAD_ID]),
			       (uint32_t)tid};
	/* One that has ended, or not begun, has none. */
	return ret->id && tid && tid <= TID_MAX;
}

static int read_threads(struct search *s)
{
	const struct perfmap_layout *l = &s->runtime->layout;
	uint64_t store, link, back = has_own_numbers(l) ? 0 : l->at[PERFMAP_THREAD_NEXT];

	perfmap_memory_begin(s->r);
	store = perfmap_memory_u64(s->r, perfmap_memory_u64(s->r, s->runtime->threads));
	link = perfmap_memory_u64(s->r, store + l->at[PERFMAP_THREADS_FIRST]);
	for (uint32_t i = 0; i < THREADS_MAX && is_address(link) && !s->r->failed; i++) {
		struct thread t;

		if (read_thread(s, link - back, &t))
			s->threads[s->threads_cnt++] = t;
		link = perfmap_memory_u64(s->r, link - back + l->at[PERFMAP_THREAD_NEXT]);
	}
	return s->r->failed ? -EFAULT : 0;
}

/* The thread that the runtime or the system calls so; 0: there is none. */
static uint32_t tid_of(const struct search *s, uint32_t owner)
{
	bool own = has_own_numbers(&s->runtime->layout);

	for (size_t i = 0; i < s->threads_cnt; i++)
		if ((own ? s->threads[i].id : s->threads[i].tid) == owner)
			return s->threads[i].tid;
	return 0;
}

/* --- locks ------------------------------------------------------------------------------------ */

static bool is_object(struct search *s, uint64_t type, uint32_t base_bytes)
{
	uint32_t at = s->runtime->layout.at[PERFMAP_TYPE_BYTES];

	return is_address(type) && perfmap_memory_u32(s->r, type + at) == base_bytes;
}

static bool read_lock(struct search *s, uint64_t address, struct lock *ret)
{
	uint8_t b[LOCK_BYTES];
	uint32_t state;

	if (!is_address(address))
		return false;
	perfmap_memory_begin(s->r);
	perfmap_memory_get(s->r, address, b, sizeof(b));
	*ret = (struct lock){perfmap_u64_at(b + LOCK_EVENT), perfmap_u32_at(b + LOCK_OWNER)};
	state = perfmap_u32_at(b + LOCK_STATE);
	return is_address(ret->event) && ret->owner && state & STATE_HELD &&
	       state >> STATE_WAITERS && perfmap_u32_at(b + LOCK_RECURSION) < RECURSION_MOST &&
	       is_object(s, perfmap_u64_at(b), LOCK_BASE) &&
	       is_object(s, perfmap_memory_u64(s->r, ret->event), EVENT_BASE) && !s->r->failed;
}

static bool has_point(const struct perfmap_lock_wait *w, uint64_t address)
{
	for (uint32_t i = 0; i < w->points_cnt && i < PERFMAP_LOCK_POINTS; i++)
		if (w->points[i] == address)
			return true;
	return false;
}

/* The one lock that the thread waits for, by its event: 0 where there are two such. */
static uint64_t lock_of(struct search *s, const struct perfmap_lock_wait *w, struct lock *ret)
{
	uint64_t found = 0;

	for (uint32_t i = 0; i < w->often_cnt && i < w->points_cnt && i < PERFMAP_LOCK_POINTS;
	     i++) {
		struct lock lock;

		if (!read_lock(s, w->points[i], &lock) || !has_point(w, lock.event))
			continue;
		if (found)
			return 0;
		found = w->points[i];
		*ret = lock;
	}
	return found;
}

static uint32_t lock_holder(struct search *s, const struct perfmap_lock_wait *w)
{
	struct lock lock = {0}, again;
	uint64_t address = lock_of(s, w, &lock);
	uint32_t tid = address ? tid_of(s, lock.owner) : 0;

	/* The page is read anew: it may be another's by now. */
	perfmap_memory_drop(s->r);
	if (!tid || tid == w->tid || !read_lock(s, address, &again) || again.event != lock.event ||
	    again.owner != lock.owner)
		return 0;
	return tid;
}

static bool tells(const struct perfmap_runtime *runtime)
{
	const struct perfmap_layout *l = &runtime->layout;

	return runtime->threads && perfmap_layout_has(l, PERFMAP_THREAD_ID) &&
	       perfmap_layout_has(l, PERFMAP_THREAD_TID) &&
	       perfmap_layout_has(l, PERFMAP_THREAD_NEXT) &&
	       perfmap_layout_has(l, PERFMAP_THREADS_FIRST) &&
	       perfmap_layout_has(l, PERFMAP_TYPE_BYTES);
}

int perfmap_locks_find(struct perfmap_memory_reader *r, const struct perfmap_runtime *runtime,
		       const struct perfmap_lock_wait *waits, size_t cnt,
		       struct perfmap_lock_holder *ret_holders)
{
	struct search s = {.r = r, .runtime = runtime};
	uint32_t kind = PERFMAP_LOCK_OBJECT |
			(perfmap_locks_are_monitors(runtime) ? PERFMAP_LOCK_MONITOR : 0);
	int err;

	if (!tells(runtime))
		return -ENOTSUP;
	s.threads = malloc(THREADS_MAX * sizeof(*s.threads));
	if (!s.threads)
		return -ENOMEM;
	err = read_threads(&s);
	for (size_t i = 0; !err && i < cnt; i++) {
		uint32_t tid = lock_holder(&s, &waits[i]);

		ret_holders[i] = (struct perfmap_lock_holder){tid, tid ? kind : 0};
	}
	free(s.threads);
	return err;
}

bool perfmap_locks_are_monitors(const struct perfmap_runtime *runtime)
{
	return has_own_numbers(&runtime->layout);
}

/* --- monitors before .NET 11 ------------------------------------------------------------------ */

/* The begin of one: a state, whose lowest bit says that it is held and all above 63 how many wait;
 * how often it was entered; who holds it, for the runtime and for the system. */
struct monitor {
	uint32_t state, recursion;
	uint64_t owner;
	uint64_t owner_tid;
};
#define MONITOR_HELD	1u
#define MONITOR_WAITERS 6u

static bool read_monitor(perfmap_memory_read read, void *source, uint64_t address, uint32_t tid,
			 struct monitor *ret)
{
	return is_address(address) && read(source, ret, sizeof(*ret), address) == sizeof(*ret) &&
	       ret->state & MONITOR_HELD && ret->state >> MONITOR_WAITERS && ret->recursion &&
	       ret->recursion < RECURSION_MOST && (uint32_t)ret->owner && ret->owner_tid &&
	       ret->owner_tid <= TID_MAX && ret->owner_tid != tid;
}

/* Who waits for a monitor has its address on its stack several times: it is the runtime's own
 * functions that wait. Nobody holds it where there are two that look like one. */
static uint32_t monitor_holder(perfmap_memory_read read, void *source,
			       const struct perfmap_lock_wait *w)
{
	struct monitor m, found = {0};
	uint64_t address = 0;

	for (uint32_t i = 0; i < w->points_cnt && i < PERFMAP_LOCK_POINTS; i++) {
		if (!read_monitor(read, source, w->points[i], w->tid, &m))
			continue;
		if (address || i >= w->often_cnt)
			return 0;
		address = w->points[i];
		found = m;
	}
	return address && read_monitor(read, source, address, w->tid, &m) &&
			       m.owner_tid == found.owner_tid
		       ? (uint32_t)found.owner_tid
		       : 0;
}

void perfmap_memory_monitors(perfmap_memory_read read, void *source,
			     const struct perfmap_lock_wait *waits, size_t cnt,
			     struct perfmap_lock_holder *holders)
{
	for (size_t i = 0; i < cnt; i++) {
		uint32_t tid = monitor_holder(read, source, &waits[i]);

		if (tid)
			holders[i] = (struct perfmap_lock_holder){tid, PERFMAP_LOCK_MONITOR};
	}
}

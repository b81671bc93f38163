/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What goes on by itself while a slice grows: who just started is looked at, workers read files,
 * tables go to the kernel, looks are taken at threads that do not run. */
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/blocked_looks.h"
#include "collect/collector_parts.h"
#include "collect/stack_tables.h"
#include "collect/unwind_feed.h"

/* Between two looks at what workers have read, while they read. */
#define NAMES_POLL_NS 20000000ull
/* The same at first, when tables are to come soon. */
#define EARLY_POLL_NS 10000000ull
/* Between two looks at who is to get tables, whatever comes. */
#define FEED_REST_NS 2000000ull
/* At first, stacks are looked through often: what lacks tables is to have them soon. */
#define EARLY_NS       2000000000ull
#define EARLY_DRAIN_NS 100000000ull
/* While code that does not stay is sampled. */
#define SOON_POLL_NS 10000000ull

/* False: a signal came. */
static bool sleep_until(uint64_t end_ns)
{
	uint64_t now_ns = clock_now_ns(), ns = end_ns > now_ns ? end_ns - now_ns : 0;
	struct timespec pause = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	return !nanosleep(&pause, NULL);
}

/* A signal or the caller's file ends the pause: false. Records that come while it rests wait. */
static bool wait_until(struct collector *c, uint64_t due_ns, uint64_t *rest_end_ns, int fd)
{
	uint64_t now_ns = clock_now_ns();
	enum sideband_came what;

	if (now_ns < *rest_end_ns)
		return sleep_until(due_ns < *rest_end_ns ? due_ns : *rest_end_ns);
	what = session_wait(c->rooms.session, due_ns > now_ns ? due_ns - now_ns : 0, fd);
	if (what == SIDEBAND_RECORDS)
		*rest_end_ns = clock_now_ns() + newly_started_woken(&c->records.newly_started);
	return what == SIDEBAND_RECORDS || (what == SIDEBAND_NOTHING && clock_now_ns() >= due_ns);
}

/* What is drained late is read late. */
static uint64_t soon_ns(const struct collector *c)
{
	return c->options.samples && !c->rooms.stopped ? names_soon_ns(c->rooms.names) : UINT64_MAX;
}

/* Looks after what goes on by itself. Returns when to do so again, until_ns at the latest. */
static uint64_t work_on(struct collector *c, uint64_t until_ns)
{
	uint64_t now_ns = clock_now_ns(), due_ns = UINT64_MAX;
	bool early = c->rooms.feed && now_ns - c->start_ns < EARLY_NS;

	if (names_poll(c->rooms.names))
		due_ns = now_ns + (early ? EARLY_POLL_NS : NAMES_POLL_NS);
	if (soon_ns(c) != UINT64_MAX) {
		names_read(c->rooms.names, c->rooms.model);
		due_ns = now_ns + SOON_POLL_NS;
	}
	if (c->rooms.feed && unwind_feed_is_busy(c->rooms.feed)) {
		uint64_t feed_ns = unwind_feed_work(c->rooms.feed, c->rooms.model, c->rooms.names);

		now_ns = clock_now_ns();
		if (feed_ns < now_ns + FEED_REST_NS)
			feed_ns = now_ns + FEED_REST_NS;
		if (feed_ns < due_ns)
			due_ns = feed_ns;
	}
	if (early && now_ns + EARLY_DRAIN_NS < due_ns)
		due_ns = now_ns + EARLY_DRAIN_NS;
	if (c->rooms.looks && blocked_looks_due_ns(c->rooms.looks) < due_ns)
		due_ns = blocked_looks_due_ns(c->rooms.looks);
	return due_ns < until_ns ? due_ns : until_ns;
}

/* Only to see whose stacks lack tables. Names wait for the next drain: they may hold up looks at
 * processes that just started. */
static void drain_early(struct collector *c)
{
	uint64_t now_ns = clock_now_ns();

	if (!c->rooms.feed || now_ns - c->start_ns >= EARLY_NS ||
	    now_ns - c->drained_ns < EARLY_DRAIN_NS)
		return;
	records_drain(&c->records);
	stack_tables_note_samples(&c->rooms, c->naming.named);
	stack_tables_work(&c->rooms);
	c->drained_ns = now_ns;
}

static void drain_soon(struct collector *c)
{
	if (clock_now_ns() - c->drained_ns >= soon_ns(c))
		collector_drain(c);
}

static void look_at_blocked(struct collector *c)
{
	uint32_t tgids[FILTER_TGIDS_MAX];
	size_t cnt;

	if (!c->rooms.looks || blocked_looks_due_ns(c->rooms.looks) > clock_now_ns())
		return;
	cnt = wait_choice_tgids(&c->waits, tgids);
	if (c->options.wakers)
		records_drain(&c->records);
	/* Of nobody is no choice. */
	if (c->options.stacks.is_calm && !cnt)
		tgids[cnt++] = (uint32_t)getpid();
	if (blocked_looks_work(c->rooms.looks, tgids, cnt) &&
	    clock_now_ns() - c->start_ns < EARLY_NS) {
		wait_choice_next(&c->waits);
		stack_tables_work(&c->rooms);
	}
}

void collector_pause(struct collector *c, uint64_t ns, int fd)
{
	uint64_t now_ns = clock_now_ns(), end_ns = now_ns + ns, rest_end_ns = 0;

	while (now_ns < end_ns) {
		uint64_t due_ns =
			newly_started_due_ns(&c->records.newly_started, work_on(c, end_ns));

		if (!wait_until(c, due_ns, &rest_end_ns, fd))
			return;
		now_ns = clock_now_ns();
		if (now_ns >= end_ns)
			return;
		records_look_at_started(&c->records);
		drain_early(c);
		drain_soon(c);
		look_at_blocked(c);
		now_ns = clock_now_ns();
	}
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where all threads stand at a moment: as rows of the slice, or apart from it and named at once. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "collect/blocked_looks.h"
#include "collect/collector_parts.h"
#include "collect/lock_waits.h"
#include "collect/stack_tables.h"
#include "collect/stand_take.h"
#include "collect/unwind_feed.h"
#include "collect/wait_names.h"

/* Looks, each of which may show what tables are missing for the next. */
#define STAND_PASSES 3
/* What one look at every thread may take of who has other things to do. */
#define PASS_NS 500000000ull
/* What tables of who hangs may take of a recording's end. */
#define HUNG_TABLES_NS 1000000000ull
/* What may be asked about who holds the locks that threads of .NET wait for. */
#define HOLDERS_NS 200000000ull
/* Of that, where somebody looks on: what who is in debt may pay back meanwhile. */
#define DEBTS_NS 1000000000ull
/* Rows of one look at every thread that a capture keeps. */
#define STANDS_KEPT 16384u
/* A tick so long ago still tells where a thread that runs is. */
#define STAND_TICK_NS 1000000000ull

/* A pass under way. */
struct pass {
	struct stand_taker taker;
	struct stands *to;
	struct lock_waits *waits;
	int err; /* the first one */
};

static void take_stand(void *ctx, const struct event_stand *event, const uint8_t *stack)
{
	struct pass *pass = ctx;
	struct model_stand stand;

	if (!stand_take(&pass->taker, event, stack, &stand))
		pass->to->gone++;
	else if (!stands_add(pass->to, &stand))
		lock_waits_note(pass->waits, pass->taker.model, event, stack, &stand,
				pass->to->cnt - 1);
	else if (!pass->err)
		pass->err = -ENOMEM;
}

/* Of these processes, or of all: facts and tables of those that have none yet. */
static void prepare_stands(struct collector *c, const uint32_t *processes, size_t cnt,
			   uint64_t end_ns)
{
	struct model *m = c->rooms.model;
	size_t all = cnt ? cnt : m->processes_cnt;

	if (c->rooms.feed)
		unwind_feed_hurry(c->rooms.feed, true);
	for (size_t i = 0; i < all && clock_now_ns() < end_ns; i++) {
		uint32_t row = cnt ? processes[i] : (uint32_t)i;
		const struct model_process *p = &m->processes[row];

		if (p->exit_ns || (p->flags & (PROCESS_KERNEL | PROCESS_GONE | PROCESS_SELF)))
			continue;
		if (!(p->flags & PROCESS_FACTS))
			process_facts_read(&c->facts, row);
		if (c->rooms.feed && m->processes[row].mapping_cnt)
			unwind_feed_prepare(c->rooms.feed, row);
	}
	if (c->rooms.feed)
		wait_names_tables(c->rooms.feed, m, c->rooms.names, processes, cnt, end_ns);
}

/* One pass of the kernel over these processes, more than can be chosen: over all. Where it fails,
 * what an earlier one found stays; and is what it found itself where there was none. */
static int pass_over_stands(struct collector *c, uint64_t ns, const uint32_t *processes, size_t cnt,
			    struct stands *to, struct lock_waits *waits)
{
	struct pass *pass = calloc(1, sizeof(*pass));
	struct lock_waits found_waits = {0};
	struct stands found = {0};
	uint32_t tgids[FILTER_TGIDS_MAX];
	uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int err;

	if (!pass)
		return -ENOMEM;
	pass->taker.model = c->rooms.model;
	pass->taker.ingest = c->rooms.ingest;
	pass->taker.maps = session_unwind(c->rooms.session);
	pass->to = &found;
	pass->waits = &found_waits;
	if (cnt > FILTER_TGIDS_MAX)
		cnt = 0;
	for (size_t i = 0; i < cnt; i++)
		tgids[i] = c->rooms.model->processes[processes[i]].tgid;
	found.time_ns = clock_now_ns();
	err = blocked_looks_pass(c->rooms.looks, c->rooms.session, ns, tgids, cnt, take_stand,
				 pass);
	found.pass_ns = clock_now_ns() - found.time_ns;
	found.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	err = err ?: pass->err;
	free(pass);
	if (err && to->cnt) {
		stands_clear(&found);
		lock_waits_clear(&found_waits);
		return err;
	}
	stands_clear(to);
	lock_waits_clear(waits);
	*to = found;
	*waits = found_waits;
	return err;
}

/* What their stacks lack is wanted. Returns whether anything is. */
static bool note_stands(struct collector *c, const uint32_t *processes, size_t cnt,
			const struct stands *stands)
{
	stack_tables_note_stands(&c->rooms, stands);
	return c->rooms.feed && wait_names_tables_wanted(c->rooms.feed, processes, cnt);
}

/* Who runs stands where its last tick found it. */
static void take_ticks(struct collector *c, struct stands *stands)
{
	const struct model *m = c->rooms.model;

	for (size_t i = 0; i < stands->cnt; i++) {
		struct model_stand *s = &stands->rows[i];

		if (!(s->flags & STAND_RUNS))
			continue;
		for (size_t k = m->samples_cnt; k-- > 0;) {
			if (m->samples[k].time_ns + STAND_TICK_NS < stands->time_ns)
				break;
			if (m->samples[k].thread != s->at.thread)
				continue;
			s->at.kernel_stack = m->samples[k].kernel_stack;
			s->at.user_stack = m->samples[k].user_stack;
			s->sampled = true;
			break;
		}
	}
}

/* Rows of the slice that is open: where every thread stands at this moment. */
static int keep_stands(struct collector *c, const struct stands *stands)
{
	struct model *m = c->rooms.model;
	bool selects = c->options.tgid_cnt || c->options.cgroup;
	size_t kept = 0;
	int err = 0;

	/* An earlier look in the same slice is no longer the newest. */
	for (size_t i = m->stands_cnt; i-- > 0 && m->stands[i].slice + 1 == m->slices_cnt;)
		m->stands[i].now = false;
	for (size_t i = 0; !err && i < stands->cnt; i++) {
		struct model_stand row = stands->rows[i];
		const struct model_process *p = &m->processes[m->threads[row.at.thread].process];

		if (p->flags & (PROCESS_KERNEL | PROCESS_SELF) ||
		    (selects && !(p->flags & PROCESS_SELECTED)))
			continue;
		if (kept == STANDS_KEPT) {
			model_loss_add(m, LOSS_MODEL_LIMIT, 1);
			continue;
		}
		kept++;
		row.now = true;
		row.slice = (uint32_t)m->slices_cnt - 1;
		err = model_stand_add(m, &row);
	}
	return err;
}

int collector_look_at_all(struct collector *c)
{
	struct lock_waits waits = {0};
	struct stands stands = {0};
	int err;

	if (!c->rooms.looks ||
	    !feature_is_on(session_features(c->rooms.session), FEATURE_THREAD_STACKS))
		return -ENOTSUP;
	collector_drain(c);
	err = pass_over_stands(c, PASS_NS, NULL, 0, &stands, &waits);
	/* Some of them are better than none, which the books tell. */
	if (err == -ETIMEDOUT || err == -EFBIG) {
		model_loss_add(c->rooms.model, LOSS_ITERATOR, 1);
		err = 0;
	}
	if (!err)
		err = lock_waits_tell(&waits, &c->rooms, &stands, c->naming.tailed_ns, 0,
				      clock_now_ns() + HOLDERS_NS);
	if (!err) {
		take_ticks(c, &stands);
		err = keep_stands(c, &stands);
	}
	lock_waits_clear(&waits);
	stands_clear(&stands);
	return err;
}

void collector_look_at_end(struct collector *c)
{
	const struct hung *hung = &c->waits.hung;

	if (c->rooms.looks && hung->cnt) {
		prepare_stands(c, hung->processes, hung->cnt, clock_now_ns() + HUNG_TABLES_NS);
		if (c->rooms.feed)
			unwind_feed_hurry(c->rooms.feed, false);
	}
	collector_look_at_all(c);
}

/* Looks until nothing is missing that may come in time, and names what was found: of an earlier
 * look where there is one and none succeeds. */
static int look_and_name(struct collector *c, const uint32_t *processes, size_t cnt,
			 uint64_t begin_ns, uint64_t ns, struct stands *stands,
			 struct lock_waits *waits)
{
	size_t had = 0;
	int err = 0;

	for (int i = 0; i < STAND_PASSES && !err; i++) {
		collector_drain(c);
		books_read_accounts(&c->books, true);
		had = stands->cnt;
		err = pass_over_stands(c, ns, processes, cnt, stands, waits);
		if (err || i == STAND_PASSES - 1 || !note_stands(c, processes, cnt, stands))
			break;
		wait_names_tables(c->rooms.feed, c->rooms.model, c->rooms.names, processes, cnt,
				  begin_ns + ns * 3 / 4);
	}
	if (err && !had)
		return err;
	if (err)
		log_debug("threads: the last look failed (%s), the one before counts",
			  strerror(-err));
	collector_drain(c);
	take_ticks(c, stands);
	log_debug("threads: looked at after %" PRIu64 " ms", (clock_now_ns() - begin_ns) / 1000000);
	naming_settle_stands(&c->naming, stands, begin_ns + ns);
	log_debug("threads: named after %" PRIu64 " ms", (clock_now_ns() - begin_ns) / 1000000);
	return 0;
}

/* Whether looking again may show more of them: where a runtime's code is may be known by now, which
 * is found out as its methods are named. */
static bool is_worth_another(struct collector *c, const uint32_t *processes, size_t cnt,
			     const struct stands *stands)
{
	const struct model *m = c->rooms.model;
	bool broken = false;

	for (size_t i = 0; i < stands->cnt && !broken; i++)
		broken = m->processes[m->threads[stands->rows[i].at.thread].process].flags &
				 PROCESS_DOTNET &&
			 stands_is_broken(m, &stands->rows[i]);
	return broken && note_stands(c, processes, cnt, stands);
}

int collector_read_stands(struct collector *c, const uint32_t *processes, size_t cnt, uint64_t ns,
			  struct stands *stands)
{
	uint64_t begin_ns = clock_now_ns(), end_ns = begin_ns + ns;
	struct lock_waits waits = {0};
	int err;

	if (!feature_is_on(session_features(c->rooms.session), FEATURE_THREAD_STACKS))
		return -ENOTSUP;
	collector_drain(c);
	prepare_stands(c, processes, cnt, begin_ns + ns / 2);
	log_debug("threads: tables after %" PRIu64 " ms", (clock_now_ns() - begin_ns) / 1000000);
	err = look_and_name(c, processes, cnt, begin_ns, ns, stands, &waits);
	if (!err && clock_now_ns() < begin_ns + ns / 2 &&
	    is_worth_another(c, processes, cnt, stands)) {
		wait_names_tables(c->rooms.feed, c->rooms.model, c->rooms.names, processes, cnt,
				  begin_ns + ns * 3 / 4);
		err = look_and_name(c, processes, cnt, begin_ns, ns, stands, &waits);
	}
	if (c->rooms.feed)
		unwind_feed_hurry(c->rooms.feed, false);
	if (end_ns < clock_now_ns() + HOLDERS_NS)
		end_ns = clock_now_ns() + HOLDERS_NS;
	if (!err)
		err = lock_waits_tell(&waits, &c->rooms, stands, c->naming.tailed_ns,
				      clock_now_ns() + DEBTS_NS, end_ns);
	lock_waits_clear(&waits);
	return err;
}

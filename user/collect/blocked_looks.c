/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/blocked_looks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "collect/collector.h"
#include "collect/stand_pieces.h"
#include "collect/stand_take.h"
#include "isolate/stream_reader.h"
#include "model/blocked_book.h"

#define REST_NS 1000000000ull /* between two looks at the most */
/* At the end of a slice, so long is waited for the one that is under way. */
#define END_WAIT_MS 50
/* While one is under way, what came is taken so often. */
#define POLL_NS	  4000000ull
#define PIECE_MS  50
#define LOOK_MOST 65536u /* records of one look, and of a pass over all */
#define PASS_MOST 262144u
/* One that was left has ended by then, unless it hangs. */
#define LEFT_NS 100000000ull
#define LEFT_US 2000
/* Wakers that come while a look is under way. */
#define EARLY_MOST 1024

/* A thread that the look under way has found. */
struct found {
	struct model_stand stand;
	uint32_t share;
	bool same;
};

/* A wait that was over before what the look found was taken. */
struct early_waker {
	struct model_waker waker;
	uint64_t switches;
};

struct blocked_looks {
	const struct rooms *rooms;
	struct stream_reader *reader;
	struct blocked_book book;
	struct stand_taker taker;
	unsigned int a_second, cost_part;
	uint64_t random;
	uint32_t pass, since, seed;

	uint64_t slice_start_ns, next_ns;
	uint32_t slice_looks; /* begun in the slice */
	uint64_t rest_ns;     /* between two looks, as they cost */
	uint64_t cost_ns, cpu_ns;

	/* The look or the pass that is under way. */
	uint64_t poll_ns; /* when to see what came of it */
	stands_take_fn take;
	void *ctx;
	MODEL_TABLE(struct found, found); /* all of a look are of the slice in which it ends */
	uint64_t own_ns;		  /* CPU time on this side */
	uint32_t records, most, last_tgid;
	bool hangs, hang_told;
	struct stand_pieces pieces;
	MODEL_TABLE(struct early_waker, early);
};

static uint64_t draw(struct blocked_looks *l)
{
	l->random ^= l->random << 13;
	l->random ^= l->random >> 7;
	l->random ^= l->random << 17;
	return l->random;
}

struct blocked_looks *blocked_looks_new(const struct rooms *rooms, struct nursery *nursery,
					unsigned int a_second, unsigned int cost_part)
{
	struct blocked_looks *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->reader = stream_reader_new(nursery);
	if (!l->reader) {
		free(l);
		return NULL;
	}
	if (getrandom(&l->random, sizeof(l->random), GRND_NONBLOCK) != sizeof(l->random))
		l->random = clock_now_ns();
	l->random |= 1;
	l->rooms = rooms;
	l->a_second = a_second;
	l->cost_part = cost_part;
	l->next_ns = UINT64_MAX;
	l->since = l->pass + 1;
	return l;
}

void blocked_looks_free(struct blocked_looks *l)
{
	if (!l)
		return;
	stream_reader_free(l->reader);
	blocked_book_clear(&l->book);
	free(l->found);
	free(l->early);
	free(l);
}

void blocked_looks_forget(struct blocked_looks *l)
{
	stream_reader_drop(l->reader);
	l->since = l->pass + 1;
	l->found_cnt = l->pieces.have = l->early_cnt = 0;
	blocked_book_forget(&l->book);
	session_clear_look_shares(l->rooms->session);
}

uint64_t blocked_looks_cpu_ns(const struct blocked_looks *l)
{
	return l->cpu_ns;
}

/* --- reading --------------------------------------------------------------------------------- */

static void take_record(void *ctx, const struct event_stand *stand, const uint8_t *stack)
{
	struct blocked_looks *l = ctx;

	l->records++;
	l->last_tgid = stand->tgid;
	l->take(l->ctx, stand, stack);
}

static int take_bytes(void *ctx, const char *bytes, size_t len)
{
	struct blocked_looks *l = ctx;
	int err = stand_pieces_take(&l->pieces, bytes, len, take_record, l);

	return !err && l->records > l->most ? -EFBIG : err;
}

static int begin(struct blocked_looks *l, struct session *s, const struct stand_look *look,
		 const uint32_t *tgids, size_t tgid_cnt)
{
	_cleanup_close_ int fd = -1;

	/* What it reads by is one for all passes. */
	l->hangs = stream_reader_is_stuck(l->reader);
	if (l->hangs)
		return -EBUSY;
	session_set_stand_reader(s, stream_reader_place(l->reader), stream_reader_stuck(l->reader));
	fd = session_open_stands(s, look, tgids, tgid_cnt);
	if (fd < 0)
		return fd;
	l->pieces.have = l->records = 0;
	l->most = look ? LOOK_MOST : PASS_MOST;
	l->last_tgid = 0;
	l->own_ns = 0;
	l->hang_told = false;
	return stream_reader_begin(l->reader, fd);
}

/* As stream_reader_take(). */
static int take(struct blocked_looks *l, int timeout_ms)
{
	uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), cpu_ns = 0;
	int err = stream_reader_take(l->reader, timeout_ms, take_bytes, l, &cpu_ns);

	l->own_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
	l->cpu_ns += cpu_ns;
	l->hangs = err == -ETIMEDOUT;
	/* Of one that did not end it is not known what it took there. */
	if (err)
		l->cost_ns = l->own_ns + (err == 1 ? cpu_ns : 2 * l->own_ns);
	return err;
}

bool blocked_looks_hang(struct blocked_looks *l, uint32_t *ret_tgid)
{
	if (!l->hangs || l->hang_told)
		return false;
	l->hang_told = true;
	*ret_tgid = l->last_tgid;
	return true;
}

/* --- looks ----------------------------------------------------------------------------------- */

static void take_look(void *ctx, const struct event_stand *event, const uint8_t *piece)
{
	struct blocked_looks *l = ctx;
	struct model *m = l->rooms->model;
	struct found found = {.share = event->share, .same = event->flags & STAND_SAME};

	if (!stand_take(&l->taker, event, piece, &found.stand))
		return;
	if ((l->rooms->options->tgid_cnt || l->rooms->options->cgroup) &&
	    !(m->processes[m->threads[found.stand.at.thread].process].flags & PROCESS_SELECTED))
		return;
	if (!GROW(l->found, l->found_cnt, l->found_cap))
		l->found[l->found_cnt++] = found;
}

int blocked_looks_pass(struct blocked_looks *l, struct session *s, uint64_t ns,
		       const uint32_t *tgids, size_t tgid_cnt,
		       void (*take_stand)(void *ctx, const struct event_stand *stand,
					  const uint8_t *stack),
		       void *ctx)
{
	uint64_t begin_ns = clock_now_ns(), end_ns = begin_ns + ns;
	int err;

	/* A look that is under way is left: what it told is not known. */
	stream_reader_drop(l->reader);
	l->since = l->pass + 1;
	l->take = take_stand;
	l->ctx = ctx;
	do {
		err = begin(l, s, NULL, tgids, tgid_cnt);
		if (err == -EBUSY)
			usleep(LEFT_US);
	} while (err == -EBUSY && clock_now_ns() - begin_ns < LEFT_NS);
	while (!err && clock_now_ns() < end_ns)
		err = take(l, PIECE_MS);
	stream_reader_drop(l->reader);
	l->take = take_look;
	l->ctx = l;
	if (err == -ECANCELED)
		err = -EFBIG;
	return err == 1 ? 0 : err ?: -ETIMEDOUT;
}

static int set_share(void *ctx, uint32_t tgid, const struct look_share *share)
{
	return session_set_look_share(ctx, tgid, share);
}

/* Each of the parts of a slice has a look, at a random moment of it. */
static void plan_next(struct blocked_looks *l)
{
	l->next_ns = l->slice_start_ns + l->slice_looks * l->rest_ns + draw(l) % l->rest_ns;
}

void blocked_looks_begin_slice(struct blocked_looks *l, bool on)
{
	uint64_t least = 1000000000ull / l->a_second, rest = l->cost_ns * l->cost_part;

	blocked_book_begin_slice(&l->book, on);
	l->seed = (uint32_t)draw(l);
	l->slice_start_ns = clock_now_ns();
	l->slice_looks = 0;
	l->rest_ns = rest < least ? least : rest > REST_NS ? REST_NS : rest;
	if (on)
		plan_next(l);
	else
		l->next_ns = UINT64_MAX;
}

uint64_t blocked_looks_due_ns(const struct blocked_looks *l)
{
	return stream_reader_is_busy(l->reader) ? l->poll_ns : l->next_ns;
}

/* It found more than can be taken. */
static void thin_out(struct blocked_looks *l)
{
	const struct model *m = l->rooms->model;

	for (size_t i = 0; i < l->found_cnt; i++)
		blocked_book_count(&l->book, m, &l->found[i].stand, l->found[i].share);
	blocked_book_end_count(&l->book);
	blocked_book_set_shares(&l->book, m, set_share, l->rooms->session);
}

static void take_early(struct blocked_looks *l)
{
	struct model *m = l->rooms->model;

	for (size_t i = 0; i < l->early_cnt; i++)
		if (!blocked_book_wake(&l->book, m, &l->early[i].waker, l->early[i].switches))
			model_loss_add(m, LOSS_WAKERS, 1);
	l->early_cnt = 0;
}

/* Of the one that is under way. True: it has ended. */
static bool go_on(struct blocked_looks *l, int timeout_ms)
{
	struct model *m = l->rooms->model;
	uint32_t had = l->records;
	int err = take(l, timeout_ms);

	if (l->records > had)
		l->poll_ns = clock_now_ns(); /* more of it may be there */
	if (err < 0)
		l->since = l->pass + 1; /* what it told is not known */
	if (err == -ECANCELED)
		thin_out(l);
	if (err != 1)
		return false;
	log_debug("look %u: %u records, %u us there, %u us here", l->pass, l->records,
		  (unsigned)((l->cost_ns - l->own_ns) / 1000), (unsigned)(l->own_ns / 1000));
	for (size_t i = 0; i < l->found_cnt; i++)
		blocked_book_take(&l->book, m, &l->found[i].stand, l->found[i].share,
				  l->found[i].same);
	take_early(l);
	blocked_book_end_look(&l->book);
	blocked_book_end_again(&l->book, m, set_share, l->rooms->session);
	if (l->records > blocked_book_surprise)
		blocked_book_set_shares(&l->book, m, set_share, l->rooms->session);
	return true;
}

static void set_taker(struct blocked_looks *l)
{
	l->taker.model = l->rooms->model;
	l->taker.ingest = l->rooms->ingest;
	l->taker.maps = session_unwind(l->rooms->session);
}

bool blocked_looks_work(struct blocked_looks *l, const uint32_t *tgids, size_t tgid_cnt)
{
	struct stand_look look = {l->pass + 1, l->since, l->seed, l->book.share ?: LOOK_ALL};

	set_taker(l);
	l->poll_ns = clock_now_ns() + POLL_NS;
	if (stream_reader_is_busy(l->reader))
		return go_on(l, 0);
	if (clock_now_ns() < l->next_ns)
		return false;
	l->slice_looks++;
	plan_next(l);
	l->take = take_look;
	l->ctx = l;
	l->found_cnt = 0;
	if (!begin(l, l->rooms->session, &look, tgids, tgid_cnt))
		l->pass++;
	return false;
}

/* False: one of both is not known. */
static bool take_waker(const struct rooms *rooms, const struct event_waker *event,
		       struct model_waker *ret_waker)
{
	struct model *m = rooms->model;
	uint32_t woken = ingest_process(rooms->ingest, event->tgid, event->process_start_ns), by;
	struct model_waker w = {
		.at = {.time_ns = event->time_ns,
		       .kernel_stack = event->kernel_stack,
		       .user_stack = event->user_stack,
		       .cpu = (uint16_t)event->header.cpu,
		       .kind = SAMPLE_ON_CPU},
		.idle = event->flags & WAKER_IDLE,
	};

	if (woken == MODEL_NONE)
		return false;
	w.woken = model_thread_get(m, woken, event->tid, event->thread_start_ns);
	w.at.thread = w.woken;
	if (!w.idle) {
		by = ingest_process(rooms->ingest, event->by_tgid, event->by_process_start_ns);
		if (by == MODEL_NONE)
			return false;
		w.at.thread = model_thread_get(m, by, event->by_tid, event->by_thread_start_ns);
	}
	*ret_waker = w;
	return w.woken != MODEL_NONE && w.at.thread != MODEL_NONE;
}

void blocked_looks_wake(struct blocked_looks *l, const struct event_waker *event)
{
	struct early_waker early = {.switches = event->switches};

	if (!take_waker(l->rooms, event, &early.waker))
		goto lost;
	if (blocked_book_wake(&l->book, l->rooms->model, &early.waker, early.switches))
		return;
	/* The look that found it may be under way. */
	if (stream_reader_is_busy(l->reader) && l->early_cnt < EARLY_MOST &&
	    !GROW(l->early, l->early_cnt, l->early_cap)) {
		l->early[l->early_cnt++] = early;
		return;
	}
lost:
	model_loss_add(l->rooms->model, LOSS_WAKERS, 1);
}

void blocked_looks_end_slice(struct blocked_looks *l, uint64_t slice_ns)
{
	uint64_t end_ns = clock_now_ns() + END_WAIT_MS * 1000000ull;

	set_taker(l);
	while (stream_reader_is_busy(l->reader) && clock_now_ns() < end_ns)
		go_on(l, END_WAIT_MS / 5);
	blocked_book_end_slice(&l->book, l->rooms->model, slice_ns);
	blocked_book_set_shares(&l->book, l->rooms->model, set_share, l->rooms->session);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/snapshot_stands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"

/* Reading stacks may take so long: of 100,000 threads that want a CPU most are left out. */
#define STANDS_NS 300000000ull
/* And their records so much memory: 4,000 whole ones. */
#define RECORDS_BYTES ((size_t)64 << 20)
/* CPUs that are visited for who is on them, for so long each and in all; and where there are more
 * threads, none: each visit walks over all of them, ahead of whoever runs there. */
#define VISITS		    64u
#define VISIT_NS	    10000000ull
#define VISITS_NS	    50000000ull
#define VISITS_THREADS_MOST 3000u
/* A thread that ran for less is not worth a visit. */
#define VISIT_LEAST_NS 1000000ull

static bool wants_cpu(const struct event_counts *c)
{
	return c->state == 'R' || (c->flags & COUNTS_ON_CPU);
}

bool snapshot_stands_want(const struct event_counts *c, const struct look_rise *rise)
{
	return rise->ran_ns || rise->waited_ns || wants_cpu(c) || c->state == 'D';
}

static void keep_record(struct snapshot_stands *s, uint32_t row, const struct event_stand *stand,
			const uint8_t *stack)
{
	size_t bytes = sizeof(*stand) + stand->stack_bytes;
	struct snapshot_record *r;

	if (s->records_bytes + bytes > RECORDS_BYTES) {
		s->snapshot->cut++;
		return;
	}
	r = malloc(sizeof(*r) + stand->stack_bytes);
	if (!r || GROW(s->records, s->records_cnt, s->records_cap)) {
		free(r);
		s->err = -ENOMEM;
		return;
	}
	r->rise = look_rise(s->before, &s->now->rows[row]);
	r->bytes = bytes;
	r->event = *stand;
	memcpy(&r->event + 1, stack, stand->stack_bytes);
	s->records[s->records_cnt++] = r;
	s->records_bytes += bytes;
	s->seen[row] = true;
}

static uint32_t row_of(const struct snapshot_stands *s, const struct event_stand *stand)
{
	return look_find(s->now, stand->tid, stand->thread_start_ns);
}

static void take_stand(void *ctx, const struct event_stand *stand, const uint8_t *stack)
{
	struct snapshot_stands *s = ctx;
	const struct event_counts *c;
	struct look_rise rise;
	uint32_t row = row_of(s, stand);

	/* Born since: it is told of by the next look, if there is one. */
	if (row == HASH_NONE || s->seen[row])
		return;
	c = &s->now->rows[row];
	rise = look_rise(s->before, c);
	if (c->tgid != (uint32_t)getpid() && snapshot_stands_want(c, &rise))
		keep_record(s, row, stand, stack);
}

/* Who is on a CPU leaves it while the process that reads is there. */
struct visit {
	struct snapshot_stands *s;
	struct snapshot_record *r;
	uint32_t row;
};

static void take_visited(void *ctx, const struct event_stand *stand, const uint8_t *stack)
{
	struct visit *v = ctx;
	struct snapshot_record *r = v->r, *bigger;

	if (row_of(v->s, stand) != v->row || stand->flags & (STAND_RUNS | STAND_MOVED))
		return;
	bigger = realloc(r, sizeof(*r) + stand->stack_bytes);
	if (!bigger)
		return;
	v->r = bigger;
	bigger->event = *stand;
	bigger->event.state = 'R'; /* it is its visitor who keeps it off */
	bigger->bytes = sizeof(*stand) + stand->stack_bytes;
	memcpy(&bigger->event + 1, stack, stand->stack_bytes);
}

/* False: the process that reads is lost. */
static bool visit(struct snapshot_stands *s, size_t record, pid_t reader)
{
	struct snapshot_record *r = s->records[record];
	struct stands_ask ask = {.tgids = &r->event.tgid,
				 .tgid_cnt = 1,
				 .tid = r->event.tid,
				 .place = stand_stream_place(s->stream),
				 .stuck = stand_stream_stuck(s->stream)};
	struct visit v = {s, r, row_of(s, &r->event)};
	_cleanup_close_ int fd = -1;
	int err;

	if (v.row == HASH_NONE || r->rise.ran_ns < VISIT_LEAST_NS ||
	    !urgent_visit(s->urgent, reader, s->now->rows[v.row].cpu))
		return true;
	fd = looker_open_stands(s->looker, &ask);
	if (fd < 0)
		return true;
	err = stand_stream_read(s->stream, fd, clock_now_ns() + VISIT_NS, take_visited, &v);
	s->records[record] = v.r;
	return !err;
}

static bool is_unread(const struct snapshot_record *r)
{
	return r->event.flags & (STAND_RUNS | STAND_MOVED);
}

/* Those that were on a CPU in the pass. */
static void visit_running(struct snapshot_stands *s, size_t first)
{
	uint64_t end_ns = clock_now_ns() + VISITS_NS;
	pid_t reader = stand_stream_pid(s->stream);
	bool may = reader > 0 && s->urgent->realtime && s->now->cnt <= VISITS_THREADS_MOST;
	unsigned int visits = 0;

	for (size_t i = first; may && i < s->records_cnt && visits < VISITS; i++) {
		if (!is_unread(s->records[i]))
			continue;
		if ((s->stop && *s->stop) || clock_now_ns() >= end_ns)
			break;
		visits++;
		may = visit(s, i, reader);
	}
	if (visits && stand_stream_pid(s->stream) == reader)
		urgent_lend(s->urgent, reader);
	for (size_t i = first; i < s->records_cnt; i++)
		s->snapshot->on_cpu += is_unread(s->records[i]);
}

/* Of whom nothing was read there is a row, too, or what it did would be missing. */
static void add_unread(struct snapshot_stands *s, bool late)
{
	const struct look *now = s->now;

	for (size_t i = 0; i < now->cnt && !s->err; i++) {
		const struct event_counts *c = &now->rows[i];
		struct look_rise rise = look_rise(s->before, c);
		struct event_stand stand = {
			.time_ns = now->time_ns,
			.tgid = c->tgid,
			.tid = c->tid,
			.process_start_ns = c->process_start_ns,
			.thread_start_ns = c->thread_start_ns,
			.age_ns = STAND_AGE_UNKNOWN,
			.flags = STAND_MOVED |
				 (c->flags & COUNTS_KERNEL_THREAD ? STAND_KERNEL_THREAD : 0),
			.state = c->state,
		};

		if (s->seen[i] || !snapshot_stands_want(c, &rise) || c->tgid == (uint32_t)getpid())
			continue;
		keep_record(s, (uint32_t)i, &stand, NULL);
		s->snapshot->late += late;
	}
}

/* One pass over all that may be of interest. 0 or negative errno. */
static int read_pass(struct snapshot_stands *s, const struct snapshot_pass *pass)
{
	struct stands_ask ask = {
		.tgids = pass->tgids,
		.tgid_cnt = pass->tgid_cnt,
		/* It may be read a little later than the interval's end. */
		.awake_ns = 2 * (pass->now->time_ns - pass->before->time_ns),
		.place = stand_stream_place(s->stream),
		.stuck = stand_stream_stuck(s->stream),
	};
	uint64_t end_ns = clock_now_ns() + STANDS_NS;
	_cleanup_close_ int fd = looker_open_stands(s->looker, &ask);

	return fd < 0 ? fd : stand_stream_read(s->stream, fd, end_ns, take_stand, s);
}

int snapshot_stands_read(struct snapshot_stands *s, const struct snapshot_pass *pass,
			 struct snapshot *snapshot, const char **ret_why)
{
	const char *why = feature_why(looker_features(s->looker), FEATURE_THREAD_STACKS);
	size_t first = s->records_cnt;
	bool late;
	int err = 0;

	s->before = pass->before;
	s->now = pass->now;
	s->snapshot = snapshot;
	s->err = 0;
	while (s->seen_cap < s->now->cnt)
		if (GROW(s->seen, s->seen_cap, s->seen_cap))
			return -ENOMEM;
	memset(s->seen, 0, s->seen_cap);
	if (!why)
		err = read_pass(s, pass);
	if (!why && !err)
		visit_running(s, first);
	/* One that hangs in the memory of a process is no reason to tell nothing of the others. */
	if (!first && err == -EBUSY)
		why = "reading stacks hangs in the memory of a process, since an earlier snapshot";
	else if (!first && err == -EAGAIN)
		why = "the process that reads stacks cannot be had";
	*ret_why = why;
	late = err == -ETIMEDOUT || err == -EBUSY || err == -EAGAIN;
	if (!err || late)
		add_unread(s, late);
	return late ? s->err : err ?: s->err;
}

void snapshot_stands_forget(struct snapshot_stands *s)
{
	for (size_t i = 0; i < s->records_cnt; i++)
		free(s->records[i]);
	s->records_cnt = s->records_bytes = 0;
}

void snapshot_stands_clear(struct snapshot_stands *s)
{
	snapshot_stands_forget(s);
	free(s->records);
	free(s->seen);
	s->records = NULL;
	s->seen = NULL;
	s->records_cap = s->seen_cap = 0;
}

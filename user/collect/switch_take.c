/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/switch_take.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* Threads that were met lately, by tid: most rows are of few. */
#define MET_MAX 4096u
/* Of a full ring's window so much is left out at its beginning, one part in so many: it may be
 * overwritten while the rest is read. And as often it is tried. */
#define MARGIN 16
#define TRIES  3

struct met {
	uint64_t start_ns;
	uint32_t tid, thread; /* row */
};

/* Rows of one CPU in the model that are not in their place yet. */
struct run {
	size_t at, end;
};

struct taking {
	struct switch_ring *ring;
	struct model *m;
	struct met *met;
	/* By id, threads that were there before: the newest one of a bucket, and 1; and by row, the
	 * one before it in its bucket. */
	uint32_t *buckets, *older;
	size_t buckets_cnt, threads_cnt;
	uint32_t running_tid, running; /* on the CPU whose rows are taken, and its row */
	size_t turn;		       /* the newest turn of that CPU, a row of the model's */
	struct run *runs;	       /* by CPU */
	uint64_t from_ns, until_ns;
	uint64_t lost;
	bool is_full; /* the window is shorter for it */
};

static struct met *place_of(const struct taking *t, uint32_t tid)
{
	return &t->met[hash_u64(tid) % MET_MAX];
}

/* MODEL_NONE: nobody knows that process. */
static uint32_t thread_of(struct taking *t, uint32_t tid, uint32_t tgid, uint64_t start_ns,
			  uint64_t time_ns)
{
	struct met *met = place_of(t, tid);
	uint32_t process;

	if (met->tid == tid && met->start_ns == start_ns)
		return met->thread;
	process = model_process_at(t->m, tgid, time_ns);
	if (process == MODEL_NONE)
		return MODEL_NONE;
	*met = (struct met){start_ns, tid, model_thread_get(t->m, process, tid, start_ns)};
	return met->thread;
}

static int index_threads(struct taking *t)
{
	const struct model *m = t->m;

	t->threads_cnt = m->threads_cnt;
	for (t->buckets_cnt = 1024; t->buckets_cnt < m->threads_cnt;)
		t->buckets_cnt *= 2;
	t->buckets = calloc(t->buckets_cnt, sizeof(*t->buckets));
	t->older = calloc(m->threads_cnt ?: 1, sizeof(*t->older));
	if (!t->buckets || !t->older)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->threads_cnt; i++) {
		uint32_t *bucket = &t->buckets[hash_u64(m->threads[i].tid) % t->buckets_cnt];

		t->older[i] = *bucket;
		*bucket = i + 1;
	}
	return 0;
}

/* Of a thread that is told by its id alone: who runs, else whoever of that id was met or is
 * there. */
static uint32_t thread_by_tid(const struct taking *t, uint32_t tid)
{
	const struct met *met = place_of(t, tid);

	if (tid == t->running_tid)
		return t->running;
	if (met->tid == tid)
		return met->thread;
	for (uint32_t i = t->buckets[hash_u64(tid) % t->buckets_cnt]; i; i = t->older[i - 1])
		if (t->m->threads[i - 1].tid == tid)
			return i - 1;
	return MODEL_NONE;
}

static int add(struct taking *t, struct model_switch *row)
{
	if (row->thread == MODEL_NONE && row->flags & SWITCH_UNKNOWN)
		t->lost++;
	if (row->kind == SWITCH_TURN) {
		t->running = row->thread;
		t->turn = t->m->switches_cnt;
	}
	row->slice = model_slice_at(t->m, row->time_ns);
	return model_switch_add(t->m, row);
}

/*
 * Who was on the CPU as the window began: of its rows up to there the last one tells who came, of
 * those behind the first one who left; else the books do.
 */
static int add_beginning(struct taking *t, uint32_t cpu, const struct switch_reading *reading,
			 const struct switch_running *running)
{
	struct switch_row at, before = {0}, behind = {0};
	struct model_switch row = {.time_ns = t->from_ns,
				   .cpu = cpu,
				   .thread = MODEL_NONE,
				   .other = MODEL_NONE,
				   .kind = SWITCH_TURN,
				   .state = '-',
				   .flags = SWITCH_BEGINS};
	bool has_before = false, has_behind = false;
	uint32_t tid = 0;

	for (uint64_t n = reading->first; n <= reading->last && !has_behind; n++) {
		if (!switch_ring_row(t->ring, cpu, n, &at) || at.kind != SWITCH_TURN)
			continue;
		if (at.time_ns <= t->from_ns)
			before = at, has_before = true;
		else
			behind = at, has_behind = true;
	}
	if (has_before)
		tid = before.tid;
	else if (has_behind)
		tid = behind.other_tid;
	else if (running->since_ns)
		tid = running->tid;
	else
		row.flags |= SWITCH_UNKNOWN;
	if (tid && has_before)
		row.thread = thread_of(t, tid, before.tgid, before.thread_start_ns, before.time_ns);
	else if (tid)
		row.thread = thread_by_tid(t, tid);
	if (tid && row.thread == MODEL_NONE)
		row.flags |= SWITCH_UNKNOWN;
	t->running_tid = tid;
	return add(t, &row);
}

/*
 * Another one leaves than came last: some switches fire no program (those of threads of pid 1 on
 * some machines). As in the books, the time in between is idle where the CPU was, or of nobody
 * that is known.
 */
static void note_unseen(struct taking *t, uint32_t leaves)
{
	struct model_switch *turn = &t->m->switches[t->turn];

	if (leaves == t->running_tid)
		return;
	turn->thread = MODEL_NONE;
	turn->flags &= (uint8_t)~SWITCH_UNKNOWN;
	if (leaves)
		turn->flags |= SWITCH_UNKNOWN;
	t->lost++;
	t->running_tid = 0;
}

static int add_row(struct taking *t, uint32_t cpu, const struct switch_row *at)
{
	bool is_turn = at->kind == SWITCH_TURN;
	struct model_switch row = {
		.time_ns = at->time_ns,
		.cpu = cpu,
		.thread = MODEL_NONE,
		.other = MODEL_NONE,
		.irq_ns = at->irq_ns,
		.softirq_ns = at->softirq_ns,
		.kind = at->kind,
		.state = is_turn ? at->state : '-',
		.flags = at->flags,
	};

	if (at->time_ns <= t->from_ns || at->time_ns > t->until_ns)
		return 0;
	if (is_turn)
		note_unseen(t, at->other_tid);
	if (at->tid)
		row.thread = thread_of(t, at->tid, at->tgid, at->thread_start_ns, at->time_ns);
	if (at->tid && row.thread == MODEL_NONE)
		row.flags |= SWITCH_UNKNOWN;
	if (at->other_tid)
		row.other = thread_by_tid(t, at->other_tid);
	if (is_turn)
		t->running_tid = at->tid;
	return add(t, &row);
}

/* -EAGAIN: rows were overwritten before they were read. */
static int take_cpu(struct taking *t, uint32_t cpu, const struct switch_running *running)
{
	struct switch_reading reading;
	struct switch_row at;
	int err;

	switch_ring_look(t->ring, cpu, &reading);
	if (reading.since_ns > t->from_ns)
		return -EAGAIN;
	t->runs[cpu].at = t->m->switches_cnt;
	t->running_tid = 0;
	err = add_beginning(t, cpu, &reading, running);
	for (uint64_t n = reading.first; !err && n <= reading.last; n++) {
		if (switch_ring_row(t->ring, cpu, n, &at))
			err = add_row(t, cpu, &at);
		else
			err = -EAGAIN;
	}
	t->runs[cpu].end = t->m->switches_cnt;
	return err;
}

static size_t merge_two(const struct model_switch *from, struct run a, struct run b,
			struct model_switch *to)
{
	size_t cnt = 0;

	while (a.at < a.end || b.at < b.end) {
		bool takes_a =
			b.at == b.end || (a.at < a.end && from[a.at].time_ns <= from[b.at].time_ns);

		to[cnt++] = from[takes_a ? a.at++ : b.at++];
	}
	return cnt;
}

/* Rows of one CPU are in their order: those of all, by time. Runs lie one behind the other. */
static int merge(struct taking *t, size_t first, uint32_t cpus)
{
	size_t cnt = t->m->switches_cnt - first, runs = 0;
	struct model_switch *from = t->m->switches + first, *to, *other;

	other = to = malloc(cnt * sizeof(*to) + 1);
	if (!to)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < cpus; cpu++)
		if (t->runs[cpu].end > t->runs[cpu].at)
			t->runs[runs++] =
				(struct run){t->runs[cpu].at - first, t->runs[cpu].end - first};
	while (runs > 1) {
		struct model_switch *done = from;
		size_t merged = 0, at = 0;

		for (size_t i = 0; i < runs; i += 2) {
			const struct run none = {t->runs[i].end, t->runs[i].end};
			size_t end = at + merge_two(from, t->runs[i],
						    i + 1 < runs ? t->runs[i + 1] : none, to + at);

			t->runs[merged++] = (struct run){at, end};
			at = end;
		}
		from = to;
		to = done;
		runs = merged;
	}
	if (from == other)
		memcpy(t->m->switches + first, from, cnt * sizeof(*from));
	free(other);
	return 0;
}

/* The latest moment from which on the rows of all CPUs are whole. */
static void begin(struct taking *t, const struct switch_window *window)
{
	t->until_ns = window->until_ns;
	t->from_ns = 0;
	if (window->until_ns > window->length_ns)
		t->from_ns = window->until_ns - window->length_ns;
	t->is_full = false;
	for (uint32_t cpu = 0; cpu < window->cpus; cpu++) {
		struct switch_reading reading;

		if (!window->online[cpu])
			continue;
		switch_ring_look(t->ring, cpu, &reading);
		t->is_full |= reading.is_full && reading.since_ns > t->from_ns;
		if (reading.since_ns > t->from_ns)
			t->from_ns = reading.since_ns;
	}
}

static int take(struct taking *t, const struct switch_window *window)
{
	size_t first = t->m->switches_cnt;
	int err = 0;

	t->lost = 0;
	begin(t, window);
	/* What is written meanwhile overwrites the oldest. */
	if (t->is_full)
		t->from_ns += (t->until_ns - t->from_ns) / MARGIN;
	if (t->from_ns >= t->until_ns)
		return 0;
	memset(t->runs, 0, window->cpus * sizeof(*t->runs));
	for (uint32_t cpu = 0; !err && cpu < window->cpus; cpu++)
		if (window->online[cpu])
			err = take_cpu(t, cpu, &window->running[cpu]);
	if (!err)
		err = merge(t, first, window->cpus);
	if (err)
		t->m->switches_cnt = first;
	return err;
}

int switch_take(struct switch_ring *ring, const struct switch_window *window, struct model *m,
		struct switch_taken *ret_taken)
{
	struct taking t = {.ring = ring,
			   .m = m,
			   .met = calloc(MET_MAX, sizeof(struct met)),
			   .runs = calloc(window->cpus, sizeof(struct run))};
	int err = t.met && t.runs ? index_threads(&t) : -ENOMEM;

	for (int i = 0; !err && i < TRIES; i++) {
		err = take(&t, window);
		if (err != -EAGAIN)
			break;
		err = i + 1 < TRIES ? 0 : -EAGAIN;
	}
	model_loss_add(m, LOSS_SWITCHES, t.lost);
	*ret_taken = (struct switch_taken){t.from_ns, t.is_full};
	free(t.met);
	free(t.runs);
	free(t.buckets);
	free(t.older);
	return err;
}

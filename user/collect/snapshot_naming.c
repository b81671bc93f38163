/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/snapshot_naming.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "collect/stand_take.h"
#include "collect/wait_names.h"

/* Processes whose names are looked up first, and at all. */
#define NAMED_FIRST 12u
#define TOLD_FIRST  3u /* without a name of these the first lines wait */
#define NAMED_MOST  200u

static bool is_stopped(const struct snapshot_naming *n)
{
	return n->stop && *n->stop;
}

static bool is_over(const struct snapshot_naming *n, uint64_t end_ns)
{
	return is_stopped(n) || clock_now_ns() >= end_ns;
}

/* Rows of stands from the records, by what is known by now. */
static int take_stands(struct snapshot_naming *n, bool whole)
{
	struct stand_taker *taker = calloc(1, sizeof(*taker));
	struct snapshot *s = n->snapshot;
	int err = 0;

	if (!taker)
		return -ENOMEM;
	snapshot_forget_stands(s);
	taker->model = n->model;
	taker->ingest = n->ingest;
	taker->maps = whole ? n->maps : NULL;
	for (size_t i = 0; !err && i < n->stands->records_cnt; i++) {
		struct event_stand *event = &n->stands->records[i]->event;
		uint32_t kernel_cnt = event->kernel_cnt;
		struct model_stand stand;
		bool known;

		event->kernel_cnt = whole ? kernel_cnt : 0;
		known = stand_take(taker, event, (const uint8_t *)(event + 1), &stand);
		event->kernel_cnt = kernel_cnt;
		if (known)
			err = stands_add(&s->stands, &stand)
				      ?: snapshot_rise(s, &n->stands->records[i]->rise);
	}
	free(taker);
	return err;
}

/* Facts of the first of them, until then. */
static void read_facts(struct snapshot_naming *n, size_t most, uint64_t end_ns)
{
	struct model *m = n->model;

	for (size_t i = 0; i < n->order_cnt && i < most && !is_over(n, end_ns); i++)
		if (!(m->processes[n->order[i]].flags &
		      (PROCESS_FACTS | PROCESS_KERNEL | PROCESS_GONE | PROCESS_SELF)))
			names_process(n->names, m, n->order[i]);
}

static void name_stack(struct snapshot_naming *n, uint64_t id, uint64_t time_ns)
{
	uint32_t row = id ? model_stack_find(n->model, id) : MODEL_NONE;

	if (row != MODEL_NONE)
		names_stack(n->names, n->model, row, time_ns);
}

static void name_stands(struct snapshot_naming *n, uint64_t end_ns)
{
	const struct model *m = n->model;
	const struct stands *stands = &n->snapshot->stands;

	do {
		uint64_t now_ns = clock_now_ns();

		names_tail(n->names, n->model, n->tailed_ns);
		n->tailed_ns = now_ns;
		for (size_t i = 0; i < stands->cnt; i++) {
			const struct model_sample *at = &stands->rows[i].at;
			uint32_t process = m->threads[at->thread].process;

			if (!(m->processes[process].flags & (PROCESS_FACTS | PROCESS_GONE)) &&
			    at->user_stack)
				continue; /* there was no time for its mappings */
			name_stack(n, at->kernel_stack, at->time_ns);
			name_stack(n, at->user_stack, at->time_ns);
		}
		if (!names_read(n->names, n->model) && !names_is_reading(n->names) &&
		    !names_waiting(n->names))
			break;
		wait_names_moment(n->names);
	} while (!is_over(n, end_ns));
	names_tail(n->names, n->model, n->tailed_ns);
}

/* Whether it is known of the leaf of that user stack what it is called, or why it has no name. */
static bool is_told(const struct snapshot_naming *n, const struct model_sample *at)
{
	const struct model *m = n->model;
	uint32_t row = at->user_stack ? model_stack_find(m, at->user_stack) : MODEL_NONE;

	return row != MODEL_NONE && m->stacks[row].frame_cnt &&
	       model_location_find(m, m->threads[at->thread].process,
				   model_stack_address(m, &m->stacks[row], 0),
				   at->time_ns) != MODEL_NONE;
}

/* Of a process, whether any stack of its user code is told; also where it has none. */
static bool process_is_told(const struct snapshot_naming *n, uint32_t process)
{
	const struct stands *stands = &n->snapshot->stands;
	bool has = false;

	for (size_t i = 0; i < stands->cnt; i++) {
		const struct model_sample *at = &stands->rows[i].at;

		if (n->model->threads[at->thread].process != process)
			continue;
		has |= at->user_stack != 0;
		if (is_told(n, at))
			return true;
	}
	return !has;
}

static bool first_are_told(const struct snapshot_naming *n)
{
	for (size_t i = 0; i < n->order_cnt && i < TOLD_FIRST; i++)
		if (!process_is_told(n, n->order[i]))
			return false;
	return true;
}

int snapshot_naming_first(struct snapshot_naming *n, uint64_t ns, uint64_t most_ns)
{
	uint64_t now_ns = clock_now_ns(), end_ns = now_ns + ns;
	int err = take_stands(n, false);

	if (err)
		return err;
	read_facts(n, NAMED_FIRST, now_ns + ns / 2);
	name_stands(n, end_ns);
	while (!first_are_told(n) && !is_over(n, now_ns + most_ns)) {
		wait_names_moment(n->names);
		end_ns += ns / 4;
		read_facts(n, TOLD_FIRST, end_ns);
		name_stands(n, end_ns);
	}
	return 0;
}

static void prepare_tables(struct snapshot_naming *n, uint64_t end_ns)
{
	const struct model *m = n->model;

	if (!n->feed)
		return;
	unwind_feed_hurry(n->feed, true);
	for (size_t i = 0; i < n->order_cnt && i < NAMED_MOST; i++)
		if (m->processes[n->order[i]].mapping_cnt)
			unwind_feed_prepare(n->feed, n->order[i]);
	if (!is_stopped(n))
		wait_names_tables(n->feed, n->model, n->names, NULL, 0, end_ns);
}

int snapshot_naming_all(struct snapshot_naming *n, uint64_t ns)
{
	uint64_t now_ns = clock_now_ns();
	int err;

	n->model->kernel_text = names_kernel_text(n->names);
	read_facts(n, NAMED_MOST, now_ns + ns / 3);
	prepare_tables(n, now_ns + ns / 2);
	err = take_stands(n, true);
	if (err)
		return err;
	name_stands(n, now_ns + ns);
	names_settle(n->names, n->model);
	return 0;
}

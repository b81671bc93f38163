/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/naming.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/grow.h"
#include "collect/collector.h"
#include "collect/stack_tables.h"
#include "collect/wait_names.h"

/* Between two looks at who just started, while samples are named. */
#define LOOK_MEANWHILE_NS 10000000ull
/* What those who wait alone may take of the end of a recording, when all others have theirs. */
#define WAITERS_NS 500000000ull

void naming_close(struct naming *n)
{
	free(n->stack_pass);
}

void naming_forget(struct naming *n)
{
	n->stack_pass_cnt = 0;
}

void naming_begin_slice(struct naming *n)
{
	n->named = n->first_sample = n->rooms->model->samples_cnt;
}

void naming_follow_maps(struct naming *n)
{
	uint64_t now_ns = clock_now_ns();

	names_follow(n->rooms->names, n->rooms->model, n->maps_read_ns);
	n->maps_read_ns = now_ns;
}

void naming_tail(struct naming *n)
{
	names_tail(n->rooms->names, n->rooms->model, n->tailed_ns);
	n->tailed_ns = clock_now_ns();
}

/* Names a stack unless this pass did it already. */
static void name_stack(struct naming *n, uint64_t id, uint64_t time_ns)
{
	uint32_t row = id ? model_stack_find(n->rooms->model, id) : MODEL_NONE;

	if (row == MODEL_NONE)
		return;
	while (n->stack_pass_cnt <= row) {
		if (GROW(n->stack_pass, n->stack_pass_cnt, n->stack_pass_cap))
			return;
		n->stack_pass[n->stack_pass_cnt++] = 0;
	}
	if (n->stack_pass[row] == n->pass)
		return;
	n->stack_pass[row] = n->pass;
	names_stack(n->rooms->names, n->rooms->model, row, time_ns);
}

/* Names of many samples take long where files are opened: who just started does not wait for it. */
static void look_meanwhile(struct naming *n)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns - n->looked_ns < LOOK_MEANWHILE_NS)
		return;
	records_look_at_started(n->records);
	stack_tables_work(n->rooms);
	n->looked_ns = clock_now_ns();
}

/* Code of the process may have changed its place since that sample. */
static bool is_restless(const struct naming *n, uint32_t process, uint64_t since_ns)
{
	return names_changed_ns(n->rooms->names, n->rooms->model, process) >= since_ns;
}

/* In the order of time, each of them: what an address means depends on it. */
static void name_restless(struct naming *n, size_t from)
{
	struct model *m = n->rooms->model;
	uint64_t since_ns = from < m->samples_cnt ? m->samples[from].time_ns : 0;

	for (size_t i = from; i < m->samples_cnt; i++) {
		struct model_sample sample = m->samples[i];
		uint32_t process = m->threads[sample.thread].process, row;

		if (!sample.user_stack || !is_restless(n, process, since_ns))
			continue;
		process_facts_want(n->facts, process);
		row = model_stack_find(m, sample.user_stack);
		if (row != MODEL_NONE)
			names_stack(n->rooms->names, m, row, sample.time_ns);
		look_meanwhile(n);
	}
}

/* Newest sample first: a stack is named once a pass, by what its addresses mean now. */
static void name_samples(struct naming *n, size_t from)
{
	struct model *m = n->rooms->model;

	n->named = m->samples_cnt;
	n->pass++;
	name_restless(n, from);
	for (size_t i = m->samples_cnt; i-- > from;) {
		struct model_sample sample = m->samples[i];
		uint32_t process = m->threads[sample.thread].process;

		process_facts_want(n->facts, process);
		name_stack(n, sample.kernel_stack, sample.time_ns);
		name_stack(n, sample.user_stack, sample.time_ns);
		look_meanwhile(n);
	}
	names_read(n->rooms->names, m);
}

void naming_name_new(struct naming *n)
{
	name_samples(n, n->named);
}

/* Of the rows of this slice that say where threads stand; of all others, too: at the end, when
 * nothing else waits for names. */
static void name_stand(struct naming *n, const struct model_sample *at, bool others)
{
	struct model_sample s = *at; /* naming may add to the model's tables */
	uint32_t process = n->rooms->model->threads[s.thread].process;

	if (!others && !wait_choice_has(n->waits, process))
		return;
	process_facts_want(n->facts, process);
	name_stack(n, s.kernel_stack, s.time_ns);
	name_stack(n, s.user_stack, s.time_ns);
	look_meanwhile(n);
}

static void name_stands(struct naming *n, bool others)
{
	struct model *m = n->rooms->model;

	for (size_t i = m->stands_cnt; i-- > 0 && m->stands[i].slice + 1 == m->slices_cnt;)
		name_stand(n, &m->stands[i].at, others);
	/* Of an interrupt the kernel's frames tell. */
	for (size_t i = m->wakers_cnt; i-- > 0 && m->wakers[i].slice + 1 == m->slices_cnt;)
		name_stand(n, &m->wakers[i].at, true);
	names_read(n->rooms->names, m);
}

void naming_name_slice(struct naming *n)
{
	name_samples(n, n->first_sample);
	name_stands(n, false);
}

/* The end of a recording: those who wait and did not run have some time of their own. */
static void settle_waiters(struct naming *n)
{
	uint64_t end_ns = clock_now_ns() + WAITERS_NS;

	do {
		n->pass++;
		name_stands(n, true);
		if (!names_is_reading(n->rooms->names) && !names_waiting(n->rooms->names))
			break;
		wait_names_moment(n->rooms->names);
	} while (clock_now_ns() < end_ns);
}

/* Where something does not answer, nobody else is asked. */
void naming_settle(struct naming *n)
{
	uint64_t begin_ns = clock_now_ns();

	names_settle(n->rooms->names, n->rooms->model);
	if (n->rooms->looks && !n->rooms->options->stacks.is_calm &&
	    clock_now_ns() - begin_ns < WAITERS_NS)
		settle_waiters(n);
}

void naming_settle_stands(struct naming *n, const struct stands *stands, uint64_t end_ns)
{
	do {
		uint64_t now_ns = clock_now_ns();

		names_tail(n->rooms->names, n->rooms->model, n->tailed_ns);
		n->tailed_ns = now_ns;
		n->pass++;
		for (size_t i = 0; i < stands->cnt; i++) {
			name_stack(n, stands->rows[i].at.kernel_stack, stands->rows[i].at.time_ns);
			name_stack(n, stands->rows[i].at.user_stack, stands->rows[i].at.time_ns);
		}
		if (!names_read(n->rooms->names, n->rooms->model) &&
		    !names_is_reading(n->rooms->names) && !names_waiting(n->rooms->names))
			break;
		wait_names_moment(n->rooms->names);
	} while (clock_now_ns() < end_ns);
	names_tail(n->rooms->names, n->rooms->model, n->tailed_ns);
	names_settle(n->rooms->names, n->rooms->model);
}

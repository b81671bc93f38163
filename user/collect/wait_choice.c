/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/wait_choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "collect/collector.h"
#include "collect/stack_tables.h"
#include "collect/unwind_feed.h"

/* Processes that wait alone whose names are begun with at a time. */
#define WAITERS_A_TIME 4u

void wait_choice_close(struct wait_choice *w)
{
	free(w->waiters);
}

void wait_choice_forget(struct wait_choice *w)
{
	w->waiters_cnt = w->hung.cnt = 0;
}

bool wait_choice_has(const struct wait_choice *w, uint32_t process)
{
	const struct model_process *p = &w->rooms->model->processes[process];

	return !(p->flags & (PROCESS_KERNEL | PROCESS_SELF)) &&
	       (p->flags & (PROCESS_DOTNET | PROCESS_SAMPLED | PROCESS_SELECTED) ||
		(process < w->waiters_cnt && w->waiters[process]));
}

size_t wait_choice_tgids(const struct wait_choice *w, uint32_t *ret_tgids)
{
	const struct model *m = w->rooms->model;
	size_t cnt = 0;

	if (w->rooms->options->tgid_cnt) {
		memcpy(ret_tgids, w->rooms->options->tgids,
		       w->rooms->options->tgid_cnt * sizeof(*ret_tgids));
		return w->rooms->options->tgid_cnt;
	}
	if (!w->rooms->options->stacks.is_calm)
		return 0;
	for (uint32_t i = 0; i < m->processes_cnt && cnt < FILTER_TGIDS_MAX; i++) {
		if (!m->processes[i].exit_ns && wait_choice_has(w, i))
			ret_tgids[cnt++] = m->processes[i].tgid;
	}
	return cnt;
}

static int note_waiter(struct wait_choice *w, uint32_t process)
{
	while (w->waiters_cnt <= process) {
		if (GROW(w->waiters, w->waiters_cnt, w->waiters_cap))
			return -ENOMEM;
		w->waiters[w->waiters_cnt++] = false;
	}
	w->waiters[process] = true;
	return 0;
}

/* Who does not answer is looked at, whether it runs or not; once it does not run, its tables come
 * with those of nobody else. */
void wait_choice_hung(struct wait_choice *w)
{
	hung_note(&w->hung, w->rooms->model);
	for (size_t i = 0; w->rooms->looks && i < w->hung.cnt; i++) {
		uint32_t process = w->hung.processes[i];

		if (note_waiter(w, process))
			break;
		process_facts_want(w->facts, process);
		if (w->rooms->feed && w->rooms->model->processes[process].mapping_cnt)
			unwind_feed_prepare(w->rooms->feed, process);
	}
}

/* Who wakes others is named as they are, a few new ones a slice. */
static void choose_wakers(struct wait_choice *w)
{
	const struct model *m = w->rooms->model;
	unsigned int most = WAITERS_A_TIME;

	for (size_t i = m->wakers_cnt; most && !w->rooms->stopped && i-- > 0;) {
		uint32_t process = m->threads[m->wakers[i].at.thread].process;

		if (m->wakers[i].slice + 1 != m->slices_cnt)
			break;
		if (wait_choice_has(w, process) ||
		    m->processes[process].flags & (PROCESS_KERNEL | PROCESS_SELF))
			continue;
		most--;
		if (note_waiter(w, process))
			break;
	}
}

/* A few of those who wait and did not run are named from now on, where names and tables of others
 * leave the time; those first whose waits are brief, since something goes on there. */
static void choose_waiters(struct wait_choice *w)
{
	const struct model *m = w->rooms->model;
	unsigned int most = names_is_reading(w->rooms->names) ? 1 : WAITERS_A_TIME;

	if (!w->rooms->looks || w->rooms->options->stacks.is_calm || w->rooms->stopped)
		return;
	for (int lasting = 0; lasting < 2; lasting++)
		for (size_t i = m->stands_cnt; i-- > 0;) {
			const struct model_stand *s = &m->stands[i];
			uint32_t process = m->threads[s->at.thread].process;

			if (s->slice + 1 != m->slices_cnt)
				break;
			if ((s->age_ns >= STAND_LASTING_NS) != lasting ||
			    wait_choice_has(w, process) ||
			    m->processes[process].flags & (PROCESS_KERNEL | PROCESS_SELF) ||
			    m->processes[process].exit_ns)
				continue;
			if (!most-- || note_waiter(w, process))
				return;
		}
}

static void note_wait(const struct wait_choice *w, const struct model_sample *at)
{
	if (wait_choice_has(w, w->rooms->model->threads[at->thread].process))
		stack_tables_note_wait(w->rooms, at);
}

static void note_waits(struct wait_choice *w)
{
	const struct model *m = w->rooms->model;

	for (size_t i = m->stands_cnt; i-- > 0;) {
		if (m->stands[i].slice + 1 != m->slices_cnt)
			break;
		note_wait(w, &m->stands[i].at);
	}
	for (size_t i = m->wakers_cnt; i-- > 0;) {
		if (m->wakers[i].slice + 1 != m->slices_cnt)
			break;
		note_wait(w, &m->wakers[i].at);
	}
}

void wait_choice_next(struct wait_choice *w)
{
	choose_waiters(w);
	choose_wakers(w);
	note_waits(w);
}

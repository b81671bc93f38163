/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "collect/lock_waits.h"
#include "collect/wait_names.h"
#include "names/holders.h"
#include "names/lock_points.h"

static uint32_t share_of(const struct lock_waits *w)
{
	return LOCK_WAITS_SHARE >> w->halved;
}

/* Of that process; NULL without memory. */
static uint32_t *turns_of(struct lock_waits *w, uint32_t process)
{
	while (w->turns_cnt <= process) {
		if (GROW(w->turns, w->turns_cnt, w->turns_cap))
			return NULL;
		w->turns[w->turns_cnt++] = 0;
	}
	return &w->turns[process];
}

/* Those beyond half of the share leave their places. */
static void halve(struct lock_waits *w)
{
	size_t kept = 0;

	w->halved++;
	for (size_t i = 0; i < w->cnt; i++)
		if (w->rows[i].turn < share_of(w))
			w->rows[kept++] = w->rows[i];
	w->left_out += w->cnt - kept;
	w->cnt = kept;
}

/* What it can wait for is told later, by its frames. */
void lock_waits_note(struct lock_waits *w, const struct model *m, const struct event_stand *event,
		     const uint8_t *stack, const struct model_stand *stand, size_t row)
{
	struct holders_wait wait = {
		.process = m->threads[stand->at.thread].process,
		.tid = event->tid,
		.row = (uint32_t)row,
		.switches = event->switches,
	};
	uint32_t *turns;

	if (!(m->processes[wait.process].flags & PROCESS_DOTNET) || !lock_points_may(event))
		return;
	turns = turns_of(w, wait.process);
	if (!turns || *turns >= share_of(w)) {
		w->left_out++;
		return;
	}
	/* Looking at its stack has a price, too. */
	wait.turn = (*turns)++;
	if (!lock_points(event, stack, &wait.at))
		return;
	while (w->cnt >= LOCK_WAITS_MAX && share_of(w) > 1)
		halve(w);
	if (wait.turn >= share_of(w) || w->cnt >= LOCK_WAITS_MAX || GROW(w->rows, w->cnt, w->cap))
		w->left_out++;
	else
		w->rows[w->cnt++] = wait;
}

int lock_waits_tell(struct lock_waits *w, const struct rooms *rooms, struct stands *stands,
		    uint64_t tailed_ns, uint64_t debts_ns, uint64_t end_ns)
{
	uint64_t begin_ns = clock_now_ns();

	while (!names_holders(rooms->names, rooms->model, w->rows, w->cnt, debts_ns, end_ns) &&
	       clock_now_ns() < end_ns) {
		wait_names_moment(rooms->names);
		names_tail(rooms->names, rooms->model, tailed_ns);
	}
	log_debug("threads: who holds the locks of %zu took %" PRIu64 " us", w->cnt,
		  (clock_now_ns() - begin_ns) / 1000);
	stands->unasked = w->left_out;
	for (size_t i = 0; i < w->cnt; i++) {
		const struct holders_wait *wait = &w->rows[i];

		stand_tell_lock(&stands->rows[wait->row], wait->holder.tid,
				wait->holder.kind & PERFMAP_LOCK_OBJECT,
				wait->holder.kind & PERFMAP_LOCK_MONITOR);
		stands->unasked += !wait->asked || wait->left_out;
	}
	if (stands->unasked)
		model_loss_add(rooms->model, LOSS_LOCK_HOLDERS, stands->unasked);
	lock_waits_clear(w);
	return stands_tell_holders(stands, rooms->model);
}

void lock_waits_clear(struct lock_waits *w)
{
	free(w->rows);
	free(w->turns);
	*w = (struct lock_waits){0};
}

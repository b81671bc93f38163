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

/* Of so many threads at the most. */
#define LOCK_WAITS_MAX 2048u

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

	if (!(m->processes[wait.process].flags & PROCESS_DOTNET) || w->cnt == LOCK_WAITS_MAX ||
	    !lock_points(event, stack, &wait.at) || GROW(w->rows, w->cnt, w->cap))
		return;
	w->rows[w->cnt++] = wait;
}

int lock_waits_tell(struct lock_waits *w, const struct rooms *rooms, struct stands *stands,
		    uint64_t tailed_ns, uint64_t end_ns)
{
	uint64_t begin_ns = clock_now_ns();

	while (!names_holders(rooms->names, rooms->model, w->rows, w->cnt, end_ns) &&
	       clock_now_ns() < end_ns) {
		wait_names_moment(rooms->names);
		names_tail(rooms->names, rooms->model, tailed_ns);
	}
	log_debug("threads: who holds the locks of %zu took %" PRIu64 " us", w->cnt,
		  (clock_now_ns() - begin_ns) / 1000);
	for (size_t i = 0; i < w->cnt; i++) {
		struct model_stand *s = &stands->rows[w->rows[i].row];

		if (!w->rows[i].holder)
			continue;
		s->holder = w->rows[i].holder;
		s->flags = (s->flags & ~(uint32_t)STAND_MONITOR) | STAND_LOCK_OBJECT;
	}
	lock_waits_clear(w);
	return stands_tell_holders(stands, rooms->model);
}

void lock_waits_clear(struct lock_waits *w)
{
	free(w->rows);
	*w = (struct lock_waits){0};
}

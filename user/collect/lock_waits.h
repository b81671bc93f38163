/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_LOCK_WAITS_H
#define HOTRUN_COLLECT_LOCK_WAITS_H
/*
 * Threads of .NET that a look found waiting for what may be a lock, and who holds it: noted while
 * the look goes on, as their stacks come, and asked of the runtime's memory afterwards. No threads.
 */
#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/events.h"
#include "collect/rooms.h"
#include "model/stand.h"

struct holders_wait;

/* Begins with zeroes. */
struct lock_waits {
	struct holders_wait *rows;
	size_t cnt, cap;
};

/* The thread may wait for one: stand is row of the look. */
void lock_waits_note(struct lock_waits *w, const struct model *m, const struct event_stand *event,
		     const uint8_t *stack, const struct model_stand *stand, size_t row);
/* Tells the rows of stands who holds what they wait for, as the host calls it: where the runtime's
 * memory says, that is in place of what looked like it. Waits until then at the most. Empties w. 0
 * or -ENOMEM. tailed_ns: the last look at perf maps. */
int lock_waits_tell(struct lock_waits *w, const struct rooms *rooms, struct stands *stands,
		    uint64_t tailed_ns, uint64_t end_ns);
void lock_waits_clear(struct lock_waits *w);
#endif

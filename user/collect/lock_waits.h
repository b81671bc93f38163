/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_LOCK_WAITS_H
#define HOTRUN_COLLECT_LOCK_WAITS_H
/*
 * Threads of .NET that a look found waiting for what may be a lock, and who holds it: noted while
 * the look goes on, as their stacks come, and asked of the runtime's memory afterwards. All are
 * some of each process rather than all of one; what is left out is counted. No threads.
 */
#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/events.h"
#include "collect/rooms.h"
#include "model/stand.h"

struct holders_wait;

/* Of all processes, and of one: some 140 KB, a power of two. */
#define LOCK_WAITS_MAX	 2048u
#define LOCK_WAITS_SHARE 256u

/* Begins with zeroes. */
struct lock_waits {
	struct holders_wait *rows;
	size_t cnt, cap;
	uint32_t *turns; /* by row of processes: threads that were taken, or taken for none */
	size_t turns_cnt, turns_cap;
	unsigned halved; /* so often, the share of a process, to have room for others */
	uint64_t left_out;
};

/* The thread may wait for one: stand is row of the look. */
void lock_waits_note(struct lock_waits *w, const struct model *m, const struct event_stand *event,
		     const uint8_t *stack, const struct model_stand *stand, size_t row);
/* Tells the rows of stands who holds what they wait for, as the host calls it: where the runtime's
 * memory says, and how many nobody was asked about. Waits until end_ns at the most, and until
 * debts_ns for who is in debt. Empties w. 0 or -ENOMEM. tailed_ns: the last look at perf maps. */
int lock_waits_tell(struct lock_waits *w, const struct rooms *rooms, struct stands *stands,
		    uint64_t tailed_ns, uint64_t debts_ns, uint64_t end_ns);
void lock_waits_clear(struct lock_waits *w);
#endif

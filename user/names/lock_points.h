/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_LOCK_POINTS_H
#define HOTRUN_NAMES_LOCK_POINTS_H
/* What on the stack of a thread that waits may be the lock that it waits for. Pure; no threads. */
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/events.h"
#include "perfmap/memory/memory.h"

/* Whether the thread waits for a futex, and did not run while its stack was read. */
bool lock_points_may(const struct event_stand *event);
/* Words at the top of its stack that may be addresses of objects. False: lock_points_may() is, or
 * there are none that stand there more than once, as a lock's does. */
bool lock_points(const struct event_stand *event, const uint8_t *piece,
		 struct perfmap_lock_wait *ret_wait);
#endif

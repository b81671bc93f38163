/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_SWITCH_TAKE_H
#define HOTRUN_COLLECT_SWITCH_TAKE_H
/* Single switches out of the ring of the kernel into a model, at the end of its newest slice. */
#include <stdbool.h>
#include <stdint.h>

#include "kernel/switch_ring.h"
#include "model/model.h"

/* Who runs on a CPU by the books of the session: of one that does not switch in the window. */
struct switch_running {
	uint32_t tid;	   /* 0 = it is idle */
	uint64_t since_ns; /* 0 = not known */
};

struct switch_window {
	uint64_t length_ns;		      /* that is wanted */
	uint64_t until_ns;		      /* its end */
	uint32_t cpus;			      /* to be read: 0 .. cpus-1 */
	const struct switch_running *running; /* by CPU */
	const bool *online;		      /* by CPU: others are left out */
};

struct switch_taken {
	uint64_t from_ns; /* when the window begins; there are no rows where that is its end */
	bool is_full;	  /* for more there was no room */
};

/*
 * Adds the rows of the window, in their order. It begins where the rows of all CPUs are whole. Who
 * is not in the model is SWITCH_UNKNOWN, and counted under LOSS_SWITCHES, as are switches that
 * fired no program. 0; -ENOMEM; -EAGAIN: they are overwritten faster than they are read. Then
 * there are none.
 */
int switch_take(struct switch_ring *ring, const struct switch_window *window, struct model *m,
		struct switch_taken *ret_taken);
#endif

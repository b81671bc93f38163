/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_REQUEST_TAKE_H
#define HOTRUN_COLLECT_REQUEST_TAKE_H
/*
 * Requests and what stands unanswered, from the kernel's counters into a slice; and, as they were,
 * on how many connections they are followed in the next one. No threads.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collect/follow.h"
#include "collect/process_facts.h"
#include "collect/rooms.h"

/* Begins with zeroes, and these three, borrowed. */
struct request_take {
	const struct rooms *rooms;
	const struct session_ops *ops; /* who takes sockets, and who was refused */
	struct process_facts *facts;
	struct follow follow;
};

/* Into the slice. first: the model knows of no socket yet. Nothing with OFF_REQUESTS. */
void request_take(struct request_take *r, bool first);
/* The slice is over: how many connections are to be followed in the next one. */
void request_take_choose_share(struct request_take *r, uint64_t elapsed_ns);
/* As chosen last, for a session that is new. */
void request_take_set_shares(struct request_take *r);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_STAND_TAKE_H
#define HOTRUN_COLLECT_STAND_TAKE_H
/*
 * From the kernel's record of where a thread stands to a row of stands, and its stacks in the
 * model. What the thread did meanwhile decides: only what is of one moment becomes a stack. No
 * threads.
 */
#include "kernel/unwind_maps.h"
#include "kernel/walk_piece.h"
#include "model/ingest.h"
#include "model/stand.h"

struct stand_taker {
	struct model *model;
	struct ingest *ingest;
	const struct unwind_maps *maps; /* NULL = frame pointers alone */
	struct walk_piece walk;
	/* The stack at hand: a struct event_stack and its frames. */
	uint64_t words[sizeof(struct event_stack) / sizeof(uint64_t) + STACK_MAX_FRAMES];
};

/* An event_stand, and the piece of its stack. False: its process or thread is not known, or there
 * is no room for it. Of one that has not run since (STAND_SAME) there are no stacks. */
bool stand_take(struct stand_taker *t, const struct event_stand *event, const uint8_t *piece,
		struct model_stand *ret_stand);
#endif

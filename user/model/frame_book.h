/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_FRAME_BOOK_H
#define HOTRUN_MODEL_FRAME_BOOK_H
/*
 * How often each address was in a stack: what books of frames are made of, in which a frame counts
 * by what is known of its location, wherever in a stack it was. Pure; no threads.
 */
#include "model/model.h"

struct frame_book {
	uint64_t samples; /* ticks; so are all figures */
	uint64_t *passed; /* by row of locations: of the frames there */
	/* By the reason of their symbol: of frames without a location, and of leaves. */
	uint64_t notes[REASON_CNT], leaves[REASON_CNT];
	/* By row of stacks: of samples with it, and of those in which nothing follows it. */
	uint64_t *stacks, *stacks_ended;
};

/* Of the on-CPU samples of process (row, MODEL_NONE = all). 0 or -ENOMEM; frame_book_clear() is due
 * in both cases. */
int frame_book_fill(struct frame_book *b, struct model *m, uint32_t process);
/* Takes a zeroed one. */
void frame_book_clear(struct frame_book *b);
#endif

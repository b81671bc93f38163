/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_RESOLVE_H
#define HOTRUN_MODEL_RESOLVE_H
/*
 * A sample as the analyst sees it: symbols from the root of the thread to the leaf, kernel frames
 * last. Names are those of the sample's time. Pure; no threads.
 */
#include "model/model.h"

/* Frames of one resolved sample at the most: both stacks, a note behind each frame of the user's,
 * and the others. */
#define RESOLVE_MAX_FRAMES (3 * STACK_MAX_FRAMES + 5)

struct resolve_frame {
	uint32_t symbol;   /* row of m->symbols */
	uint32_t location; /* row of m->locations, MODEL_NONE for notes and pending ones */
};

/*
 * Fills frames[RESOLVE_MAX_FRAMES], root first, and returns how many; at least 1. Adds the symbols
 * that it needs for notes ("[truncated]", "[broken stack]", "[stack lost]", addresses still
 * pending, "[caller unsure]", "[frames left out]") to the model, hence not const. Of a broken
 * stack, stray words that the walk took for callers are left out. A method entered twice through
 * on-stack replacement is one frame.
 */
size_t resolve_sample(struct model *m, const struct model_sample *sample,
		      struct resolve_frame *frames);

/* What a sample is made of, the root first: a stack, or a note in place of one. */
struct resolve_part {
	uint32_t stack; /* row of m->stacks, or MODEL_NONE */
	const char *note;
	enum model_reason reason;
};
#define RESOLVE_PARTS 3

/* Fills ret_parts and returns how many; at least 1. The last one has frames. */
size_t resolve_parts(const struct model *m, const struct model_sample *sample,
		     struct resolve_part ret_parts[static RESOLVE_PARTS]);
/* The frames of one of them, as resolve_sample() has them. */
size_t resolve_part(struct model *m, const struct resolve_part *part, uint64_t time_ns,
		    struct resolve_frame *frames);

/* True when a stack that was resolved, or all of a sample, means the same at any other time, so far
 * as is known. */
bool resolve_stack_lasts(const struct model *m, uint32_t stack);
bool resolve_lasts(const struct model *m, const struct model_sample *sample);

/* Row of the process of a sample. */
static inline uint32_t resolve_process(const struct model *m, const struct model_sample *sample)
{
	return m->threads[sample->thread].process;
}
#endif

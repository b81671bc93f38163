/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_PATHS_H
#define HOTRUN_MODEL_PATHS_H
/*
 * Walks the on-CPU samples of one process (or of all), thread after thread, each resolved to its
 * methods from the root of the thread to the leaf. What every analysis of hot paths reads. Pure;
 * no threads.
 *
 * One call is one frame: a method is one row over its tiers (method.h), and the body that replaced
 * another one on the stack (OSR) is the same frame as it (resolve.h). A method that calls itself is
 * as many frames as calls, unless PATHS_FOLD_RECURSION asks for less. Just my code: frame_view.h.
 *
 *	struct paths p = {0};
 *	err = paths_begin(&p, m, process, PATHS_FOLD_UNNAMED);
 *	while (!err && paths_next(&p))
 *		...
 *	paths_end(&p);
 */
#include "model/group.h"
#include "model/method.h"
#include "model/resolve.h"

#define PATHS_FOLD_UNNAMED   0x1u /* unnamed functions of a native file in a row are one frame */
#define PATHS_FOLD_RECURSION 0x2u /* calls of a method by itself in a row are one frame */
/* framework frames too, although the model is read as just my code */
#define PATHS_ALL_FRAMES 0x4u
/* frames[] alone is wanted: methods_cnt is 0 */
#define PATHS_NO_METHODS 0x8u
/* Of samples that resolve to the same as an earlier one, which `first` is then, neither frames[]
 * nor methods[] are wanted: both counts are 0. */
#define PATHS_ONCE 0x10u

struct paths {
	struct model *m;
	struct group group;
	struct method_map map;
	struct resolve_frame *frames; /* of the current sample, root first, as resolved */
	size_t frames_cnt;
	uint32_t *methods;   /* the same as symbol rows of methods, root first, perhaps fewer */
	uint16_t *calls;     /* of each of methods: how many frames in a row it stands for */
	uint32_t *locations; /* of each of methods: where it was first, MODEL_NONE = nowhere */
	size_t methods_cnt;
	bool fold_recursion, just_my_code, no_methods;
	uint32_t sample; /* row */
	uint32_t thread; /* row */
	/* With PATHS_ONCE: the first sample of the same process and stacks, or else the sample
	 * itself. */
	uint32_t first;
	bool lasts; /* such samples may have this one as their first: it is worth remembering */
	uint32_t *firsts; /* by hash, see paths.c; NULL without PATHS_ONCE */
	size_t firsts_mask;
};

/* 0 or -ENOMEM; paths_end() is due in both cases. */
int paths_begin(struct paths *p, struct model *m, uint32_t process, unsigned int flags);
/* The same of those processes whose row in wanted (borrowed until paths_end()) is not 0; NULL =
 * all. */
int paths_begin_of(struct paths *p, struct model *m, const uint8_t *wanted, unsigned int flags);
/* Goes to the next sample; false at the end. */
bool paths_next(struct paths *p);
/* Numbers by row, of samples (what a consumer made of each `first`) or others, all MODEL_NONE yet.
 * Owned, or NULL. */
uint32_t *paths_numbers(size_t cnt);
/* Whether there is none yet for the current sample's path, which is resolved then. */
bool paths_is_new(struct paths *p, const uint32_t *numbers);
/* Fills in frames[] and methods[] of the current sample where PATHS_ONCE has left them out. */
void paths_resolve(struct paths *p);
/* Takes a zeroed one. */
void paths_end(struct paths *p);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_JUDGED_H
#define HOTRUN_NAMES_JUDGED_H
/*
 * Says once of each user stack whether it reaches the root of its thread (STACK_BROKEN,
 * broken_module of the model), from how the walk ended and from the names of its frames: so it
 * waits until these have theirs. No threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

/* All zero when new. */
struct judged {
	uint8_t *known; /* by row of stacks: judged, or it waits */
	size_t known_cnt, known_cap;
	struct judged_later {
		uint32_t stack;
		uint32_t frame;		    /* has no name yet; those before it have */
		uint64_t time_ns, since_ns; /* CLOCK_MONOTONIC: of its sample; waits since then */
	} * later;
	size_t later_cnt, later_cap;
};

/* A stack whose frames were looked up, as of a sample at that time. */
void judged_stack(struct judged *j, struct model *m, uint32_t stack, uint64_t time_ns);
/* Those that wait and have their names now; all: the others as well. */
void judged_again(struct judged *j, struct model *m, bool all);
void judged_clear(struct judged *j);
#endif

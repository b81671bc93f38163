/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_NAMING_H
#define HOTRUN_COLLECT_NAMING_H
/*
 * Names the stacks that a slice holds: of samples as soon as they come, and again at its end; of
 * where threads stand, and of who wakes them. Each by what its addresses meant at its time. Who
 * just started does not wait for it: it is looked at in between. No threads.
 */
#include <stddef.h>
#include <stdint.h>

#include "collect/process_facts.h"
#include "collect/records.h"
#include "collect/rooms.h"
#include "collect/wait_choice.h"
#include "model/stand.h"

/* Begins with zeroes, and these four, borrowed. */
struct naming {
	const struct rooms *rooms;
	struct records *records;
	struct process_facts *facts;
	const struct wait_choice *waits;

	uint64_t tailed_ns;    /* last look at the perf maps, */
	uint64_t maps_read_ns; /* and at those in use */
	uint64_t looked_ns;    /* at who just started, while samples were named */
	size_t first_sample;   /* of this slice; the model may hold earlier ones */
	size_t named;	       /* samples up to which stacks were named */
	/* Stacks named at this pass already: by row, the pass number. */
	uint32_t *stack_pass;
	size_t stack_pass_cnt, stack_pass_cap;
	uint32_t pass;
};

void naming_close(struct naming *n);
/* There is another model. */
void naming_forget(struct naming *n);
void naming_begin_slice(struct naming *n);

/* What was appended to perf maps in use since the last time. */
void naming_follow_maps(struct naming *n);
/* Samples that came since the last time. */
void naming_name_new(struct naming *n);
/* The slice ends: perf maps of all, then all that it holds. */
void naming_tail(struct naming *n);
void naming_name_slice(struct naming *n);
/* A recording ends: what waits for its name has it soon, or gets its reason. */
void naming_settle(struct naming *n);
/* The same for where threads stand, until then at the latest. */
void naming_settle_stands(struct naming *n, const struct stands *stands, uint64_t end_ns);
#endif

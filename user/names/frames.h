/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_FRAMES_H
#define HOTRUN_NAMES_FRAMES_H
/*
 * Gives frames of user code their locations: tells whether one that is there still holds, finds
 * another one else, and keeps those that wait for a file to look at them again. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "model/model.h"
#include "names/file_symbols.h"
#include "names/files.h"
#include "names/jit.h"
#include "opener/file_requests.h"

/* Begins with zeroes, and these four, borrowed. */
struct frames {
	struct file_requests *requests;
	struct files *files;
	struct file_symbols *symbols;
	struct jit *jit;
	struct frame_origin *origins; /* by row of locations */
	size_t origins_cnt, origins_cap;
	struct frame_again *again; /* frames whose file was not there yet */
	size_t again_cnt, again_cap;
	struct hash_index again_index;
	bool settling;	   /* what is looked at now waits no longer */
	uint64_t since_ns; /* when it was looked at first, 0 = now */
};

void frames_close(struct frames *f);

/* Names the frame, unless it has a name that holds. */
void frames_name(struct frames *f, struct model *m, uint32_t process, uint64_t address,
		 uint64_t time_ns);
/* All of a user stack. */
void frames_name_stack(struct frames *f, struct model *m, const struct model_stack *stack,
		       uint64_t time_ns);
/* Those whose file was not there when they came, as far as it is now. settle: they wait no
 * longer. */
void frames_name_again(struct frames *f, struct model *m, bool settle);
/* Whether anybody waits who did not cause the wait himself. */
bool frames_is_worth_waiting(const struct frames *f, const struct model *m);
#endif

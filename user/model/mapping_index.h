/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_MAPPING_INDEX_H
#define HOTRUN_MODEL_MAPPING_INDEX_H
/*
 * Finds the mapping of a process that an address lay in: all it ever had, by start, with a tree of
 * their ends over that. Rows only come at the end and never move; those that came last are not in
 * it yet and are looked at one by one.
 */
#include "model/model.h"

/* Of memory for each mapping, here and in mapping_order.h. */
#define MAPPING_LIST_BYTES 16u

struct mapping_index {
	uint32_t *rows; /* by start, then by number */
	uint64_t *ends; /* the highest end in the subtree whose root is that place */
	size_t cnt;	/* rows of the process that are in it: the first ones */
	uint64_t looks; /* rows and places looked at by all look-ups */
};

/* Takes in the rows appended since the last call, once they are many. Without memory it stays as it
 * is, and look-ups take longer. */
void mapping_index_update(struct mapping_index *index, const struct model_process *p);

/* As model_mapping_find(). */
const struct model_mapping *mapping_index_find(struct mapping_index *index,
					       const struct model_process *p, uint64_t address,
					       uint64_t time_ns);

void mapping_index_clear(struct mapping_index *index);
#endif

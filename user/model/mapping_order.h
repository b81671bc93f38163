/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_MAPPING_ORDER_H
#define HOTRUN_MODEL_MAPPING_ORDER_H
/*
 * The open mappings of a process by their start, for mapping.c: a process that maps and unmaps
 * without end must not make each of its events a walk over all that it ever mapped. Rows stay where
 * they are (captures and look-ups name them by number); this is a list of row numbers beside them.
 */
#include "model/mapping_index.h"
#include "model/model.h"

/* Takes in the rows appended since the last call; to be called before those below. 0 or -ENOMEM,
 * then nothing has changed. */
int mapping_order_update(struct model_process *p);

/* Open mappings. */
size_t mapping_order_cnt(const struct model_process *p);

/* The newest open row of equal range, offset and module, or MODEL_NONE. */
uint32_t mapping_order_same(const struct model_process *p, const struct model_mapping *mapping);

/* Ends, when mapping begins, the open rows from first_row on that it covers whole. */
void mapping_order_end_covered(struct model_process *p, const struct model_mapping *mapping,
			       uint32_t first_row);

/* For look-ups: borrowed until the list is dropped. NULL without memory. */
struct mapping_index *mapping_order_index(struct model_process *p);

/* Forgets the list: whoever ends or removes rows by himself calls this. */
void mapping_order_drop(struct model_process *p);
#endif

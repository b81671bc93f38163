/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_GROUP_H
#define HOTRUN_MODEL_GROUP_H
/*
 * On-CPU samples grouped by their thread, so that "distinct threads" of anything can be counted in
 * one pass with a last-seen mark instead of a set. Pure; no threads.
 *
 *	while (group_next(g, &sample))
 *		...	(all samples of one thread come in a row)
 */
#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"

struct group {
	const struct model *m;
	uint32_t process;      /* row, MODEL_NONE = all */
	const uint8_t *wanted; /* by process: whether it is; NULL = as process says */
	uint32_t *rows;	       /* of samples, thread after thread */
	size_t rows_cnt, at;
};

/* Prepares g over the on-CPU samples of process; linear in samples and threads. 0 or -ENOMEM. The
 * tables of m must not grow in samples or threads until group_end(). */
int group_begin(struct group *g, const struct model *m, uint32_t process);
/* The same of those whose row in wanted (borrowed until group_end()) is not 0; NULL = all. */
int group_begin_of(struct group *g, const struct model *m, const uint8_t *wanted);
/* Sets *ret_sample to the next row of m->samples and returns true, or returns false at the end. */
bool group_next(struct group *g, uint32_t *ret_sample);
/* Releases what g holds. Takes a zeroed one. */
void group_end(struct group *g);
#endif

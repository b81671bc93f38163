/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_TOP_H
#define HOTRUN_MODEL_TOP_H
/*
 * Totals by method and by module over the samples of one process (or of all). A method that stands
 * on a stack several times counts once. Unnamed addresses are one row a file and reason. Beside the
 * samples stands their harm: each weighs the threads that waited for its CPU at that instant. Pure;
 * no threads.
 */
#include "model/model.h"

struct top_row {
	uint32_t symbol;    /* row of the method; of a module: one of its methods */
	const char *module; /* an assembly without ".dll": precompiled and JIT code are one */
	uint32_t threads;   /* distinct, among total */
	uint64_t self;	    /* samples with it as leaf */
	uint64_t total;	    /* samples with it anywhere */
	uint64_t self_waiters, total_waiters; /* threads that waited at those samples, summed */
	uint32_t last_path, last_thread;      /* builder's marks */
};

struct top_list {
	struct top_row *rows;
	size_t rows_cnt, rows_cap;
	struct hash_index index;
};

struct top {
	uint64_t samples;
	uint64_t waiters;	 /* threads that waited at the samples, summed */
	uint64_t waiters_square; /* the squares of these, summed: share_weighted_error() */
	uint64_t unknown;	 /* samples that could not tell who waited; count as 0 waiters */
	uint32_t threads;	 /* with samples */
	struct top_list methods;
	struct top_list modules; /* kernel, library, assembly; notes are no module */
};

/* Returns it owned, or NULL with errno ENOMEM. Rows are in no order. */
struct top *top_new(struct model *m, uint32_t process);
void top_free(struct top *top);

/* Puts the heaviest rows first; among equals by the other figure, then by name and module. */
void top_sort_self(struct top_list *list, const struct model *m);
void top_sort_total(struct top_list *list, const struct model *m);
#endif

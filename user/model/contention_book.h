/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_CONTENTION_BOOK_H
#define HOTRUN_MODEL_CONTENTION_BOOK_H
/*
 * Finds the row of m->contentions for a pair of processes in the current slice: one row a pair and
 * slice, however many samples saw it. Pure; no threads.
 */
#include "model/model.h"

struct contention_book {
	uint64_t start_ns;	 /* of the slice that the rows in the index are of */
	size_t cnt;		 /* rows in the index */
	struct hash_index index; /* pair -> row of m->contentions */
};

/* Adds weight (1/1000 of a waiting thread) to the pair. Without memory it counts a loss. */
void contention_book_add(struct contention_book *book, struct model *m, uint32_t runner,
			 uint32_t waiter, uint64_t weight);
/* Releases what it holds. Takes a zeroed one. */
void contention_book_clear(struct contention_book *book);
#endif

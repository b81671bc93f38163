/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/contention_book.h"

struct pair {
	uint32_t runner, waiter;
};

static bool same_pair(const void *owner, uint32_t row, const void *key)
{
	const struct model_contention *c = &((const struct model *)owner)->contentions[row];
	const struct pair *pair = key;

	return c->runner == pair->runner && c->waiter == pair->waiter;
}

void contention_book_add(struct contention_book *book, struct model *m, uint32_t runner,
			 uint32_t waiter, uint64_t weight)
{
	uint32_t slice = m->slices_cnt ? (uint32_t)m->slices_cnt - 1 : 0, row;
	uint64_t start_ns = m->slices_cnt ? m->slices[slice].start_ns : 0;
	struct pair pair = {runner, waiter};
	uint64_t hash = hash_pair(runner, waiter);
	struct model_contention fresh = {slice, runner, waiter, weight};

	/* Rows are forgotten when their slice was written, which may also happen within it; slices
	 * are numbered anew between two of them. */
	if (book->start_ns != start_ns || book->cnt > m->contentions_cnt) {
		hash_clear(&book->index);
		book->start_ns = start_ns;
		book->cnt = 0;
	}
	row = book->cnt ? hash_find(&book->index, hash, same_pair, m, &pair) : HASH_NONE;
	if (row != HASH_NONE) {
		m->contentions[row].weight += weight;
		return;
	}
	row = (uint32_t)m->contentions_cnt;
	if (model_contention_add(m, &fresh) || hash_add(&book->index, hash, row))
		model_loss_add(m, LOSS_MODEL_LIMIT, 1);
	else
		book->cnt = m->contentions_cnt;
}

void contention_book_clear(struct contention_book *book)
{
	hash_clear(&book->index);
	*book = (struct contention_book){0};
}

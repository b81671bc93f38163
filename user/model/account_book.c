/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/account_book.h"

#include <errno.h>
#include <string.h>

#include "base/grow.h"
#include "model/sched_figures.h"

static bool same_number(const void *owner, uint32_t row, const void *key)
{
	return ((const struct account_book *)owner)->seen[row].number == *(const uint64_t *)key;
}

static int add(struct account_book *book, const struct event_task *task, bool from_zero,
	       uint32_t *ret_row)
{
	struct account_seen seen = {.number = task->account};
	uint32_t row = (uint32_t)book->seen_cnt;
	int err;

	if (row == HASH_NONE)
		return -ENOMEM;
	err = GROW(book->seen, book->seen_cnt, book->seen_cap);
	if (!err)
		err = hash_add(&book->index, hash_u64(seen.number), row);
	if (err)
		return err;
	if (!from_zero) {
		seen.sched = task->sched;
		memcpy(seen.delays, task->delays, sizeof(seen.delays));
	}
	book->seen[book->seen_cnt++] = seen;
	*ret_row = row;
	return 0;
}

int account_book_read(struct account_book *book, const struct event_task *task, bool from_zero,
		      struct account_rise *ret_rise)
{
	uint64_t number = task->account;
	uint32_t row = hash_find(&book->index, hash_u64(number), same_number, book, &number);
	struct account_seen *seen;
	int err;

	if (row == HASH_NONE) {
		err = add(book, task, from_zero, &row);
		if (err)
			return err;
	}
	seen = &book->seen[row];
	ret_rise->any = sched_figures_rise(&task->sched, &seen->sched, &ret_rise->sched);
	for (int slot = 0; slot < DELAY_SLOTS; slot++) {
		/* The kernel counts modulo 2^32. */
		ret_rise->delays[slot] = task->delays[slot] - seen->delays[slot];
		seen->delays[slot] = task->delays[slot];
		ret_rise->any |= ret_rise->delays[slot] > 0;
	}
	return 0;
}

size_t account_book_bytes(const struct account_book *book)
{
	return book->seen_cnt * sizeof(*book->seen) + book->index.cap * sizeof(*book->index.slots);
}

void account_book_clear(struct account_book *book)
{
	free(book->seen);
	hash_clear(&book->index);
	*book = (struct account_book){0};
}

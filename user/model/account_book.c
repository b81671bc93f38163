/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/account_book.h"

#include <errno.h>

#include "base/grow.h"

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
		seen.on_cpu_ns = task->on_cpu_ns;
		seen.voluntary = task->voluntary_switches;
		seen.involuntary = task->involuntary_switches;
	}
	book->seen[book->seen_cnt++] = seen;
	*ret_row = row;
	return 0;
}

static uint64_t rise(uint64_t now, uint64_t *seen)
{
	uint64_t by = now > *seen ? now - *seen : 0;

	*seen += by;
	return by;
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
	ret_rise->on_cpu_ns = rise(task->on_cpu_ns, &seen->on_cpu_ns);
	ret_rise->voluntary = rise(task->voluntary_switches, &seen->voluntary);
	ret_rise->involuntary = rise(task->involuntary_switches, &seen->involuntary);
	return 0;
}

void account_book_clear(struct account_book *book)
{
	free(book->seen);
	hash_clear(&book->index);
	*book = (struct account_book){0};
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_ACCOUNT_BOOK_H
#define HOTRUN_MODEL_ACCOUNT_BOOK_H
/*
 * What was last read of each account of the kernel, by the account's own number. Not by thread: a
 * thread that is not the leader takes over the leader's id and start time when it calls exec, and
 * brings its own account along. Pure; no threads.
 */
#include <linux/types.h>

#include "bpf/events.h"
#include "base/hash.h"
#include "model/model.h"

struct account_seen {
	uint64_t number;
	struct sched_figures sched;
	uint32_t delays[DELAY_SLOTS];
};

struct account_book {
	struct account_seen *seen;
	size_t seen_cnt, seen_cap;
	struct hash_index index;
};

struct account_rise {
	struct sched_figures sched;
	uint32_t delays[DELAY_SLOTS];
	bool any; /* one of the figures is not 0 */
};

/*
 * By how much an account rose since it was last read; counters never count backwards. At first
 * sight all of it when from_zero, else nothing: a baseline. Returns 0 or -ENOMEM.
 */
int account_book_read(struct account_book *book, const struct event_task *task, bool from_zero,
		      struct account_rise *ret_rise);
size_t account_book_bytes(const struct account_book *book);
/* Releases what it holds. Takes a zeroed one. */
void account_book_clear(struct account_book *book);
#endif

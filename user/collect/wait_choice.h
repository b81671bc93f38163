/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_WAIT_CHOICE_H
#define HOTRUN_COLLECT_WAIT_CHOICE_H
/*
 * Chooses whose waits are worth looks, names and tables: those that may serve somebody, or ran, or
 * are asked about; who does not answer; who wakes others; and of those who wait alone as many as
 * there was time for. No threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/hung.h"
#include "collect/process_facts.h"
#include "collect/rooms.h"

/* Begins with zeroes, and these two, borrowed. */
struct wait_choice {
	const struct rooms *rooms;
	struct process_facts *facts;
	struct hung hung; /* as of the last slice */
	bool *waiters;	  /* processes whose waits are named though they did not run, by row */
	size_t waiters_cnt, waiters_cap;
};

void wait_choice_close(struct wait_choice *w);
/* There is another model: rows of processes mean others. */
void wait_choice_forget(struct wait_choice *w);

bool wait_choice_has(const struct wait_choice *w, uint32_t process);
/* Whom looks are at: FILTER_TGIDS_MAX at the most; none: at all. */
size_t wait_choice_tgids(const struct wait_choice *w, uint32_t *ret_tgids);

/* At the end of a slice: who does not answer is looked at from now on, whether it runs or not. */
void wait_choice_hung(struct wait_choice *w);
/* Of the rows that the slice has by now: some that wait, and some that wake others, are new; and
 * what the stacks of all that are chosen lack is wanted. */
void wait_choice_next(struct wait_choice *w);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_BLOCKED_LOOKS_H
#define HOTRUN_COLLECT_BLOCKED_LOOKS_H
/*
 * Blocked time with stacks, without a program at switches: some times a second, at random moments,
 * it is looked at threads that do not run. Each one that is found stands for the time between two
 * looks, so that the sum is an unbiased estimate of blocked time, and a wait is found the more
 * surely the longer it is. Where a process has very many threads, some stand for others; those in
 * lasting waits are chosen apart, so that one of them is found among ten thousand brief ones. A
 * stack is read once a wait: who has not run since the last look stands where it stood.
 *
 * The reading is done by another process, which may hang (isolate/stream_reader.h). No threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/rooms.h"
#include "isolate/nursery.h"

struct blocked_looks;

/* Rooms and nursery are borrowed; with a selection in the rooms' options, rows are only of
 * processes that are selected (PROCESS_SELECTED). a_second: looks at the most; fewer where they
 * cost more than one part in cost_part of a CPU. NULL without memory. */
struct blocked_looks *blocked_looks_new(const struct rooms *rooms, struct nursery *nursery,
					unsigned int a_second, unsigned int cost_part);
/* Takes NULL. */
void blocked_looks_free(struct blocked_looks *l);

/* What was remembered of threads is no longer true: there will be another model, perhaps another
 * session than that of now. */
void blocked_looks_forget(struct blocked_looks *l);

/* A slice begins; its rows are added to the model from here on. on: there are looks in it. */
void blocked_looks_begin_slice(struct blocked_looks *l, bool on);
/* It ends: its rows get their blocked time, the slice the number of its looks; and who has many
 * threads is looked at in part from now on. */
void blocked_looks_end_slice(struct blocked_looks *l, uint64_t slice_ns);

/* When blocked_looks_work() has something to do (CLOCK_MONOTONIC). */
uint64_t blocked_looks_due_ns(const struct blocked_looks *l);
/* Begins a look that is due, over those processes (none: all), or takes what came of the one that
 * is under way. Returns whether one has ended. */
bool blocked_looks_work(struct blocked_looks *l, const uint32_t *tgids, size_t tgid_cnt);
/* Who ended a wait: a row of the model's wakers where a look has found that wait, else counted as
 * LOSS_WAKERS. To be drained before blocked_looks_work(), which may find its thread in the next. */
void blocked_looks_wake(struct blocked_looks *l, const struct event_waker *event);
/* Nothing came of the last one, and another is not begun until its reader is gone. Says so once:
 * true, with the process that was looked at last in *ret_tgid (0 = none). */
bool blocked_looks_hang(struct blocked_looks *l, uint32_t *ret_tgid);

/*
 * A pass over all threads of these processes (none: of all), at once: take gets each record. It
 * waits for it so long at the most. 0 or negative errno; -ETIMEDOUT: it took longer, or hangs, and
 * -EFBIG: there are more threads than one pass tells of: what came until then was taken; -EBUSY: a
 * reader hangs from before.
 */
int blocked_looks_pass(struct blocked_looks *l, struct session *s, uint64_t ns,
		       const uint32_t *tgids, size_t tgid_cnt,
		       void (*take)(void *ctx, const struct event_stand *stand,
				    const uint8_t *stack),
		       void *ctx);

/* CPU time of the process that reads, so far, ns. Only grows. */
uint64_t blocked_looks_cpu_ns(const struct blocked_looks *l);
#endif

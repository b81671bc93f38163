/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_STACK_TABLES_H
#define HOTRUN_COLLECT_STACK_TABLES_H
/*
 * Which stacks lack the tables by which they are walked: tells the feed whose they are, and wants
 * the rows of compiled code that a stack was led through on a guess. All of it does nothing where
 * stacks are walked along frame pointers. No state; no threads.
 */
#include <stddef.h>

#include "collect/rooms.h"
#include "model/stand.h"

/* Of samples from that one on: who was sampled, and whose stacks lack tables. */
void stack_tables_note_samples(const struct rooms *rooms, size_t from);
/* Where a thread waits, or what woke one; nothing, where that stack lacks none. */
void stack_tables_note_wait(const struct rooms *rooms, const struct model_sample *at);
/* The rows of a pass over all threads. */
void stack_tables_note_stands(const struct rooms *rooms, const struct stands *stands);

/* Works off what is wanted: unwind_feed_work(). */
void stack_tables_work(const struct rooms *rooms);
#endif

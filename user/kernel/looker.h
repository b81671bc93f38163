/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_LOOKER_H
#define HOTRUN_KERNEL_LOOKER_H
/*
 * The least that is loaded to look at all threads: two iterators, no program on any event, no ring.
 * For who has no time: loading them takes some 30 ms of CPU time, a tenth of a session. Nothing is
 * pinned. No threads.
 */
#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>

#include "base/feature.h"
#include "bpf/events.h"
#include "kernel/session.h"
#include "kernel/stands.h"

struct looker;
struct unwind_maps;

struct looker_options {
	size_t unwind_bytes; /* of the tables by which stacks are walked; 0 = there are none */
};

/* On failure a sentence for people is in why. 0 or negative errno; *ret_looker owned. */
int looker_new(const struct looker_options *options, char *why, size_t why_bytes,
	       struct looker **ret_looker);
/* Takes NULL. */
void looker_free(struct looker *l);

/* What the kernel has counted of each thread: one pass. take's record is borrowed until it returns.
 * 0 or negative errno. */
int looker_read_counts(struct looker *l, void (*take)(void *ctx, const struct event_counts *counts),
		       void *ctx);

/* Where they stand: a descriptor, owned, whose reading is one pass, to be taken in by
 * session_take_stands(). It looks into the memory of others and may hang there: not to be read in
 * this process (isolate/stream_reader.h). One at a time. Negative errno. */
int looker_open_stands(struct looker *l, const struct stands_ask *ask);
/* FEATURE_SNAPSHOT and FEATURE_THREAD_STACKS. Borrowed until looker_free(). */
const struct feature_set *looker_features(const struct looker *l);

/* For tables; NULL: stacks are walked along frame pointers. Borrowed until looker_free(). */
struct unwind_maps *looker_unwind(const struct looker *l);
#endif

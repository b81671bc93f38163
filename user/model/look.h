/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_LOOK_H
#define HOTRUN_MODEL_LOOK_H
/*
 * Looks at all threads, and what each thread did between two of them, by the kernel's own counters.
 * Pure; no threads.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "bpf/events.h"

/* All threads at one moment. */
struct look {
	struct event_counts *rows;
	size_t cnt, cap;
	struct hash_index index; /* by thread */
	uint64_t time_ns;	 /* CLOCK_MONOTONIC, when the pass began */
};

/* 0 or -ENOMEM. */
int look_add(struct look *l, const struct event_counts *counts);
/* For the next one; memory is kept. */
void look_empty(struct look *l);
void look_clear(struct look *l);

/* What a thread did. */
struct look_rise {
	uint64_t ran_ns, waited_ns;
	bool is_new; /* born since: all that it ever did */
};
/* now: a row of a later look. */
struct look_rise look_rise(const struct look *before, const struct event_counts *now);
/* A row of that thread; HASH_NONE. */
uint32_t look_find(const struct look *l, uint32_t tid, uint64_t thread_start_ns);
/* How many of before are not in after: they ended in between. */
size_t look_ended(const struct look *before, const struct look *after);
#endif

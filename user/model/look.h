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

/* Who ended between two looks, and what they had run by the first of them: the kernel counts it
 * with their process, or its parent, when they are gone. */
struct look_gone {
	struct look_gone_row {
		uint32_t tgid;
		uint64_t threads_ns;  /* of threads of it */
		uint64_t children_ns; /* of processes whose parent it is */
	} * rows;
	size_t cnt, cap;
	struct hash_index index;
	size_t threads;
};
/* 0 or -ENOMEM; *ret_gone, which was zeroed, is for look_gone_clear() in any case. */
int look_gone(const struct look *before, const struct look *after, struct look_gone *ret_gone);
void look_gone_clear(struct look_gone *g);

/* CPU time in between of those that ended by now: of a process's threads, and of its children. now:
 * the row of its leader at the later look. */
struct look_ended {
	uint64_t threads_ns, children_ns;
};
struct look_ended look_ended(const struct look *before, const struct look_gone *gone,
			     const struct event_counts *now);
#endif

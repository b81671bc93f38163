/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_SNAPSHOT_H
#define HOTRUN_MODEL_SNAPSHOT_H
/*
 * What some looks at all threads have found, of a model that tells who they are: what each did
 * between looks, and where those stood at the end of each interval that did or wanted anything.
 * Pure; no threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "model/look.h"
#include "model/stand.h"

/* A thread that ran, waited for a CPU, or stood in state R or D at a look. */
struct snapshot_thread {
	uint32_t thread; /* row of the model */
	uint32_t flags;	 /* COUNTS_* of the last look */
	uint64_t ran_ns, waited_ns;
	struct look_ended ended;  /* of a leader: of its process */
	uint32_t uninterruptible; /* looks at which it was in state D */
	bool is_new;		  /* born between looks */
};

struct snapshot {
	struct snapshot_thread *threads;
	size_t threads_cnt, threads_cap;
	struct hash_index index; /* by row of the model */
	/* Where they stood; and of each of these rows, what it did in the interval before. */
	struct stands stands;
	struct look_rise *rises;
	size_t rises_cnt, rises_cap;
	uint32_t intervals;
	uint64_t elapsed_ns; /* of all intervals */
	uint64_t busy_ns;    /* of all CPUs in them */
	uint32_t cpus;
	uint64_t all;		    /* threads at the last look */
	uint64_t ended;		    /* between looks, of those that were there at one */
	uint64_t forks;		    /* processes and threads that the host began between looks */
	uint64_t cut;		    /* threads for whose stacks there was no room, */
	uint64_t late;		    /* for which there was no time, */
	uint64_t on_cpu;	    /* and that were on a CPU, where none is read */
	uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC of the looks */
	uint64_t memory_bytes, memory_free_bytes; /* of the host; 0 = unknown */
	bool waits;				  /* the kernel counts them */
	const char *stacks_why; /* why there are none, "" there are; static or the model's */
};

/* The row of what a thread did, made where there is none; NULL without memory. */
struct snapshot_thread *snapshot_thread(struct snapshot *s, uint32_t thread);
/* What the thread of the last row of stands did before; to be called after each that is added. 0 or
 * -ENOMEM. */
int snapshot_rise(struct snapshot *s, const struct look_rise *rise);
/* Forgets where they stood alone. */
void snapshot_forget_stands(struct snapshot *s);
void snapshot_clear(struct snapshot *s);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_BOOKS_H
#define HOTRUN_COLLECT_BOOKS_H
/*
 * What the kernel counts, read into a slice: accounts of threads and clocks of CPUs, of one moment
 * as far as that can be, pressure, and what was lost. No threads.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collect/rooms.h"
#include "model/cpu_time.h"

/* A CPU's clock, as it was read last. */
struct clock_reading {
	struct cpu_clock clock;
	uint64_t now_ns;
	bool is_read;
};

/* Begins with zeroes. Arrays are by CPU, HOST_MAX_CPUS long. */
struct books {
	const struct rooms *rooms;
	const struct session_ops *ops; /* who takes the accounts */
	bool *online;
	uint64_t *steal_ns, *idle_ns;
	struct cpu_time *cpu_times; /* without the programs at switches */
	struct clock_reading *clocks;
	uint64_t all_read_ns; /* when all threads were asked about */
	uint64_t followed_ns; /* last look at the CPUs */
	uint64_t pressure_ns; /* since boot */
	/* Of this session and these names, so far: */
	uint64_t wakers_lost, recursion_misses, names_timeouts;
};

/* Both are borrowed. 0 or -ENOMEM. */
int books_open(struct books *b, const struct rooms *rooms, const struct session_ops *ops);
/* Takes one that was not opened. */
void books_close(struct books *b);
/* Names begin anew, with another model; the session does. */
void books_forget_names(struct books *b);
void books_forget_session(struct books *b);

/* The accounts of threads; unless all, not of those that have slept since. */
void books_read_accounts(struct books *b, bool all);
/*
 * Accounts and clocks that are of one moment, as far as that can be: what a thread runs between the
 * reading of its account and that of its CPU is missing in the one or the other book, and on a full
 * host the reader itself waits for a CPU in between, for a tenth of a second and more. Then both
 * are read once more; between slices of one recording what is missing in the one is in the next.
 * Returns the time of the reading, to which this slice reaches.
 */
uint64_t books_read(struct books *b, bool all);
/* Returns by how much it rose since the last reading, ns. */
uint64_t books_read_pressure(struct books *b);
/* Looks after CPUs that went off or on line, too. */
void books_read_losses(struct books *b);
/* That alone, where the last time is long ago. */
void books_follow_cpus(struct books *b);

/* Before the session changes its gear: the clocks of the gear that ends. */
void books_end_gear(struct books *b);
/* After it: the books of CPUs go on from the clocks of this one. */
void books_begin_gear(struct books *b);
#endif

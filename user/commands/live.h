/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_LIVE_H
#define HOTRUN_COMMANDS_LIVE_H
/*
 * The loop of the live views: a collector whose slice is taken out again and again, each time what
 * happened since the last time. No threads.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collect/collector.h"

struct live {
	struct collector *collector;
	uint64_t interval_ns; /* UINT64_MAX = one slice until the end */
	uint64_t end_ns;      /* CLOCK_MONOTONIC, UINT64_MAX = none */
	uint64_t due_ns;      /* when the slice ends */
	/* the model is a fresh one since the last slice: rows of the old one are void */
	bool renewed;
};

/* Opens the collector and starts it; seconds 0 = no end. Raises the priority, so that a full run
 * queue does not starve the observer. Returns an enum exit_code; errors are logged. */
int live_start(struct live *live, const struct collector_options *options, double interval_s,
	       double seconds);

/* How long may be waited until live_step() is called again. ns. */
uint64_t live_pause_ns(const struct live *live);
/* Sleeps so long, at the most until a signal. */
void live_pause(const struct live *live);
/* Drains. Returns true when the slice is closed and to be looked at; live_next() is due then. */
bool live_step(struct live *live);
/* Forgets the slice and begins the next. False: it is over (the time, somebody asked to stop, or an
 * error, which was logged and makes *ret_code EXIT_FAILED). */
bool live_next(struct live *live, int *ret_code);
/* The rows of those that the user means (capture_is_meant()) and that were alive in the slice;
 * names are read. 0 or -ENOMEM; *ret_rows owned by the caller, NULL for none. */
int live_find(struct collector *c, const char *what, uint32_t **ret_rows, size_t *ret_cnt);
/*
 * Prints slice after slice to stdout, a blank line between, until it is over or cnt (0 = no bound)
 * were printed. print returns 0 or what the writer of text did. renewed: what is warned of after a
 * slice that was followed by a fresh model. Returns an enum exit_code; errors are logged.
 */
int live_print(struct live *live, int (*print)(struct collector *c, void *ctx), void *ctx,
	       uint64_t cnt, const char *renewed);
/* Takes a zeroed one. */
void live_end(struct live *live);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_RETENTION_H
#define HOTRUN_WATCH_RETENTION_H
/*
 * Which captures have to go, and when a rotating one ends. Pure policy over simulated time.
 *
 * A capture and its artifacts count and go together. Of what is too many or too large the oldest
 * goes first, captures by rotation before those taken by itself, and these before those that
 * somebody asked for. What is being written counts, and stays.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct retention {
	uint64_t count; /* captures at the most; 0 = no bound */
	uint64_t bytes; /* of all files; 0 = no bound */
	int64_t age_s;	/* 0 = no bound */
};

/* A capture with its artifacts. */
struct retention_file {
	int64_t time_s;	    /* Unix time */
	uint64_t bytes;	    /* of all three */
	unsigned int worth; /* enum folder_by: what is worth more goes later */
	bool busy;	    /* being written, or its artifacts are */
};

/*
 * Marks those that have to go: ret_remove[i] for files[i], in any order. A time in the future (the
 * clock was set back) is an age of 0. 0 or -ENOMEM.
 */
int retention_plan(const struct retention *r, const struct retention_file *files, size_t cnt,
		   int64_t now_s, bool *ret_remove);

/*
 * When the capture that began at start_ns is to end (CLOCK_MONOTONIC, so that clock steps do not
 * count): every_ns after it, but on whole multiples of every_ns of wall time where every_ns divides
 * a day, so that `--rotate 5m` ends at :00, :05, ...; a first one that would be shorter than a
 * tenth of every_ns is joined with the next. wall_offset_ns: CLOCK_REALTIME - CLOCK_MONOTONIC now.
 * every_ns 0: never, UINT64_MAX.
 */
uint64_t rotation_end_ns(uint64_t every_ns, uint64_t start_ns, int64_t wall_offset_ns);
#endif

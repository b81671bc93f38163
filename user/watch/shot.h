/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_SHOT_H
#define HOTRUN_WATCH_SHOT_H
/*
 * One capture of the resident recorder under way: what the ring has, and each slice that follows, into a
 * file, a transaction a slice. Killed at any instant, the file is readable up to the last one, and not
 * marked complete. Several may be under way at a time. No threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"
#include "watch/ring.h"
#include "watch/selection.h"

struct shot;

struct shot_options {
	const char *path; /* of the capture, copied */
	uint64_t
		from_ns; /* CLOCK_MONOTONIC: slices that end after it; UINT64_MAX = only what follows */
	uint64_t
		until_ns; /* the first slice that ends at or after it is the last; UINT64_MAX = none */
	const struct selection
		*selection; /* borrowed until shot_finish(); NULL = all (selection.h) */
};

/* Creates the file and writes what the ring has. 0; what store_create() and store_write_slice() say;
 * -ENOMEM. *ret_shot owned by the caller. */
int shot_new(const struct shot_options *options, const struct ring *ring, const struct model *live,
	     struct shot **ret_shot);
/* The newest slice of live has closed: writes it, and those before it that it has not got yet. A file that
 * somebody holds locked gets it with one of the next, up to 32 MiB; each try waits for a second. 0, or what
 * store_write_slice() says (-ENOSPC: what was written before can be read). */
int shot_slice(struct shot *s, const struct model *live);
/* True when the last slice is in. */
bool shot_is_over(const struct shot *s);
/* True while it holds no slice at all. */
bool shot_is_empty(const struct shot *s);
/* live goes away: extract_leave(). */
void shot_leave(struct shot *s);
/* Bytes of memory that it holds, extract_bytes(): a long one on a host where many short processes come and
 * go is to be ended, and another begun, before it is too large. */
size_t shot_memory_bytes(const struct shot *s);
/* Marks the capture complete and closes it; waits three seconds for who holds it locked. Takes the shot,
 * also on an error. */
int shot_finish(struct shot *s);
/* Closes without the mark. Takes NULL. */
void shot_free(struct shot *s);
/* The same, and removes the file: it never was a capture. */
void shot_withdraw(struct shot *s);
#endif

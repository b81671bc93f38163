/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_CAPTURE_WRITER_H
#define HOTRUN_WATCH_CAPTURE_WRITER_H
/*
 * One capture of the resident recorder under way: what the ring has, and each slice that follows,
 * into a file, a transaction a slice. Killed at any instant, the file is readable up to the last
 * one, and not marked complete. Several may be under way at a time. No threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"
#include "watch/ring.h"
#include "watch/selection.h"

struct capture_writer;

struct capture_writer_options {
	const char *path; /* of the capture, copied */
	/* CLOCK_MONOTONIC: slices that end after it; UINT64_MAX = only what follows */
	uint64_t from_ns;
	/* the first slice that ends at or after it is the last; UINT64_MAX = none */
	uint64_t until_ns;
	const struct selection
		*selection; /* borrowed until capture_writer_finish(); NULL = all (selection.h) */
	const char *taken;  /* model_host.taken, copied; NULL = "" */
};

/* Creates the file and writes what the ring has. 0; what store_create() and store_write_slice()
 * say; -ENOMEM. *ret_writer owned by the caller. */
int capture_writer_new(const struct capture_writer_options *options, const struct ring *ring,
		       const struct model *live, struct capture_writer **ret_writer);
/* The newest slice of live has closed: writes it, and those before it that it has not got yet. A
 * file that somebody holds locked gets it with one of the next, up to 32 MiB; each try waits for a
 * second. 0, or what store_write_slice() says (-ENOSPC: what was written before can be read). */
int capture_writer_slice(struct capture_writer *s, const struct model *live);
/* True when the last slice is in. */
bool capture_writer_is_over(const struct capture_writer *s);
/* True while it holds no slice at all. */
bool capture_writer_is_empty(const struct capture_writer *s);
/* live goes away: extract_leave(). */
void capture_writer_leave(struct capture_writer *s);
/* Bytes of memory that it holds, extract_bytes(): a long one on a host where many short processes
 * come and go is to be ended, and another begun, before it is too large. */
size_t capture_writer_memory_bytes(const struct capture_writer *s);
/* Marks the capture complete and closes it; waits three seconds for who holds it locked. Takes the
 * shot, also on an error. */
int capture_writer_finish(struct capture_writer *s);
/* Closes without the mark. Takes NULL. */
void capture_writer_free(struct capture_writer *s);
/* The same, and removes the file: it never was a capture. */
void capture_writer_withdraw(struct capture_writer *s);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_ISOLATE_STREAM_READER_H
#define HOTRUN_ISOLATE_STREAM_READER_H
/*
 * Reads descriptors to their end in a process of its own, which has no right and holds nothing
 * else: reading a BPF iterator that looks into the memory of other processes may hang, as long as
 * one of these wants it to (a file of a file system that does not answer, put in the place of a
 * stack). That process hangs then, and whoever asked goes on: with another one, of
 * STREAM_READERS_MOST that may be there. One reading at a time. No threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "isolate/nursery.h"

/* Those that hang, and one that reads. */
#define STREAM_READERS_MOST 3u

/* More than the largest record of an iterator, less than a socket takes at once. */
#define STREAM_PIECE_BYTES 65536u

struct stream_reader;

/* The nursery is borrowed. The process is forked with the first reading. NULL without memory. */
struct stream_reader *stream_reader_new(struct nursery *nursery);
/* Takes NULL. Does not wait for a process that hangs. */
void stream_reader_free(struct stream_reader *r);

/* Which of them reads next, from 0: no other that may still run is called so. All of them are left
 * and have not ended: STREAM_READERS_MOST. */
unsigned int stream_reader_place(struct stream_reader *r);
/* The places of those that were left and have not ended, a bit each. */
uint32_t stream_reader_stuck(const struct stream_reader *r);
/* Begins to read fd, which stays the caller's and may be closed. 0; -EBUSY: a reading is under way,
 * or all hang; -EAGAIN: there is no process to be had. */
int stream_reader_begin(struct stream_reader *r, int fd);
bool stream_reader_is_busy(const struct stream_reader *r);
/* As many processes as may be there were given up, or are no longer wanted, and have not ended
 * yet. */
bool stream_reader_is_stuck(const struct stream_reader *r);
/* What is still to come of a reading is not wanted, nor that process any more: it is killed. */
void stream_reader_drop(struct stream_reader *r);
/* The process, once something came of it; 0 = there is none. */
pid_t stream_reader_pid(const struct stream_reader *r);

/*
 * Takes what was read since, for so long at the most (0: one piece), each piece borrowed until take
 * returns; where that is not 0, the rest is dropped. 1: the end has come; 0: not yet; else negative
 * errno of the reading; -ECANCELED: of take; -ETIMEDOUT: nothing has come for a second in which it
 * did not move, or for ten, and the process is given up. *ret_cpu_ns (may be NULL): CPU time of the
 * process for this reading, at its end.
 */
int stream_reader_take(struct stream_reader *r, int timeout_ms,
		       int (*take)(void *ctx, const char *bytes, size_t len), void *ctx,
		       uint64_t *ret_cpu_ns);
#endif

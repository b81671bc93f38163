/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_STAND_STREAM_H
#define HOTRUN_COLLECT_STAND_STREAM_H
/*
 * Records of where threads stand, read by a process of its own: reading them looks into the memory
 * of others and may hang there, as long as one of these wants it to (isolate/stream_reader.h).
 * Whoever asks goes on with what came until then. No threads.
 */
#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "isolate/nursery.h"
#include "kernel/session.h"

struct stand_stream;

/* Borrows the nursery, and stop, which ends a reading where it is set (NULL: nothing does). Asks
 * for the process, and does not wait for it. Owned; NULL without memory. */
struct stand_stream *stand_stream_new(struct nursery *nursery, const volatile sig_atomic_t *stop);
/* Takes NULL. */
void stand_stream_free(struct stand_stream *s);

/*
 * Reads fd, which stays the caller's, to its end, or until then (CLOCK_MONOTONIC): take gets each
 * record. 0; -ETIMEDOUT: not to its end, and the process is killed; -EBUSY: one hangs from before;
 * -EAGAIN: there is no process to be had; or another negative errno.
 */
int stand_stream_read(struct stand_stream *s, int fd, uint64_t end_ns, stands_take_fn take,
		      void *ctx);

/* The process that reads; 0 = there is none, or it has not begun. */
/* Who will read next, and those that hang: for struct stands_ask. What is under way of the first
 * one, of nothing, is waited for. */
unsigned int stand_stream_place(struct stand_stream *s);
uint32_t stand_stream_stuck(const struct stand_stream *s);
pid_t stand_stream_pid(const struct stand_stream *s);
/* CPU time of such processes so far, ns. */
uint64_t stand_stream_cpu_ns(const struct stand_stream *s);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_RECORDER_H
#define HOTRUN_COMMANDS_RECORDER_H
/*
 * One recording: what the collector gathers, a slice a second into the store. No threads but the
 * helper of the names room.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/collector.h"

struct recorder;

struct recorder_options {
	struct collector_options collector;
	const char *path;    /* of the capture; borrowed until recorder_free() */
	unsigned int rights; /* enum rights_use */
};

/* Interval at which the rings are to be drained, and length of a slice. ns. */
#define RECORDER_TICK_NS  200000000ull
#define RECORDER_SLICE_NS 1000000000ull

/* Checks the host, creates the capture, attaches. On failure a sentence is in why. */
int recorder_new(const struct recorder_options *options, char *why, size_t why_bytes,
		 struct recorder **ret_recorder);
/* Takes the baselines and starts to sample, with the capabilities that this takes alone
 * (kernel/rights.h): who forks children that are to have more forks them before. Logs the start-up
 * line. */
int recorder_start(struct recorder *r, char *why, size_t why_bytes);
/* Drains; once a second also ends the slice and writes it. -ENOSPC, -EIO: that slice is not in the
 * file, those before are. */
int recorder_tick(struct recorder *r);
/* Sleeps between two ticks: collector_pause(). */
void recorder_pause(struct recorder *r, uint64_t ns);
/* Last slice and the end mark. Takes the recorder. On an error the file ends with the slice
 * before. */
int recorder_finish(struct recorder *r);
/* Gives up without an end mark. Takes NULL. */
void recorder_free(struct recorder *r);

/* What is known so far; borrowed until recorder_finish() and recorder_free(). */
const struct model *recorder_model(const struct recorder *r);

/* For progress. */
uint64_t recorder_samples(const struct recorder *r);
uint64_t recorder_elapsed_ns(const struct recorder *r);
#endif

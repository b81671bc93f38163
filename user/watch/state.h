/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_STATE_H
#define HOTRUN_WATCH_STATE_H
/*
 * What survives a restart of the resident recorder, in DIR/state: lines `key value`, replaced as a
 * whole; a line more for each kind of trouble that was captured. Version 2 is
 * written; 1, which has no such lines, is read, too. And the policy against restart storms: who
 * starts again and again waits before it attaches.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "watch/policy.h"

#define STATE_STARTS 16

struct state {
	int64_t starts_s[STATE_STARTS]; /* Unix time of the last starts, newest first, 0 = none */
	bool clean;			/* the last run ended on purpose */
	/* Captures, since the folder exists. */
	uint64_t triggered, rotated, automatic, failed, removed;
	int64_t trigger_s;	     /* Unix time of the last one that was asked for, 0 = none */
	uint32_t level;		     /* of the governor, when it was written */
	struct policy_memory memory; /* captures by itself, and what they were of */
};

/* Reads what an earlier run left; a file that is missing, damaged, not ours or of a newer
 * version gives an empty state. 0, or a negative errno that says why it is empty: -ENOENT the
 * first start; -EINVAL damaged, too large, or no file; -EPROTO a newer version; -EPERM not ours;
 * -ELOOP a link. */
int state_read(int dir, struct state *ret_state);
/* 0 or negative errno; the former state stays whole. Not flushed to the disk: what a power failure
 * leaves is the former one, this one, or damaged. */
int state_write(int dir, const struct state *state);
/* Pure: notes a start at now_s, and returns how many seconds to wait before attaching: 0 for the
 * first three starts within five minutes that did not end on purpose, then 1, 2, 4 ... 60. Times in
 * the future do not count. A run that ended on purpose ends the count; this one has not, until
 * clean is set. */
unsigned int state_start(struct state *state, int64_t now_s);
/* Pure: parses the text of the file, to its last byte. 0; -EINVAL; -EPROTO a newer version. */
int state_parse(const char *text, size_t len, struct state *ret_state);
#endif

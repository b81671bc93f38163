/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_SNAPSHOT_TAKE_H
#define HOTRUN_COMMANDS_SNAPSHOT_TAKE_H
/* One snapshot, from the first look to the last line. No threads. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "collect/looks.h"
#include "output/snapshot.h"

#define SNAPSHOT_REPEAT_MOST 20

/* What was asked for. */
struct snapshot_ask {
	unsigned int repeat, lines, width;
	bool brief, json, armed;
};

/* Looks, and writes to out: the first lines as soon as they are there. begun_ns: when it was asked
 * for, CLOCK_MONOTONIC. 0, -EIO when out failed (errno), or negative errno. */
int snapshot_take(struct looks *looks, const struct snapshot_ask *ask, const struct urgent *urgent,
		  uint64_t begun_ns, FILE *out);
#endif

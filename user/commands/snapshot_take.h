/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_SNAPSHOT_TAKE_H
#define HOTRUN_COMMANDS_SNAPSHOT_TAKE_H
/* One snapshot, from the first look to the last line. No threads. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "collect/snapshot_looks.h"
#include "output/snapshot.h"
#include "watch/snapshot_request.h"

/* Who takes it. */
struct snapshot_taker {
	struct snapshot_looks *looks;
	struct urgent *urgent;
	bool armed; /* it waited for somebody to ask */
};

/* Looks, and writes to out: the first lines as soon as they are there. 0, -EIO when out failed
 * (errno), or negative errno. */
int snapshot_take(const struct snapshot_taker *taker, const struct snapshot_request *request,
		  FILE *out);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_SERIES_H
#define HOTRUN_WATCH_SERIES_H
/*
 * What /metrics counts: figures of the host, and of the processes by what they are (name, unit, namespace,
 * pod, container; never the pid: a service that restarts goes on counting), summed over slices. The
 * busiest have series of their own, the rest is one, "other": a hostile host with thousands of containers
 * makes no more than SERIES_MAX. Counters never fall: what a process did while it had no series of its own
 * stays in "other". Pure; no clock, no threads (the caller locks).
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "judge/verdicts.h"
#include "model/model.h"
#include "watch/selection.h"

#define SERIES_DEFAULT 30
#define SERIES_MAX     500

struct series;

struct series_options {
	size_t top; /* series of their own at the most */
	const struct selection
		*selection; /* who is out of it counts in "other"; borrowed, or NULL */
};

/* Returns it owned, or NULL with errno ENOMEM. */
struct series *series_new(const struct series_options *options);
/* New options, from the next slice on. */
void series_set(struct series *s, const struct series_options *options);
/* Adds a closed slice of m (row), and what its verdicts say (of that slice or of the time up to it; NULL =
 * not judged). 0 or -ENOMEM (then the slice is counted in part). */
int series_slice(struct series *s, const struct model *m, uint32_t slice,
		 const struct verdicts *verdicts);
/* Takes NULL. */
void series_free(struct series *s);
#endif

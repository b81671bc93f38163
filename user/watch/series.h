/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_SERIES_H
#define HOTRUN_WATCH_SERIES_H
/*
 * What /metrics counts: figures of the host, and of the processes by what they are (name, unit,
 * namespace, pod, container; never the pid: a service that restarts goes on counting), summed over
 * slices. The busiest have series of their own, the rest is one, "other": a hostile host with
 * thousands of containers makes no more than SERIES_MAX. Counters never fall: what a process did
 * while it had no series of its own stays in "other". Pure; no clock, no threads (the caller
 * locks).
 *
 * Who is among the busiest: ran + waited + throttled, of about the last minute; who serves requests
 * counts a tenth of a thread more, who is hurt a whole one (a hang uses no CPU). While places are
 * free, whoever wants 5 ms gets one. When none is, one changes hands every SERIES_SWAP_NS at the
 * most, since each change is a new series in the time-series database: the kind that is gone for
 * longest leaves, once it is gone for SERIES_GONE_NS (at once while more than half of the places
 * are held by the gone); else the least busy that lives, when the newcomer is SERIES_FACTOR times
 * as busy and the other has had its place for SERIES_HOLD_NS. Threads of the kernel are one kind,
 * "[kernel]". The unit of a container's process is left out where it is named by container or pod:
 * it holds an id that changes with each restart.
 *
 * Periods of a CPU limit (cpu.stat) are those of groups: of the group that a living process is in
 * at the end of the slice, or of the nearest one above it that has a limit. Each group counts once
 * for each kind that is in it, however many processes: two kinds in one container have the same
 * periods, a kind in two has the sum.
 */
#include <stddef.h>
#include <stdint.h>

#include "judge/verdicts.h"
#include "model/model.h"
#include "watch/selection.h"
#include "output/metrics.h"

#define SERIES_DEFAULT	  30
#define SERIES_MAX	  500
#define SERIES_GONE_NS	  600000000000ull
#define SERIES_HOLD_NS	  60000000000ull
#define SERIES_SWAP_NS	  15000000000ull
#define SERIES_FACTOR	  4
#define SERIES_VERDICT_NS 60000000000ull
/* Kinds that are weighed for a place at a time; of more than that the least busy are forgotten. */
#define SERIES_KINDS 4096

struct series;

struct series_options {
	size_t top; /* series of their own at the most */
	const struct selection
		*selection; /* who is out of it counts in "other"; borrowed, or NULL */
};

/* Returns it owned, or NULL with errno ENOMEM. top is bounded to 1..SERIES_MAX. */
struct series *series_new(const struct series_options *options);
/* New options, from the next slice on; with fewer places the least busy lose theirs. 0, or
 * -ENOMEM (then the old ones hold). */
int series_set(struct series *s, const struct series_options *options);
/*
 * Adds a closed slice of m (row), once each, in the order of time. m may be another model than last
 * time (told by its address and host.start_ns), and its slices may have been numbered anew; rows of
 * its per-slice tables stand in the order of their slices. verdicts: what is said of rows of m, of
 * that slice or of the time up to it; NULL = not judged now: what was said last holds for
 * SERIES_VERDICT_NS. 0 or -ENOMEM (then the slice is counted in part).
 */
int series_slice(struct series *s, const struct model *m, uint32_t slice,
		 const struct verdicts *verdicts);
/* The figures for metrics_write(), borrowed until the next call with s. */
const struct metrics_figures *series_metrics(const struct series *s);
/* Bytes that it holds, about. */
size_t series_bytes(const struct series *s);
/* Takes NULL. */
void series_free(struct series *s);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_SNAPSHOT_NAMING_H
#define HOTRUN_COLLECT_SNAPSHOT_NAMING_H
/*
 * Names what looks have found, within so much time: first, of those who did most, what is at hand;
 * then all, with tables and the kernel's frames. No threads.
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/snapshot_stands.h"
#include "collect/unwind_feed.h"
#include "kernel/unwind_maps.h"
#include "model/ingest.h"
#include "model/model.h"
#include "model/snapshot.h"
#include "names/names.h"

/* All is borrowed, until the next one is named. */
struct snapshot_naming {
	struct model *model;
	struct ingest *ingest;
	struct names *names;
	struct unwind_feed *feed;	   /* NULL: along frame pointers */
	const struct unwind_maps *maps;	   /* NULL likewise */
	const volatile sig_atomic_t *stop; /* ends every wait; NULL: nothing does */
	const struct snapshot_stands *stands;
	struct snapshot *snapshot; /* gets its stands */
	const uint32_t *order;	   /* processes, who did most first */
	size_t order_cnt;
	uint64_t tailed_ns; /* last look at the perf maps; 0 to begin with */
};

/* snapshot_looks_name_first() and snapshot_looks_name_all(). 0 or negative errno. */
int snapshot_naming_first(struct snapshot_naming *n, uint64_t ns, uint64_t most_ns);
int snapshot_naming_all(struct snapshot_naming *n, uint64_t ns);
#endif

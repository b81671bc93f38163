/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_SNAPSHOT_STANDS_H
#define HOTRUN_COLLECT_SNAPSHOT_STANDS_H
/*
 * Where threads stood at looks, as the kernel tells it: records, kept until they are named. Stacks
 * are read by another process, which may hang (stand_stream.h), and which is sent to the CPUs of
 * those that run: they leave them meanwhile, and can be read. No threads.
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/urgent.h"
#include "collect/stand_stream.h"
#include "kernel/looker.h"
#include "model/look.h"
#include "model/snapshot.h"

/* A record of where one stood; bytes of its stack follow. */
struct snapshot_record {
	struct look_rise rise;
	size_t bytes; /* of event */
	struct event_stand event;
};

/* Begins with zeroes, and these four, borrowed. */
struct snapshot_stands {
	struct looker *looker;
	struct stand_stream *stream;
	const struct urgent *urgent;
	const volatile sig_atomic_t *stop; /* ends visits; NULL: nothing does */

	struct snapshot_record **records;
	size_t records_cnt, records_cap, records_bytes;
	bool *seen; /* by row of the last look: a record tells where it stood */
	size_t seen_cap;
	/* Of the reading that is under way. */
	const struct look *before, *now;
	struct snapshot *snapshot;
	int err; /* of a callback, the first one */
};

/* What one pass is to read. */
struct snapshot_pass {
	const struct look *before, *now; /* the last two looks; borrowed until it is read */
	const uint32_t *tgids;		 /* of these processes; none: of all */
	size_t tgid_cnt;
};

/* Whether the thread did or wanted anything in the interval. */
bool snapshot_stands_want(const struct event_counts *c, const struct look_rise *rise);

/*
 * Adds a record of each that did, and to the snapshot how many were cut, late or on a CPU. 0 or
 * negative errno. Where no stacks are read there are records, too, without one; *ret_why then says
 * why, as a clause for people, static or the looker's; else it is NULL.
 */
int snapshot_stands_read(struct snapshot_stands *s, const struct snapshot_pass *pass,
			 struct snapshot *snapshot, const char **ret_why);
/* Drops the records. */
void snapshot_stands_forget(struct snapshot_stands *s);
/* And gives back the memory. */
void snapshot_stands_clear(struct snapshot_stands *s);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_SNAPSHOT_LOOKS_H
#define HOTRUN_COLLECT_SNAPSHOT_LOOKS_H
/*
 * Looks at all threads, a moment apart, for a host that is too busy to record: what each did in
 * between, by the kernel's own counters, and the stacks of those that did or wanted anything.
 * Nothing runs in between. Stacks are read by another process, which may hang (stand_stream.h):
 * then what came is told. No threads but the helpers of the names room.
 *
 *	snapshot_looks_new()
 *	again and again: snapshot_looks_begin(), _take() once or more, _name_first(), a look at
 *	    snapshot_looks_snapshot(), _name_all(), another one
 *	snapshot_looks_free()
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/urgent.h"
#include "model/model.h"
#include "model/snapshot.h"

struct snapshot_looks;

struct snapshot_looks_options {
	struct urgent *urgent;		   /* borrowed */
	const volatile sig_atomic_t *stop; /* borrowed: what is set ends every wait */
	unsigned int names;		   /* enum names_from */
	bool ignore_hazards;		   /* host_check_hazards() */
	bool lock;			   /* memory of helpers is locked, as far as it may be */
};

/* Forks helpers and loads the programs: some 40 ms of CPU time. On failure a sentence is in why,
 * and the result is a negative errno. *ret_looks owned by the caller. */
int snapshot_looks_new(const struct snapshot_looks_options *options, char *why, size_t why_bytes,
		       struct snapshot_looks **ret_looks);
/* Gives back what was found, and the memory that it took. */
void snapshot_looks_forget(struct snapshot_looks *l);
/* Takes NULL. */
void snapshot_looks_free(struct snapshot_looks *l);

/* Forgets what was found, and takes the first look. 0 or negative errno, as the next ones. */
int snapshot_looks_begin(struct snapshot_looks *l);
/* Another look, so long after the last one, and who stands where then. */
int snapshot_looks_take(struct snapshot_looks *l, uint64_t interval_ns);

/* Names what is at hand at once, of those who did most, for so long at the most, but until most_ns
 * where nothing is told yet of those who did most of all: on a host that reads its files for the
 * first time that takes longer. Stacks are walked along frame pointers, the kernel's are left out.
 */
int snapshot_looks_name_first(struct snapshot_looks *l, uint64_t ns, uint64_t most_ns);
/* All of them, with tables and the kernel's frames. What has no name by then has none. */
int snapshot_looks_name_all(struct snapshot_looks *l, uint64_t ns);

/* CPU time of this process and its helpers so far. */
uint64_t snapshot_looks_cpu_ns(struct snapshot_looks *l);

/* Both borrowed until the next snapshot_looks_begin(), _forget() or _free(). */
struct model *snapshot_looks_model(struct snapshot_looks *l);
const struct snapshot *snapshot_looks_snapshot(const struct snapshot_looks *l);
#endif

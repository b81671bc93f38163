/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_LOOKS_H
#define HOTRUN_COLLECT_LOOKS_H
/*
 * Looks at all threads, a moment apart, for a host that is too busy to record: what each did in
 * between, by the kernel's own counters, and the stacks of those that did or wanted anything.
 * Nothing runs in between. No threads but the helpers of the names room.
 *
 *	looks_new()
 *	again and again: looks_begin(), looks_take() once or more, looks_name_first(), a look at
 *	    looks_snapshot(), looks_name_all(), another one
 *	looks_free()
 */
#include <stddef.h>
#include <stdint.h>

#include "base/urgent.h"
#include "model/model.h"
#include "model/snapshot.h"

struct looks;

struct looks_options {
	const struct urgent *urgent; /* borrowed */
	unsigned int names;	     /* enum names_from */
};

/* Forks helpers and loads the programs: some 40 ms of CPU time. On failure a sentence is in why,
 * and the result is a negative errno. *ret_looks owned by the caller. */
int looks_new(const struct looks_options *options, char *why, size_t why_bytes,
	      struct looks **ret_looks);
/* Takes NULL. */
void looks_free(struct looks *l);

/* Forgets what was found, and takes the first look. 0 or negative errno, as the next ones. */
int looks_begin(struct looks *l);
/* Another look, so long after the last one, and who stands where then. */
int looks_take(struct looks *l, uint64_t interval_ns);

/* Names what is at hand at once, of those who did most, for so long at the most: stacks are walked
 * along frame pointers, the kernel's are left out. */
int looks_name_first(struct looks *l, uint64_t ns);
/* All of them, with tables and the kernel's frames. What has no name by then has none. */
int looks_name_all(struct looks *l, uint64_t ns);

/* CPU time of this process and its helpers so far. */
uint64_t looks_cpu_ns(struct looks *l);

/* Both borrowed until looks_begin() and looks_free(). */
struct model *looks_model(struct looks *l);
const struct snapshot *looks_snapshot(const struct looks *l);
#endif

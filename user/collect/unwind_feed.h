/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_UNWIND_FEED_H
#define HOTRUN_COLLECT_UNWIND_FEED_H
/*
 * Gives the kernel what it needs to walk the stacks of processes that are sampled: tables of their
 * files (names room) into BPF maps (kernel room), and which of them lies where. A process is looked
 * at when a stack of it was walked without, and again when its mappings have changed; files are
 * read by workers meanwhile. Bounded by the memory of the maps: who was sampled longest ago goes
 * first, and comes back with its next sample; and in CPU time by process. No threads.
 */
#include <stdbool.h>
#include <stdint.h>

#include "kernel/unwind_maps.h"
#include "model/model.h"
#include "names/names.h"

struct unwind_feed;

/* Borrows the maps. is_calm: for who runs for ever, and has time: processes are looked at when they
 * were sampled alone, and less often. NULL without memory. */
struct unwind_feed *unwind_feed_new(struct unwind_maps *maps, bool is_calm);
void unwind_feed_free(struct unwind_feed *f);

/* A stack of the process was taken at that time; is_missing: it lacked a table. */
void unwind_feed_note(struct unwind_feed *f, const struct model *m, const struct names *names,
		      uint32_t process, uint64_t time_ns, bool is_missing);
/* It ran just now, before the first sample can be taken. */
void unwind_feed_prepare(struct unwind_feed *f, uint32_t process);
/* From now on somebody waits for them, or no longer: a process does not rest between looks, and the
 * second that begins now has as much for looks as the first one. */
void unwind_feed_hurry(struct unwind_feed *f, bool on);
/* It mapped a file: it may be sampled soon. A host where very many processes start has only some of
 * them looked at before they are. */
void unwind_feed_expect(struct unwind_feed *f, const struct model *m, uint32_t process);
/* It runs another program, or none any more. */
void unwind_feed_forget(struct unwind_feed *f, const struct model *m, uint32_t process);

/* There will be another model, and other contents: all tables are dropped. */
void unwind_feed_clear(struct unwind_feed *f, const struct model *m);

/* Works off what is wanted, for some milliseconds at the most. Returns when it can go on with what
 * is left (CLOCK_MONOTONIC; may be past), UINT64_MAX: not soon. */
uint64_t unwind_feed_work(struct unwind_feed *f, struct model *m, struct names *names);
/* Whether anything is wanted; of that process. */
bool unwind_feed_is_busy(const struct unwind_feed *f);
bool unwind_feed_wants(const struct unwind_feed *f, uint32_t process);

/* Once a slice: what belongs to processes that ended is dropped. */
void unwind_feed_tidy(struct unwind_feed *f, const struct model *m);
#endif

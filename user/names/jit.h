/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_JIT_H
#define HOTRUN_NAMES_JIT_H
/*
 * Names of JIT-compiled code from the perf maps of the processes (perfmap/): finds each map,
 * follows it, and turns entries into symbols of the model; what no entry names yet, or only one of
 * later, from their memory (jit_memory.h). Frames without a name wait for some looks at the map
 * before they get their reason. One thread; maps that may hang are read by the opener.
 */
#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "names/sources.h"

/* Maps held open; beyond it the longest unused is closed. Those of gone processes are, some looks
 * after their end. Half of the usual soft limit of 1,024 descriptors is left to CPUs' events. */
#define JIT_MAPS_MAX 256
/* Of these, opened before any of their code was sampled. */
#define JIT_KEPT_MAX 192

/* Bytes of all maps, and of one, that are read in one slice: 64 MiB take a quarter of a second. The
 * rest follows in the next ones; frames wait for it. */
#define JIT_SLICE_BYTES (64u << 20)
#define JIT_MAP_BYTES	(16u << 20)

/* Of the copies of maps on file systems that may hang, together, and those of one party. They count
 * as entries do. What does not fit is not read. */
#define JIT_COPIES_BYTES       (64u << 20)
#define JIT_COPIES_PARTY_BYTES (32u << 20)

/* Bytes of an entry with its share of the index, a little more than it takes. */
#define JIT_ENTRY_BYTES 36u

/*
 * A map that was read to its end once grows by new methods, some KB a second. One that goes on at
 * more than this is followed no faster; and one that was truncated so often is not a runtime's: it
 * is left.
 */
#define JIT_FOLLOW_BYTES (1u << 20)
#define JIT_REWRITES_MAX 8u

/* Frames that wait for an entry, half of them of one party at the most; what does not fit gets its
 * reason at once. */
#define JIT_PENDING_MAX 65536

/* Looks at the map that a frame waits through. The runtime writes the line before the code runs. */
#define JIT_PATIENCE 3
/* And at the most, also where the map is large or the host full; less where its party has used up
 * its allowance. */
#define JIT_PATIENCE_NS 20000000000ull
#define JIT_IN_DEBT_NS	5000000000ull

struct jit;
struct jit_code;
struct jit_memory;
struct name_cache;

/* All is borrowed until jit_free(). */
struct jit_options {
	const struct sources *sources;
	struct name_cache *cache;
	struct jit_code *code;	   /* NULL: nobody asks how methods are unwound */
	struct jit_memory *memory; /* NULL: names come from maps alone */
	bool no_maps;		   /* they do not come from maps */
	uint64_t later_ns;	   /* see names_options */
	size_t memory_bytes;	   /* of all maps */
};

/* Returns owned, or NULL with errno ENOMEM. */
struct jit *jit_new(const struct jit_options *options);
void jit_free(struct jit *j);
/* Bytes of all maps, copies of their text included. */
size_t jit_bytes(const struct jit *j);

/* What code may be. */
enum jit_place {
	JIT_COMPILED,  /* of a runtime, if anything */
	JIT_ANONYMOUS, /* in anonymous memory of no .NET process: only if there is a perf map */
	JIT_UNPACKED,  /* precompiled, unpacked from a program: only its memory tells what */
};

/*
 * Names an address of JIT code as of time_ns and adds its location.
 * Returns the row of the location, or MODEL_NONE: it waits (names_tail, names_settle).
 */
uint32_t jit_name(struct jit *j, struct model *m, uint32_t process, uint64_t address,
		  uint64_t time_ns, enum jit_place place);

/*
 * A number that stays the same while names given for samples from time_ns on cannot change: nothing
 * was added to the map meanwhile. 0 = not known, ask again.
 */
uint32_t jit_generation(struct jit *j, uint32_t process, uint64_t time_ns);

/*
 * Opens the map of a process that runs .NET, unread, so that it can be named when it is gone.
 * Returns false while there is none (yet).
 */
bool jit_keep(struct jit *j, struct model *m, uint32_t process);

/* The process runs another program since exec_ns (monotonic): its map is another's, and names
 * nothing of before. Frames that wait get what the old map says. */
void jit_forget(struct jit *j, struct model *m, uint32_t process, uint64_t exec_ns);

/* When entries were added to a process's map last, as they are stamped; 0 = never. */
uint64_t jit_changed_ns(const struct jit *j, uint32_t process);

/* Reads what the maps in use grew by, of those that cannot hang; see names_follow(). */
void jit_follow(struct jit *j, struct model *m, uint64_t written_ns);

/* Reads what the maps grew by (see names_tail) and names waiting frames. */
void jit_tail(struct jit *j, struct model *m, uint64_t written_ns);

/* Has the memory of processes read for frames that wait, as far as it may be waited for, and names
 * those that are known then. Returns whether more is being read. */
bool jit_read(struct jit *j, struct model *m);

/* Names waiting frames whose names are known by now, without a look at the maps. */
void jit_serve(struct jit *j, struct model *m);

/* Frames that wait. */
size_t jit_waiting(const struct jit *j);
/* Whether any of them is of a party that has not used up its allowance. */
bool jit_is_worth_waiting(const struct jit *j, const struct model *m);

/* Gives all frames that still wait their reason. */
void jit_settle(struct jit *j, struct model *m);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_JIT_MEMORY_H
#define HOTRUN_NAMES_JIT_MEMORY_H
/*
 * Names of compiled code out of the memory of its process (parse/memory_names.h): which bodies are
 * known, and when. What is asked for is gathered by process and read by a worker soon, since some
 * bodies do not live long. One thread.
 *
 * A body of a dynamic method may be freed, and another take its place. The runtime's finalizer
 * thread frees them, none else: where it did not run between a sample and a reading, what was read
 * is what was sampled. Between two readings that say the same it was so, too. Nothing else names a
 * sample of such a body.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names/sources.h"

/* Of all processes, what comes with one answer besides. */
#define JIT_MEMORY_BYTES (64u << 20)

struct jit_memory;

/* What an address was. */
struct jit_memory_name {
	uint32_t symbol; /* row */
	const char *tier;
	uint64_t from_ns; /* it lay there since then at the latest; 0 = always */
	uint64_t calm_ns; /* nothing was freed since then, up to the sample and now; 0 = not sure */
};

struct jit_code;

/* Borrows both; code is told of each body, NULL: nobody asks how they are unwound. NULL without
 * memory. */
struct jit_memory *jit_memory_new(const struct sources *sources, struct jit_code *code);
void jit_memory_free(struct jit_memory *jm);

/*
 * What lay at an address at a time. REASON_NAMED with its name; REASON_PENDING: it is asked for,
 * jit_memory_work() goes on; or why there is no name.
 */
enum model_reason jit_memory_find(struct jit_memory *jm, uint32_t process, uint64_t address,
				  uint64_t time_ns, struct jit_memory_name *ret_name);

/* The process runs .NET: from now on it is known whether its finalizer ran. */
void jit_memory_keep(struct jit_memory *jm, const struct model *m, uint32_t process);

/* Has read what was asked for, and takes what was; adds to the model. */
void jit_memory_work(struct jit_memory *jm, struct model *m);
/* The end is near: nothing is put off any more. */
void jit_memory_hurry(struct jit_memory *jm);
/* It is over: what is not known to be there still is not. */
void jit_memory_settle(struct jit_memory *jm, struct model *m);
/* Whether the memory of a process gave names. */
bool jit_memory_names(const struct jit_memory *jm, uint32_t process);
/* What is known of its runtime; without a descriptor: nothing, yet. */
struct perfmap_memory_facts jit_memory_facts(const struct jit_memory *jm, uint32_t process);
/* Why its memory tells nothing; REASON_NAMED: it does, or may. */
enum model_reason jit_memory_reason(const struct jit_memory *jm, uint32_t process);
/* A job of somebody else's in its memory hung: it counts as one of these here. */
void jit_memory_note_hung(struct jit_memory *jm, uint32_t process);
/* To be called some times a second while it returns true: looks whether what is fleeting may have
 * changed. */
bool jit_memory_poll(struct jit_memory *jm);
/* Within which time what is sampled is to be asked for: where bodies come and go that may not stay;
 * UINT64_MAX: nowhere. */
uint64_t jit_memory_soon_ns(const struct jit_memory *jm);
/* Whether something is being read, or asked for and may be read now. */
bool jit_memory_is_busy(const struct jit_memory *jm);

/* Goes up with each change of what is known of a process. */
uint32_t jit_memory_generation(const struct jit_memory *jm, uint32_t process);
/* When code of a process may have been replaced last; 0 = never. */
uint64_t jit_memory_changed_ns(const struct jit_memory *jm, uint32_t process);

/* The process is gone, or runs another program: what was asked for is asked no more. */
void jit_memory_forget(struct jit_memory *jm, struct model *m, uint32_t process);

size_t jit_memory_bytes(const struct jit_memory *jm);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_MEMORY_KNOWN_H
#define HOTRUN_NAMES_MEMORY_KNOWN_H
/*
 * What is known of the code of one process by readings of its memory: bodies, and until when those
 * are there that may be freed; addresses without any; those that are to be read; and those that
 * were given the name of a body that may be freed. No threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "model/model.h"
#include "names/calms.h"

/* Bodies known of a process: a large service has 30,000. And addresses of a process that wait, and
 * those about which there was nothing to know. */
#define MEMORY_BODIES_MAX  131072u
#define MEMORY_WANTED_MAX  16384u
#define MEMORY_ANSWERS_MAX 65536u
/* Places of fleeting bodies that have names, by process. What does not fit has no name. */
#define MEMORY_FLEETING_MAX 8192u

/* A body as it was read. */
struct known_body {
	uint64_t start;
	uint32_t size;
	uint32_t symbol; /* row */
	const char *tier;
	bool is_fleeting;
	uint32_t calm;		    /* of it: the calm in which it was read last */
	uint64_t from_ns, until_ns; /* of it: it lay there all that time, if there is any */
};

/* An address at which there was nothing that has a name. */
struct known_answer {
	uint64_t address, read_ns;
	enum model_reason reason;
};

/* An address that has the name of a fleeting body. */
struct known_place {
	uint64_t address;
	uint32_t symbol;
	uint64_t gap_ns; /* since then it may have another one; 0 = it has not */
	bool is_used;	 /* it was sampled in this calm */
};

/* Begins with zeroes. */
struct memory_known {
	struct known_body *bodies; /* by start */
	size_t bodies_cnt, bodies_cap;
	struct known_body *fresh; /* that a job told of, to be merged into them */
	size_t fresh_cnt, fresh_cap;
	struct known_answer *answers;
	size_t answers_cnt, answers_cap;
	struct hash_index answers_index;
	uint64_t *wanted;
	size_t wanted_cnt, wanted_cap, asked; /* those of the job are the first ones */
	struct hash_index wanted_index;
	struct known_place *places;
	size_t places_cnt, places_cap;
	struct hash_index places_index;
	uint32_t closed;    /* generation at which gaps were looked at last */
	uint64_t closed_ns; /* and when */
	bool has_new_gap;   /* perhaps, since then */
};

void memory_known_clear(struct memory_known *k);
size_t memory_known_bytes(const struct memory_known *k);

/* The body that lies at an address; NULL: none is known. Borrowed until the next merge. */
struct known_body *memory_known_body(const struct memory_known *k, uint64_t address);
/* Whether a fleeting one is there as far as the calm goes; until when it is known to have been. */
bool memory_known_is_now(const struct calms *c, const struct known_body *b);
uint64_t memory_known_until(const struct calms *c, const struct known_body *b);
/* One that was read. Whether it is another one than was known: then it waits to be merged. */
bool memory_known_keep_body(struct memory_known *k, const struct known_body *body);
/* Takes these in, in one pass; what they lie over goes. */
void memory_known_merge(struct memory_known *k, const struct calms *c);

/* What is known of an address without a body; NULL: nothing. Borrowed until the next one. */
const struct known_answer *memory_known_answer(const struct memory_known *k, uint64_t address);
void memory_known_keep_answer(struct memory_known *k, uint64_t address, uint64_t read_ns,
			      enum model_reason reason);

/* An address is to be read. False: there is no room. */
bool memory_known_want(struct memory_known *k, uint64_t address);
/* Those of the job are no more, but for the first ones of them, which are asked again. */
void memory_known_drop_asked(struct memory_known *k, size_t again);
/* None is to be read. */
void memory_known_want_none(struct memory_known *k);

/* That an address has the name of a fleeting body, now or until it was read last. False: no
 * room. */
bool memory_known_keep_place(struct memory_known *k, const struct calms *c, uint64_t address,
			     const struct known_body *b);
/* Another calm has begun; the last one is known until then. */
void memory_known_begin_calm(struct memory_known *k, uint64_t until_ns);
/*
 * What lies at the places of fleeting bodies after the finalizer may have run: the same as before,
 * or from then on nobody knows, which the model is told. Those that were not read yet wait for a
 * while, unless that is all. generation: goes up with each change of what is known.
 */
void memory_known_close_gaps(struct memory_known *k, const struct calms *c, struct model *m,
			     uint32_t process, uint32_t generation, bool all);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_OTLP_PRIVATE_H
#define HOTRUN_EXPORT_OTLP_PRIVATE_H
/*
 * What the parts of the OTLP format share. Only otlp*.c include this.
 */
#include "export/about.h"
#include "export/sampled.h"
#include "export/strings.h"
#include "judge/judgement.h"
#include "model/resolve.h"

#define THREAD_ATTRIBUTES 3

/* A row of the attribute table: a text, or a number. */
struct attribute {
	uint32_t key, text; /* strings; text MODEL_NONE = a number */
	int64_t number;
};

/* A mapping: its file, and the attribute of its build id, 0 = none. */
struct mapping {
	uint32_t file, build_id;
};

/* The attributes of a thread, rows of the table. */
struct thread_attributes {
	int32_t rows[THREAD_ATTRIBUTES];
};

struct otlp {
	FILE *out;
	struct model *m;
	const struct export_options *o;
	struct sampled *s; /* by process, thread and stack */
	struct judgement judgement;
	struct export_about about;
	struct strings strings;
	bool known[EXPORT_WEIGHTS];
	MODEL_TABLE(struct attribute, attributes); /* without the first row */
	MODEL_TABLE(struct mapping, mappings);	   /* likewise */
	struct hash_index mapping_index;
	uint32_t *frame_mapping;      /* by frame: row of the mapping table */
	MODEL_TABLE(uint32_t, nodes); /* of stacks, in their order, without the first row */
	uint32_t *stack;	      /* by node: row of the stack table, 0 = none yet */
	struct thread_attributes *threads;
	uint32_t frames[RESOLVE_MAX_FRAMES];
	int err;
};

/* otlp_dictionary.c: rows of the tables that all share. Errors stay in w->err. */
uint32_t otlp_string(struct otlp *w, const char *string);
/* Of an attribute, which is added: a text, or with NULL a number. */
int32_t otlp_attribute(struct otlp *w, const char *key, const char *text, int64_t value);
/* Of the stack of a node. */
int32_t otlp_stack(struct otlp *w, uint32_t node);
/* Of all frames, before anything is asked for. 0 or -ENOMEM. */
int otlp_take_frames(struct otlp *w);
/* Writes them, behind all that asks for rows. 0 or -ENOMEM. */
int otlp_put_dictionary(struct otlp *w);
#endif

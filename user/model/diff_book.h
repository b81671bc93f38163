/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_DIFF_BOOK_H
#define HOTRUN_MODEL_DIFF_BOOK_H
/*
 * Two captures in one book, to be compared: processes by name, methods and merged stacks, each with
 * what it has on either side. Methods are matched by their text (name and module as people read
 * them), whatever their addresses, tiers, builds or hosts; unnamed code of a file is one method.
 *
 * Each side is cut into DIFF_PARTS parts of equal length at most, of whole slices: how a figure
 * differs from part to part tells how sure it is, with all that makes seconds unequal (load,
 * garbage collections, neighbours), which counting samples alone does not see. Pure; no threads.
 */
#include "model/model.h"

#define DIFF_PARTS 32
/* Beyond it (a hostile host) samples count with the callers that have a row. */
#define DIFF_METHODS_MAX 200000u

enum { DIFF_BEFORE, DIFF_AFTER, DIFF_SIDES };
enum diff_of { DIFF_SELF, DIFF_TOTAL, DIFF_OF_CNT }; /* its own code; with what it calls */

struct diff_side {
	struct model *m;       /* borrowed; grows by symbols of notes */
	const uint8_t *wanted; /* by row of processes: not 0 = it is compared; borrowed;
				    * NULL = all */
	/* Set by diff_book_new(). */
	uint32_t parts; /* 1..DIFF_PARTS, 0 without slices */
	double seconds[DIFF_PARTS];
	double all_seconds;
	double tick_s;	 /* CPU time that a tick stands for */
	double ticks_of; /* mean ticks that a sample stands for */
	uint64_t samples;
};

/* Processes of one name; threads of the kernel are one, "[kernel]". */
struct diff_kind {
	const char *name; /* of a model */
	bool self, kernel;
	uint32_t processes[DIFF_SIDES];		 /* that did anything */
	double cpu_s[DIFF_SIDES][DIFF_PARTS];	 /* by switches; 0 with OFF_ACCOUNTS */
	double answered[DIFF_SIDES][DIFF_PARTS]; /* requests */
	double ticks[DIFF_SIDES][DIFF_PARTS];	 /* sampled */
	double all_cpu_s[DIFF_SIDES], all_answered[DIFF_SIDES], all_ticks[DIFF_SIDES];
};

struct diff_method {
	uint32_t kind;
	uint32_t symbol[DIFF_SIDES]; /* row of that model, or MODEL_NONE */
	uint64_t all[DIFF_SIDES][DIFF_OF_CNT];
	uint64_t kernel[DIFF_SIDES]; /* of DIFF_TOTAL, ticks in which the kernel ran */
	uint64_t seen;		     /* the builder's mark */
};

/* Ticks of a method by part. */
typedef uint32_t diff_counts[DIFF_SIDES][DIFF_OF_CNT][DIFF_PARTS];

/* A method in its caller. nodes[0] is the root, its children stand for kinds of processes. */
struct diff_node {
	uint32_t method; /* row; of children of the root their kind; MODEL_NONE = the root */
	uint32_t parent;
	uint64_t all[DIFF_SIDES][DIFF_OF_CNT];
};

struct diff_book {
	struct diff_side sides[DIFF_SIDES];
	MODEL_TABLE(struct diff_kind, kinds);
	MODEL_TABLE(struct diff_method, methods);
	diff_counts *counts; /* by row of methods */
	size_t counts_cnt, counts_cap;
	MODEL_TABLE(struct diff_node, nodes);
	struct hash_index kind_index, method_index, node_index;
	uint64_t methods_dropped, nodes_dropped; /* samples */
	uint64_t seen;
};

/* Returns it owned, or NULL with errno ENOMEM. The models live longer. */
struct diff_book *diff_book_new(const struct diff_side sides[static DIFF_SIDES]);
void diff_book_free(struct diff_book *book);

/* Row of the kind that a process is of, or MODEL_NONE. */
uint32_t diff_book_kind(const struct diff_book *book, const struct model_process *process);
/* Row of the kind of processes that a node is of; not of the root. */
uint32_t diff_book_kind_of_node(const struct diff_book *book, uint32_t node);
/* The symbol that a method is shown by: that of the side where it is, the later one first. */
const struct model_symbol *diff_book_symbol(const struct diff_book *book, uint32_t method);
#endif

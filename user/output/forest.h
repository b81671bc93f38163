/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_FOREST_H
#define HOTRUN_OUTPUT_FOREST_H
/*
 * Merged stacks of all processes, built in one pass over the samples: below the root one node a
 * process, below these their frames. What the formats that show whole stacks are made of. The keys
 * are rows of the caller's tables; equal keys below one parent are one node. No I/O, no threads.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define FOREST_MAX_NODES	 4000000u /* about 300 MB with the index: hostile stacks only */
#define FOREST_MAX_PROCESS_NODES 500000u  /* so that one such process leaves room for the others */

struct forest_node {
	uint32_t key;	 /* process row in children of the root, symbol row below; unused in it */
	uint32_t parent; /* node, HASH_NONE for the root */
	uint32_t first_child, next_sibling; /* node or HASH_NONE, in the order of forest_link() */
	uint32_t below;			    /* of a process: its nodes */
	uint64_t total; /* weight of the samples that pass through here, by forest_link() */
	uint64_t self;	/* of those that end here */
};

struct forest_step {
	uint32_t key, node;
};

struct forest {
	struct forest_node *nodes; /* nodes[0] is the root */
	size_t nodes_cnt, nodes_cap;
	uint64_t cut; /* samples whose stack was cut since a bound was reached */
	struct hash_index index;
	/* The way to the last sample, from its process on: the next one often shares its callers.
	 */
	struct forest_step *last;
	size_t last_cnt, last_cap;
};

/* Adds a sample of that weight: cnt frames from the root of the thread to the leaf; the node where
 * its stack ends. Starts from a zeroed forest. 0 or -ENOMEM. */
int forest_add(struct forest *f, uint32_t process, const uint32_t *frames, size_t cnt,
	       uint64_t weight, uint32_t *ret_node);

/* Adds another sample of a stack that ended there, and was not cut. */
static inline void forest_add_again(struct forest *f, uint32_t node, uint64_t weight)
{
	f->nodes[node].self += weight;
}

/* Orders two siblings; level 0 = processes, 1 = frames. Ties keep the order of their arrival. */
typedef int (*forest_compare_fn)(const struct forest_node *a, const struct forest_node *b,
				 int level, const void *arg);

/* Sums totals and links children in order, once, after the last forest_add(). 0 or -ENOMEM. */
int forest_link(struct forest *f, forest_compare_fn compare, const void *arg);

/* The node after `node` in preorder within the subtree of top, HASH_NONE at its end. *depth, the
 * caller's, follows: it rises by one for a child and falls on the way up. */
uint32_t forest_next(const struct forest *f, uint32_t top, uint32_t node, size_t *depth);

/* Releases what f holds. Takes a zeroed one. */
void forest_clear(struct forest *f);
#endif

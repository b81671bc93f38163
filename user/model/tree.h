/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_TREE_H
#define HOTRUN_MODEL_TREE_H
/*
 * Merged call tree of the samples of one process (or of all): each node is a symbol in its caller,
 * with samples and distinct threads. Top-down starts at thread roots, bottom-up at leaves. Pure;
 * no threads.
 */
#include "model/model.h"

struct tree_node {
	uint32_t symbol;      /* row of its method (method.h); MODEL_NONE for the root node */
	uint32_t parent;      /* node, MODEL_NONE for the root */
	uint32_t first_child; /* heaviest first, MODEL_NONE = leaf */
	uint32_t next_sibling;
	uint64_t total;	      /* samples that pass through here */
	uint64_t self;	      /* samples that end here */
	uint64_t waiters;     /* threads that waited at the samples of total, summed */
	uint32_t threads;     /* distinct threads among total */
	uint32_t last_thread; /* builder's mark */
	uint16_t calls_min;   /* frames in a row that it stands for, at least and at most; 1 but */
	uint16_t calls_max;   /* for recursion that was folded */
};

struct tree {
	struct tree_node *nodes; /* nodes[0] is the root */
	size_t nodes_cnt, nodes_cap;
	uint64_t waiters_square; /* of all samples: the squares of their waiters, summed */
	uint64_t nodes_dropped;	 /* samples cut because TREE_MAX_NODES was reached */
	struct hash_index index;
};
#define TREE_MAX_NODES 4000000u /* about 200 MB: hostile stacks only */

enum tree_direction { TREE_TOP_DOWN, TREE_BOTTOM_UP };

/* Builds the tree over the samples of process (MODEL_NONE = all), children sorted by total, then by
 * name. Returns it owned, or NULL with errno ENOMEM. */
struct tree *tree_new(struct model *m, uint32_t process, enum tree_direction direction);
/* The same with PATHS_* flags of paths.h. */
struct tree *tree_new_view(struct model *m, uint32_t process, enum tree_direction direction,
			   unsigned int flags);
void tree_free(struct tree *tree);
#endif

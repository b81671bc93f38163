/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"
#include "model/harm.h"
#include "model/paths.h"

struct node_key {
	uint32_t parent, symbol;
};

static bool node_equal(const void *owner, uint32_t row, const void *key)
{
	const struct tree_node *node = &((const struct tree *)owner)->nodes[row];
	const struct node_key *k = key;

	return node->parent == k->parent && node->symbol == k->symbol;
}

static int node_add(struct tree *tree, uint32_t parent, uint32_t symbol)
{
	int err = GROW(tree->nodes, tree->nodes_cnt, tree->nodes_cap);

	if (err)
		return err;
	tree->nodes[tree->nodes_cnt++] = (struct tree_node){
		.symbol = symbol,
		.parent = parent,
		.first_child = MODEL_NONE,
		.next_sibling = MODEL_NONE,
		.last_thread = MODEL_NONE,
	};
	return 0;
}

/* Finds or adds the child; -ENOSPC when the tree is full. */
static int node_child(struct tree *tree, uint32_t parent, uint32_t symbol, uint32_t *ret_node)
{
	struct node_key key = {parent, symbol};
	uint64_t hash = hash_pair(parent, symbol);
	uint32_t node = hash_find(&tree->index, hash, node_equal, tree, &key);
	int err;

	if (node == HASH_NONE) {
		if (tree->nodes_cnt >= TREE_MAX_NODES)
			return -ENOSPC;
		node = (uint32_t)tree->nodes_cnt;
		err = node_add(tree, parent, symbol);
		if (!err)
			err = hash_add(&tree->index, hash, node);
		if (err)
			return err;
	}
	*ret_node = node;
	return 0;
}

/* The node in which the current path ends; of a full tree the one where it is cut, and -ENOSPC. */
static int add_path(struct tree *tree, const struct paths *p, enum tree_direction direction,
		    uint32_t *ret_end)
{
	uint32_t at = 0;
	int err = 0;

	for (size_t i = 0; i < p->methods_cnt; i++) {
		size_t frame = direction == TREE_TOP_DOWN ? i : p->methods_cnt - 1 - i;
		uint16_t calls = p->calls[frame];
		struct tree_node *node;

		err = node_child(tree, at, p->methods[frame], &at);
		if (err)
			break;
		node = &tree->nodes[at];
		if (!node->calls_min || calls < node->calls_min)
			node->calls_min = calls;
		if (calls > node->calls_max)
			node->calls_max = calls;
	}
	*ret_end = at;
	return err;
}

/* Samples come thread after thread: of a node that has counted this one the callers have, too. */
static void count_thread(struct tree *tree, uint32_t at, uint32_t thread)
{
	while (at != MODEL_NONE && tree->nodes[at].last_thread != thread) {
		tree->nodes[at].threads++;
		tree->nodes[at].last_thread = thread;
		at = tree->nodes[at].parent;
	}
}

/* Only where it ends: sum_up() adds that to the callers. ends: by `first` of paths. */
static int tree_add(struct tree *tree, struct paths *p, enum tree_direction direction,
		    uint32_t *ends)
{
	const struct model_sample *sample = &p->m->samples[p->sample];
	uint64_t waiters = harm_of(sample);
	uint32_t at = ends[p->first];
	int err = 0;

	if (paths_is_new(p, ends)) {
		err = add_path(tree, p, direction, &at);
		if (!err)
			ends[p->first] = at;
	}
	if (err == -ENOSPC) {
		tree->nodes_dropped++;
		err = 0;
	}
	tree->waiters_square += waiters * waiters;
	tree->nodes[at].waiters += waiters;
	tree->nodes[at].self += model_weight(sample);
	count_thread(tree, at, p->thread);
	return err;
}

/* Callers come before what they call. */
static void sum_up(struct tree *tree)
{
	for (size_t i = tree->nodes_cnt; i-- > 0;) {
		struct tree_node *node = &tree->nodes[i];

		node->total += node->self;
		if (!i)
			continue;
		tree->nodes[node->parent].total += node->total;
		tree->nodes[node->parent].waiters += node->waiters;
	}
}

struct order {
	const struct model *m;
	const struct tree *tree;
};

/* By parent, then heaviest first, then by name; the row last, so that equal trees print equal. */
static int compare_nodes(const void *a, const void *b, void *arg)
{
	const struct order *order = arg;
	uint32_t row_a = *(const uint32_t *)a, row_b = *(const uint32_t *)b;
	const struct tree_node *na = &order->tree->nodes[row_a], *nb = &order->tree->nodes[row_b];
	const struct model_symbol *sa, *sb;
	int c = COMPARE(na->parent, nb->parent);

	if (c)
		return c;
	c = COMPARE(nb->total, na->total);
	if (c)
		return c;
	sa = &order->m->symbols[na->symbol];
	sb = &order->m->symbols[nb->symbol];
	c = strcmp(sa->name, sb->name);
	if (!c)
		c = strcmp(sa->module, sb->module);
	return c ? c : COMPARE(row_a, row_b);
}

static int link_children(const struct model *m, struct tree *tree)
{
	_cleanup_free_ uint32_t *rows = calloc(tree->nodes_cnt, sizeof(*rows));
	struct order order = {m, tree};
	size_t cnt = tree->nodes_cnt - 1;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		rows[i] = (uint32_t)i + 1;
	qsort_r(rows, cnt, sizeof(*rows), compare_nodes, &order);
	for (size_t i = cnt; i-- > 0;) {
		struct tree_node *node = &tree->nodes[rows[i]];

		node->next_sibling = tree->nodes[node->parent].first_child;
		tree->nodes[node->parent].first_child = rows[i];
	}
	return 0;
}

static int tree_build(struct tree *tree, struct model *m, uint32_t process,
		      enum tree_direction direction, unsigned int flags)
{
	_cleanup_free_ uint32_t *ends = paths_numbers(m->samples_cnt);
	struct paths paths = {0};
	int err = ends ? node_add(tree, MODEL_NONE, MODEL_NONE) : -ENOMEM;

	if (err)
		return err;
	tree->nodes[0].calls_min = tree->nodes[0].calls_max = 1;
	err = paths_begin(&paths, m, process, flags | PATHS_ONCE);
	while (!err && paths_next(&paths))
		err = tree_add(tree, &paths, direction, ends);
	paths_end(&paths);
	sum_up(tree);
	return err ? err : link_children(m, tree);
}

struct tree *tree_new_view(struct model *m, uint32_t process, enum tree_direction direction,
			   unsigned int flags)
{
	struct tree *tree = calloc(1, sizeof(*tree));
	int err;

	if (!tree)
		return NULL;
	err = tree_build(tree, m, process, direction, flags);
	hash_clear(&tree->index);
	if (err) {
		tree_free(tree);
		errno = -err;
		return NULL;
	}
	return tree;
}

struct tree *tree_new(struct model *m, uint32_t process, enum tree_direction direction)
{
	return tree_new_view(m, process, direction, 0);
}

void tree_free(struct tree *tree)
{
	if (!tree)
		return;
	free(tree->nodes);
	hash_clear(&tree->index);
	free(tree);
}

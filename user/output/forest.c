/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/forest.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"

struct node_id {
	uint32_t parent, key;
};

static bool node_equal(const void *owner, uint32_t row, const void *key)
{
	const struct forest_node *node = &((const struct forest *)owner)->nodes[row];
	const struct node_id *id = key;

	return node->parent == id->parent && node->key == id->key;
}

static int append(struct forest *f, uint32_t parent, uint32_t key)
{
	int err = GROW(f->nodes, f->nodes_cnt, f->nodes_cap);

	if (err)
		return err;
	f->nodes[f->nodes_cnt++] = (struct forest_node){
		.key = key,
		.parent = parent,
		.first_child = HASH_NONE,
		.next_sibling = HASH_NONE,
	};
	return 0;
}

static bool is_full(const struct forest *f, uint32_t process_node)
{
	return f->nodes_cnt >= FOREST_MAX_NODES ||
	       f->nodes[process_node].below >= FOREST_MAX_PROCESS_NODES;
}

/* Finds or adds a child in the tree of process_node (0: it is a process); -ENOSPC at a bound. */
static int child(struct forest *f, uint32_t process_node, uint32_t parent, uint32_t key,
		 uint32_t *ret_node)
{
	struct node_id id = {parent, key};
	uint64_t hash = hash_pair(parent, key);
	uint32_t node = hash_find(&f->index, hash, node_equal, f, &id);
	int err;

	if (node == HASH_NONE) {
		if (is_full(f, process_node))
			return -ENOSPC;
		node = (uint32_t)f->nodes_cnt;
		err = append(f, parent, key);
		if (!err)
			err = hash_add(&f->index, hash, node);
		if (err)
			return err;
		if (process_node)
			f->nodes[process_node].below++;
	}
	*ret_node = node;
	return 0;
}

/* Goes on from `from`, which is in the tree of process_node (0: it is the root). */
static int step(struct forest *f, uint32_t process_node, uint32_t from, uint32_t key)
{
	struct forest_step next = {.key = key};
	int err = GROW(f->last, f->last_cnt, f->last_cap);

	if (!err)
		err = child(f, process_node, from, key, &next.node);
	if (!err)
		f->last[f->last_cnt++] = next;
	return err;
}

/* Leaves of the way to the last sample what this one has in common with it. */
static void keep_shared(struct forest *f, uint32_t process, const uint32_t *frames, size_t cnt)
{
	size_t i = 0;

	while (i < f->last_cnt && i <= cnt && f->last[i].key == (i ? frames[i - 1] : process))
		i++;
	f->last_cnt = i;
}

int forest_add(struct forest *f, uint32_t process, const uint32_t *frames, size_t cnt,
	       uint64_t weight, uint32_t *ret_node)
{
	int err = f->nodes_cnt ? 0 : append(f, HASH_NONE, HASH_NONE);

	if (err)
		return err;
	keep_shared(f, process, frames, cnt);
	if (!f->last_cnt)
		err = step(f, 0, 0, process);
	while (!err && f->last_cnt <= cnt)
		err = step(f, f->last[0].node, f->last[f->last_cnt - 1].node,
			   frames[f->last_cnt - 1]);
	if (err == -ENOSPC)
		f->cut++;
	else if (err)
		return err;
	*ret_node = f->last_cnt ? f->last[f->last_cnt - 1].node : 0;
	f->nodes[*ret_node].self += weight;
	return 0;
}

/* Children come behind their parents. */
static void sum_totals(struct forest *f)
{
	for (size_t i = f->nodes_cnt; i-- > 0;) {
		struct forest_node *node = &f->nodes[i];

		node->total += node->self;
		if (i)
			f->nodes[node->parent].total += node->total;
	}
}

struct order {
	const struct forest *f;
	forest_compare_fn compare;
	const void *arg;
};

static int compare_siblings(const void *a, const void *b, void *arg)
{
	const struct order *order = arg;
	uint32_t row_a = *(const uint32_t *)a, row_b = *(const uint32_t *)b;
	const struct forest_node *na = &order->f->nodes[row_a], *nb = &order->f->nodes[row_b];
	int c = order->compare(na, nb, na->parent != 0, order->arg);

	return c ? c : COMPARE(row_a, row_b);
}

/* siblings: room for all of one parent. */
static void link_siblings(struct forest *f, struct order *order, uint32_t parent,
			  uint32_t *siblings)
{
	size_t cnt = 0;

	for (uint32_t i = f->nodes[parent].first_child; i != HASH_NONE;
	     i = f->nodes[i].next_sibling)
		siblings[cnt++] = i;
	if (cnt < 2)
		return;
	qsort_r(siblings, cnt, sizeof(*siblings), compare_siblings, order);
	f->nodes[parent].first_child = siblings[0];
	for (size_t i = 0; i < cnt; i++)
		f->nodes[siblings[i]].next_sibling = i + 1 < cnt ? siblings[i + 1] : HASH_NONE;
}

int forest_link(struct forest *f, forest_compare_fn compare, const void *arg)
{
	struct order order = {f, compare, arg};
	_cleanup_free_ uint32_t *siblings = malloc((f->nodes_cnt + 1) * sizeof(*siblings));

	if (!siblings)
		return -ENOMEM;
	hash_clear(&f->index);
	sum_totals(f);
	for (uint32_t i = 1; i < f->nodes_cnt; i++) {
		struct forest_node *parent = &f->nodes[f->nodes[i].parent];

		f->nodes[i].next_sibling = parent->first_child;
		parent->first_child = i;
	}
	for (uint32_t i = 0; i < f->nodes_cnt; i++)
		link_siblings(f, &order, i, siblings);
	return 0;
}

uint32_t forest_next(const struct forest *f, uint32_t top, uint32_t node, size_t *depth)
{
	if (f->nodes[node].first_child != HASH_NONE) {
		(*depth)++;
		return f->nodes[node].first_child;
	}
	for (; node != top; node = f->nodes[node].parent, (*depth)--)
		if (f->nodes[node].next_sibling != HASH_NONE)
			return f->nodes[node].next_sibling;
	return HASH_NONE;
}

void forest_clear(struct forest *f)
{
	free(f->nodes);
	free(f->last);
	hash_clear(&f->index);
	*f = (struct forest){0};
}

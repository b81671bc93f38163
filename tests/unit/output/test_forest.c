/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>

#include "output/forest.h"

static int by_key(const struct forest_node *a, const struct forest_node *b, int level,
		  const void *arg)
{
	(void)level;
	(void)arg;
	return (a->key > b->key) - (a->key < b->key);
}

static uint32_t add(struct forest *f, uint32_t process, uint32_t a, uint32_t b)
{
	uint32_t node = HASH_NONE;

	cr_assert_eq(forest_add(f, process, (const uint32_t[]){a, b}, 2, 1, &node), 0);
	return node;
}

Test(forest, merges_counts_and_walks_in_order)
{
	static const struct {
		uint32_t key, depth, total, self;
	} expected[] = {{1, 1, 1, 0}, {9, 2, 1, 0}, {9, 3, 1, 1}, {2, 1, 5, 0},
			{5, 2, 2, 0}, {6, 3, 2, 2}, {7, 2, 3, 0}, {8, 3, 3, 3}};
	struct forest f = {0};
	uint32_t first = add(&f, 2, 7, 8), other;
	size_t depth = 0, i = 0;

	cr_expect_eq(add(&f, 2, 7, 8), first);
	other = add(&f, 2, 5, 6);
	cr_expect_eq(add(&f, 2, 7, 8), first);
	add(&f, 1, 9, 9);
	forest_add_again(&f, other, 1);
	cr_assert_eq(forest_link(&f, by_key, NULL), 0);
	for (uint32_t node = 0; (node = forest_next(&f, 0, node, &depth)) != HASH_NONE; i++) {
		cr_assert_lt(i, sizeof(expected) / sizeof(*expected));
		cr_expect_eq(f.nodes[node].key, expected[i].key, "node %zu", i);
		cr_expect_eq(depth, expected[i].depth, "node %zu", i);
		cr_expect_eq(f.nodes[node].total, expected[i].total, "node %zu", i);
		cr_expect_eq(f.nodes[node].self, expected[i].self, "node %zu", i);
	}
	cr_expect_eq(i, sizeof(expected) / sizeof(*expected));
	cr_expect_eq(f.nodes[0].total, 6);
	cr_expect_eq(depth, 0);
	forest_clear(&f);
}

Test(forest, a_process_that_floods_it_leaves_room_for_others)
{
	struct forest f = {0};
	uint32_t frames[1000], node;
	uint64_t self = 0;

	for (uint32_t i = 0; i < FOREST_MAX_PROCESS_NODES / 1000 + 2; i++) {
		for (uint32_t k = 0; k < 1000; k++)
			frames[k] = i * 1000 + k;
		cr_assert_eq(forest_add(&f, 1, frames, 1000, 1, &node), 0);
	}
	cr_expect_eq(f.cut, 2);
	add(&f, 2, 3, 4);
	cr_expect_eq(f.cut, 2);
	cr_expect_eq(f.nodes_cnt, 2 + FOREST_MAX_PROCESS_NODES + 3);
	cr_assert_eq(forest_link(&f, by_key, NULL), 0);
	for (size_t i = 0; i < f.nodes_cnt; i++)
		self += f.nodes[i].self;
	cr_expect_eq(self, f.nodes[0].total, "every sample is in the tree, cut or not");
	forest_clear(&f);
}

Test(forest, empty_one_can_be_linked_and_cleared)
{
	struct forest f = {0};

	cr_expect_eq(forest_link(&f, by_key, NULL), 0);
	forest_clear(&f);
}

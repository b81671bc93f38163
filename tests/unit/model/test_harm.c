/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "model/harm.h"
#include "model/share.h"
#include "model/top.h"
#include "model/tree.h"

/* Two methods: one ran 10 times with nobody waiting, one 5 times with 4 that waited; 2 samples of
 * it could not tell. Another process beside. */
static struct model *two_methods(void)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 7, "app", 0), q = build_process(m, 8, "other", 0);
	uint32_t main_ = build_symbol(m, "main", "app", KIND_NATIVE, true);
	uint32_t calm = build_symbol(m, "calm", "app", KIND_NATIVE, true);
	uint32_t harm = build_symbol(m, "harm", "app", KIND_NATIVE, true);
	uint32_t t = build_thread(m, p, 7, "app", 0, 'R');

	BUILD_SAMPLES(m, t, 10, main_, calm);
	build_waiters(m, 10, 0);
	BUILD_SAMPLES(m, t, 5, main_, harm);
	build_waiters(m, 5, 4);
	BUILD_SAMPLES(m, t, 2, main_, harm);
	build_waiters(m, 2, WAITERS_UNKNOWN);
	BUILD_SAMPLES(m, build_thread(m, q, 8, "other", 0, 'R'), 3, main_, harm, harm);
	build_waiters(m, 3, 7);
	return m;
}

Test(harm, sums_waiting_threads_and_counts_what_is_not_known_apart)
{
	struct model *m = two_methods();
	struct harm all = harm_sum(m, MODEL_NONE), one = harm_sum(m, 0);

	cr_expect_eq(one.samples, 17);
	cr_expect_eq(one.unknown, 2);
	cr_expect_eq(one.waiters, 20);
	cr_expect_eq(all.samples, 20);
	cr_expect_eq(all.waiters, 41);
	model_free(m);
}

static const struct top_row *row_of(const struct model *m, const struct top *top, const char *name)
{
	for (size_t i = 0; i < top->methods.rows_cnt; i++)
		if (!strcmp(m->symbols[top->methods.rows[i].symbol].name, name))
			return &top->methods.rows[i];
	cr_assert(false, "%s has no row", name);
	return NULL;
}

Test(harm, methods_weigh_those_that_waited_while_they_ran)
{
	struct model *m = two_methods();
	struct top *top, *other;

	model_settle(m);
	top = top_new(m, 0);
	other = top_new(m, 1);
	cr_expect_eq(top->waiters, 20);
	cr_expect_eq(top->waiters_square, 80);
	cr_expect_eq(top->unknown, 2);
	cr_expect_eq(row_of(m, top, "main")->total_waiters, 20);
	cr_expect_eq(row_of(m, top, "main")->self_waiters, 0);
	cr_expect_eq(row_of(m, top, "harm")->self_waiters, 20);
	cr_expect_eq(row_of(m, top, "calm")->total_waiters, 0);
	/* A method that calls itself counts its sample once. */
	cr_expect_eq(row_of(m, other, "harm")->total_waiters, 21);
	cr_expect_eq(row_of(m, other, "harm")->self_waiters, 21);
	top_free(top);
	top_free(other);
	model_free(m);
}

Test(harm, equal_weights_are_as_sure_as_samples_and_uneven_ones_less)
{
	uint64_t part, whole;

	/* A hundred samples of weight 4. */
	share_effective(200, 400, 1600, &part, &whole);
	cr_expect_eq(part, 50);
	cr_expect_eq(whole, 100);
	cr_expect_float_eq(share_weighted_error(200, 400, 1600), share_error(50, 100), 1e-12);
	/* One sample that weighs as much as a hundred others tells next to nothing. */
	cr_expect_gt(share_weighted_error(100, 200, 100 * 100 + 100), 0.3);
	cr_expect_eq(share_weighted_error(0, 0, 0), 1);
}

Test(harm, branches_weigh_those_that_waited_below_them)
{
	struct model *m = two_methods();
	struct tree *tree = tree_new(m, 0, TREE_TOP_DOWN);
	const struct tree_node *root = &tree->nodes[0], *main_ = &tree->nodes[root->first_child];
	const struct tree_node *calm = &tree->nodes[main_->first_child];
	const struct tree_node *harm = &tree->nodes[calm->next_sibling];

	cr_expect_eq(tree->waiters_square, 80);
	cr_expect_eq(root->waiters, 20);
	cr_expect_eq(main_->waiters, 20);
	cr_expect_eq(calm->total, 10);
	cr_expect_eq(calm->waiters, 0);
	cr_expect_eq(harm->total, 7);
	cr_expect_eq(harm->waiters, 20);
	tree_free(tree);
	model_free(m);
}

static const struct {
	const char *name;
	uint64_t part, whole;
	struct weighted weighted;
	bool differs;
} pairs[] = {
	{"equal", 500, 1000, {1000, 2000, 4000}, false},
	{"far apart, many samples", 500, 1000, {2000, 2000, 4000}, true},
	{"as far apart, few samples", 2, 4, {8, 8, 16}, false},
	{"sure, but next to each other", 500000, 1000000, {1020000, 2000000, 4000000}, false},
	{"nobody waited", 500, 1000, {0, 0, 0}, false},
	{"no samples", 0, 0, {1, 1, 1}, false},
};

Test(harm, shares_differ_by_more_than_they_can_be_off)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		cr_expect_eq(share_differs(pairs[i].part, pairs[i].whole, &pairs[i].weighted, 0.03),
			     pairs[i].differs, "%s", pairs[i].name);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "build_model.h"
#include "model/paths.h"
#include "model/top.h"
#include "model/tree.h"

/* Writes the tree as one line: name total/self/threads(children ...). */
static void put_node(FILE *out, const struct model *m, const struct tree *tree, uint32_t node)
{
	const struct tree_node *n = &tree->nodes[node];

	fprintf(out, "%s %llu/%llu/%u", n->symbol == MODEL_NONE ? "." : m->symbols[n->symbol].name,
		(unsigned long long)n->total, (unsigned long long)n->self, n->threads);
	if (n->first_child == MODEL_NONE)
		return;
	putc('(', out);
	for (uint32_t c = n->first_child; c != MODEL_NONE; c = tree->nodes[c].next_sibling) {
		if (c != n->first_child)
			putc(' ', out);
		put_node(out, m, tree, c);
	}
	putc(')', out);
}

static void expect_text(struct model *m, uint32_t process, enum tree_direction direction,
			unsigned int flags, const char *expected)
{
	struct tree *tree = tree_new_view(m, process, direction, flags);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	cr_assert(tree && out);
	put_node(out, m, tree, 0);
	fclose(out);
	cr_expect_str_eq(text, expected);
	free(text);
	tree_free(tree);
}

/* Settled, the samples of a stack share one walk. */
static void expect_tree(struct model *m, uint32_t process, enum tree_direction direction,
			unsigned int flags, const char *expected)
{
	expect_text(m, process, direction, flags, expected);
	model_settle(m);
	expect_text(m, process, direction, flags, expected);
}

struct fixture {
	struct model *m;
	uint32_t process, t1, t2, main, work, parse, read;
};

static struct fixture fixture_new(void)
{
	struct fixture f = {.m = build_model(2, 99)};

	f.process = build_process(f.m, 100, "app", 0);
	f.t1 = build_thread(f.m, f.process, 100, "app", BUILD_SECOND, 'S');
	f.t2 = build_thread(f.m, f.process, 101, "app", BUILD_SECOND, 'S');
	f.main = build_symbol(f.m, "main", "app", KIND_NATIVE, true);
	f.work = build_symbol(f.m, "work", "app", KIND_NATIVE, true);
	f.parse = build_symbol(f.m, "parse", "app", KIND_NATIVE, true);
	f.read = build_symbol(f.m, "read", "[kernel]", KIND_KERNEL, false);
	return f;
}

Test(tree, merges_paths_and_sorts_children_by_weight_then_name)
{
	struct fixture f = fixture_new();

	BUILD_SAMPLES(f.m, f.t1, 2, f.main, f.work);
	BUILD_SAMPLES(f.m, f.t1, 2, f.main, f.parse);
	BUILD_SAMPLES(f.m, f.t1, 3, f.main, f.work, f.read);
	expect_tree(f.m, f.process, TREE_TOP_DOWN, 0,
		    ". 7/0/1(main 7/0/1(work 5/2/1(read 3/3/1) parse 2/2/1))");
	BUILD_SAMPLES(f.m, f.t1, 3, f.main, f.parse);
	expect_tree(f.m, f.process, TREE_TOP_DOWN, 0,
		    ". 10/0/1(main 10/0/1(parse 5/5/1 work 5/2/1(read 3/3/1)))");
	model_free(f.m);
}

Test(tree, counts_each_thread_once_a_node_even_when_samples_alternate)
{
	struct fixture f = fixture_new();

	for (int i = 0; i < 4; i++) {
		BUILD_SAMPLES(f.m, f.t1, 1, f.main, f.work);
		BUILD_SAMPLES(f.m, f.t2, 1, f.main, i & 1 ? f.work : f.parse);
	}
	expect_tree(f.m, f.process, TREE_TOP_DOWN, 0,
		    ". 8/0/2(main 8/0/2(work 6/6/2 parse 2/2/1))");
	model_free(f.m);
}

Test(tree, bottom_up_starts_at_leaves)
{
	struct fixture f = fixture_new();

	BUILD_SAMPLES(f.m, f.t1, 2, f.main, f.work, f.parse);
	BUILD_SAMPLES(f.m, f.t1, 1, f.main, f.parse);
	expect_tree(f.m, f.process, TREE_BOTTOM_UP, 0,
		    ". 3/0/1(parse 3/0/1(work 2/0/1(main 2/2/1) main 1/1/1))");
	model_free(f.m);
}

Test(tree, recursion_is_kept_as_depth)
{
	struct fixture f = fixture_new();

	BUILD_SAMPLES(f.m, f.t1, 1, f.main, f.work, f.work, f.work);
	expect_tree(f.m, f.process, TREE_TOP_DOWN, 0,
		    ". 1/0/1(main 1/0/1(work 1/0/1(work 1/0/1(work 1/1/1))))");
	model_free(f.m);
}

Test(tree, recursion_folds_when_asked_and_tells_its_depth)
{
	struct fixture f = fixture_new();
	struct tree *tree;
	const struct tree_node *work;

	BUILD_SAMPLES(f.m, f.t1, 2, f.main, f.work, f.work, f.work);
	BUILD_SAMPLES(f.m, f.t1, 1, f.main, f.work, f.work, f.parse, f.work);
	expect_tree(f.m, f.process, TREE_TOP_DOWN, PATHS_FOLD_RECURSION,
		    ". 3/0/1(main 3/0/1(work 3/2/1(parse 1/0/1(work 1/1/1))))");
	tree = tree_new_view(f.m, f.process, TREE_TOP_DOWN, PATHS_FOLD_RECURSION);
	cr_assert(tree);
	work = &tree->nodes[tree->nodes[tree->nodes[0].first_child].first_child];
	cr_expect_eq(work->calls_min, 2);
	cr_expect_eq(work->calls_max, 3);
	cr_expect_eq(tree->nodes[work->parent].calls_max, 1);
	tree_free(tree);
	model_free(f.m);
}

Test(tree, takes_samples_of_the_asked_process_only)
{
	struct fixture f = fixture_new();
	uint32_t other = build_process(f.m, 200, "other", 0);
	uint32_t t = build_thread(f.m, other, 200, "other", 1, 'S');

	BUILD_SAMPLES(f.m, f.t1, 1, f.main);
	BUILD_SAMPLES(f.m, t, 2, f.parse);
	expect_tree(f.m, other, TREE_TOP_DOWN, 0, ". 2/0/1(parse 2/2/1)");
	expect_tree(f.m, MODEL_NONE, TREE_TOP_DOWN, 0, ". 3/0/2(parse 2/2/1 main 1/1/1)");
	model_free(f.m);
}

Test(tree, without_samples_is_a_root_alone)
{
	struct fixture f = fixture_new();

	expect_tree(f.m, f.process, TREE_TOP_DOWN, 0, ". 0/0/0");
	model_free(f.m);
}

Test(tree, precompiled_and_jitted_code_of_a_method_are_one_node)
{
	struct fixture f = fixture_new();
	uint32_t image = build_symbol(f.m, "N.T.M", "lib", KIND_IMAGE, false);
	uint32_t jit = build_symbol(f.m, "N.T.M", "lib", KIND_JIT, false);
	uint32_t native = build_symbol(f.m, "N.T.M", "lib", KIND_NATIVE, false);

	BUILD_SAMPLES(f.m, f.t1, 2, f.main, image);
	BUILD_SAMPLES(f.m, f.t1, 2, f.main, jit);
	BUILD_SAMPLES(f.m, f.t1, 1, f.main, native);
	expect_tree(f.m, f.process, TREE_TOP_DOWN, 0,
		    ". 5/0/1(main 5/0/1(N.T.M 4/4/1 N.T.M 1/1/1))");
	model_free(f.m);
}

Test(tree, unnamed_neighbours_of_a_file_fold_only_when_asked)
{
	struct fixture f = fixture_new();
	uint32_t a = build_unnamed(f.m, "libclr.so", 0x10, KIND_NATIVE, REASON_NO_SYMBOL);
	uint32_t b = build_unnamed(f.m, "libclr.so", 0x20, KIND_NATIVE, REASON_NO_SYMBOL);
	uint32_t gone = build_unnamed(f.m, "libclr.so", 0x30, KIND_NATIVE, REASON_FILE_GONE);

	BUILD_SAMPLES(f.m, f.t1, 1, a, b, f.main, a, gone);
	expect_tree(f.m, f.process, TREE_TOP_DOWN, 0,
		    ". 1/0/1(libclr.so+0x10 1/0/1(libclr.so+0x20 1/0/1(main 1/0/1("
		    "libclr.so+0x10 1/0/1(libclr.so+0x30 1/1/1)))))");
	expect_tree(f.m, f.process, TREE_TOP_DOWN, PATHS_FOLD_UNNAMED,
		    ". 1/0/1(libclr.so 1/0/1(main 1/0/1(libclr.so 1/0/1(libclr.so 1/1/1))))");
	model_free(f.m);
}

static double cpu_s(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

/* CPU seconds to sum the samples of one stack of 2,000 methods. */
static double summing_s(uint32_t samples)
{
	uint32_t methods[2000];
	struct fixture f = fixture_new();
	double start_s;
	struct tree *tree;
	struct top *top;

	for (uint32_t i = 0; i < 2000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "m%u", i);
		methods[i] = build_symbol(f.m, name, "app", KIND_NATIVE, true);
	}
	build_samples(f.m, f.t1, samples, 0, methods, 2000);
	model_settle(f.m);
	start_s = cpu_s();
	tree = tree_new(f.m, f.process, TREE_TOP_DOWN);
	top = top_new(f.m, f.process);
	start_s = cpu_s() - start_s;
	cr_assert(tree && top);
	cr_expect_eq(tree->nodes[0].total, samples);
	cr_expect_eq(tree->nodes[2000].self, samples);
	cr_expect_eq(top->methods.rows[1999].self, samples);
	tree_free(tree);
	top_free(top);
	model_free(f.m);
	return start_s;
}

/* A capture of 100,000 threads that stand at one stack is read in a second: a stack is walked once,
 * not once a sample, for which 20,000 would take 100 times as long as 200. */
Test(tree, a_stack_of_many_samples_is_walked_once)
{
	double few_s = summing_s(200);

	cr_expect_lt(summing_s(20000), 20 * few_s + 0.05);
}

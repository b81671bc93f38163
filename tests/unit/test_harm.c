/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "model/harm.h"
#include "model/share.h"
#include "model/top.h"

/* Two methods: one ran 10 times with nobody waiting, one 5 times with 4 that waited; 2 samples of it
 * could not tell. Another process beside. */
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
	struct top *top = top_new(m, 0), *other = top_new(m, 1);

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

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>

#include "build_model.h"
#include "model/paths.h"

/* A slot may be taken twice, but not between samples of one stack in a row. */
Test(paths, samples_of_the_same_stacks_are_walked_once)
{
	struct model *m = build_model(2, 99);
	uint32_t process = build_process(m, 100, "app", 0);
	uint32_t t1 = build_thread(m, process, 100, "app", BUILD_SECOND, 'S');
	uint32_t t2 = build_thread(m, process, 101, "app", BUILD_SECOND, 'S');
	uint32_t main = build_symbol(m, "main", "app", KIND_NATIVE, true);
	uint32_t work = build_symbol(m, "work", "app", KIND_NATIVE, true);
	uint32_t samples = 0, walked = 0;
	struct paths p = {0};

	BUILD_SAMPLES(m, t1, 3, main, work);
	BUILD_SAMPLES(m, t2, 2, main);
	BUILD_SAMPLES(m, t1, 1, main);
	model_settle(m);
	cr_assert_eq(paths_begin(&p, m, MODEL_NONE, PATHS_ONCE), 0);
	for (; paths_next(&p); samples++) {
		walked += p.methods_cnt > 0;
		cr_expect_eq(p.methods_cnt > 0, p.first == p.sample, "sample %u", samples);
		cr_expect_eq(m->samples[p.first].user_stack, m->samples[p.sample].user_stack);
		paths_resolve(&p);
		cr_expect_eq(p.methods_cnt, samples < 3 ? 2 : 1, "sample %u", samples);
		cr_expect_eq(p.methods[0], main, "sample %u", samples);
	}
	paths_end(&p);
	cr_expect_eq(samples, 6);
	cr_expect_eq(walked, 2, "one for each stack, of whichever thread");
	model_free(m);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* On how many connections requests were followed. */
#include <criterion/criterion.h>

#include "build_model.h"
#include "model/followed.h"

Test(followed, all_are_where_nobody_says_otherwise)
{
	struct model *m = build_model(2, 99);
	struct followed f;

	build_slice(m, BUILD_SECOND, 0, 0, 0);
	build_slice(m, BUILD_SECOND, 0, 0, 0);
	m->slices[1].one_followed_of = 1;
	followed_of(m, &f);
	cr_expect_eq(f.one_of, 1);
	cr_expect_eq(f.ns, 0);
	cr_expect_eq(f.elapsed_ns, 2 * BUILD_SECOND);
	cr_expect_float_eq(f.error, 0, 1e-12);
	cr_expect_eq(f.sockets_age_ns, 0);
	model_free(m);
}

/* 1.96 * sqrt(3 / (4 * 100)) = 17 %; with 400 followed half of that. */
Test(followed, the_worst_slice_tells_the_error)
{
	struct model *m = build_model(2, 99);
	struct followed f;

	for (int i = 0; i < 4; i++)
		build_slice(m, BUILD_SECOND, 0, 0, 0);
	m->slices[1].one_followed_of = 4;
	m->slices[1].followed = 100;
	m->slices[2].one_followed_of = 8;
	m->slices[2].followed = 400;
	m->slices[3].sockets_age_ns = 7 * BUILD_SECOND;
	followed_of(m, &f);
	cr_expect_eq(f.one_of, 8);
	cr_expect_eq(f.ns, 2 * BUILD_SECOND);
	cr_expect_eq(f.connections, 100);
	cr_expect_float_eq(f.error, 0.1697, 0.0001, "%f", f.error);
	cr_expect_eq(f.sockets_age_ns, 7 * BUILD_SECOND);
	m->slices[2].followed = 0;
	followed_of(m, &f);
	cr_expect_float_eq(f.error, 1, 1e-12, "none is followed: nothing is known");
	model_free(m);
}

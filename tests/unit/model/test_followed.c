/* SPDX-License-Identifier: GPL-2.0-or-later */
/* On how many connections requests were followed. */
#include <criterion/criterion.h>

#include "build_model.h"
#include "model/followed.h"

/* Four slices of a service. */
static struct model *served(uint32_t *ret_endpoint)
{
	struct model *m = build_model(2, 99);

	*ret_endpoint = build_endpoint(m, build_process(m, 10, "Shop.Api", 0), "::", 8080);
	for (int i = 0; i < 4; i++)
		build_slice(m, BUILD_SECOND, 0, 0, 0);
	return m;
}

Test(followed, all_are_where_nobody_says_otherwise)
{
	struct followed f;
	uint32_t endpoint;
	struct model *m = served(&endpoint);

	build_answers(m, 0, endpoint, 1000, 100);
	m->slices[1].one_followed_of = 1;
	followed_of(m, &f);
	cr_expect_eq(f.one_of, 1);
	cr_expect_eq(f.ns, 0);
	cr_expect_eq(f.elapsed_ns, 4 * BUILD_SECOND);
	cr_expect_float_eq(f.error, 0, 1e-12);
	cr_expect_eq(f.connections, 0);
	cr_expect_eq(f.sockets_age_ns, 0);
	model_free(m);
}

/* 1.96 * sqrt(3 / (4 * 100)) = 17 %, of half of the answers. */
Test(followed, the_error_is_that_of_the_answers)
{
	struct followed f;
	uint32_t endpoint;
	struct model *m = served(&endpoint);

	build_answers(m, 0, endpoint, 1000, 5000);
	build_answers(m, 1, endpoint, 1000, 5000);
	build_service(m, &(struct model_service){
				 .slice = 1, .endpoint = endpoint, .served = {.unseen = 3750}});
	m->slices[1].one_followed_of = 4;
	m->slices[1].followed = 100;
	m->slices[2].one_followed_of = 8; /* nobody asks any more */
	m->slices[3].sockets_age_ns = 7 * BUILD_SECOND;
	followed_of(m, &f);
	cr_expect_eq(f.one_of, 8);
	cr_expect_eq(f.ns, 2 * BUILD_SECOND);
	cr_expect_eq(f.connections, 100);
	cr_expect_float_eq(f.error, 0.1697 / 2, 0.0001, "%f", f.error);
	cr_expect_eq(f.sockets_age_ns, 7 * BUILD_SECOND);
	model_free(m);
}

/* What is seen whole has no error: a fifth of the answers has that of 1.96 * sqrt(7 / (8 * 25)). */
Test(followed, a_service_that_is_seen_whole_is_exact_beside_a_busy_one)
{
	uint32_t busy, exact;
	struct followed f;
	struct model *m = served(&busy);

	exact = build_endpoint(m, build_process(m, 11, "Shop.Web", 0), "::", 8081);
	build_answers(m, 0, busy, 1000, 1600);
	build_answers(m, 0, exact, 1000, 6400);
	build_service(m, &(struct model_service){.endpoint = busy, .served = {.unseen = 1400}});
	m->slices[0].one_followed_of = 8;
	m->slices[0].followed = 25;
	followed_of(m, &f);
	cr_expect_eq(f.one_of, 8);
	cr_expect_eq(f.connections, 25);
	cr_expect_float_eq(f.error, 0.3667 / 5, 0.0001, "%f", f.error);
	model_free(m);
}

/* A connection for each request: none stands when sockets are looked at. */
Test(followed, connections_that_come_and_go_count)
{
	struct followed f;
	uint32_t endpoint;
	struct model *m = served(&endpoint);

	build_answers(m, 0, endpoint, 1000, 1600);
	build_service(m, &(struct model_service){.endpoint = endpoint,
						 .served = {.connections = 1600, .unseen = 1200}});
	m->slices[0].one_followed_of = 4;
	m->slices[0].followed = 3;
	followed_of(m, &f);
	cr_expect_eq(f.connections, 400);
	cr_expect_float_eq(f.error, 0.0849, 0.0001, "%f", f.error);
	m->services[0].served.connections = 0;
	m->slices[0].followed = 0;
	followed_of(m, &f);
	cr_expect_float_eq(f.error, 1, 1e-12, "one or none tells nothing");
	model_free(m);
}

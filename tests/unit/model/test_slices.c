/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slices that are forgotten from the front while others are added: rows, numbers, books, bytes. */
#include <criterion/criterion.h>

#include <stdlib.h>

#include "build_model.h"
#include "feed.h"
#include "model/contention_book.h"
#include "watched_host.h"

static struct watched_host seconds(uint32_t cnt)
{
	struct watched_host host = watched_host_new(2, 3, 0);

	for (uint32_t i = 0; i < cnt; i++)
		watched_host_slice(&host);
	return host;
}

Test(slices, those_before_a_row_are_forgotten_and_the_rest_numbered_anew)
{
	static const struct {
		const char *name;
		uint32_t slice;
		size_t left;
	} rows[] = {
		{"none", 0, 6}, {"one", 1, 5}, {"most", 5, 1}, {"all", 6, 0}, {"beyond", 99, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct watched_host host = seconds(6);
		struct model *m = host.m;
		size_t accounts = m->accounts_cnt / 6, samples = m->samples_cnt;
		uint64_t start_ns = m->slices[rows[i].left ? rows[i].slice : 5].start_ns;

		model_forget_before(m, rows[i].slice);
		cr_assert_eq(m->slices_cnt, rows[i].left, "%s", rows[i].name);
		cr_expect_eq(m->accounts_cnt, accounts * rows[i].left, "%s", rows[i].name);
		cr_expect_eq(m->cpus_cnt, 2 * rows[i].left, "%s", rows[i].name);
		cr_expect_eq(m->losses_cnt, rows[i].left, "%s", rows[i].name);
		cr_expect_eq(m->services_cnt, rows[i].left, "%s", rows[i].name);
		cr_expect_eq(m->samples_cnt + m->samples_gone, samples, "%s", rows[i].name);
		if (rows[i].left) {
			cr_expect_eq(m->slices[0].start_ns, start_ns, "%s", rows[i].name);
			cr_expect_eq(m->accounts[0].slice, 0, "%s", rows[i].name);
			cr_expect_eq(m->accounts[m->accounts_cnt - 1].slice, rows[i].left - 1, "%s",
				     rows[i].name);
			cr_expect_geq(m->samples[0].time_ns, start_ns, "%s", rows[i].name);
		} else {
			cr_expect_eq(m->samples_cnt, 0, "%s", rows[i].name);
		}
		model_free(m);
	}
}

Test(slices, a_sample_that_came_late_goes_with_those_around_it)
{
	struct watched_host host = seconds(4);
	struct model *m = host.m;
	size_t in_slice = 4 + 1;

	/* 4 of the first slice, then a late one of it with the second's: it stays until those
	 * go. */
	model_forget_before(m, 1);
	cr_expect_eq(m->samples_gone, in_slice);
	model_forget_before(m, 1);
	cr_expect_eq(m->samples_gone, 2 * in_slice);
	model_free(m);
}

Test(slices, the_one_that_is_being_filled_keeps_what_it_has)
{
	struct watched_host host = seconds(3);
	size_t samples;

	samples = host.m->samples_cnt;
	watched_host_begin(&host);
	samples = host.m->samples_cnt - samples;
	model_forget_before(host.m, 3);
	cr_expect_eq(host.m->slices_cnt, 1);
	cr_expect_geq(host.m->samples_cnt, samples - 1);
	cr_expect_eq(host.m->slices[0].end_ns, 0);
	model_free(host.m);
}

/* As a ring does it: the newest slice always has the same number. */
static void next_slice(struct model *m, uint32_t keep)
{
	struct model_slice slice = {.start_ns =
					    m->slices[m->slices_cnt - 1].start_ns + FEED_SECOND};

	m->slices[m->slices_cnt - 1].end_ns = slice.start_ns;
	if (m->slices_cnt > keep)
		model_forget_before(m, (uint32_t)m->slices_cnt - keep);
	cr_assert_eq(model_slice_add(m, &slice), 0);
}

Test(slices, an_account_goes_to_its_own_slice_although_numbers_come_again)
{
	struct feed f = feed_new(1);
	uint64_t on_cpu_ns = 0;

	for (uint64_t i = 0; i < 8; i++) {
		/* One more thread each second, so that rows shift. */
		for (uint64_t k = 0; k < 2; k++)
			feed_account_at(&f, 10, 10 + (uint32_t)k, FEED_SECOND, FEED_SECOND + k,
					on_cpu_ns, FEED_START + i * FEED_SECOND);
		on_cpu_ns += 1000;
		next_slice(f.m, 3);
	}
	for (size_t i = 0; i < f.m->accounts_cnt; i++)
		cr_expect_eq(f.m->accounts[i].sched.on_cpu_ns, 1000, "row %zu of slice %u: %llu", i,
			     f.m->accounts[i].slice,
			     (unsigned long long)f.m->accounts[i].sched.on_cpu_ns);
	cr_expect_eq(f.m->accounts_cnt, 3 * 2);
	feed_free(&f);
}

Test(slices, waiting_goes_to_its_own_slice_although_numbers_come_again)
{
	struct feed f = feed_new(1);
	struct contention_book book = {0};

	/* The first slices have none, so that nothing is dropped with them. */
	for (int i = 0; i < 3; i++)
		next_slice(f.m, 3);
	for (int i = 0; i < 3; i++) {
		contention_book_add(&book, f.m, 1, 2, 100);
		contention_book_add(&book, f.m, 1, 2, 100);
		next_slice(f.m, 3);
	}
	cr_assert_eq(f.m->contentions_cnt, 3);
	for (size_t i = 0; i < 3; i++) {
		cr_expect_eq(f.m->contentions[i].weight, 200);
		cr_expect_eq(f.m->contentions[i].slice, i);
	}
	contention_book_clear(&book);
	feed_free(&f);
}

Test(slices, bytes_are_those_of_slices_and_of_the_rest)
{
	struct watched_host host = seconds(10);
	size_t ten = model_slice_bytes(host.m), rest = model_bytes(host.m);

	cr_expect_gt(ten, host.m->accounts_cnt * sizeof(*host.m->accounts));
	cr_expect_gt(rest, host.m->threads_cnt * sizeof(*host.m->threads));
	model_forget_before(host.m, 5);
	cr_expect_lt(model_slice_bytes(host.m), ten * 6 / 10);
	cr_expect_eq(model_bytes(host.m), rest);
	model_forget_before(host.m, 5);
	cr_expect_eq(model_slice_bytes(host.m), 0);
	model_string(host.m, "a process renames itself", 24);
	cr_expect_gt(model_bytes(host.m), rest + 24);
	model_free(host.m);
}

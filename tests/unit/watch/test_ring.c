/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last minute in memory, over simulated days: how much is kept, for how long, across
 * renewals. */
#include <criterion/criterion.h>

#include <errno.h>

#include "watch/ring.h"
#include "watched_host.h"

#define KEEP_NS	   (60 * WATCHED_SECOND)
#define MANY_BYTES (1ull << 30)

static struct ring *new_ring(uint64_t keep_ns, size_t bytes_max)
{
	const struct ring_options options = {keep_ns, bytes_max};
	struct ring *r = ring_new(&options);

	cr_assert(r);
	return r;
}

static uint64_t now_ns(const struct watched_host *host)
{
	return host->m->host.end_ns;
}

/* Every row of slices names a slice that is there, and every sample lies in one. */
static void expect_sound(const struct model *m)
{
	for (size_t i = 0; i < m->accounts_cnt; i++)
		cr_assert_lt(m->accounts[i].slice, m->slices_cnt);
	for (size_t i = 0; i < m->losses_cnt; i++)
		cr_assert_lt(m->losses[i].slice, m->slices_cnt);
	for (size_t i = 1; i < m->slices_cnt; i++)
		cr_assert_eq(m->slices[i].start_ns, m->slices[i - 1].end_ns);
	for (size_t i = 0; i < m->samples_cnt; i++)
		cr_assert_geq(m->samples[i].time_ns, m->slices[0].start_ns - WATCHED_SECOND / 100);
}

static size_t slices_of(const struct ring *r, const struct model *live, uint64_t from_ns)
{
	struct extract *x = extract_new();
	size_t cnt;

	cr_assert_eq(ring_extract(r, live, from_ns, x), 0);
	cnt = extract_model(x)->slices_cnt;
	extract_free(x);
	return cnt;
}

Test(ring, keeps_a_minute_for_days)
{
	struct watched_host host = watched_host_new(2, 3, 0);
	struct ring *r = new_ring(KEEP_NS, MANY_BYTES);
	uint64_t dropped = 0;
	size_t bytes = 0;

	/* Seconds stand for seconds: what a second does is the same on the third day. */
	for (uint64_t i = 0; i < 5000; i++) {
		watched_host_slice(&host);
		dropped += ring_slice(r, host.m);
		cr_assert_eq(dropped + host.m->slices_cnt, i + 1, "slices went another way");
		if (i == 200)
			bytes = ring_bytes(r, host.m);
		if (i < 60)
			cr_assert_eq(host.m->slices_cnt, i + 1);
		else
			cr_assert(host.m->slices_cnt >= 60 && host.m->slices_cnt <= 68, "%zu",
				  host.m->slices_cnt);
		if (i % 97 == 0)
			expect_sound(host.m);
	}
	cr_expect_leq(ring_bytes(r, host.m), bytes + bytes / 5);
	cr_expect_eq(ring_from_ns(r, host.m), host.m->slices[0].start_ns);
	cr_expect_eq(slices_of(r, host.m, now_ns(&host) - 15 * WATCHED_SECOND), 15);
	cr_expect_eq(slices_of(r, host.m, now_ns(&host) - 15 * WATCHED_SECOND - 1), 16);
	cr_expect_eq(slices_of(r, host.m, now_ns(&host)), 0);
	cr_expect_eq(slices_of(r, host.m, 0), host.m->slices_cnt);
	ring_free(r);
	model_free(host.m);
}

Test(ring, the_slice_that_is_being_filled_is_not_given)
{
	struct watched_host host = watched_host_new(2, 3, 0);
	struct ring *r = new_ring(KEEP_NS, MANY_BYTES);

	watched_host_begin(&host);
	cr_expect_eq(slices_of(r, host.m, 0), 0);
	cr_expect_eq(ring_from_ns(r, host.m), 0);
	watched_host_end(&host);
	ring_slice(r, host.m);
	watched_host_begin(&host);
	cr_expect_eq(slices_of(r, host.m, 0), 1);
	ring_free(r);
	model_free(host.m);
}

Test(ring, too_many_bytes_cost_the_oldest)
{
	static const size_t bounds[] = {0, 4000, 20000, 60000};

	for (size_t k = 0; k < sizeof(bounds) / sizeof(bounds[0]); k++) {
		struct watched_host host = watched_host_new(2, 3, 0);
		struct ring *r = new_ring(KEEP_NS, bounds[k]);

		for (int i = 0; i < 300; i++) {
			watched_host_slice(&host);
			ring_slice(r, host.m);
			cr_assert(ring_bytes(r, host.m) <= bounds[k] || host.m->slices_cnt == 1,
				  "%zu of %zu bytes", ring_bytes(r, host.m), bounds[k]);
			cr_assert_geq(host.m->slices_cnt, 1);
		}
		expect_sound(host.m);
		cr_expect_eq(now_ns(&host), host.m->slices[host.m->slices_cnt - 1].end_ns);
		ring_free(r);
		model_free(host.m);
	}
}

Test(ring, new_bounds_count_from_the_next_slice_on)
{
	struct watched_host host = watched_host_new(2, 3, 0);
	struct ring *r = new_ring(KEEP_NS, MANY_BYTES);
	const struct ring_options less = {10 * WATCHED_SECOND, MANY_BYTES};

	for (int i = 0; i < 100; i++) {
		watched_host_slice(&host);
		ring_slice(r, host.m);
	}
	ring_set(r, &less);
	cr_expect_geq(host.m->slices_cnt, 60);
	watched_host_slice(&host);
	ring_slice(r, host.m);
	cr_expect_eq(host.m->slices_cnt, 10);
	ring_free(r);
	model_free(host.m);
}

Test(ring, a_model_that_goes_away_leaves_what_is_young)
{
	struct watched_host host = watched_host_new(3, 3, 0);
	struct ring *r = new_ring(KEEP_NS, MANY_BYTES);
	struct extract *x = extract_new();
	const struct model *m = extract_model(x);

	/* Renewed every 25 seconds, so that three models make up the minute. */
	for (uint64_t i = 1; i <= 500; i++) {
		watched_host_slice(&host);
		ring_slice(r, host.m);
		if (i % 25 == 0) {
			cr_assert_eq(ring_retire(r, host.m), 0);
			model_free(host.m);
			host = watched_host_new(3, 3, host.second);
		}
		/* The time is kept whatever happened to the model. */
		cr_assert_leq(ring_from_ns(r, host.m),
			      WATCHED_START_NS + (i > 60 ? i - 60 : 0) * WATCHED_SECOND);
		cr_assert_geq(ring_from_ns(r, host.m) + 69 * WATCHED_SECOND,
			      WATCHED_START_NS + i * WATCHED_SECOND);
	}
	watched_host_slice(&host);
	ring_slice(r, host.m);
	cr_assert_eq(ring_extract(r, host.m, now_ns(&host) - 40 * WATCHED_SECOND, x), 0);
	cr_expect_eq(m->slices_cnt, 40);
	for (size_t i = 1; i < m->slices_cnt; i++)
		cr_expect_eq(m->slices[i].start_ns, m->slices[i - 1].end_ns);
	cr_expect_eq(m->processes_cnt, 3 + 40, "services once: %zu", m->processes_cnt);
	extract_free(x);
	ring_free(r);
	model_free(host.m);
}

Test(ring, what_is_kept_of_the_past_does_not_grow_with_renewals)
{
	struct watched_host host = watched_host_new(3, 3, 0);
	struct ring *r = new_ring(KEEP_NS, MANY_BYTES);
	struct extract *x;
	size_t first = 0, last = 0;

	for (uint64_t i = 1; i <= 1000; i++) {
		watched_host_slice(&host);
		ring_slice(r, host.m);
		if (i % 20)
			continue;
		cr_assert_eq(ring_retire(r, host.m), 0);
		model_free(host.m);
		host = watched_host_new(3, 3, host.second);
		x = extract_new();
		cr_assert_eq(ring_extract(r, host.m, 0, x), 0);
		last = extract_model(x)->processes_cnt + extract_model(x)->locations_cnt +
		       extract_model(x)->mappings_cnt;
		if (i == 100)
			first = last;
		extract_free(x);
	}
	cr_expect_leq(last, first + 20, "%zu, then %zu rows", first, last);
	ring_free(r);
	model_free(host.m);
}

Test(ring, nothing_to_keep_is_no_error)
{
	struct watched_host host = watched_host_new(2, 2, 0);
	struct ring *r = new_ring(KEEP_NS, MANY_BYTES);

	cr_expect_eq(ring_slice(r, host.m), 0);
	cr_expect_eq(ring_retire(r, host.m), 0);
	cr_expect_eq(ring_from_ns(r, host.m), 0);
	cr_expect_eq(slices_of(r, host.m, 0), 0);
	ring_free(r);
	ring_free(NULL);
	model_free(host.m);
}

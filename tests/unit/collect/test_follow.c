/* SPDX-License-Identifier: GPL-2.0-or-later */
/* On how many connections requests are followed. */
#include <criterion/criterion.h>

#include "collect/follow.h"

#define SECOND 1000000000ull
#define MOST   4000u
#define MANY   100000u /* connections */

/* Two of one group, and one of another. */
enum { BUSY = 5 * FOLLOW_PORTS + 1, SMALL = 5 * FOLLOW_PORTS + 7, OTHER = FOLLOW_BUCKETS - 1 };

/* A bucket that serves at that rate, all connections alike: so many of its requests are seen in a
 * second. */
struct load {
	unsigned int bucket;
	uint64_t rate;
};

static void seconds(struct follow *f, unsigned int cnt, const struct load *loads, size_t loads_cnt)
{
	for (; cnt; cnt--) {
		struct follow_seen seen[FOLLOW_BUCKETS] = {0};

		for (size_t i = 0; i < loads_cnt; i++) {
			unsigned int shift = f->buckets[loads[i].bucket].shift;

			seen[loads[i].bucket] = (struct follow_seen){
				(uint32_t)(loads[i].rate >> shift), MANY >> shift};
		}
		follow_next(f, seen, SECOND);
	}
}

#define SECONDS(f, cnt, ...)                                \
	seconds(f, cnt, (const struct load[]){__VA_ARGS__}, \
		sizeof((const struct load[]){__VA_ARGS__}) / sizeof(struct load))

/* One bucket alone. */
static unsigned int second(struct follow *f, uint64_t rate)
{
	SECONDS(f, 1, {BUSY, rate});
	return f->buckets[BUSY].shift;
}

static unsigned int after(struct follow *f, uint32_t seen, uint64_t elapsed_ns)
{
	struct follow_seen all[FOLLOW_BUCKETS] = {[BUSY] = {seen, MANY}};

	follow_next(f, all, elapsed_ns);
	return f->buckets[BUSY].shift;
}

Test(follow, all_are_followed_up_to_the_bound)
{
	struct follow f = {.most = MOST};

	for (int i = 0; i < 100; i++)
		cr_expect_eq(second(&f, MOST), 0);
	cr_expect_eq(follow_most_shift(&f), 0);
}

Test(follow, beyond_it_as_few_at_once_as_keep_it)
{
	static const struct {
		uint64_t rate;
		unsigned int shift;
	} rows[] = {{4001, 1},
		    {8000, 1},
		    {8001, 2},
		    {40000, 4},
		    {64000, 4},
		    {100000, 5},
		    {100000000, FOLLOW_SHIFT_MAX}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct follow f = {.most = MOST};

		cr_expect_eq(second(&f, rows[i].rate), rows[i].shift, "%zu", i);
		for (int k = 0; k < 30; k++)
			cr_expect_eq(second(&f, rows[i].rate), rows[i].shift, "%zu: to and fro", i);
		cr_expect_eq(follow_most_shift(&f), rows[i].shift);
	}
}

Test(follow, the_length_of_the_stretch_counts)
{
	struct follow f = {.most = MOST};

	cr_expect_eq(after(&f, 10000, 5 * SECOND), 0);
	cr_expect_eq(after(&f, 1000, SECOND / 10), 2);
	cr_expect_eq(after(&f, 1000000, 0), 2, "a stretch of no length says nothing");
}

Test(follow, calm_brings_connections_back_one_step_in_ten_seconds)
{
	struct follow f = {.most = MOST};

	second(&f, 100000);
	for (unsigned int shift = 5; shift > 0; shift--) {
		for (int i = 0; i < 9; i++)
			cr_expect_eq(second(&f, 100), shift);
		cr_expect_eq(second(&f, 100), shift - 1);
	}
	for (int i = 0; i < 30; i++)
		cr_expect_eq(second(&f, 100), 0);
}

Test(follow, a_busy_second_begins_the_calm_anew)
{
	struct follow f = {.most = MOST};

	second(&f, 8000);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 9; i++)
			cr_expect_eq(second(&f, 1000), 1);
		cr_expect_eq(second(&f, 2 * 1600), 1);
	}
}

/* What is just below the bound with twice as many connections must not bring them in. */
Test(follow, there_is_room_for_chance_after_a_step_back)
{
	struct follow f = {.most = MOST};

	second(&f, 8000);
	for (int i = 0; i < 60; i++)
		cr_expect_eq(second(&f, 3300), 1);
	for (int i = 0; i < 10; i++)
		second(&f, 3100);
	cr_expect_eq(f.buckets[BUSY].shift, 0);
	cr_expect_eq(second(&f, 3100 * 5 / 4), 0);
}

Test(follow, without_a_bound_all_are_followed)
{
	struct follow f = {.most = MOST};

	cr_expect_eq(second(&f, 100000), 5);
	f.most = 0;
	cr_expect_eq(second(&f, 100000), 0);
}

/* --- several buckets ------------------------------------------------------------------------- */

/* However much the busy one has, and for however long. */
Test(follow, the_heavy_bucket_alone_is_left_out)
{
	for (uint64_t rate = 4000; rate <= 200000; rate += 3500) {
		struct follow f = {.most = MOST};

		SECONDS(&f, 60, {BUSY, rate}, {SMALL, 300}, {OTHER, 20});
		cr_expect_gt(f.buckets[BUSY].shift, 0);
		cr_expect_eq(f.buckets[SMALL].shift, 0);
		cr_expect_eq(f.buckets[OTHER].shift, 0);
		cr_expect_leq((rate >> f.buckets[BUSY].shift) + 320, MOST);
	}
}

Test(follow, the_sum_of_many_stays_within_the_bound)
{
	enum { CNT = FOLLOW_BUCKETS / 4 };
	struct load loads[CNT];
	struct follow f = {.most = MOST};
	uint64_t sum = 0, least = UINT64_MAX, largest = 0;

	for (unsigned int i = 0; i < CNT; i++)
		loads[i] = (struct load){4 * i, 64 * (1 + i % 7)};
	seconds(&f, 60, loads, CNT);
	for (unsigned int i = 0; i < CNT; i++) {
		uint64_t seen = loads[i].rate >> f.buckets[loads[i].bucket].shift;

		sum += seen;
		least = seen < least ? seen : least;
		largest = seen > largest ? seen : largest;
	}
	cr_expect_leq(sum, MOST);
	cr_expect_geq(sum, MOST / 2);
	cr_expect_leq(largest, 4 * least, "nobody gives up much more than others");
}

Test(follow, two_that_are_alike_give_up_alike)
{
	struct follow f = {.most = MOST};

	SECONDS(&f, 30, {BUSY, 16000}, {OTHER, 16000});
	cr_expect_eq(f.buckets[BUSY].shift, 3);
	cr_expect_eq(f.buckets[OTHER].shift, 3);
}

/* One that was busy comes back, though another one fills the bound by now. */
Test(follow, a_light_bucket_comes_back_beside_a_heavy_one)
{
	struct follow f = {.most = MOST};

	SECONDS(&f, 5, {SMALL, 100000});
	cr_expect_eq(f.buckets[SMALL].shift, 5);
	SECONDS(&f, 49, {BUSY, 3900}, {SMALL, 500});
	cr_expect_eq(f.buckets[SMALL].shift, 1, "a step in ten seconds");
	SECONDS(&f, 20, {BUSY, 3900}, {SMALL, 500});
	cr_expect_eq(f.buckets[SMALL].shift, 0);
	cr_expect_eq(f.buckets[BUSY].shift, 1);
	for (int i = 0; i < 60; i++) {
		SECONDS(&f, 1, {BUSY, 3900}, {SMALL, 500});
		cr_expect_eq(f.buckets[SMALL].shift, 0, "to and fro");
		cr_expect_eq(f.buckets[BUSY].shift, 1, "to and fro");
	}
}

Test(follow, when_the_heavy_one_is_gone_it_comes_back_too)
{
	struct follow f = {.most = MOST};

	SECONDS(&f, 5, {BUSY, 100000}, {SMALL, 500});
	SECONDS(&f, 60, {SMALL, 500});
	cr_expect_eq(follow_most_shift(&f), 0);
}

/* Each of its buckets has less than the other group's one. */
Test(follow, who_fills_all_buckets_of_a_group_leaves_others_seen)
{
	struct load loads[FOLLOW_PORTS + 1];
	struct follow f = {.most = MOST};

	for (unsigned int i = 0; i < FOLLOW_PORTS; i++)
		loads[i] = (struct load){5 * FOLLOW_PORTS + i, 1200};
	loads[FOLLOW_PORTS] = (struct load){OTHER, 1500};
	seconds(&f, 100, loads, FOLLOW_PORTS + 1);
	cr_expect_eq(f.buckets[OTHER].shift, 0);
	for (unsigned int i = 0; i < FOLLOW_PORTS; i++)
		cr_expect_geq(f.buckets[loads[i].bucket].shift, 3);
}

/* All of a bucket's requests are on one connection, which is followed up to a shift. */
static unsigned int one_connection(struct follow *f, uint32_t rate, unsigned int up_to)
{
	struct follow_seen seen[FOLLOW_BUCKETS] = {0};

	if (f->buckets[BUSY].shift <= up_to)
		seen[BUSY] = (struct follow_seen){rate, 1};
	seen[OTHER] = (struct follow_seen){300u >> f->buckets[OTHER].shift, 10};
	follow_next(f, seen, SECOND);
	cr_expect_eq(f->buckets[OTHER].shift, 0, "it is the others' cost");
	return seen[BUSY].requests;
}

Test(follow, the_only_connection_that_asks_is_seen)
{
	for (unsigned int up_to = 0; up_to <= 3; up_to++) {
		struct follow f = {.most = MOST};
		unsigned int seen = 0;

		for (int i = 0; i < 240; i++)
			seen += one_connection(&f, 50000, up_to) > 0;
		cr_expect_geq(seen, 240 - 4 * 7, "%u: in %u of 240 seconds", up_to, seen);
	}
}

Test(follow, what_is_pinned_gives_up_when_much_more_comes)
{
	struct follow f = {.most = MOST};

	for (int i = 0; i < 10; i++)
		one_connection(&f, 29000, 0);
	cr_expect_eq(f.buckets[BUSY].shift, 0);
	one_connection(&f, 32000, 0);
	cr_expect_eq(f.buckets[BUSY].shift, 0);
	SECONDS(&f, 1, {BUSY, 100000});
	cr_expect_eq(f.buckets[BUSY].shift, 5);
}

Test(follow, silence_brings_connections_back_and_pins_nothing)
{
	struct follow f = {.most = MOST};

	for (unsigned int pause = 1; pause <= 20; pause++) {
		second(&f, 100000);
		SECONDS(&f, pause, {OTHER, 1});
		cr_expect_eq(f.buckets[BUSY].shift, pause < 5 ? 5 - pause : 0);
		cr_expect_eq(second(&f, 100000), 5, "after %u s", pause);
	}
}

/* So many connections, each with as many requests. */
static unsigned int few_connections(struct follow *f, uint32_t connections, uint32_t each)
{
	struct follow_seen seen[FOLLOW_BUCKETS] = {0};
	uint32_t are = connections >> f->buckets[BUSY].shift;

	seen[BUSY] = (struct follow_seen){are * each, are};
	seen[OTHER] = (struct follow_seen){300u >> f->buckets[OTHER].shift, 10};
	follow_next(f, seen, SECOND);
	cr_expect_eq(f->buckets[OTHER].shift, 0, "who has little is seen whole");
	return f->buckets[BUSY].shift;
}

Test(follow, some_connections_are_kept_however_much_they_ask)
{
	static const struct {
		uint32_t connections, each;
		unsigned int shift;
	} rows[] = {{16, 3000, 2}, {7, 2000, 0}, {64, 1000, 4}, {16, 100, 0}, {8, 2000, 1}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct follow f = {.most = MOST};

		for (int k = 0; k < 60; k++)
			cr_expect_eq(few_connections(&f, rows[i].connections, rows[i].each),
				     rows[i].shift, "%zu in second %d", i, k);
	}
}

/* Four times the bound is for them, and no more. */
Test(follow, of_few_connections_with_too_many_requests_fewer_are_kept)
{
	struct follow f = {.most = MOST};

	for (int k = 0; k < 60; k++)
		cr_expect_eq(few_connections(&f, 16, 15000), 4, "second %d", k);
}

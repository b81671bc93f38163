/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Large and absurd maps: what a look-up and an entry may cost. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <time.h>

#include "perfmap/maps/map.h"

Test(perfmap_map_cost, absurd_overlap_does_not_make_look_ups_linear)
{
	enum { CNT = 200000, LOOK_UPS = 200 };
	struct perfmap *map = perfmap_new();
	struct timespec t0, t1;
	struct perfmap_hit hit;
	uint64_t offset = 0;
	char line[80];
	int i, n;

	for (i = 0; i < CNT; i++) {
		n = sprintf(line, "0x%lx ffffff void [a] X::M%d()\n", 0x7f0000000000ul + i, i);
		cr_assert_eq(perfmap_feed(map, line, (size_t)n, offset, 1), 0);
		offset += (uint64_t)n;
	}
	cr_assert_eq(perfmap_find(map, 0x7f0000000000ul + CNT, 1, &hit), 0);
	cr_expect_eq(hit.start, 0x7f0000000000ul + CNT - 1);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
	for (i = 0; i < LOOK_UPS; i++)
		perfmap_find(map, 0x7f0000000000ul + CNT + 5u * (unsigned int)i, 1, &hit);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
	cr_expect_eq(perfmap_counters(map).cut_scans, LOOK_UPS + 1);
	/* 200,000 rows a look-up would take seconds under the sanitizers; this takes ms. */
	cr_expect_lt((double)(t1.tv_sec - t0.tv_sec) + (double)(t1.tv_nsec - t0.tv_nsec) / 1e9,
		     0.5);
	perfmap_free(map);
}

Test(perfmap_map_cost, an_address_reused_without_end_is_found_at_once)
{
	enum { CNT = 100000 };
	struct perfmap *map = perfmap_new();
	struct perfmap_hit hit;
	uint64_t offset = 0;
	char line[80];
	int i, n;

	for (i = 0; i < CNT; i++) {
		n = sprintf(line, "0x7f00%08x 40 int32 [a] dynamicClass::m%d()\n",
			    (unsigned int)(i % 7) * 64, i);
		cr_assert_eq(perfmap_feed(map, line, (size_t)n, offset, (uint64_t)i), 0);
		offset += (uint64_t)n;
	}
	for (i = 7; i < CNT; i += 997) {
		cr_assert_eq(perfmap_find(map, 0x7f0000000000ul + 3 * 64, (uint64_t)i, &hit), 0);
		cr_expect(!hit.later && hit.seen_ns <= (uint64_t)i && hit.seen_ns + 7 > (uint64_t)i,
			  "%d: %lu", i, hit.seen_ns);
	}
	cr_expect_eq(perfmap_counters(map).cut_scans, 0);
	perfmap_free(map);
}

Test(perfmap_map_cost, stays_within_32_bytes_an_entry)
{
	struct perfmap *map = perfmap_new();
	struct perfmap_hit hit;
	uint64_t offset = 0;
	char line[80];
	unsigned int i;
	int n;

	for (i = 0; i < 100000; i++) {
		n = sprintf(line, "0x%lx 40 void [a] X::M%u()\n",
			    0x7f0000000000ul + i * 77777u % 100000u * 64ul, i);
		cr_assert_eq(perfmap_feed(map, line, (size_t)n, offset, i / 1000), 0);
		offset += (uint64_t)n;
	}
	cr_assert_eq(perfmap_find(map, 0x7f0000000000ul, UINT64_MAX, &hit), 0);
	cr_expect_eq(perfmap_entries(map), 100000);
	cr_expect_leq(perfmap_memory_bytes(map) / 100000.0, 32.0, "%zu", perfmap_memory_bytes(map));
	perfmap_free(map);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A native program with a known split: 70 % of its CPU time in one static function, 30 % in
 * another.
 *
 *   native SECONDS
 *
 * Slots of 1-5 ms of CPU time; whoever is behind its share gets the next one.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* About 50 us between two looks at the clock. */
static inline __attribute__((always_inline)) uint64_t spin(uint64_t x)
{
	for (int i = 0; i < 25000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

static __attribute__((noinline)) uint64_t inner_hot(uint64_t x, uint64_t end_ns)
{
	do
		x = spin(x);
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns);
	return x;
}

static __attribute__((noinline)) uint64_t inner_cold(uint64_t x, uint64_t end_ns)
{
	do
		x = spin(x);
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns);
	return x + 1;
}

static __attribute__((noinline)) uint64_t outer(uint64_t x, uint64_t *hot_ns, uint64_t *cold_ns)
{
	uint64_t start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t slot_ns = 1000000 + (uint64_t)(rand() % 4000000);

	if (*hot_ns * 3 <= *cold_ns * 7) {
		x = inner_hot(x, start_ns + slot_ns);
		*hot_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
	} else {
		x = inner_cold(x, start_ns + slot_ns);
		*cold_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
	}
	return x;
}

int main(int argc, char **argv)
{
	uint64_t x = 88172645463325252u, hot_ns = 0, cold_ns = 0, end_ns;

	if (argc != 2) {
		fprintf(stderr, "usage: native SECONDS\n");
		return 2;
	}
	end_ns = clock_ns(CLOCK_MONOTONIC) + (uint64_t)(atof(argv[1]) * 1e9);
	while (clock_ns(CLOCK_MONOTONIC) < end_ns)
		x = outer(x, &hot_ns, &cold_ns);
	printf("truth: %llu %llu\n", (unsigned long long)hot_ns, (unsigned long long)cold_ns);
	return x == 0;
}

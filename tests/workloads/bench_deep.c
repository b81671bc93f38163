/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fixed amount of work at the bottom of a deep stack, of 40 frames if nothing else is said;
 * nothing sleeps. Built with frame pointers, and as chain-deep without.
 *
 *   bench_deep UNITS [DEPTH]    prints "PID SECONDS": its own pid, wall time that the work took
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define DEPTH	 "40"
#define UNIT_OPS 1000000u

static volatile uint64_t sink;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static uint64_t work(uint64_t units)
{
	uint64_t x = 88172645463325252;

	for (uint64_t i = 0; i < units * UNIT_OPS; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

/* The addition after the call keeps it from becoming a jump. */
__attribute__((noinline, noclone)) static uint64_t descend(int depth, uint64_t units)
{
	uint64_t result = depth ? descend(depth - 1, units) : work(units);

	sink += result;
	return result + 1;
}

int main(int argc, char **argv)
{
	double start_s;

	if (argc < 2 || argc > 3 || atol(argv[1]) <= 0) {
		fprintf(stderr, "usage: bench_deep UNITS [DEPTH]\n");
		return 2;
	}
	start_s = now_s();
	descend(atoi(argc > 2 ? argv[2] : DEPTH), (uint64_t)atol(argv[1]));
	printf("%d %.6f\n", (int)getpid(), now_s() - start_s);
	return 0;
}

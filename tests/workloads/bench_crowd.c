/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A crowd of processes: some sleep and wake ten times a second, some compute without end.
 *
 *   bench_crowd SLEEPERS SPINNERS   prints "ready", runs until it is ended; the crowd ends with it
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define MAX_CROWD 4096

static volatile uint64_t sink;

/* Stacks of many shapes and depths: the way down is drawn from `seed`. */
__attribute__((noinline, noclone)) static uint64_t left(uint64_t seed, int depth);

__attribute__((noinline, noclone)) static uint64_t right(uint64_t seed, int depth)
{
	uint64_t x = seed | 1;

	if (depth)
		return left(seed >> 1, depth - 1) + 1;
	for (int i = 0; i < 20000; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

static uint64_t left(uint64_t seed, int depth)
{
	uint64_t x = depth ? (seed & 1 ? left(seed >> 1, depth - 1) : right(seed >> 1, depth - 1))
			   : right(seed, 0);

	sink += x;
	return x + 1;
}

static void spin(uint64_t number)
{
	for (uint64_t n = number;; n++)
		sink += left(n % 16, 4 + (int)(n % 3));
}

static void doze(void)
{
	for (;;) {
		nanosleep(&(struct timespec){0, 100000000}, NULL);
		sink++;
	}
}

static int join(uint64_t number, int spins)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid < 0 ? -1 : 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	if (spins)
		spin(number);
	doze();
	_exit(0);
}

int main(int argc, char **argv)
{
	int sleepers = argc == 3 ? atoi(argv[1]) : -1, spinners = argc == 3 ? atoi(argv[2]) : -1;

	if (sleepers < 0 || spinners < 0 || sleepers > MAX_CROWD || spinners > MAX_CROWD) {
		fprintf(stderr, "usage: bench_crowd SLEEPERS SPINNERS\n");
		return 2;
	}
	for (int i = 0; i < sleepers + spinners; i++) {
		if (join((uint64_t)i, i >= sleepers)) {
			perror("fork");
			return 1;
		}
	}
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}

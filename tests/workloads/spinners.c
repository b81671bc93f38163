/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that never sleep: more runnable threads than CPUs. With PERCENT they use so much of
 * each 20 ms.
 *
 *   spinners THREADS SECONDS [PERCENT]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_US 20000

static volatile int stop;
static int percent = 100;

/* Its own CPU time: who waits for a CPU has not worked yet. */
static long used_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void *spin(void *counter)
{
	unsigned long long n = 0;
	long rest_us = PERIOD_US / 100 * (100 - percent), end_us = used_us() + PERIOD_US - rest_us;

	while (!stop) {
		n++;
		if (!rest_us || n % 10000 || used_us() < end_us)
			continue;
		usleep((useconds_t)rest_us);
		end_us = used_us() + PERIOD_US - rest_us;
	}
	*(unsigned long long *)counter = n;
	return NULL;
}

int main(int argc, char **argv)
{
	int cnt = argc == 3 || argc == 4 ? atoi(argv[1]) : 0;
	unsigned long long *counters;
	pthread_t *threads;

	if (argc == 4)
		percent = atoi(argv[3]);
	if (cnt < 1 || percent < 1 || percent > 100) {
		fprintf(stderr, "usage: spinners THREADS SECONDS [PERCENT]\n");
		return 2;
	}
	threads = calloc((size_t)cnt, sizeof(*threads));
	counters = calloc((size_t)cnt, sizeof(*counters));
	if (!threads || !counters)
		return 1;
	for (int i = 0; i < cnt; i++)
		if (pthread_create(&threads[i], NULL, spin, &counters[i]))
			return 1;
	usleep((useconds_t)(atof(argv[2]) * 1e6));
	stop = 1;
	for (int i = 0; i < cnt; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	free(counters);
	return 0;
}

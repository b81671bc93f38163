/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that never sleep: more runnable threads than CPUs.
 *
 *   spinners THREADS SECONDS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int stop;

static void *spin(void *counter)
{
	unsigned long long n = 0;

	while (!stop)
		n++;
	*(unsigned long long *)counter = n;
	return NULL;
}

int main(int argc, char **argv)
{
	int cnt = argc == 3 ? atoi(argv[1]) : 0;
	unsigned long long *counters;
	pthread_t *threads;

	if (cnt < 1) {
		fprintf(stderr, "usage: spinners THREADS SECONDS\n");
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

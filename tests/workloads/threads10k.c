/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One process with very many threads: most sleep, one in a thousand spins.
 *
 *   threads10k THREADS SECONDS
 *
 * Prints how many threads it has when all run.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int stop;

static void *sleep_on(void *nothing)
{
	(void)nothing;
	while (!stop)
		usleep(2000000);
	return NULL;
}

static void *spin(void *nothing)
{
	(void)nothing;
	while (!stop)
		;
	return NULL;
}

int main(int argc, char **argv)
{
	int cnt = argc == 3 ? atoi(argv[1]) : 0, made = 0;
	pthread_attr_t attr;
	pthread_t thread;

	if (cnt < 1) {
		fprintf(stderr, "usage: threads10k THREADS SECONDS\n");
		return 2;
	}
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < cnt; i++)
		made += !pthread_create(&thread, &attr, i % 1000 ? sleep_on : spin, NULL);
	printf("threads: %d\n", made + 1);
	fflush(stdout);
	usleep((useconds_t)(atof(argv[2]) * 1e6));
	stop = 1;
	_exit(0);
}

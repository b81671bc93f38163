/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One process with very many threads: most sleep, two seconds at a time, one in a thousand spins;
 * with `asleep` all of them only sleep.
 *
 *   threads10k THREADS SECONDS [asleep]
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

static void *sleep_for_good(void *nothing)
{
	pause();
	return nothing;
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
	int cnt = argc == 3 || argc == 4 ? atoi(argv[1]) : 0, made = 0;
	void *(*most)(void *) = argc == 4 ? sleep_for_good : sleep_on;
	pthread_attr_t attr;
	pthread_t thread;

	if (cnt < 1) {
		fprintf(stderr, "usage: threads10k THREADS SECONDS [asleep]\n");
		return 2;
	}
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < cnt; i++)
		made += !pthread_create(&thread, &attr, argc == 4 || i % 1000 ? most : spin, NULL);
	printf("threads: %d\n", made + 1);
	fflush(stdout);
	usleep((useconds_t)(atof(argv[2]) * 1e6));
	stop = 1;
	_exit(0);
}

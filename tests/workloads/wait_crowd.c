/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Very many threads that sleep briefly, again and again, and one whose sleep lasts.
 *
 *	wait_crowd SECONDS THREADS BRIEF_MS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long brief_ns;

static void sleep_ns(long ns)
{
	struct timespec pause = {ns / 1000000000, ns % 1000000000};

	nanosleep(&pause, NULL);
}

__attribute__((noinline)) void wait_briefly(void)
{
	sleep_ns(brief_ns);
	__asm__ volatile("");
}

__attribute__((noinline)) void wait_long(void)
{
	sleep_ns(5000000000L);
	__asm__ volatile("");
}

static void *brief(void *unused)
{
	for (;;)
		wait_briefly();
	return unused;
}

static void *lasting(void *unused)
{
	for (;;)
		wait_long();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (argc < 4)
		return 2;
	brief_ns = atol(argv[3]) * 1000000;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (long i = atol(argv[2]); i > 0; i--)
		if (pthread_create(&thread, &attr, brief, NULL))
			return 1;
	if (pthread_create(&thread, &attr, lasting, NULL))
		return 1;
	puts("ready");
	fflush(stdout);
	sleep((unsigned int)atoi(argv[1]));
	_exit(0);
}

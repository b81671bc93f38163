/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spin NAME CPU SECONDS [SLEEP_US [THREADS]]: a process of that name computes on that CPU (and
 * moves where the kernel puts it when the CPU goes), with a sleep after each millisecond or so, in
 * so many threads, then prints `FACT schedstat_NAME RUN WAIT SLICES` with the first line of its own
 * /proc/self/schedstat (ns, ns, count: of its first thread) as its last deed: the kernel's word on
 * what it ran.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static volatile unsigned long sink;

static __attribute__((noinline)) void compute(void)
{
	for (unsigned long i = 0; i < 200000; i++)
		sink = sink * 31 + i;
}

static double end;
static useconds_t sleep_us;

static void *work(void *unused)
{
	while (now() < end) {
		compute();
		if (sleep_us)
			usleep(sleep_us);
	}
	return unused;
}

int main(int argc, char **argv)
{
	char line[256], stat[128];
	int fd, threads = argc == 6 ? atoi(argv[5]) : 1;
	pthread_t thread;
	cpu_set_t cpus;
	ssize_t n;

	if (argc < 4 || argc > 6)
		return 2;
	prctl(PR_SET_NAME, argv[1]);
	CPU_ZERO(&cpus);
	CPU_SET(atoi(argv[2]), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return 1;
	sleep_us = argc > 4 ? (useconds_t)atoi(argv[4]) : 0;
	end = now() + atof(argv[3]);
	while (threads-- > 1)
		if (pthread_create(&thread, NULL, work, NULL))
			return 1;
	work(NULL);
	fd = open("/proc/self/schedstat", O_RDONLY);
	n = read(fd, stat, sizeof(stat) - 1);
	if (n <= 0)
		return 1;
	stat[n] = '\0';
	n = snprintf(line, sizeof(line), "FACT schedstat_%s %s", argv[1], stat);
	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		return 1;
	_exit(0);
}

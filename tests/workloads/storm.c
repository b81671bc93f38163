/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A storm of short processes, half of them by fork alone, half with an exec.
 *
 *   storm SECONDS PER_SECOND
 *
 * Each burns about 50 us. Prints how many there were, and their CPU time as wait4(2) tells it.
 */
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void burn(void)
{
	volatile unsigned int n = 0;

	while (n < 50000)
		n++;
}

static pid_t start(const char *self, int exec)
{
	char *argv[] = {(char *)"storm-child", (char *)"-", NULL};
	pid_t pid;

	if (exec)
		return posix_spawn(&pid, self, NULL, NULL, argv, environ) ? -1 : pid;
	pid = fork();
	if (!pid) {
		burn();
		_exit(0);
	}
	return pid;
}

int main(int argc, char **argv)
{
	uint64_t start_ns = now_ns(), end_ns, step_ns, cnt = 0, failed = 0;
	struct rusage usage;

	if (argc == 2 && !strcmp(argv[1], "-")) {
		burn();
		return 0;
	}
	if (argc != 3) {
		fprintf(stderr, "usage: storm SECONDS PER_SECOND\n");
		return 2;
	}
	end_ns = start_ns + (uint64_t)(atof(argv[1]) * 1e9);
	step_ns = (uint64_t)(1e9 / atof(argv[2]));
	while (now_ns() < end_ns) {
		pid_t pid = start("/proc/self/exe", cnt & 1);
		uint64_t due_ns = start_ns + ++cnt * step_ns;

		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			failed++;
		while (now_ns() < due_ns && now_ns() < end_ns)
			usleep(100);
	}
	getrusage(RUSAGE_CHILDREN, &usage);
	printf("storm: %llu processes, %llu failed, %.6f s of CPU\n", (unsigned long long)cnt,
	       (unsigned long long)failed,
	       (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
	return failed != 0;
}

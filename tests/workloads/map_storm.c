/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executable mappings, many at a time: of a file that is called as the .NET runtime is, and needs
 * not be it.
 *
 * map_storm forks FILE SECONDS PER_SECOND     processes that each map FILE once and end map_storm
 * many FILE SECONDS PROCESSES EACH  processes that map and unmap it, EACH times over, again and
 * again
 *
 * Prints how many processes or mappings there were.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec at = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static void *map(int file)
{
	return mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
}

static void fork_many(int file, uint64_t end_ns, uint64_t per_second)
{
	uint64_t begin_ns = now_ns(), cnt = 0;

	for (; now_ns() < end_ns; cnt++) {
		pid_t pid = fork();

		if (!pid) {
			map(file);
			usleep(3000);
			_exit(0);
		}
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		sleep_until(begin_ns + cnt * 1000000000 / per_second);
	}
	while (wait(NULL) > 0)
		;
	printf("%llu processes\n", (unsigned long long)cnt);
}

/* Every second page, or the kernel would join them. */
static void map_many(int file, uint64_t end_ns, size_t each)
{
	char *at = mmap(NULL, each * 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		exit(1);
	for (size_t i = 0; now_ns() < end_ns; i = (i + 1) % each) {
		mmap(at + i * 2 * PAGE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file,
		     0);
		if (i + 1 == each)
			usleep(500000);
	}
}

int main(int argc, char **argv)
{
	int file = argc > 4 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;
	uint64_t end_ns = now_ns() + (argc > 4 ? (uint64_t)atol(argv[3]) * 1000000000 : 0);

	if (file < 0 || (strcmp(argv[1], "forks") && argc != 6)) {
		fprintf(stderr, "map_storm forks FILE SECONDS PER_SECOND | many FILE SECONDS "
				"PROCESSES EACH\n");
		return 2;
	}
	if (!strcmp(argv[1], "forks")) {
		fork_many(file, end_ns, (uint64_t)atol(argv[4]));
		return 0;
	}
	for (long i = 0; i < atol(argv[4]); i++)
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			map_many(file, end_ns, (size_t)atol(argv[5]));
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	return 0;
}

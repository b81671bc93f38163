/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an unprivileged user does to a host that is observed: code whose names cost whoever looks
 * for them.
 *
 *   attack SECONDS files PATH...         maps files of attack_files.c and runs their code in turn
 *   attack SECONDS map LINES             anonymous code with a perf map of so many lines
 *   attack SECONDS rewrite BYTES         the same, with one of so many bytes, anew each second
 *   attack SECONDS forks RATE PATH       so many processes a second that map PATH executable
 *   attack SECONDS mappings COUNT PATH   so many mappings of PATH in one process
 *   attack SECONDS runtime PATH          runs code of a runtime whose memory changes all the time,
 *                                        of which PATH (attack_files.c) is the beginning
 *
 * Uses a sixth of a CPU, so that many of them fit beside others. Prints "ready" when it
 * burns, and ends with its parent.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"
#include "fake_image.h"
#include "fake_memory.h"

#define FUNCTIONS_MAX 256u
/* Run without a pause, and that and a pause. */
#define RUN_NS	  1500000ull
#define PERIOD_NS 10000000ull

typedef void (*function)(uint64_t rounds);

struct attack {
	uint64_t end_ns;
	function functions[FUNCTIONS_MAX];
	unsigned cnt, next;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void ready(void)
{
	printf("ready\n");
	fflush(stdout);
}

static void pause_until(uint64_t ns)
{
	struct timespec until = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* One function for a part of a period, then the next one's turn. Periods differ, half to one and a
 * half: of equal ones ticks of some rates would meet none. */
static void run_once(struct attack *a)
{
	uint64_t start_ns = now_ns();
	uint64_t period_ns = PERIOD_NS / 2 + (uint64_t)rand() % PERIOD_NS;

	while (now_ns() - start_ns < RUN_NS)
		a->functions[a->next % a->cnt](20000);
	a->next++;
	pause_until(start_ns + period_ns);
}

static void run(struct attack *a)
{
	ready();
	while (now_ns() < a->end_ns)
		run_once(a);
}

static void add_function(struct attack *a, const char *code)
{
	if (a->cnt < FUNCTIONS_MAX)
		memcpy(&a->functions[a->cnt++], &code, sizeof(code));
}

/* --- files ------------------------------------------------------------------------------------ */

static char *map_whole(const char *path, int protection, size_t *ret_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *at;

	if (fd < 0 || fstat(fd, &st))
		die(path);
	at = mmap(NULL, (size_t)st.st_size, protection, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		die(path);
	close(fd);
	*ret_bytes = (size_t)st.st_size;
	return at;
}

static void add_file(struct attack *a, const char *path)
{
	size_t len = strlen(path), bytes;
	char *at = map_whole(path, PROT_READ | PROT_EXEC, &bytes);

	if (len < 4 || strcmp(path + len - 4, ".dll")) {
		add_function(a, at + ATTACK_ELF_CODE);
		return;
	}
	for (unsigned i = 0; i < ATTACK_IMAGE_FUNCTIONS; i++)
		add_function(a, at + FAKE_IMAGE_CODE_OFFSET + i * ATTACK_IMAGE_STEP);
}

/* --- perf maps -------------------------------------------------------------------------------- */

static void add_anonymous(struct attack *a)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		die("mmap");
	memcpy(at, attack_code, sizeof(attack_code));
	__builtin___clear_cache(at, (char *)at + sizeof(attack_code));
	if (mprotect(at, 4096, PROT_READ | PROT_EXEC))
		die("mprotect");
	add_function(a, at);
}

/* "500000000000 10 a\n", each entry in a place of its own. */
static size_t put_line(char *to, uint64_t start)
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < 12; i++)
		to[i] = digits[start >> 4 * (11 - i) & 15];
	memcpy(to + 12, " 10 a\n", 6);
	return 18;
}

/* Up to that many lines and bytes. The code's own line comes last. */
static void write_map(const struct attack *a, const char *path, uint64_t lines, uint64_t bytes)
{
	static char buffer[18 * 32768];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	uint64_t start = 0x500000000000, written = 0;

	if (fd < 0)
		die(path);
	for (uint64_t line = 0; line < lines && written < bytes;) {
		size_t len = 0;

		for (; len < sizeof(buffer) && line < lines; line++, start += 16)
			len += put_line(buffer + len, start);
		if (write(fd, buffer, len) != (ssize_t)len)
			die(path);
		written += len;
	}
	dprintf(fd, "%llx %zx attack\n", (unsigned long long)(uintptr_t)a->functions[0],
		sizeof(attack_code));
	close(fd);
}

static void run_map(struct attack *a, uint64_t lines)
{
	char path[64];

	add_anonymous(a);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	write_map(a, path, lines, UINT64_MAX);
	run(a);
	unlink(path);
}

static void run_rewrite(struct attack *a, uint64_t bytes)
{
	uint64_t due_ns = now_ns();
	char path[64];

	add_anonymous(a);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	write_map(a, path, UINT64_MAX, bytes);
	ready();
	while (now_ns() < a->end_ns) {
		if (now_ns() >= due_ns + 1000000000u) {
			due_ns += 1000000000u;
			write_map(a, path, UINT64_MAX, bytes);
		}
		run_once(a);
	}
	unlink(path);
}

/* --- processes and mappings ------------------------------------------------------------------- */

static void run_forks(const struct attack *a, uint64_t rate, const char *path)
{
	uint64_t start_ns = now_ns(), cnt = 0;

	signal(SIGCHLD, SIG_IGN);
	ready();
	while (now_ns() < a->end_ns) {
		pid_t pid = fork();

		if (!pid) {
			size_t bytes;

			map_whole(path, PROT_READ | PROT_EXEC, &bytes);
			_exit(0);
		}
		pause_until(start_ns + ++cnt * 1000000000u / rate);
	}
}

static void run_mappings(struct attack *a, uint64_t cnt, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die(path);
	/* Neighbours would become one. */
	for (uint64_t i = 0; i < cnt; i++)
		if (mmap(NULL, 4096, PROT_READ | (i % 2 ? PROT_EXEC : PROT_EXEC | PROT_WRITE),
			 MAP_PRIVATE, fd, 0) == MAP_FAILED)
			die("mmap");
	add_anonymous(a);
	run(a);
}

/* --- a runtime -------------------------------------------------------------------------------- */

#define PAGE	  4096u
#define CODE_PAGE FAKE_MEMORY_CODE
#define DATA	  FAKE_MEMORY_DESCRIPTOR /* from there on */

static void *map_at(uint32_t offset, size_t bytes, int protection, int flags, int fd, off_t from)
{
	void *at = (void *)(uintptr_t)(FAKE_MEMORY_BASE + offset);

	if (mmap(at, bytes, protection, flags | MAP_FIXED, fd, from) != at)
		die("mmap");
	return at;
}

/* The library, of which some is code, and between its pages one of compiled code. */
static char *map_runtime(struct attack *a, const char *path)
{
	static const uint32_t bodies[] = {FAKE_MEMORY_ADD, FAKE_MEMORY_GET, FAKE_MEMORY_MADE};
	int fd = open(path, O_RDONLY | O_CLOEXEC), code = memfd_create("doublemapper", MFD_CLOEXEC);
	char *base, *to;

	if (fd < 0 || code < 0 || ftruncate(code, PAGE))
		die(path);
	base = map_at(0, FAKE_MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	map_at(DATA, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, fd, DATA);
	to = map_at(CODE_PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, code, 0);
	if (pread(fd, to, PAGE, CODE_PAGE) != PAGE)
		die(path);
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		memcpy(base + bodies[i], attack_code, sizeof(attack_code));
		add_function(a, base + bodies[i]);
	}
	__builtin___clear_cache(to, to + PAGE);
	if (mprotect(to, PAGE, PROT_READ | PROT_EXEC))
		die("mprotect");
	close(code);
	close(fd);
	return base;
}

/* Anything, and pointers to anything of it: lists become rings, numbers huge. */
static uint64_t nonsense(void)
{
	uint64_t any = (uint64_t)rand() << 33 ^ (uint64_t)rand() << 11 ^ (uint64_t)rand();

	switch (rand() % 4) {
	case 0:
		return any;
	case 1:
		return any % 256;
	default:
		return FAKE_MEMORY_BASE + (any % FAKE_MEMORY_BYTES & ~7ull);
	}
}

static void run_runtime(struct attack *a, const char *path)
{
	static char whole[FAKE_MEMORY_BYTES];
	char *base = map_runtime(a, path);

	memcpy(whole + DATA, base + DATA, sizeof(whole) - DATA);
	ready();
	for (unsigned round = 0; now_ns() < a->end_ns; round++) {
		for (int i = rand() % 16; i >= 0; i--) {
			uint64_t value = nonsense();
			size_t at = DATA + (size_t)rand() % (sizeof(whole) - DATA - 8);

			memcpy(base + (at & ~(size_t)7), &value, sizeof(value));
		}
		if (round % 4 == 0)
			memcpy(base + DATA, whole + DATA, sizeof(whole) - DATA);
		run_once(a);
	}
}

int main(int argc, char **argv)
{
	struct attack a = {.end_ns = now_ns()};
	uint64_t number = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	const char *what = argc > 3 ? argv[2] : "";

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc > 3)
		a.end_ns += (uint64_t)(atof(argv[1]) * 1e9);
	if (!strcmp(what, "files")) {
		for (int i = 3; i < argc; i++)
			add_file(&a, argv[i]);
		run(&a);
	} else if (!strcmp(what, "map") && number) {
		run_map(&a, number);
	} else if (!strcmp(what, "rewrite") && number) {
		run_rewrite(&a, number);
	} else if (!strcmp(what, "forks") && number && argc == 5) {
		run_forks(&a, number, argv[4]);
	} else if (!strcmp(what, "mappings") && number && argc == 5) {
		run_mappings(&a, number, argv[4]);
	} else if (!strcmp(what, "runtime")) {
		run_runtime(&a, argv[3]);
	} else {
		fprintf(stderr,
			"usage: attack SECONDS files PATH... | map LINES | rewrite BYTES |\n"
			"                      forks RATE PATH | mappings COUNT PATH | runtime "
			"PATH\n");
		return 2;
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Burns CPU at the end of call chains that are known to the last frame, in code without frame
 * pointers. What stacks of it must look like stands in tests/support/stacks.py.
 *
 *   chain SECONDS chain          main f00 ... f39 leaf
 *   chain SECONDS brief          the same, but leaf returns at once: samples hit every instruction
 *   chain SECONDS deep LEVELS    main recurse ... recurse leaf
 *   chain SECONDS signal [brief] [alternate]
 *                                a timer's handler h0 h1 h2 burn above such a chain, on a stack of
 *                                its own at choice
 *   chain SECONDS library A B    main a0 a1 [library A, then B] b0 leaf
 *   chain SECONDS fork | vfork   the same as chain, in a child
 *   chain SECONDS forever        main n0 n1 n2 never, none of which returns
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "links.h"

static uint64_t end_ns;		    /* of the program */
static uint64_t slot_ns = 10000000; /* that leaf burns */
static volatile uint64_t sink;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* About 50 us. */
static inline __attribute__((always_inline)) uint64_t spin(uint64_t x)
{
	for (int i = 0; i < 25000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

static int is_over(void)
{
	return clock_ns(CLOCK_MONOTONIC) >= end_ns;
}

LINK leaf(uint64_t x)
{
	uint64_t until;

	if (!slot_ns)
		return x + 1;
	until = clock_ns(CLOCK_MONOTONIC) + slot_ns;
	do
		x = spin(x | 1);
	while (clock_ns(CLOCK_MONOTONIC) < until);
	return x;
}

LINKS(f34, f35, f36, f37, f38, f39, leaf)
LINKS(f28, f29, f30, f31, f32, f33, f34)
LINKS(f22, f23, f24, f25, f26, f27, f28)
LINKS(f16, f17, f18, f19, f20, f21, f22)
LINKS(f10, f11, f12, f13, f14, f15, f16)
LINKS(f04, f05, f06, f07, f08, f09, f10)
SAVING(f03, f04)
SAVING(f02, f03)
PLAIN(f01, f02)
PLAIN(f00, f01)

static uint64_t depth, levels;

LINK recurse(uint64_t x)
{
	return --levels ? recurse(x) * 3 + 1 : leaf(x) + 1;
}

/* --- signals --- */

LINK handler_leaf(uint64_t x)
{
	for (int i = 0; i < 40; i++)
		x = spin(x | 1);
	return x;
}
PLAIN(h2, handler_leaf)
SAVING(h1, h2)
LARGE(h0, h1)

static void on_timer(int signal)
{
	sink = h0((uint64_t)signal) + 1;
}

static void handle(int on_alternate_stack)
{
	static _Alignas(16) char room[65536];
	struct sigaction action = {.sa_handler = on_timer};
	struct itimerval timer = {.it_interval = {.tv_usec = 8000}, .it_value = {.tv_usec = 8000}};
	stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)};

	if (on_alternate_stack) {
		sigaltstack(&stack, NULL);
		action.sa_flags = SA_ONSTACK;
	}
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &timer, NULL);
}

/* --- libraries that come and go --- */

#ifndef WITHOUT_LIBRARIES
PLAIN(b0, leaf)

static uint64_t (*through)(uint64_t (*)(uint64_t), uint64_t);

LINK a1(uint64_t x)
{
	return through(b0, x) + 1;
}
SAVING(a0, a1)

static int use_library(const char *path, uint64_t until_ns)
{
	void *library = dlopen(path, RTLD_NOW);

	if (!library) {
		fprintf(stderr, "chain: %s\n", dlerror());
		return 1;
	}
	through = (uint64_t(*)(uint64_t(*)(uint64_t), uint64_t))dlsym(library, "through");
	printf("%s %p\n", path, (void *)through);
	fflush(stdout);
	while (clock_ns(CLOCK_MONOTONIC) < until_ns)
		sink = a0(sink) + 1;
	dlclose(library);
	return 0;
}
#endif

/* --- calls that are the last instruction of their function --- */

__attribute__((noipa, noreturn)) static void never(uint64_t x)
{
	while (!is_over())
		x = spin(x | 1);
	_exit(x == 1);
}

__attribute__((noipa, noreturn)) static void n2(uint64_t x)
{
	never(x + 1);
}

__attribute__((noipa, noreturn)) static void n1(uint64_t x)
{
	volatile char room[100];

	room[x % sizeof(room)] = 1;
	n2(x + room[0]);
}

__attribute__((noipa, noreturn)) static void n0(uint64_t x)
{
	n1(x + 1);
}

static int is_given(char **words, const char *word)
{
	for (; *words; words++)
		if (!strcmp(*words, word))
			return 1;
	return 0;
}

/* Inlined: main is who calls the chain. */
static inline __attribute__((always_inline)) void run(void)
{
	while (!is_over()) {
		for (int i = 0; i < (slot_ns ? 1 : 10000); i++) {
			levels = depth;
			sink = (depth ? recurse(sink) : f00(sink)) + 1;
		}
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "";
	uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
	pid_t child = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: chain SECONDS "
				"chain|brief|deep|signal|library|fork|vfork|forever\n");
		return 2;
	}
	end_ns = start_ns + (uint64_t)(atof(argv[1]) * 1e9);
	if (is_given(argv + 2, "brief"))
		slot_ns = 0;
	if (!strcmp(what, "deep") && argc > 3)
		depth = strtoull(argv[3], NULL, 10);
	if (!strcmp(what, "signal"))
		handle(is_given(argv + 3, "alternate"));
#ifndef WITHOUT_LIBRARIES
	if (!strcmp(what, "library") && argc > 4)
		return use_library(argv[3], start_ns + (end_ns - start_ns) / 2) ||
		       use_library(argv[4], end_ns);
#endif
	if (!strcmp(what, "forever"))
		n0(1);
	if (!strcmp(what, "fork"))
		child = fork();
	else if (!strcmp(what, "vfork"))
		child = vfork();
	if (child > 0)
		return waitpid(child, NULL, 0) != child;
	run();
	_exit(0);
}

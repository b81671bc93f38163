/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What makes an observer grow: processes that live for a moment, threads that come and go, and
 * machine code that is made at run time and described in a perf map that grows.
 *
 *   bench_churn PROCESSES_A_SECOND THREADS_A_SECOND METHODS_A_SECOND
 *
 * Prints "ready"; at SIGTERM or SIGINT it removes its map and prints "PROCESSES THREADS METHODS",
 * what there was of each.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CODE_BYTES   (16u << 20)
#define METHOD_BYTES 64u
#define METHOD_RUNS  8 /* 0.2 ms: some samples hit each second's methods */
#define TICK_MS	     20
#define RATE_MAX     20000

static volatile sig_atomic_t stop;
static volatile uint64_t sink;

struct counts {
	uint64_t processes, threads, methods;
};

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static void burn(uint32_t loops)
{
	for (uint32_t i = 0; i < loops; i++)
		sink += i;
}

/* A method without arguments that counts down from about 60,000 and returns. */
#if defined(__x86_64__)
static const uint8_t method_code[] = {
	0xb9, 0x60, 0xea, 0x00, 0x00, /* mov $60000, %ecx */
	0xff, 0xc9,		      /* dec %ecx */
	0x75, 0xfc,		      /* jnz to the dec */
	0xc3,			      /* ret */
};
#elif defined(__aarch64__)
static const uint8_t method_code[] = {
	0x00, 0x4c, 0x9d, 0x52, /* mov w0, #60000 */
	0x00, 0x04, 0x00, 0x71, /* subs w0, w0, #1 */
	0xe1, 0xff, 0xff, 0x54, /* b.ne to the subs */
	0xc0, 0x03, 0x5f, 0xd6, /* ret */
};
#else
#error "no machine code for this architecture"
#endif

/* Compiles one more method, describes it, runs it. The region is used again when it is full. */
static void make_method(uint8_t *code, int map_fd, uint64_t number)
{
	uint8_t *at = code + number * METHOD_BYTES % CODE_BYTES;
	char line[128];
	int len;

	memcpy(at, method_code, sizeof(method_code));
	__builtin___clear_cache((char *)at, (char *)at + METHOD_BYTES);
	len = snprintf(line, sizeof(line),
		       "%llx %x void [Churn] Churn.Type%llu::Method%llu()[Tier0]\n",
		       (unsigned long long)(uintptr_t)at, METHOD_BYTES,
		       (unsigned long long)number / 100, (unsigned long long)number);
	if (write(map_fd, line, (size_t)len) != len) {
		perror("perf map");
		exit(1);
	}
	for (int i = 0; i < METHOD_RUNS; i++)
		((void (*)(void))(uintptr_t)at)();
}

static void *thread_main(void *arg)
{
	burn(20000);
	return arg;
}

static void make_thread(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, thread_main, NULL))
		pthread_join(thread, NULL);
}

static void make_process(void)
{
	pid_t pid = fork();

	if (!pid) {
		burn(20000);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/* How many of RATE a second are due after `ticks`. */
static uint64_t due(long rate, uint64_t ticks)
{
	return (uint64_t)rate * ticks * TICK_MS / 1000;
}

static void churn(const long *rates, uint8_t *code, int map_fd, struct counts *made)
{
	for (uint64_t ticks = 1; !stop; ticks++) {
		while (!stop && made->processes < due(rates[0], ticks)) {
			make_process();
			made->processes++;
		}
		while (!stop && made->threads < due(rates[1], ticks)) {
			make_thread();
			made->threads++;
		}
		while (!stop && made->methods < due(rates[2], ticks))
			make_method(code, map_fd, made->methods++);
		nanosleep(&(struct timespec){0, TICK_MS * 1000000}, NULL);
	}
}

int main(int argc, char **argv)
{
	struct counts made = {0};
	char map_path[64];
	long rates[3];
	uint8_t *code;
	int map_fd;

	for (int i = 0; i < 3; i++) {
		rates[i] = argc == 4 ? atol(argv[i + 1]) : -1;
		if (rates[i] < 0 || rates[i] > RATE_MAX) {
			fprintf(stderr,
				"usage: bench_churn PROCESSES THREADS METHODS (a second)\n");
			return 2;
		}
	}
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	map_fd = open(map_path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
		      0644);
	code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map_fd < 0 || code == MAP_FAILED) {
		perror(map_fd < 0 ? map_path : "mmap");
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	churn(rates, code, map_fd, &made);
	unlink(map_path);
	printf("%llu %llu %llu\n", (unsigned long long)made.processes,
	       (unsigned long long)made.threads, (unsigned long long)made.methods);
	return 0;
}

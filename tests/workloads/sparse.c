/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that looks like .NET and grows where it is read: threads that wait for a futex, with
 * stacks full of pointers into memory that nobody has touched, 2 MiB apart, so that each page that
 * is made present costs a page of page tables. Every other thread has its stack pointer there, too.
 * usage: sparse LIBRARY THREADS SECONDS; LIBRARY: a file, mapped as code. Says "ready".
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPARSE_BYTES (16ull << 40)
#define STEP	     (2ull << 20)
#define POINTERS     150u /* each of them twice */
#define STACK_BYTES  65536u

static char *sparse;
static uint32_t word;

static void *wait_with_pointers(void *arg)
{
	uint64_t number = (uint64_t)arg;
	volatile char *stack[2 * POINTERS];

	for (uint32_t i = 0; i < 2 * POINTERS; i++)
		stack[i] = sparse + (number * POINTERS + i / 2) * STEP + 64;
	while (stack[0])
		syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
	return NULL;
}

#ifdef __x86_64__
static void *wait_elsewhere(void *arg)
{
	char *top = sparse + SPARSE_BYTES / 2 + (uint64_t)arg * STEP + 8192;

	__asm__ volatile("mov %0, %%rsp\n"
			 "1: mov $202, %%eax\n" /* futex(&word, FUTEX_WAIT, 0, NULL) */
			 "mov %1, %%rdi\n"
			 "xor %%esi, %%esi\n"
			 "xor %%edx, %%edx\n"
			 "xor %%r10d, %%r10d\n"
			 "syscall\n"
			 "jmp 1b"
			 :
			 : "r"(top), "r"(&word)
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r10", "r11", "memory");
	return NULL;
}
#else
#define wait_elsewhere wait_with_pointers
#endif

int main(int argc, char **argv)
{
	uint64_t threads = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	int fd = argc == 4 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	pthread_attr_t attr;
	pthread_t thread;

	if (fd < 0) {
		fprintf(stderr, "usage: sparse LIBRARY THREADS SECONDS\n");
		return 2;
	}
	sparse = mmap(NULL, SPARSE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		      -1, 0);
	if (sparse == MAP_FAILED ||
	    mmap(NULL, 65536, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) {
		perror("sparse");
		return 1;
	}
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (uint64_t i = 0; i < threads; i++)
		if (pthread_create(&thread, &attr, i % 2 ? wait_elsewhere : wait_with_pointers,
				   (void *)i)) {
			perror("sparse");
			return 1;
		}
	usleep(300000);
	puts("ready");
	fflush(stdout);
	alarm((unsigned int)strtoul(argv[3], NULL, 10));
	for (uint32_t burn = 0;; burn++)
		if (!(burn % 50000000))
			usleep(100000);
}

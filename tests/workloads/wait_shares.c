/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One thread that waits in known shares: half of its time for a mutex that another process holds,
 * 30 % for a timer, 20 % for an answer on a socket. On a host with other work they differ: each
 * round it prints what it has waited so far for each, in ns.
 *
 *	wait_shares SECONDS
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000L

struct shared {
	pthread_mutex_t lock;
	sem_t asked, held;
};

static struct shared *shared;
static int ours, theirs;

__attribute__((noinline)) static void sleep_ns(long ns)
{
	struct timespec pause = {ns / 1000000000, ns % 1000000000};

	nanosleep(&pause, NULL);
}

/* Holds the mutex for 50 ms each time that it is asked. */
static void *hold(void *unused)
{
	(void)unused;
	for (;;) {
		sem_wait(&shared->asked);
		pthread_mutex_lock(&shared->lock);
		sem_post(&shared->held);
		sleep_ns(50 * MS);
		pthread_mutex_unlock(&shared->lock);
	}
	return NULL;
}

static void be_the_other(void)
{
	pthread_t thread;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "wait_other");
	if (pthread_create(&thread, NULL, hold, NULL))
		_exit(1);
	while (read(theirs, &byte, 1) == 1) {
		sleep_ns(20 * MS);
		if (write(theirs, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

__attribute__((noinline)) void wait_for_lock(void)
{
	sem_post(&shared->asked);
	sem_wait(&shared->held);
	pthread_mutex_lock(&shared->lock);
	pthread_mutex_unlock(&shared->lock);
	__asm__ volatile("");
}

__attribute__((noinline)) void wait_for_timer(void)
{
	sleep_ns(30 * MS);
	__asm__ volatile("");
}

__attribute__((noinline)) void wait_for_answer(void)
{
	char byte = 0;

	if (send(ours, &byte, 1, 0) != 1 || recv(ours, &byte, 1, 0) != 1)
		exit(1);
	__asm__ volatile("");
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	pthread_mutexattr_t attr;
	uint64_t at[4], waited[3] = {0};
	int pair[2];

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->lock, &attr);
	sem_init(&shared->held, 1, 0);
	sem_init(&shared->asked, 1, 0);
	ours = pair[0];
	theirs = pair[1];
	if (!fork())
		be_the_other();
	while (time(NULL) < end) {
		at[0] = now_ns();
		wait_for_lock();
		at[1] = now_ns();
		wait_for_timer();
		at[2] = now_ns();
		wait_for_answer();
		at[3] = now_ns();
		for (int i = 0; i < 3; i++)
			waited[i] += at[i + 1] - at[i];
		printf("%llu %llu %llu\n", (unsigned long long)waited[0],
		       (unsigned long long)waited[1], (unsigned long long)waited[2]);
		fflush(stdout);
	}
	return 0;
}

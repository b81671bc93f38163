/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that stand at known places, and do not move: so many that wait for a mutex which one of
 * them holds, in nanosleep, in a read of an empty pipe, and one that runs. Not a frame pointer is
 * needed: the library's frames have none.
 *
 *   stands LOCKED SLEEPING READING SECONDS
 *
 * Prints "ready HOLDER", the thread id of who holds the mutex, when all stand there.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static pthread_mutex_t *turn;
static int tube[2];
static volatile int sink, holder, seconds;

static NOINLINE void sleep_long(void)
{
	nanosleep(&(struct timespec){.tv_sec = seconds}, NULL);
	sink++;
}

static NOINLINE void take_turn(void)
{
	pthread_mutex_lock(turn);
	sink++;
	pthread_mutex_unlock(turn);
}

static NOINLINE void keep_turn(void)
{
	pthread_mutex_lock(turn);
	holder = (int)syscall(SYS_gettid);
	sleep_long();
}

static NOINLINE void read_tube(void)
{
	char byte;

	if (read(tube[0], &byte, 1) < 0)
		perror("read");
	sink++;
}

static NOINLINE void turn_wheel(void)
{
	for (volatile unsigned long i = 0;; i++)
		sink += (int)i & 1;
}

static void *run(void *arg)
{
	((void (*)(void))arg)();
	sink++;
	return NULL;
}

static void spawn(void (*what)(void), int cnt)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (int i = 0; i < cnt; i++)
		if (pthread_create(&thread, &attr, run, (void *)what))
			exit(1);
	pthread_attr_destroy(&attr);
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: stands LOCKED SLEEPING READING SECONDS\n");
		return 2;
	}
	seconds = atoi(argv[4]);
	turn = malloc(sizeof(*turn));
	pthread_mutex_init(turn, NULL);
	if (pipe(tube))
		return 1;
	spawn(keep_turn, 1);
	while (!holder)
		usleep(1000);
	spawn(take_turn, atoi(argv[1]));
	spawn(sleep_long, atoi(argv[2]));
	spawn(read_tube, atoi(argv[3]));
	spawn(turn_wheel, 1);
	usleep(100000);
	printf("ready %d\n", holder);
	fflush(stdout);
	sleep_long();
	return 0;
}

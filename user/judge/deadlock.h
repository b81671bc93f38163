/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_DEADLOCK_H
#define HOTRUN_JUDGE_DEADLOCK_H
/*
 * Threads that wait for each other: each for a lock that the next one holds, and the last for one
 * of the first, as far as it is known who holds them. Pure; no I/O, no threads.
 */
#include "judge/standing.h"

/* Threads of one that are told, and cycles of all; what is beyond is no cycle here. */
#define DEADLOCK_THREADS 16u
#define DEADLOCKS_MOST	 64u
/* Each of its waits is as old, or it may be one that ends by itself: locks may have a timeout. */
#define DEADLOCK_LEAST_NS 2000000000ull

struct deadlock {
	uint32_t process;
	uint32_t threads[DEADLOCK_THREADS]; /* rows; each waits for the next one */
	uint32_t cnt;
};

struct deadlocks {
	struct deadlock rows[DEADLOCKS_MOST]; /* by process, then by thread id */
	size_t cnt;
};

/*
 * Only of waits that were under way all at one time, since rows of a pass are of different moments;
 * those whose age is not known are left out. Owned, to be freed with free(); NULL without memory.
 */
struct deadlocks *deadlocks_new(const struct model *m, const struct stands *stands,
				const struct standing *standing);
#endif

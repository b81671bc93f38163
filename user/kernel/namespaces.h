/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_NAMESPACES_H
#define HOTRUN_KERNEL_NAMESPACES_H
/*
 * The network namespaces of this host, as far as processes live in them: those of /proc/PID/ns/net.
 * One that is only kept by a mount has nobody who serves. Of a process that we may not look into
 * (another user's, or one with more capabilities) the number of a file in /proc/PID/net tells,
 * without rights, whether it lives in one of those: each namespace has its own files there. Visits
 * them in a thread of its own, so that the caller stays where it is (setns(2) moves one thread).
 */
#include <stddef.h>
#include <stdint.h>

/* Each is an open file. A host with thousands of containers has more; these are said to be
 * unseen. */
#define NAMESPACES_MAX 1024

struct namespaces {
	int fds[NAMESPACES_MAX];
	uint64_t inodes[NAMESPACES_MAX];
	uint64_t tables[NAMESPACES_MAX]; /* inode of its /proc/PID/net/tcp; 0 = not known */
	uint32_t cnt;
	uint64_t unseen_tables[NAMESPACES_MAX];
	uint32_t unseen; /* that could not be opened or are too many: at least so many */
};

/* Our own is the first. 0 or negative errno. */
int namespaces_open(struct namespaces *ret_list);
/*
 * Calls visit in each of them, in a thread that has moved there. Namespaces that we may not enter
 * are left out. Returns how many were visited, or negative errno: of the thread, or the first of
 * visit, which ends the round.
 */
int namespaces_visit(const struct namespaces *list, int (*visit)(void *ctx), void *ctx);
void namespaces_close(struct namespaces *list);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_URGENT_H
#define HOTRUN_BASE_URGENT_H
/*
 * A process that must have a CPU at once on a host where hundreds want one: it and its children
 * take precedence over all ordinary threads (SCHED_RR, the least of its ranks), but never on all
 * CPUs, and never for long: the kernel ends a process of them that computes for URGENT_MOST_S in
 * one go. Where that is not allowed, they have the lowest nice value that is. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define URGENT_MOST_S 5
/* As wide as masks of the kernel are (CONFIG_NR_CPUS of distributions). */
#define URGENT_CPUS_MOST 8192u

struct urgent {
	bool realtime;
	int nice;	   /* where not */
	uint32_t cpus;	   /* that it keeps to */
	uint32_t cpus_all; /* that it may use */
	/* Masks of these, as of sched_setaffinity(2). */
	unsigned long own[URGENT_CPUS_MOST / 8 / sizeof(long)];
	unsigned long all[URGENT_CPUS_MOST / 8 / sizeof(long)];
};

/* Of the calling thread, and all that is forked from now on. Never fails: *ret_urgent tells how far
 * it went. */
void urgent_begin(struct urgent *ret_urgent);
/* Goes to that CPU, if it may: with SCHED_RR, who ran there does not while it is there. For
 * microseconds at a time. */
bool urgent_visit(const struct urgent *u, uint32_t cpu);
/* Back to its own. */
void urgent_return(const struct urgent *u);
#endif

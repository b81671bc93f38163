/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_URGENT_H
#define HOTRUN_BASE_URGENT_H
/*
 * A process that must have a CPU at once on a host where hundreds want one: it takes precedence
 * over all ordinary threads (SCHED_RR, the least of its ranks), but never on all CPUs, and never
 * for long: the kernel ends it when it computes for URGENT_MOST_S in one go. So do its children,
 * and none that works on what others wrote is to stay so. Below that, and where it is not allowed,
 * it has the lowest nice value that is: many times the part of a CPU that others get, and never all
 * of it. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define URGENT_MOST_S 5
/* As wide as masks of the kernel are (CONFIG_NR_CPUS of distributions). */
#define URGENT_CPUS_MOST 8192u

struct urgent {
	bool realtime;
	int nice;	   /* below that */
	uint32_t cpus;	   /* that it keeps to */
	uint32_t cpus_all; /* that it may use */
	/* Masks of these, as of sched_setaffinity(2). */
	unsigned long own[URGENT_CPUS_MOST / 8 / sizeof(long)];
	unsigned long all[URGENT_CPUS_MOST / 8 / sizeof(long)];
};

/* Of the calling thread, and all that is forked from now on. Never fails: *ret_urgent tells how far
 * it went. */
void urgent_begin(struct urgent *ret_urgent);
/* An ordinary thread again, on all CPUs, with its nice value; and as before. That may be refused
 * (CAP_SYS_NICE): then it goes on so. */
void urgent_pause(const struct urgent *u);
void urgent_resume(struct urgent *u);
/* The same for a child. */
void urgent_lend(const struct urgent *u, pid_t child);
void urgent_return(const struct urgent *u, pid_t child);
/* Nice values count among threads of a session where the kernel makes a group of each
 * (kernel.sched_autogroup_enabled): so is that of this child's session then, once it has one. */
void urgent_lend_session(const struct urgent *u, pid_t child);
/* Sends a child to that CPU, if it may go there with SCHED_RR: who ran there does not while it
 * does. For microseconds at a time. Needs CAP_SYS_NICE. */
bool urgent_visit(const struct urgent *u, pid_t child, uint32_t cpu);
#endif

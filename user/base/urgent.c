/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/urgent.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define NICE_LEAST (-20)

static cpu_set_t *set_of(const unsigned long *mask)
{
	return (cpu_set_t *)mask;
}

/* All that is allowed but the first, where most interrupts are; of one, that one. */
static bool read_masks(struct urgent *u)
{
	size_t bytes = sizeof(u->all);

	if (sched_getaffinity(0, bytes, set_of(u->all)))
		return false;
	memcpy(u->own, u->all, bytes);
	for (uint32_t cpu = 0; cpu < URGENT_CPUS_MOST; cpu++)
		if (CPU_ISSET_S(cpu, bytes, set_of(u->own))) {
			if (CPU_COUNT_S(bytes, set_of(u->own)) > 1)
				CPU_CLR_S(cpu, bytes, set_of(u->own));
			break;
		}
	u->cpus_all = (uint32_t)CPU_COUNT_S(bytes, set_of(u->all));
	u->cpus = (uint32_t)CPU_COUNT_S(bytes, set_of(u->own));
	return true;
}

/* The hard limit kills: nothing that goes wrong holds a CPU against all others. */
static bool bound_time(void)
{
	const struct rlimit limit = {URGENT_MOST_S * 1000000ull, URGENT_MOST_S * 1000000ull};

	return !setrlimit(RLIMIT_RTTIME, &limit);
}

/* The lowest value that is allowed. */
static int lower_nice(void)
{
	for (int nice = NICE_LEAST; nice < 0; nice++)
		if (!setpriority(PRIO_PROCESS, 0, nice))
			return nice;
	return getpriority(PRIO_PROCESS, 0);
}

/* On these CPUs alone. */
static bool set_realtime(pid_t pid, const unsigned long *mask)
{
	const struct sched_param least = {.sched_priority = sched_get_priority_min(SCHED_RR)};

	/* Bounds first: from then on it keeps others off. */
	return !sched_setaffinity(pid, URGENT_CPUS_MOST / 8, set_of(mask)) &&
	       !sched_setscheduler(pid, SCHED_RR, &least);
}

static bool become_realtime(const struct urgent *u)
{
	return bound_time() && set_realtime(0, u->own);
}

static void go_everywhere(const struct urgent *u, pid_t pid)
{
	const struct sched_param none = {0};

	sched_setscheduler(pid, SCHED_OTHER, &none);
	sched_setaffinity(pid, sizeof(u->all), set_of(u->all));
}

static void do_without(struct urgent *u)
{
	u->realtime = false;
	memcpy(u->own, u->all, sizeof(u->own));
	u->cpus = u->cpus_all;
	if (u->cpus_all)
		go_everywhere(u, 0);
}

void urgent_begin(struct urgent *ret_urgent)
{
	struct urgent *u = ret_urgent;

	memset(u, 0, sizeof(*u));
	/* Also what is left when it is ordinary again, and for its children. */
	u->nice = lower_nice();
	u->realtime = read_masks(u) && become_realtime(u);
	if (!u->realtime)
		do_without(u);
}

void urgent_pause(const struct urgent *u)
{
	if (u->realtime)
		go_everywhere(u, 0);
}

void urgent_resume(struct urgent *u)
{
	if (u->realtime && !become_realtime(u))
		do_without(u);
}

void urgent_lend(const struct urgent *u, pid_t child)
{
	if (u->realtime)
		set_realtime(child, u->own);
}

void urgent_return(const struct urgent *u, pid_t child)
{
	if (u->realtime)
		go_everywhere(u, child);
}

void urgent_lend_session(const struct urgent *u, pid_t child)
{
	char path[48];
	FILE *f;

	/* Not yet: it would be that of whoever started all this. */
	if (getsid(child) != child)
		return;
	snprintf(path, sizeof(path), "/proc/%d/autogroup", child);
	f = fopen(path, "we");
	if (!f)
		return;
	fprintf(f, "%d", u->nice);
	fclose(f);
}

bool urgent_visit(const struct urgent *u, pid_t child, uint32_t cpu)
{
	unsigned long mask[sizeof(u->all) / sizeof(u->all[0])] = {0};

	if (!u->realtime || cpu >= URGENT_CPUS_MOST ||
	    !CPU_ISSET_S(cpu, sizeof(mask), set_of(u->all)))
		return false;
	CPU_SET_S(cpu, sizeof(mask), set_of(mask));
	return set_realtime(child, mask);
}

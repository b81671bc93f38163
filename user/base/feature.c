/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/feature.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ID(name)     name, "feature." name
#define NAMES(...)   ((const char *const[]){__VA_ARGS__, NULL})
#define NEEDS(f)     FEATURE_BIT(FEATURE_##f)
#define MAPS_COUNTED "losses", "costs", "accounts"
#define MAPS_TABLES  "unwind_chunks", "unwind_pages", "unwind_mappings", "unwind_processes"
#define MAPS_WALKS   MAPS_TABLES, "unwind_walks", "unwind_cache"
#define MAPS_STACKS  "samples", "scratch", "stack_tags", MAPS_WALKS

const struct feature_row feature_rows[FEATURE_CNT] = {
	[FEATURE_UNWIND_TABLES] =
		{
			ID("unwind-tables"),
			"unwind tables",
			"stacks break in code without frame pointers, such as libc",
			"use x86-64 with Linux 5.15 or later",
			NAMES("on_tick"),
			NAMES(MAPS_WALKS),
			NEEDS(SAMPLES),
		},
	[FEATURE_SAMPLES] =
		{
			ID("samples"),
			"CPU samples",
			"no stacks and no hot methods",
			"allow perf_event programs: CAP_PERFMON, kernel.perf_event_paranoid",
			NAMES("on_tick"),
			NAMES(MAPS_COUNTED, MAPS_STACKS, "cpus", "turns", "tgids", "cgroups",
			      "sample_rooms"),
			0,
		},
	[FEATURE_RUN_QUEUES] =
		{
			ID("run-queues"),
			"run-queue length",
			"no queue lengths, and no names of the threads that were queued",
			"report this kernel version",
			NULL,
			NULL,
			NEEDS(SAMPLES),
		},
	[FEATURE_CGROUPS] =
		{
			ID("cgroups"),
			"cgroup figures",
			"no figures by cgroup and no throttled time",
			"use a kernel with CONFIG_FAIR_GROUP_SCHED=y",
			NULL,
			NULL,
			NEEDS(COUNTERS),
		},
	[FEATURE_COUNTERS] =
		{
			ID("scheduler-counters"),
			"scheduler counters",
			"no exact CPU time, run delay or context switches of threads",
			"",
			NAMES("create_accounts", "read_accounts", "on_free"),
			NAMES(MAPS_COUNTED, "cpus", "turns", "tasks", "task_rooms"),
			0,
		},
	[FEATURE_FULL_MODE] =
		{
			ID("full-mode"),
			"context-switch counters",
			"no run-delay percentiles, and no split into queued behind own and other "
			"threads: CPU time and run delay come from the kernel's own counters",
			"",
			NAMES("on_switch", "on_wakeup", "on_wakeup_new", "on_new_task"),
			NAMES(MAPS_COUNTED, "cpus", "turns", "tasks"),
			NEEDS(COUNTERS),
		},
	[FEATURE_LOW_OVERHEAD] =
		{
			ID("low-overhead"),
			"low-overhead mode",
			"hotrun watch cannot change its mode",
			"use a kernel with CONFIG_SCHED_INFO=y",
			NAMES("change_gear"),
			NAMES(MAPS_COUNTED, "cpus", "turns", "task_rooms"),
			NEEDS(COUNTERS) | NEEDS(FULL_MODE),
		},
	[FEATURE_REQUESTS] =
		{
			ID("requests"),
			"request tracking",
			"verdicts use scheduler data only, and are unknown for servers",
			"",
			NAMES("on_state", "on_data", "on_send", "on_send_older", "read_sockets",
			      "find_listeners", "find_connections", "find_owners", "find_held"),
			NAMES("losses", "costs", "connections", "endpoints", "rows", "free_rows",
			      "shares", "refused", "listening", "openings", "socket_rows", "served",
			      "free_places"),
			0,
		},
	[FEATURE_THREAD_STACKS] =
		{
			ID("thread-stacks"),
			"thread stacks",
			"`hotrun threads` does not work, and nothing says where threads are "
			"blocked",
			"use Linux 5.18 or later, with kernel.kptr_restrict at 0 or 1",
			NAMES("read_stands", "find_pages"),
			NAMES("accounts", "stand_tgids", "look_shares", "stand_rooms"),
			0,
		},
	[FEATURE_BLOCKED] =
		{
			ID("blocked-stacks"),
			"blocked time",
			"no off-CPU time with stacks",
			"use Linux 5.18 or later",
			NULL,
			NULL,
			NEEDS(THREAD_STACKS) | NEEDS(COUNTERS),
		},
	[FEATURE_WAKERS] =
		{
			ID("wakers"),
			"wakers",
			"reports do not name wakers",
			"leave out --event cycles",
			NAMES("on_waking"),
			NAMES(MAPS_COUNTED, MAPS_STACKS, "waker_rooms"),
			NEEDS(BLOCKED) | NEEDS(FULL_MODE),
		},
	[FEATURE_SWITCHES] =
		{
			ID("switches"),
			"context-switch ring",
			"`hotrun timeline` has nothing to show",
			"",
			NAMES("note_switch", "note_waking", "note_birth", "note_irq_entry",
			      "note_irq_exit", "note_softirq_entry", "note_softirq_exit"),
			NAMES("switch_rows", "switch_heads"),
			0,
		},
	[FEATURE_SNAPSHOT] =
		{
			ID("snapshot"),
			"snapshot",
			"`hotrun snapshot` does not work",
			"",
			NAMES("read_counts"),
			NAMES(MAPS_TABLES),
			0,
		},
	[FEATURE_PROGRAM_NAMES] =
		{
			ID("program-names"),
			"names of short-lived .NET processes",
			"a .NET process that ends within a second is called dotnet",
			"",
			NAMES("on_exec"),
			NAMES("costs", "tasks"),
			0,
		},
	[FEATURE_FAST_SCAN] =
		{
			ID("fast-scan"),
			"scan of the threads that ran",
			"hotrun uses more CPU time: it reads all threads every second",
			"use Linux 6.12 or later",
			NAMES("walk_accounts"),
			NAMES(MAPS_COUNTED, "cpus", "turns", "task_rooms"),
			NEEDS(COUNTERS),
		},
};

const char *feature_why(const struct feature_set *set, enum feature f)
{
	return feature_is_off(set->status[f]) ? set->why[f] : NULL;
}

const char *feature_status_id(uint32_t status)
{
	static const char *const ids[] = {"unused", "on", "off", "refused", "needs"};

	return status < sizeof(ids) / sizeof(ids[0]) ? ids[status] : "unknown";
}

const char *feature_remedy(enum feature f, uint32_t status)
{
	switch (status) {
	case FEATURE_REFUSED:
		return "report it with the output of `hotrun doctor -v`, or use another kernel";
	case FEATURE_NEEDS:
		return "see the feature that it needs";
	case FEATURE_OFF:
		return *feature_rows[f].remedy ? feature_rows[f].remedy : "see the reason";
	default:
		return "";
	}
}

static bool has(const char *const *names, const char *name)
{
	for (; names && *names; names++)
		if (!strcmp(*names, name))
			return true;
	return false;
}

/* Of the rows that are on. */
static void switch_off_needing(struct feature_set *set, enum feature needed)
{
	for (enum feature f = 0; f < FEATURE_CNT; f++)
		if (feature_is_on(set, f) && feature_rows[f].needs & FEATURE_BIT(needed))
			feature_switch_off(set, f, FEATURE_NEEDS, "it needs %s: %s",
					   feature_rows[needed].title,
					   feature_why(set, needed) ?: "not asked for");
}

void feature_ask(struct feature_set *set, uint32_t features)
{
	for (enum feature f = 0; f < FEATURE_CNT; f++)
		if (features & FEATURE_BIT(f))
			set->status[f] = FEATURE_ON;
	for (enum feature f = 0; f < FEATURE_CNT; f++)
		if (!feature_is_on(set, f))
			switch_off_needing(set, f);
}

void feature_switch_off(struct feature_set *set, enum feature f, enum feature_status status,
			const char *format, ...)
{
	va_list args;

	if (!feature_is_on(set, f))
		return;
	set->status[f] = status;
	va_start(args, format);
	vsnprintf(set->why[f], sizeof(set->why[f]), format, args);
	va_end(args);
	switch_off_needing(set, f);
}

enum feature feature_of_program(const struct feature_set *set, const char *program)
{
	enum feature f = 0;

	while (f < FEATURE_CNT &&
	       !(feature_is_on(set, f) && has(feature_rows[f].programs, program)))
		f++;
	return f;
}

enum feature feature_of_map(const struct feature_set *set, const char *map)
{
	enum feature f = 0;

	while (f < FEATURE_CNT && !(feature_is_on(set, f) && has(feature_rows[f].maps, map)))
		f++;
	return f;
}

enum feature feature_of_id(const char *id)
{
	enum feature f = 0;

	while (f < FEATURE_CNT && strcmp(feature_rows[f].id, id))
		f++;
	return f;
}

bool feature_uses_program(const struct feature_set *set, const char *program)
{
	return feature_of_program(set, program) < FEATURE_CNT;
}

bool feature_uses_map(const struct feature_set *set, const char *map)
{
	return feature_of_map(set, map) < FEATURE_CNT;
}

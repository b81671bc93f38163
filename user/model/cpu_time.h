/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_CPU_TIME_H
#define HOTRUN_MODEL_CPU_TIME_H
/*
 * The clock of a CPU whose switches nobody sees, from what /proc/stat tells: idle, to a clock tick;
 * the rest of the time it ran something. Pure; no threads.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/events.h"

struct cpu_time {
	bool valid, online;
	uint64_t now_ns;	      /* of the last reading */
	uint64_t base_ns;	      /* what /proc/stat said where the count began */
	uint64_t idle_ns, idle_since; /* counted so far; of it, where base_ns was taken */
	uint64_t busy_ns;
};

/*
 * Puts into clock what a CPU did up to now_ns, stat_idle_ns being its idle time since boot. Of
 * clock, idle_ns and accounted_ns only grow, together by the time that passed, and differ from
 * /proc/stat by its rounding at the most. A CPU that was off line at this reading or the last
 * counts as idle since then. Ticks and queues in clock stay as they are; no thread is told as
 * running.
 */
void cpu_time_read(struct cpu_time *time, uint64_t now_ns, uint64_t stat_idle_ns, bool online,
		   struct cpu_clock *clock);
#endif

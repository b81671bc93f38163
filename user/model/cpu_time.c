/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/cpu_time.h"

#include "base/rise.h"

/* By how much the idle time rises: a tick that was rounded off comes with a later reading. */
static uint64_t idle_rise(const struct cpu_time *time, uint64_t stat_idle_ns, uint64_t passed_ns)
{
	uint64_t is = time->idle_since + rise_of(stat_idle_ns, time->base_ns);
	uint64_t by = rise_of(is, time->idle_ns);

	return by < passed_ns ? by : passed_ns;
}

void cpu_time_read(struct cpu_time *time, uint64_t now_ns, uint64_t stat_idle_ns, bool online,
		   struct cpu_clock *clock)
{
	uint64_t passed_ns = time->valid ? rise_of(now_ns, time->now_ns) : 0, idle_ns = passed_ns;
	bool counts = time->online && online;

	if (counts)
		idle_ns = idle_rise(time, stat_idle_ns, passed_ns);
	time->idle_ns += idle_ns;
	time->busy_ns += passed_ns - idle_ns;
	if (!counts) {
		time->base_ns = stat_idle_ns;
		time->idle_since = time->idle_ns;
	}
	time->valid = true;
	time->online = online;
	time->now_ns = now_ns;
	clock->idle_ns = time->idle_ns;
	clock->accounted_ns = time->busy_ns;
	clock->unaccounted_ns = 0;
	clock->last_switch_ns = now_ns;
	clock->running_tid = 1;
}

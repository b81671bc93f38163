/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"

uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now))
		return 0;
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

uint64_t clock_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t clock_thread_cpu_ns(pthread_t thread)
{
	clockid_t clock;

	return pthread_getcpuclockid(thread, &clock) ? 0 : clock_ns(clock);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ring of single switches on the real kernel: what it keeps, holds, and forgets. */
#include <criterion/criterion.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "drive.h"
#include "kernel/switch_ring.h"

#define CPUS_MOST 1024u

static struct switch_ring *open_ring(uint64_t window_ns, size_t bytes)
{
	static const bool online[CPUS_MOST] = {true, true};
	const struct switch_ring_options options = {
		.cpus_possible = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
		.online = online,
		.window_ns = window_ns,
		.bytes_max = bytes,
	};
	struct switch_ring *ring = NULL;
	char why[512] = "";

	if (geteuid())
		drive_skip("needs root");
	cr_assert_leq(options.cpus_possible, CPUS_MOST);
	cr_assert_eq(switch_ring_new(&options, why, sizeof(why), &ring), 0, "%s", why);
	return ring;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	cr_assert_eq(sched_setaffinity(0, sizeof(set), &set), 0);
}

/* Two processes on CPU 0 that wake each other so often. Returns the id of the other one; what the
 * kernel says of its switches. */
static pid_t ping_pong(int rounds, struct rusage *ret_usage)
{
	int there[2], back[2];
	char byte = 0;
	pid_t other;

	cr_assert(!pipe(there) && !pipe(back));
	pin(0);
	other = fork();
	if (!other) {
		while (rounds-- > 0 && read(there[0], &byte, 1) == 1)
			if (write(back[1], &byte, 1) != 1)
				break;
		_exit(0);
	}
	for (int i = 0; i < rounds; i++)
		cr_assert(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1);
	for (int i = 0; i < 2; i++)
		close(there[i]), close(back[i]);
	cr_assert_eq(wait4(other, NULL, 0, ret_usage), other);
	return other;
}

/* Rows of CPU 0 in which tid comes to run, and in which it is woken. */
struct found {
	size_t turns, wakeups, by_self, rows;
	bool ordered, whole;
};

static struct found look(const struct switch_ring *ring, pid_t tid)
{
	struct found found = {.ordered = true, .whole = true};
	struct switch_reading reading;
	uint64_t before_ns = 0;

	switch_ring_look(ring, 0, &reading);
	for (uint64_t n = reading.first; n <= reading.last; n++) {
		struct switch_row row;

		if (!switch_ring_row(ring, 0, n, &row)) {
			found.whole = false;
			continue;
		}
		found.rows++;
		found.ordered &= row.time_ns >= before_ns;
		before_ns = row.time_ns;
		if (row.tid != (uint32_t)tid)
			continue;
		found.turns += row.kind == SWITCH_TURN;
		found.wakeups += row.kind == SWITCH_WAKEUP;
		found.by_self += row.kind == SWITCH_WAKEUP && row.other_tid == (uint32_t)getpid() &&
				 !(row.flags & SWITCH_IN_IRQ);
	}
	return found;
}

Test(switches, each_is_kept_with_who_left_and_who_woke)
{
	struct switch_ring *ring = open_ring(60 * DRIVE_SECOND, 0);
	struct rusage usage;
	pid_t other = ping_pong(500, &usage);
	struct found found;

	found = look(ring, other);
	cr_expect(found.ordered && found.whole);
	/* Its birth is one; its end is none of either. */
	cr_expect(labs((long)found.wakeups - usage.ru_nvcsw) <= 2, "%zu of %ld", found.wakeups,
		  usage.ru_nvcsw);
	cr_expect(labs((long)found.turns - usage.ru_nvcsw - usage.ru_nivcsw) <= 2, "%zu of %ld",
		  found.turns, usage.ru_nvcsw + usage.ru_nivcsw);
	cr_expect(found.by_self + 5 >= found.wakeups, "%zu of %zu", found.by_self, found.wakeups);
	switch_ring_free(ring);
}

Test(switches, of_a_full_ring_the_newest_are_left)
{
	struct switch_ring *ring = open_ring(60 * DRIVE_SECOND, 1);
	uint64_t began_ns = clock_now_ns();
	struct switch_reading reading;
	struct rusage usage;
	struct found found;
	pid_t other;

	other = ping_pong(5000, &usage);
	switch_ring_look(ring, 0, &reading);
	cr_expect(reading.is_full);
	cr_expect_eq(reading.last - reading.first, 1022 - 1024 / 16);
	cr_expect_gt(reading.since_ns, began_ns);
	found = look(ring, other);
	cr_expect(found.ordered);
	cr_expect_gt(found.turns + found.wakeups, 100);
	switch_ring_free(ring);
}

Test(switches, of_a_cpu_that_was_off_line_nothing_is_kept_and_that_is_counted)
{
	static const bool online[CPUS_MOST] = {[1] = true};
	const struct switch_ring_options options = {
		.cpus_possible = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
		.online = online,
		.window_ns = DRIVE_SECOND,
	};
	struct switch_ring *ring = NULL;
	struct switch_reading reading;
	struct rusage usage;
	char why[512] = "";

	if (geteuid() || options.cpus_possible < 2)
		drive_skip("needs root, and two CPUs");
	cr_assert_eq(switch_ring_new(&options, why, sizeof(why), &ring), 0, "%s", why);
	ping_pong(200, &usage);
	switch_ring_look(ring, 0, &reading);
	cr_expect_lt(reading.last, reading.first);
	cr_expect_geq((long)switch_ring_lost(ring), usage.ru_nvcsw);
	switch_ring_free(ring);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the programs of a session cost those in whose time they run. */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/session_private.h"

/*
 * Of one run, by enum cost_program, in ns. guess: where none was measured yet. outside: the way
 * from the tracepoint to the program and back, its first and last steps, and of those that measure
 * each run the clock; as the kernel's statistics tell beyond what the programs do (measured on
 * x86-64 at 2.6 GHz: 30 to 80 a short run, 150 of a change of state, 0.3 to 1.0 us of births, ends
 * and ticks).
 */
static const struct cost_facts {
	uint32_t guess_ns, outside_ns;
} facts[COST_CNT] = {
	[COST_SWITCH] = {300, 60},   [COST_WAKEUP] = {150, 80}, [COST_TASK] = {2000, 500},
	[COST_TICK] = {10000, 1000}, [COST_STATE] = {300, 150}, [COST_DATA] = {200, 35},
	[COST_SEND] = {200, 35},     [COST_WAKER] = {60, 50},
};

int cost_open(struct session *s)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *costs;

	s->costs_bytes = s->options.cpus_possible * sizeof(*s->costs);
	s->costs_bytes = (s->costs_bytes + page - 1) / page * page;
	costs = mmap(NULL, s->costs_bytes, PROT_READ, MAP_SHARED, bpf_map__fd(s->bpf->maps.costs),
		     0);
	if (costs == MAP_FAILED)
		return -errno;
	s->costs = costs;
	return 0;
}

void cost_close(struct session *s)
{
	if (s->costs)
		munmap((void *)s->costs, s->costs_bytes);
	s->costs = NULL;
}

struct cost_counters session_program_cost(const struct session *s, enum cost_program program)
{
	struct cost_counters sum = {0};

	for (uint32_t cpu = 0; cpu < s->options.cpus_possible; cpu++) {
		const volatile struct program_cost *here = &s->costs[cpu].programs[program];

		sum.runs += program == COST_SWITCH
				    ? ((const volatile struct cpu_clock *)s->clocks)[cpu].switches
				    : here->runs;
		sum.timed += here->timed;
		sum.timed_ns += here->timed_ns;
	}
	return sum;
}

uint64_t session_cost_ns(struct session *s)
{
	uint64_t sum_ns = 0;

	for (int i = 0; i < COST_CNT; i++) {
		struct cost_counters now = session_program_cost(s, (enum cost_program)i);

		cost_meter_take(&s->cost_meters[i], &now, facts[i].guess_ns, facts[i].outside_ns);
		sum_ns += s->cost_meters[i].ns;
	}
	return sum_ns;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_COST_METER_H
#define HOTRUN_BASE_COST_METER_H
/*
 * What the runs of one program cost, from how many there were and how long some of them took. Pure;
 * no threads.
 */
#include <stdint.h>

/* Counters that only grow. */
struct cost_counters {
	uint64_t runs;
	uint64_t timed, timed_ns; /* those that were measured, and how long they took together */
};

struct cost_meter {
	struct cost_counters seen;
	uint64_t ns; /* of all runs so far; only grows */
};

/*
 * Takes the counters as they stand, of all CPUs together. Runs since the last time count with the
 * mean of those measured since then; where these are few, with that of all so far; where there are
 * none, with guess_ns. Each costs outside_ns beside, that the program does not see.
 */
void cost_meter_take(struct cost_meter *meter, const struct cost_counters *now, uint32_t guess_ns,
		     uint32_t outside_ns);
#endif

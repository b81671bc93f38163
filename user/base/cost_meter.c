/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cost_meter.h"

#include "base/rise.h"

/* With so many the mean is known to a fifth, though single runs differ by as much as they are
 * long. */
#define TIMED_LEAST 25

static double mean_ns(const struct cost_counters *was, const struct cost_counters *now,
		      uint32_t guess_ns)
{
	uint64_t timed = rise_of(now->timed, was->timed);

	if (timed >= TIMED_LEAST)
		return (double)rise_of(now->timed_ns, was->timed_ns) / (double)timed;
	return now->timed ? (double)now->timed_ns / (double)now->timed : guess_ns;
}

void cost_meter_take(struct cost_meter *meter, const struct cost_counters *now, uint32_t guess_ns,
		     uint32_t outside_ns)
{
	double each_ns = mean_ns(&meter->seen, now, guess_ns) + outside_ns;

	meter->ns += (uint64_t)((double)rise_of(now->runs, meter->seen.runs) * each_ns);
	meter->seen = *now;
}

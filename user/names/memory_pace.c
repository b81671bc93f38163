/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/memory_pace.h"

#include "base/rise.h"

static uint64_t within(uint64_t ns, uint64_t least_ns, uint64_t most_ns)
{
	return ns < least_ns ? least_ns : ns > most_ns ? most_ns : ns;
}

uint64_t memory_pace_new(uint64_t now_ns, uint64_t begun_ns, uint64_t churn_ns)
{
	uint64_t age_ns = rise_of(now_ns, begun_ns);

	if (!begun_ns || age_ns < MEMORY_WARM_NS ||
	    (churn_ns && rise_of(now_ns, churn_ns) < MEMORY_CHURN_NS))
		return 0;
	return within(age_ns / MEMORY_WARM_PART, MEMORY_WARM_READ_NS, MEMORY_WARM_READ_MOST_NS);
}

uint64_t memory_pace_fleeting(uint64_t age_ns)
{
	if (age_ns < MEMORY_STEADY_NS)
		return 0;
	return within(age_ns / MEMORY_STEADY_PART, MEMORY_STEADY_READ_NS,
		      MEMORY_STEADY_READ_MOST_NS);
}

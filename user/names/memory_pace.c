/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/memory_pace.h"

#include "base/rise.h"

uint64_t memory_pace_new(uint64_t now_ns, uint64_t begun_ns, uint64_t churn_ns)
{
	if (!begun_ns || rise_of(now_ns, begun_ns) < MEMORY_WARM_NS)
		return 0;
	return churn_ns && rise_of(now_ns, churn_ns) < MEMORY_CHURN_NS ? 0 : MEMORY_WARM_READ_NS;
}

uint64_t memory_pace_fleeting(uint64_t age_ns)
{
	uint64_t ns = age_ns / MEMORY_STEADY_PART;

	if (age_ns < MEMORY_STEADY_NS)
		return 0;
	if (ns > MEMORY_STEADY_READ_MOST_NS)
		return MEMORY_STEADY_READ_MOST_NS;
	return ns > MEMORY_STEADY_READ_NS ? ns : MEMORY_STEADY_READ_NS;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/pace.h"

uint64_t pace_wait_ns(const struct pace *p, uint64_t now_ns)
{
	uint64_t ahead_ns = p->paid_ns > now_ns ? p->paid_ns - now_ns : 0;
	uint64_t may_ns = (p->burst - 1) * p->every_ns;

	return ahead_ns > may_ns ? ahead_ns - may_ns : 0;
}

bool pace_take(struct pace *p, uint64_t now_ns)
{
	if (pace_wait_ns(p, now_ns))
		return false;
	p->paid_ns = (p->paid_ns > now_ns ? p->paid_ns : now_ns) + p->every_ns;
	return true;
}

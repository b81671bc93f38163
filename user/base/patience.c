/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/patience.h"

/* Waits are told in whole milliseconds. */
#define LOOK_LEAST_NS 1000000u

struct patience patience_new(uint64_t deadline_ns, const struct process_turns *now)
{
	return (struct patience){.deadline_ns = deadline_ns, .last = *now};
}

uint64_t patience_look_ns(const struct patience *p)
{
	return p->deadline_ns < PATIENCE_LOOKS * LOOK_LEAST_NS ? LOOK_LEAST_NS
							       : p->deadline_ns / PATIENCE_LOOKS;
}

bool patience_is_over(struct patience *p, const struct process_turns *now, uint64_t passed_ns)
{
	bool moved = now->runnable || now->cpu_ns != p->last.cpu_ns ||
		     now->delay_ns != p->last.delay_ns || now->turns != p->last.turns;

	p->past_ns += passed_ns;
	p->blocked_ns = moved ? 0 : p->blocked_ns + passed_ns;
	p->last = *now;
	return p->blocked_ns >= PATIENCE_BLOCKED * p->deadline_ns ||
	       p->past_ns >= PATIENCE_DEADLINES * p->deadline_ns;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carries out what the governor decides. */
#include <stdio.h>
#include <sys/resource.h>

#include "base/log.h"
#include "kernel/host.h"
#include "watch/private.h"

static uint64_t time_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

uint64_t budget_cpu_ns(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return time_ns(usage.ru_utime) + time_ns(usage.ru_stime);
}

uint64_t budget_own_ns(const struct watch *w)
{
	/* In this order: what the server's thread takes between the two reads must not be
	 * missing. */
	uint64_t http_ns = http_cpu_ns(w->http), all_ns = budget_cpu_ns(RUSAGE_SELF);

	return all_ns > http_ns ? all_ns - http_ns : 0;
}

uint64_t budget_bpf_ns(const struct watch *w)
{
	return w->bpf_ns + (w->collector ? collector_bpf_ns(w->collector) : 0);
}

/* What a change costs itself is no reason for the next one. */
static int change(struct watch *w, const struct collector_parts *parts, char *why, size_t why_bytes)
{
	uint64_t began_ns = budget_own_ns(w);
	int err;

	/* A capture has one rate: the one that rotates ends here, the next one begins. */
	jobs_end(w);
	ring_clear(w->ring);
	err = collector_change(w->collector, parts, why, why_bytes);
	w->start_cpu_ns += budget_own_ns(w) - began_ns;
	return err;
}

static void tell(const struct watch *w, const struct governor_plan *plan, bool down)
{
	if (w->config.budget <= 0)
		log_info("budget: no bound any more: %s", governor_level_text(plan->level));
	else
		log_info("budget: %.2f %% of the CPUs, %.2f %% allowed: %s%s", 100 * plan->cost,
			 100 * w->config.budget, down ? "" : "back to ",
			 governor_level_text(plan->level));
}

bool budget_step(struct watch *w)
{
	const struct collector_parts has = collector_parts(w->collector);
	enum governor_level level = w->governor.level;
	struct governor_input input = {.now_ns = host_now_ns(),
				       .cpus = collector_model(w->collector)->host.cpus_online,
				       .own_cpu_ns = budget_own_ns(w) - w->start_cpu_ns,
				       .bpf_ns = budget_bpf_ns(w)};
	struct collector_parts parts;
	struct governor_plan plan;
	char why[1024] = "";

	/* What somebody asked for is finished first, at one rate and with everything. */
	if (jobs_asked(w))
		return false;
	plan = governor_step(&w->governor, &input);
	parts = (struct collector_parts){plan.sample_hz, plan.requests, plan.switches};
	if (parts.sample_hz == has.sample_hz && parts.requests == has.requests &&
	    parts.switches == has.switches)
		return false;
	if (plan.level != level)
		tell(w, &plan, plan.level > level);
	if (change(w, &parts, why, sizeof(why)))
		loop_lost(w, why);
	home_save_state(w); /* the level outlives a kill */
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carries out what the governor decides. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
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

uint64_t budget_helpers_ns(const struct watch *w)
{
	return w->helpers_ns + (w->collector ? collector_helpers_ns(w->collector) : 0);
}

/* What naming took: granted to everybody once, and beyond that. */
static void naming_ns(const struct watch *w, uint64_t *ret_granted_ns, uint64_t *ret_beyond_ns)
{
	struct names_cost cost = {0};

	if (w->collector)
		cost = collector_names_cost(w->collector);
	*ret_granted_ns = w->granted_ns + cost.granted_ns;
	*ret_beyond_ns = w->beyond_ns + cost.beyond_ns;
}

uint64_t budget_own_ns(const struct watch *w)
{
	/* In this order: what the server's thread takes between the two reads must not be
	 * missing. */
	uint64_t http_ns = http_cpu_ns(w->http), all_ns = budget_cpu_ns(RUSAGE_SELF);
	uint64_t granted_ns, beyond_ns;

	naming_ns(w, &granted_ns, &beyond_ns);
	all_ns += budget_helpers_ns(w);
	return all_ns > http_ns + granted_ns ? all_ns - http_ns - granted_ns : 0;
}

void budget_detach(struct watch *w)
{
	w->bpf_ns = budget_bpf_ns(w);
	w->helpers_ns = budget_helpers_ns(w);
	naming_ns(w, &w->granted_ns, &w->beyond_ns);
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

/* --- who is set aside ------------------------------------------------------------------------ */

static void tell_collector(struct watch *w, uint64_t now_ns)
{
	const struct set_aside_row *rows[SET_ASIDE_MAX];
	uint64_t parties[SET_ASIDE_MAX];

	w->set_aside_cnt = set_aside_now(&w->set_aside, now_ns, rows);
	for (size_t i = 0; i < w->set_aside_cnt; i++)
		parties[i] = rows[i]->party;
	collector_set_aside(w->collector, parties, w->set_aside_cnt);
}

void budget_attach(struct watch *w)
{
	tell_collector(w, clock_now_ns());
}

static void tell_aside(struct watch *w, const struct ledger_use *use, double share)
{
	struct set_aside_row *row = set_aside_find(&w->set_aside, use->party);
	uint32_t face = collector_face(w->collector, use->party);
	const struct model_process *p =
		face == MODEL_NONE ? NULL : &collector_model(w->collector)->processes[face];
	const char *known = !p ? "unknown" : *p->name ? p->name : p->comm;
	char name[2 * METRICS_LABEL_BYTES];

	if (p || !*row->who)
		snprintf(row->who, sizeof(row->who), "%s", known);
	text_copy_safe(name, sizeof(name), row->who, strlen(row->who));
	log_warn("pid %u (%s), and all of its user or container: their code gets no more names for "
		 "%llu s: that took %.2f %% of a CPU, and observing is allowed %.2f %% of all; "
		 "others are not affected",
		 p ? p->tgid : 0, name,
		 (unsigned long long)((row->until_ns - row->since_ns) / 1000000000), 100 * share,
		 100 * w->config.budget);
}

/* Those who caused most of the naming, until the rest is within the budget. */
static void set_aside(struct watch *w, uint64_t excess_ns, uint64_t window_ns, uint64_t now_ns)
{
	struct ledger_use most[SET_ASIDE_MAX];
	size_t cnt = collector_most(w->collector, most, SET_ASIDE_MAX);
	size_t taken = set_aside_take(&w->set_aside, most, cnt, excess_ns, now_ns);

	for (size_t i = 0; i < taken; i++)
		tell_aside(w, &most[i], (double)most[i].used / (double)window_ns);
	tell_collector(w, now_ns);
}

/* Whose time is over is named again. */
static void follow_aside(struct watch *w, uint64_t now_ns)
{
	const struct set_aside_row *rows[SET_ASIDE_MAX];

	if (w->config.budget <= 0)
		set_aside_clear(&w->set_aside);
	if (set_aside_now(&w->set_aside, now_ns, rows) != w->set_aside_cnt)
		tell_collector(w, now_ns);
}

/* --------------------------------------------------------------------------------------------- */

int budget_step(struct watch *w, char *why, size_t why_bytes)
{
	const struct collector_parts has = collector_parts(w->collector);
	enum governor_level level = w->governor.level;
	struct governor_input input = {.now_ns = clock_now_ns(),
				       .cpus = collector_model(w->collector)->host.cpus_online,
				       .own_cpu_ns = budget_own_ns(w) - w->start_cpu_ns,
				       .bpf_ns = budget_bpf_ns(w),
				       .may_set_aside =
					       set_aside_has_room(&w->set_aside, clock_now_ns())};
	uint64_t granted_ns, begin_ns = w->governor.begin_ns;
	struct collector_parts parts;
	struct governor_plan plan;
	int err;

	/* What somebody asked for is finished first, at one rate and with everything. */
	if (jobs_asked(w))
		return 0;
	naming_ns(w, &granted_ns, &input.naming_ns);
	follow_aside(w, input.now_ns);
	plan = governor_step(&w->governor, &input);
	if (plan.aside_ns)
		set_aside(w, plan.aside_ns, input.now_ns - begin_ns, input.now_ns);
	if (w->governor.begin_ns != w->marked_ns) {
		w->marked_ns = w->governor.begin_ns;
		collector_mark(w->collector);
	}
	parts = (struct collector_parts){plan.sample_hz, plan.requests, plan.switches};
	if (parts.sample_hz == has.sample_hz && parts.requests == has.requests &&
	    parts.switches == has.switches)
		return 0;
	if (plan.level != level)
		tell(w, &plan, plan.level > level);
	err = change(w, &parts, why, why_bytes);
	save_state(w); /* the level outlives a kill */
	return err ? err : 1;
}

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

	/* A model has one rate that samples stand for: what rotates ends here. */
	jobs_end(w);
	ring_clear(w->ring);
	err = collector_change(w->collector, parts, why, why_bytes);
	w->start_cpu_ns += budget_own_ns(w) - began_ns;
	return err;
}

static void tell(const struct watch *w, const struct governor_plan *plan, bool down)
{
	char text[GOVERNOR_TEXT_BYTES];

	governor_text(text, &w->governor);
	if (w->config.budget <= 0)
		log_info("budget: no bound any more: %s", text);
	else
		log_info("budget: %.2f %% of the CPUs, %.2f %% allowed: %s%s", 100 * plan->cost,
			 100 * w->config.budget, down ? "" : "back to ", text);
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

/* --- the gear -------------------------------------------------------------------------------- */

/* Samples a second of the full gear; all others are a whole part of it. */
#define FULL_HZ 99

uint32_t budget_full_hz(const struct watch *w)
{
	return w->config.hz > FULL_HZ ? w->config.hz : FULL_HZ;
}

/* Somebody seems to be in trouble, and whether that is worth a capture is not decided yet. Verdicts
 * do without the full gear: it waits for the capture where its cost is too much. */
static bool is_suspicious(const struct watch *w)
{
	return w->config.gear == WATCH_GEAR_AUTO && w->config.capture_on && w->control &&
	       w->governor.level == GOVERNOR_ALL && w->looks_closely;
}

struct collector_gear budget_gear(const struct watch *w)
{
	struct governor_plan plan = governor_plan(&w->governor);
	uint32_t full_hz = budget_full_hz(w);
	struct collector_gear gear = {.quiet = w->config.gear != WATCH_GEAR_FULL || plan.quiet,
				      .sample_every =
					      (full_hz + plan.sample_hz / 2) / plan.sample_hz};

	if (is_suspicious(w) || (jobs_asked(w) && w->config.gear != WATCH_GEAR_QUIET))
		gear = (struct collector_gear){.quiet = false, .sample_every = 1};
	return gear;
}

/* A capture follows as many requests as a recording does; what is given up is seven eighths. */
#define FEWER 8

uint32_t budget_follow_most(const struct watch *w)
{
	uint32_t most = w->options.collector.follow_most;

	if (!most)
		return 0;
	if (w->config.gear != WATCH_GEAR_QUIET && jobs_asked(w))
		return COLLECTOR_FOLLOW_USUAL > most ? COLLECTOR_FOLLOW_USUAL : most;
	return governor_plan(&w->governor).fewer_connections ? most / FEWER : most;
}

void budget_follow_config(struct watch *w)
{
	w->governor.options.budget = w->config.budget;
	w->governor.options.full = w->config.gear == WATCH_GEAR_FULL;
	w->governor.options.hz =
		w->config.gear == WATCH_GEAR_FULL ? budget_full_hz(w) : w->config.hz;
}

/* --------------------------------------------------------------------------------------------- */

/* What the governor decides in this slice. */
static struct governor_plan ask_governor(struct watch *w)
{
	uint64_t now_ns = clock_now_ns(), granted_ns, begin_ns = w->governor.begin_ns;
	struct governor_input input = {.now_ns = now_ns,
				       .cpus = collector_model(w->collector)->host.cpus_online,
				       .own_cpu_ns = budget_own_ns(w) - w->start_cpu_ns,
				       .bpf_ns = budget_bpf_ns(w),
				       .may_set_aside = set_aside_has_room(&w->set_aside, now_ns),
				       .capturing = jobs_asked(w)};
	struct governor_plan plan;

	naming_ns(w, &granted_ns, &input.naming_ns);
	follow_aside(w, now_ns);
	plan = governor_step(&w->governor, &input);
	if (plan.aside_ns)
		set_aside(w, plan.aside_ns, now_ns - begin_ns, now_ns);
	if (w->governor.begin_ns != w->marked_ns) {
		w->marked_ns = w->governor.begin_ns;
		collector_mark(w->collector);
	}
	return plan;
}

int budget_step(struct watch *w, char *why, size_t why_bytes)
{
	struct collector_parts parts = collector_parts(w->collector);
	enum governor_level level = governor_plan(&w->governor).level;
	struct governor_plan plan = ask_governor(w);
	struct collector_gear gear;
	uint64_t now_ns = clock_now_ns();
	int err;

	if (plan.level != level) {
		tell(w, &plan, plan.level > level);
		save_state(w); /* the level outlives a kill */
	}
	w->looks_closely = suspects_want_look(&w->suspects, now_ns - w->stepped_ns);
	w->stepped_ns = now_ns;
	gear = budget_gear(w);
	collector_set_gear(w->collector, &gear);
	collector_follow(w->collector, budget_follow_most(w));
	if (parts.sample_hz == budget_full_hz(w))
		return 0;
	/* Larger rings: another configuration was read. */
	parts.sample_hz = budget_full_hz(w);
	err = change(w, &parts, why, why_bytes);
	return err ? err : 1;
}

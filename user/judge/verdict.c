/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules, as a table: the first that is true decides. */
#include "judge/verdict.h"

#include <linux/types.h>

#include "bpf/events.h"
#include "judge/figures.h"
#include "model/model.h"

void verdict_limits_default(struct verdict_limits *ret_limits)
{
	*ret_limits = (struct verdict_limits){
		.high_cpu = 0.7,
		.slow_share = 0.1,
		.unanswered = 0.5,
		.stuck_ns = STUCK_NS,
		.progress = 0.8,
		.delay_ns = 20000000,
		.steal = 0.1,
		.throttled = 0.1,
		.host_busy = 0.95,
		.host_waiting_min = 10,
		.own_waiting = 1,
		.requests_min = 20,
		.signal_bad = 0.1,
		.slower = 2,
		.wanted_min = 0.1,
		.delays_min = 100,
		.episode_ns = 3000000000,
		.hurt_by = HURT_BY_REQUESTS,
	};
}

/* What the rules look at. */
struct facts {
	struct figures f;
	enum service_signal signal;
	bool hurt;
	bool unknown;
	bool contended; /* misses CPU, and nobody is seen to be hurt by it */
};

/* That it was short of CPU tells without a signal only where something took the CPU: behind its own
 * threads, as long as they are few, it has what it can use. */
static bool is_kept_from_cpu(const struct figures *f)
{
	return figures_short(f) &&
	       (figures_bad(f, FIGURE_BEHIND_OTHERS) || figures_bad(f, FIGURE_BEHIND_OWN) ||
		figures_bad(f, FIGURE_THROTTLED) || figures_bad(f, FIGURE_STEAL));
}

/* Half of next to nothing is next to nothing: who misses so little is only hurt by waits that are
 * long. */
static bool misses_enough(const struct figures *f, const struct verdict_input *in, double least)
{
	return in->waiting + in->throttled >= least || figures_bad(f, FIGURE_DELAY);
}

/* Gets less than it wants and was promised, as far as the scheduler can tell. */
static bool misses_cpu(const struct facts *facts, const struct verdict_input *in,
		       const struct verdict_limits *limits)
{
	return is_kept_from_cpu(&facts->f) && misses_enough(&facts->f, in, limits->wanted_min) &&
	       (!in->background || figures_bad(&facts->f, FIGURE_THROTTLED));
}

/* Whether it hurts when such a one misses CPU: it was declared, or somebody may wait for it. */
static bool waits_hurt(const struct verdict_input *in, const struct verdict_limits *limits)
{
	if (limits->hurt_by == HURT_BY_WAITING)
		return true;
	return !in->background && !in->partly_seen && (in->may_serve || verdict_has_signal(in));
}

static void find_harm(struct facts *facts, const struct verdict_input *in,
		      const struct verdict_limits *limits)
{
	bool misses = facts->signal == SIGNAL_NONE && misses_cpu(facts, in, limits);

	facts->unknown = in->unmeasured && facts->signal == SIGNAL_NONE &&
			 limits->hurt_by != HURT_BY_WAITING;
	facts->hurt = facts->signal == SIGNAL_SLOW || (misses && waits_hurt(in, limits));
	facts->contended = misses && !facts->hurt;
}

static bool lacks_evidence(const struct facts *facts)
{
	return figures_bad(&facts->f, FIGURE_BOOKS);
}

static bool is_unknown(const struct facts *facts)
{
	return facts->unknown;
}

/* Steal keeps no CPU from who wants none. */
static bool is_stolen(const struct facts *facts)
{
	return facts->hurt && figures_bad(&facts->f, FIGURE_STEAL) &&
	       facts->f.known[FIGURE_PROGRESS];
}

/* Slow requests are the scheduler's doing only where its waits can be the reason. */
static bool is_short_of(const struct facts *facts, enum verdict_figure figure)
{
	return figures_bad(&facts->f, figure) &&
	       (facts->signal != SIGNAL_SLOW || facts->f.wait_tells);
}

static bool is_throttled(const struct facts *facts)
{
	return facts->hurt && is_short_of(facts, FIGURE_THROTTLED);
}

static bool is_starved(const struct facts *facts)
{
	return facts->hurt && is_short_of(facts, FIGURE_BEHIND_OTHERS);
}

static bool is_oversubscribed(const struct facts *facts)
{
	return facts->hurt && is_short_of(facts, FIGURE_BEHIND_OWN);
}

static bool is_inelastic(const struct facts *facts)
{
	return facts->hurt;
}

static bool is_contended(const struct facts *facts)
{
	return facts->contended;
}

static bool is_busy_elastic(const struct facts *facts)
{
	return figures_bad(&facts->f, FIGURE_CPU) && facts->signal == SIGNAL_FAST;
}

static bool is_busy_unmeasured(const struct facts *facts)
{
	return figures_bad(&facts->f, FIGURE_CPU);
}

static bool is_healthy(const struct facts *facts)
{
	return !facts->hurt;
}

struct rule {
	enum verdict verdict;
	bool (*applies)(const struct facts *facts);
	enum verdict_figure cause; /* told behind what says that it is hurt */
};

static const struct rule rules[] = {
	{VERDICT_NO_EVIDENCE, lacks_evidence, FIGURE_BOOKS},
	{VERDICT_UNKNOWN, is_unknown, FIGURE_CPU}, /* cause_of() */
	{VERDICT_STOLEN, is_stolen, FIGURE_STEAL},
	{VERDICT_THROTTLED, is_throttled, FIGURE_THROTTLED},
	{VERDICT_STARVED, is_starved, FIGURE_BEHIND_OTHERS},
	{VERDICT_OVERSUBSCRIBED, is_oversubscribed, FIGURE_BEHIND_OWN},
	{VERDICT_INELASTIC, is_inelastic, FIGURE_CPU},
	{VERDICT_CONTENDED, is_contended, FIGURE_CPU}, /* cause_of() */
	{VERDICT_BUSY_ELASTIC, is_busy_elastic, FIGURE_CPU},
	{VERDICT_BUSY_UNMEASURED, is_busy_unmeasured, FIGURE_CPU},
	{VERDICT_HEALTHY, is_healthy, FIGURE_CPU},
};

/* --- evidence -------------------------------------------------------------------------------- */

static const enum verdict_figure signal_figures[] = {FIGURE_STUCK,	FIGURE_SLOW_SHARE,
						     FIGURE_UNANSWERED, FIGURE_REFUSED,
						     FIGURE_SIGNAL,	FIGURE_SLOWER};
static const enum verdict_figure scheduler_figures[] = {FIGURE_PROGRESS, FIGURE_DELAY};
static const enum verdict_figure other_figures[] = {
	FIGURE_SLOW_SHARE, FIGURE_SIGNAL, FIGURE_REQUESTS,	FIGURE_CPU,
	FIGURE_PROGRESS,   FIGURE_DELAY,  FIGURE_BEHIND_OTHERS, FIGURE_BEHIND_OWN,
	FIGURE_THROTTLED,  FIGURE_STEAL,  FIGURE_STUCK,
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Adds a figure that is known and not told yet. */
static void tell(struct verdict_result *r, const struct figures *f, enum verdict_figure figure)
{
	if (!f->known[figure] || r->evidence_cnt == VERDICT_EVIDENCE_MAX)
		return;
	for (size_t i = 0; i < r->evidence_cnt; i++)
		if (r->evidence[i].figure == figure)
			return;
	r->evidence[r->evidence_cnt++] = f->all[figure];
}

static void tell_bad(struct verdict_result *r, const struct figures *f,
		     const enum verdict_figure *figures, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (figures_bad(f, figures[i]))
			tell(r, f, figures[i]);
}

static void tell_all(struct verdict_result *r, const struct figures *f, bool misses)
{
	if (r->cause == FIGURE_BOOKS)
		tell(r, f, r->cause);
	tell_bad(r, f, signal_figures, COUNT(signal_figures));
	if (misses && !r->evidence_cnt)
		tell_bad(r, f, scheduler_figures, COUNT(scheduler_figures));
	if (misses)
		tell(r, f, r->cause);
	for (size_t i = 0; i < COUNT(other_figures); i++)
		tell(r, f, other_figures[i]);
}

/* --- a process ------------------------------------------------------------------------------- */

/* What keeps it from the CPU, hurt or not: in the order in which the rules ask it of the hurt. */
static enum verdict_figure cause_of(const struct rule *rule, const struct facts *facts)
{
	static const enum verdict_figure causes[] = {FIGURE_STEAL, FIGURE_THROTTLED,
						     FIGURE_BEHIND_OTHERS, FIGURE_BEHIND_OWN};

	for (size_t i = 0; facts->contended && !lacks_evidence(facts) && i < COUNT(causes); i++)
		if (figures_bad(&facts->f, causes[i]))
			return causes[i];
	return rule->cause;
}

/* Fast enough is not well: what it wants beyond its limit is waited for, and more would be slow. */
static bool is_at_limit(const struct facts *facts)
{
	return facts->signal == SIGNAL_FAST && figures_bad(&facts->f, FIGURE_THROTTLED) &&
	       !lacks_evidence(facts);
}

void verdict_of(const struct verdict_input *input, const struct verdict_limits *limits,
		struct verdict_result *ret_result)
{
	struct verdict_result r = {0};
	const struct rule *rule = rules;
	struct facts facts = {0};

	figures_of(input, limits, &facts.f);
	facts.signal = figures_signal(&facts.f);
	find_harm(&facts, input, limits);
	while (!rule->applies(&facts))
		rule++;
	r.verdict = rule->verdict;
	/* A gap in the books leaves who is hurt, by its requests, and takes the rest. */
	r.hurt =
		facts.hurt && (rule->verdict != VERDICT_NO_EVIDENCE || facts.signal == SIGNAL_SLOW);
	r.cause = cause_of(rule, &facts);
	r.at_limit = is_at_limit(&facts);
	tell_all(&r, &facts.f, r.hurt || (facts.contended && !lacks_evidence(&facts)));
	*ret_result = r;
}

/* --- the host -------------------------------------------------------------------------------- */

static bool is_saturated(const struct figures *f)
{
	return figures_bad(f, FIGURE_HOST_BUSY) || figures_bad(f, FIGURE_HOST_WAITING);
}

bool verdict_saturated(const struct verdict_input *host, const struct verdict_limits *limits)
{
	struct figures f;

	figures_of(host, limits, &f);
	return is_saturated(&f);
}

static enum verdict most_urgent(uint32_t verdicts)
{
	enum verdict most = VERDICT_HEALTHY;

	for (enum verdict v = 0; v < VERDICT_CNT; v++)
		if (verdicts & VERDICT_BIT(v) && verdict_compare(v, most) < 0)
			most = v;
	return most;
}

static enum verdict calm_of(const struct figures *f, uint32_t host_cpus,
			    const struct verdict_limits *limits)
{
	bool high = host_cpus && f->all[FIGURE_HOST_BUSY].value >= limits->high_cpu;

	if (!high)
		return VERDICT_HEALTHY;
	return figures_signal(f) == SIGNAL_FAST ? VERDICT_BUSY_ELASTIC : VERDICT_BUSY_UNMEASURED;
}

void verdict_of_host(const struct verdict_input *host, uint32_t seen,
		     const struct verdict_limits *limits, struct verdict_result *ret_result)
{
	static const enum verdict_figure saturation[] = {FIGURE_HOST_BUSY, FIGURE_HOST_WAITING};
	uint32_t hurt = seen & ~VERDICT_BIT(VERDICT_CONTENDED);
	struct verdict_result r = {.hurt = hurt, .cause = FIGURE_HOST_BUSY};
	struct figures f;

	if (host->unmeasured)
		seen |= VERDICT_BIT(VERDICT_UNKNOWN);
	figures_of(host, limits, &f);
	if (figures_bad(&f, FIGURE_BOOKS))
		r.verdict = VERDICT_NO_EVIDENCE;
	else if (figures_bad(&f, FIGURE_STEAL) && hurt & VERDICT_BIT(VERDICT_STOLEN))
		r.verdict = VERDICT_STOLEN;
	else if (is_saturated(&f) && hurt)
		r.verdict = VERDICT_HOST_OVERLOADED;
	else if (seen)
		r.verdict = most_urgent(seen);
	else
		r.verdict = calm_of(&f, host->host_cpus, limits);
	if (r.verdict == VERDICT_NO_EVIDENCE)
		tell(&r, &f, FIGURE_BOOKS);
	if (r.verdict == VERDICT_STOLEN)
		tell(&r, &f, FIGURE_STEAL);
	if (r.verdict == VERDICT_HEALTHY || r.verdict == VERDICT_BUSY_ELASTIC)
		tell(&r, &f, FIGURE_SLOW_SHARE);
	tell_bad(&r, &f, saturation, COUNT(saturation));
	tell(&r, &f, FIGURE_HOST_BUSY);
	tell(&r, &f, FIGURE_HOST_WAITING);
	tell(&r, &f, FIGURE_SLOW_SHARE);
	tell(&r, &f, FIGURE_REQUESTS);
	if (figures_bad(&f, FIGURE_STEAL))
		tell(&r, &f, FIGURE_STEAL);
	*ret_result = r;
}

double verdict_distance(const struct verdict_evidence *e)
{
	double off = e->figure == FIGURE_PROGRESS ? e->limit - e->value : e->value - e->limit;

	return e->limit > 0 ? off / e->limit : off;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/governor.h"

#include <stdio.h>
#include <string.h>

/* Taking something back is considered below this part of the budget: what comes back costs, too. */
#define QUIET_PART 0.6
/* Naming that takes less than this part of the budget is not why it is passed. */
#define NAMING_PART	 0.1
#define PATIENCE_NS	 60000000000ull
#define PATIENCE_MOST_NS 3600000000000ull
/* Taken back, and given up again within this time: it was too early. */
#define TOO_EARLY_NS 120000000000ull
/* A step that leaves more than this part of the cost lowers nothing; where the cost rises, nobody
 * can tell. For so long it is not tried again. */
#define FUTILE_PART 0.9
#define FUTILE_NS   3600000000000ull

/* What steps give up. */
#define KIND_RATE	 0x1u
#define KIND_CONNECTIONS 0x2u
#define KIND_QUIET	 0x4u

void governor_init(struct governor *g, const struct governor_options *options,
		   enum governor_level level)
{
	memset(g, 0, sizeof(*g));
	g->options = *options;
	g->level = level < GOVERNOR_LEVEL_CNT ? level : GOVERNOR_ALL;
	g->patience_ns = PATIENCE_NS;
}

static uint32_t rate_of(const struct governor *g)
{
	uint32_t hz = g->options.hz;

	if (g->futile & KIND_RATE)
		return hz;
	if (g->level >= GOVERNOR_RATE_LEAST && hz > GOVERNOR_HZ_LEAST)
		return GOVERNOR_HZ_LEAST;
	if (g->level >= GOVERNOR_RATE_HALF && hz > 2 * GOVERNOR_HZ_LEAST)
		return hz / 2;
	return hz;
}

static bool fewer_connections(const struct governor *g)
{
	return g->options.requests && g->level >= GOVERNOR_FEWER_CONNECTIONS &&
	       !(g->futile & KIND_CONNECTIONS);
}

static bool is_quiet(const struct governor *g)
{
	return g->options.full && g->level >= GOVERNOR_QUIET && !(g->futile & KIND_QUIET);
}

static bool changes_anything(const struct governor *g, enum governor_level level)
{
	struct governor to = *g;

	to.level = level;
	return rate_of(&to) != rate_of(g) || fewer_connections(&to) != fewer_connections(g) ||
	       is_quiet(&to) != is_quiet(g);
}

static void move(struct governor *g, int by, uint64_t now_ns)
{
	enum governor_level level = g->level, last = by > 0 ? GOVERNOR_LEVEL_CNT - 1 : GOVERNOR_ALL;

	/* A step that gives up nothing (rate low anyway, requests not wanted) is none. */
	do
		level = (enum governor_level)((int)level + by);
	while (level != last && !changes_anything(g, level));
	if (by > 0 && !changes_anything(g, level))
		return;
	g->level = level;
	g->since_ns = now_ns;
	g->quiet_ns = 0;
	g->begin_ns = 0; /* what it costs now has to be measured */
}

static void step_down(struct governor *g, uint64_t now_ns)
{
	enum governor_level level = g->level;
	bool early = g->returned && now_ns - g->since_ns < TOO_EARLY_NS;

	if (early)
		g->patience_ns = g->patience_ns * 2 < PATIENCE_MOST_NS ? g->patience_ns * 2
								       : PATIENCE_MOST_NS;
	g->returned = false;
	move(g, 1, now_ns);
	g->cost_before = g->level == level ? 0 : g->cost;
}

static unsigned int kind_of(enum governor_level level)
{
	return level == GOVERNOR_QUIET		     ? KIND_QUIET
	       : level == GOVERNOR_FEWER_CONNECTIONS ? KIND_CONNECTIONS
						     : KIND_RATE;
}

/* What the last step gave up comes back where that lowered nothing; unless the cost rises with it,
 * as where it rose while the step was taken. Returns whether that is to be measured first. */
static bool judge_step(struct governor *g, uint64_t now_ns)
{
	double before = g->cost_before;
	unsigned int came_back = g->came_back;

	g->cost_before = 0;
	g->came_back = 0;
	if (g->level == GOVERNOR_ALL || now_ns - g->futile_ns >= FUTILE_NS)
		g->futile = 0;
	if (g->level == GOVERNOR_ALL || g->cost <= g->options.budget || before <= 0)
		return false;
	if (came_back) {
		if (g->cost > before / FUTILE_PART)
			g->futile &= ~came_back;
		return false;
	}
	if (g->cost <= before * FUTILE_PART || g->cost > before / FUTILE_PART)
		return false;
	g->came_back = kind_of(g->level);
	g->futile |= g->came_back;
	g->futile_ns = now_ns;
	g->cost_before = g->cost;
	g->begin_ns = 0;
	return true;
}

static void step_up(struct governor *g, uint64_t now_ns)
{
	g->returned = true;
	move(g, -1, now_ns);
}

static void judge_naming(struct governor *g, double capacity_ns)
{
	if (g->may_set_aside && g->naming > g->options.budget)
		g->aside_ns = (uint64_t)((g->naming - g->options.budget) * capacity_ns) + 1;
}

/* capacity_ns: of all CPUs in the window. */
static void judge(struct governor *g, uint64_t now_ns, double capacity_ns)
{
	double budget = g->options.budget;

	/* What came back stayed: patience returns to what it was. */
	if (g->returned && now_ns - g->since_ns >= TOO_EARLY_NS) {
		g->returned = false;
		g->patience_ns = PATIENCE_NS;
	}
	if (g->cost > budget) {
		g->quiet_ns = 0;
		if (g->may_set_aside && g->naming > budget * NAMING_PART) {
			g->aside_ns = (uint64_t)((g->cost - budget) * capacity_ns) + 1;
			g->cost_before = 0;
			return;
		}
	}
	if (judge_step(g, now_ns))
		return;
	if (g->cost > budget) {
		if (g->level + 1 < GOVERNOR_LEVEL_CNT)
			step_down(g, now_ns);
		return;
	}
	if (g->level == GOVERNOR_ALL)
		return;
	if (g->cost > budget * QUIET_PART) {
		g->quiet_ns = 0;
		return;
	}
	if (!g->quiet_ns)
		g->quiet_ns = now_ns;
	if (now_ns - g->quiet_ns >= g->patience_ns)
		step_up(g, now_ns);
}

static void begin_window(struct governor *g, const struct governor_input *in, uint64_t cost_ns)
{
	g->begin_ns = in->now_ns;
	g->begin_cost_ns = cost_ns;
	g->begin_naming_ns = in->naming_ns;
}

static void measure(struct governor *g, const struct governor_input *in)
{
	uint64_t cost_ns = in->own_cpu_ns + in->bpf_ns;
	double capacity_ns;

	g->aside_ns = 0;
	g->may_set_aside = in->may_set_aside;
	if (g->capturing != in->capturing)
		g->begin_ns = 0;
	g->capturing = in->capturing;
	if (!g->begin_ns || in->now_ns <= g->begin_ns || cost_ns < g->begin_cost_ns ||
	    in->naming_ns < g->begin_naming_ns) {
		begin_window(g, in, cost_ns);
		return;
	}
	if (in->now_ns - g->begin_ns < GOVERNOR_WINDOW_NS)
		return;
	capacity_ns = (double)(in->now_ns - g->begin_ns) * (in->cpus ? in->cpus : 1);
	if (!g->capturing)
		g->cost = (double)(cost_ns - g->begin_cost_ns) / capacity_ns;
	g->naming = (double)(in->naming_ns - g->begin_naming_ns) / capacity_ns;
	begin_window(g, in, cost_ns);
	if (g->options.budget > 0 && g->capturing)
		judge_naming(g, capacity_ns);
	else if (g->options.budget > 0)
		judge(g, in->now_ns, capacity_ns);
}

static enum governor_level level_of(const struct governor *g)
{
	if (is_quiet(g))
		return GOVERNOR_QUIET;
	if (fewer_connections(g))
		return GOVERNOR_FEWER_CONNECTIONS;
	if (rate_of(g) == g->options.hz)
		return GOVERNOR_ALL;
	return g->level >= GOVERNOR_RATE_LEAST ? GOVERNOR_RATE_LEAST : GOVERNOR_RATE_HALF;
}

struct governor_plan governor_plan(const struct governor *g)
{
	return (struct governor_plan){
		.level = level_of(g),
		.sample_hz = rate_of(g),
		.fewer_connections = fewer_connections(g),
		.quiet = is_quiet(g),
		.cost = g->cost,
		.aside_ns = g->aside_ns,
	};
}

struct governor_plan governor_step(struct governor *g, const struct governor_input *in)
{
	if (g->options.budget <= 0 && g->level != GOVERNOR_ALL) {
		g->level = GOVERNOR_ALL;
		g->begin_ns = g->quiet_ns = 0;
		g->returned = false;
	}
	measure(g, in);
	return governor_plan(g);
}

const char *governor_level_id(enum governor_level level)
{
	static const char *const ids[] = {
		[GOVERNOR_ALL] = "all",
		[GOVERNOR_RATE_HALF] = "rate-half",
		[GOVERNOR_RATE_LEAST] = "rate-least",
		[GOVERNOR_FEWER_CONNECTIONS] = "fewer-connections",
		[GOVERNOR_QUIET] = "quiet",
	};

	return level < GOVERNOR_LEVEL_CNT ? ids[level] : "unknown";
}

void governor_text(char ret_text[static GOVERNOR_TEXT_BYTES], const struct governor *g)
{
	size_t len = 0;

	*ret_text = '\0';
	if (rate_of(g) != g->options.hz)
		len = (size_t)sprintf(ret_text, "samples at %u in place of %u Hz", rate_of(g),
				      g->options.hz);
	if (fewer_connections(g))
		len += (size_t)sprintf(ret_text + len, "%sfewer connections followed",
				       len ? ", " : "");
	if (is_quiet(g))
		len += (size_t)sprintf(ret_text + len, "%sthe quiet gear", len ? ", " : "");
	if (!len)
		strcpy(ret_text, g->level == GOVERNOR_ALL
					 ? "everything is on"
					 : "everything is on, since nothing else lowers it");
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the verdicts are called, what they mean, what to do; and which is the more urgent. */
#include "base/compare.h"
#include "judge/verdict.h"

struct words {
	const char *id, *text, *remedy;
	int urgency; /* the more the sooner */
};

static const struct words words[VERDICT_CNT] = {
	[VERDICT_HEALTHY] = {"healthy", "nobody is hurt", "", 0},
	[VERDICT_BUSY_ELASTIC] = {"busy-elastic", "much CPU, and its requests are fast",
				  "it uses the machine well: optimise only for cost", 1},
	[VERDICT_BUSY_UNMEASURED] =
		{"busy-unmeasured", "much CPU, and nothing tells whether anybody is hurt",
		 "whether anybody is hurt cannot be told from outside: give a signal of its own "
		 "(slow or failed share of its work)",
		 2},
	[VERDICT_UNKNOWN] =
		{"unknown", "its requests were not measured",
		 "run hotrun doctor to see why requests are not measured; or set a health metric, "
		 "or hurt-by = waiting (--limit) if this process must not wait",
		 3},
	[VERDICT_CONTENDED] =
		{"contended", "it gets less CPU than it wants, and nobody is seen to mind",
		 "no alarm, nobody is seen to mind: set hurt-by = waiting (--limit) for what must "
		 "not wait, give what may wait less weight (CPUWeight=; nice counts within one "
		 "session only)",
		 4},
	[VERDICT_NO_EVIDENCE] = {"no-evidence", "not enough is known for a verdict",
				 "see what is missing in the books below", 5},
	[VERDICT_OVERSUBSCRIBED] =
		{"oversubscribed", "it waits behind its own threads",
		 "fewer runnable threads: bound its parallelism to the CPUs that it has", 6},
	[VERDICT_STARVED] = {"starved", "it waits behind other processes",
			     "move or limit who ran while it waited, or give this one more weight",
			     7},
	[VERDICT_THROTTLED] =
		{"throttled", "the CPU limit of its cgroup stops it",
		 "raise the limit, or flatten the bursts; the code is not what makes it slow", 8},
	[VERDICT_STOLEN] = {"stolen", "the hypervisor takes the CPU",
			    "talk to the platform, not to the developers", 9},
	[VERDICT_INELASTIC] =
		{"inelastic", "its service is hurt, and it is not for want of CPU",
		 "look for what it waits for (locks, blocked pool threads, a slow dependency, "
		 "garbage collection): more CPU does not help",
		 10},
	[VERDICT_HOST_OVERLOADED] = {"host-overloaded",
				     "more is runnable than the CPUs can run, and somebody is hurt",
				     "take load off, or limit who takes most", 11},
};

const char *verdict_id(enum verdict verdict)
{
	return words[verdict].id;
}

const char *verdict_text(enum verdict verdict)
{
	return words[verdict].text;
}

const char *verdict_remedy(enum verdict verdict)
{
	return words[verdict].remedy;
}

const char *verdict_result_remedy(const struct verdict_result *result)
{
	if (result->at_limit)
		return "fast so far, but no room is left: raise the limit, or flatten the bursts, "
		       "before its requests become slow";
	return verdict_remedy(result->verdict);
}

int verdict_compare(enum verdict a, enum verdict b)
{
	int ua = words[a].urgency, ub = words[b].urgency;

	return COMPARE(ub, ua);
}

static const struct {
	const char *id, *unit;
} figures[FIGURE_CNT] = {
	[FIGURE_SLOW_SHARE] = {"slow-share", "share"},
	[FIGURE_STUCK] = {"stuck", "ns"},
	[FIGURE_UNANSWERED] = {"unanswered", "share"},
	[FIGURE_REFUSED] = {"refused", "count"},
	[FIGURE_SIGNAL] = {"signal", ""},
	[FIGURE_SLOWER] = {"slower", "times"},
	[FIGURE_PROGRESS] = {"progress", "share"},
	[FIGURE_DELAY] = {"run-delay", "ns"},
	[FIGURE_CPU] = {"cpu", "share"},
	[FIGURE_THROTTLED] = {"throttled", "share"},
	[FIGURE_BEHIND_OTHERS] = {"behind-others", "threads"},
	[FIGURE_BEHIND_OWN] = {"behind-own", "threads"},
	[FIGURE_STEAL] = {"steal", "share"},
	[FIGURE_HOST_BUSY] = {"host-cpu", "share"},
	[FIGURE_HOST_WAITING] = {"host-waiting", "threads"},
	[FIGURE_REQUESTS] = {"requests", "count"},
	[FIGURE_BOOKS] = {"books", ""},
};

const char *verdict_figure_id(enum verdict_figure figure)
{
	return figures[figure].id;
}

const char *verdict_figure_unit(enum verdict_figure figure)
{
	return figures[figure].unit;
}

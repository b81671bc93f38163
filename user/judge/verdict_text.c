/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the verdicts are called, what they mean, what to do; and which is the more urgent. */
#include "judge/verdict.h"

struct words {
	const char *id, *text, *remedy;
	int urgency; /* the more the sooner */
};

static const struct words words[VERDICT_CNT] = {
	[VERDICT_HEALTHY] = {"healthy", "nobody is hurt, and there is room", "", 0},
	[VERDICT_BUSY_ELASTIC] = {"busy-elastic", "much CPU, and its requests are fast",
				  "it uses the machine well: optimise only for cost", 1},
	[VERDICT_BUSY_UNMEASURED] =
		{"busy-unmeasured", "much CPU, and nothing tells whether anybody is hurt",
		 "whether anybody is hurt cannot be told from outside: give a signal of its own "
		 "(slow or failed share of its work)",
		 2},
	[VERDICT_NO_EVIDENCE] = {"no-evidence", "not enough is known for a verdict",
				 "see what is missing in the books below", 3},
	[VERDICT_OVERSUBSCRIBED] =
		{"oversubscribed", "it waits behind its own threads",
		 "fewer runnable threads: bound its parallelism to the CPUs that it has", 4},
	[VERDICT_STARVED] = {"starved", "it waits behind other processes",
			     "move or limit who ran while it waited, or give this one more weight",
			     5},
	[VERDICT_THROTTLED] =
		{"throttled", "the CPU limit of its cgroup stops it",
		 "raise the limit, or flatten the bursts; the code is not what makes it slow", 6},
	[VERDICT_STOLEN] = {"stolen", "the hypervisor takes the CPU",
			    "talk to the platform, not to the developers", 7},
	[VERDICT_INELASTIC] =
		{"inelastic", "its service is degraded, and it is not for want of CPU",
		 "look for what it waits for (locks, blocked pool threads, a slow dependency, "
		 "garbage collection): more CPU does not help",
		 8},
	[VERDICT_HOST_OVERLOADED] = {"host-overloaded",
				     "more is runnable than the CPUs can run, and somebody is hurt",
				     "take load off, or limit who takes most", 9},
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

int verdict_compare(enum verdict a, enum verdict b)
{
	int ua = words[a].urgency, ub = words[b].urgency;

	return (ub > ua) - (ub < ua);
}

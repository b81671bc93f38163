/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a collector says of itself: what is attached, and what is off and why. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "collect/collector_parts.h"

void collector_features(const struct collector *c, struct feature_set *ret_features)
{
	*ret_features = *session_features(c->rooms.session);
	if (c->options.switches_s > 0)
		feature_ask(ret_features, FEATURE_BIT(FEATURE_SWITCHES));
	if (*c->switches.why)
		feature_switch_off(ret_features, FEATURE_SWITCHES, FEATURE_REFUSED, "%s",
				   c->switches.why);
	if (c->asked_requests && !c->options.requests) {
		feature_ask(ret_features, FEATURE_BIT(FEATURE_REQUESTS));
		feature_switch_off(ret_features, FEATURE_REQUESTS, FEATURE_OFF,
				   "given up to keep hotrun's cost within its budget");
	}
}

bool collector_sees_requests(const struct collector *c)
{
	return feature_is_on(session_features(c->rooms.session), FEATURE_REQUESTS);
}

/* Where connections that waited to be accepted before the start are not seen. */
static void warn_of_namespaces(const struct collector *c)
{
	uint32_t seen, all;

	if (!collector_sees_requests(c))
		return;
	session_namespaces(c->rooms.session, &seen, &all);
	if (seen < all)
		log_warn("requests: %u of %u network namespaces could not be entered; there, "
			 "connections that waited to be accepted before are not seen",
			 all - seen, all);
}

/* Of no use to commands that show no stacks. */
#define OF_STACKS                                                                  \
	(FEATURE_BIT(FEATURE_UNWIND_TABLES) | FEATURE_BIT(FEATURE_THREAD_STACKS) | \
	 FEATURE_BIT(FEATURE_BLOCKED) | FEATURE_BIT(FEATURE_WAKERS) |              \
	 FEATURE_BIT(FEATURE_PROGRAM_NAMES))

/* Features that are off, a line each. */
static void warn_of_features(const struct collector *c)
{
	struct feature_set set;

	collector_features(c, &set);
	for (enum feature f = 0; f < FEATURE_CNT; f++)
		if (feature_why(&set, f) && (c->options.samples || !(OF_STACKS & FEATURE_BIT(f))))
			log_warn("%s is off: %s; %s. See hotrun doctor", feature_rows[f].title,
				 set.why[f], feature_rows[f].lost);
}

static void warn_of_capabilities(void)
{
	char missing[128];

	if (host_missing_capabilities(missing, sizeof(missing)))
		log_warn("names of other users' processes are off: missing capabilities:%s",
			 missing);
}

void collector_warn(const struct collector *c)
{
	if (c->options.samples && !c->rooms.model->kernel_text)
		log_warn("kernel names are off: kallsyms is hidden");
	if (c->options.samples && c->rooms.host.max_stack < 127)
		log_warn("stacks are cut short: kernel.perf_event_max_stack is %u",
			 c->rooms.host.max_stack);
	warn_of_features(c);
	warn_of_namespaces(c);
	warn_of_capabilities();
}

void collector_announce(const struct collector *c, const char *verb)
{
	const struct model_host *h = &c->rooms.model->host;

	log_info("%s at %u Hz (%s) on %u CPU%s: %s of all processes (%zu threads)%s%s%s", verb,
		 h->sample_hz / c->options.gear.sample_every, h->event, h->cpus_online,
		 h->cpus_online == 1 ? "" : "s",
		 c->options.gear.quiet ? "quiet gear: CPU times and waits by the kernel's counts"
				       : "accounts",
		 c->rooms.model->threads_cnt,
		 collector_sees_requests(c) ? ", requests" : ", requests off",
		 c->options.samples ? ", stacks of " : "",
		 !c->options.samples ? ""
		 : *h->filter	     ? h->filter
				     : "all processes");
	collector_warn(c);
}

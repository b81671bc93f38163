/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a collector says of itself: what is attached, and what is off and why. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "collect/collector_parts.h"

bool collector_sees_requests(const struct collector *c)
{
	return c->options.requests && !session_requests_why(c->rooms.session);
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

void collector_requests_text(const struct collector *c, char *text, size_t bytes)
{
	const char *why = session_requests_why(c->rooms.session);

	if (!c->options.requests)
		snprintf(text, bytes, "requests off");
	else
		snprintf(text, bytes, "requests%s%s", why ? " off: " : "", why ? why : "");
}

/* What is off and why, each after "; ". */
static void list_off(const struct collector *c, char *text, size_t bytes)
{
	const char *why = session_unwind_why(c->rooms.session);
	const char *wakers = c->options.wakers && !c->options.blocked
				     ? "without blocked time there are no waits"
				     : session_wakers_why(c->rooms.session);

	snprintf(text, bytes, "%s%s%s%s%s%s%s%s",
		 c->rooms.model->kernel_text ? "" : "; kernel names off: kallsyms is hidden",
		 c->rooms.host.max_stack < 127 ? "; stacks cut short: kernel.perf_event_max_stack"
					       : "",
		 why ? "; stacks break in code without frame pointers: " : "", why ?: "",
		 wakers ? "; wakers off: " : "", wakers ?: "",
		 *c->switches.why ? "; switches off: " : "", c->switches.why);
}

static void warn_of_capabilities(void)
{
	char missing[128];

	if (host_missing_capabilities(missing, sizeof(missing)))
		log_warn("names of other users' processes are off: missing capabilities:%s",
			 missing);
}

void collector_announce(const struct collector *c, const char *verb)
{
	const struct model_host *h = &c->rooms.model->host;
	char stacks[512] = "no stacks", off[512] = "", requests[256];

	if (c->options.samples) {
		list_off(c, off, sizeof(off));
		snprintf(stacks, sizeof(stacks), "stacks of %s%s",
			 *h->filter ? h->filter : "all processes", off);
	}
	collector_requests_text(c, requests, sizeof(requests));
	log_info("%s at %u Hz (%s) on %u CPU%s: %s of all processes (%zu threads), %s, %s", verb,
		 h->sample_hz / c->options.gear.sample_every, h->event, h->cpus_online,
		 h->cpus_online == 1 ? "" : "s",
		 c->options.gear.quiet ? "quiet gear: CPU times and waits by the kernel's counts"
				       : "accounts",
		 c->rooms.model->threads_cnt, requests, stacks);
	warn_of_namespaces(c);
	warn_of_capabilities();
}

void collector_warn(const struct collector *c)
{
	char off[512] = "", requests[256];

	if (c->options.samples)
		list_off(c, off, sizeof(off));
	if (*off)
		log_warn("%s", off + strlen("; "));
	if (c->options.requests && !collector_sees_requests(c)) {
		collector_requests_text(c, requests, sizeof(requests));
		log_warn("%s", requests);
	}
	warn_of_namespaces(c);
	warn_of_capabilities();
}

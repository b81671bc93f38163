/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the collector says of itself: what it watches, what is off and why. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "collect/collector_private.h"

/* What is off and why, each after "; ". */
static void list_off(const struct collector *c, char *text, size_t bytes)
{
	snprintf(text, bytes, "%s%s",
		 c->model->kernel_text ? "" : "; kernel names off: kallsyms is hidden",
		 c->host.max_stack < 127 ? "; stacks cut short: kernel.perf_event_max_stack" : "");
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
	const struct model_host *h = &c->model->host;
	char stacks[512] = "no stacks", off[128] = "", requests[256];

	if (c->options.samples) {
		list_off(c, off, sizeof(off));
		snprintf(stacks, sizeof(stacks), "stacks of %s%s",
			 *h->filter ? h->filter : "all processes", off);
	}
	collector_requests_text(c, requests, sizeof(requests));
	log_info("%s at %u Hz (%s) on %u CPU%s: %s of all processes (%zu threads), %s, %s", verb,
		 h->sample_hz, h->event, h->cpus_online, h->cpus_online == 1 ? "" : "s",
		 c->options.no_switches ? "CPU times (scheduler accounts off)" : "accounts",
		 c->model->threads_cnt, requests, stacks);
	collector_warn_of_namespaces(c);
	warn_of_capabilities();
}

void collector_warn(const struct collector *c)
{
	char off[128] = "", requests[256];

	if (c->options.samples)
		list_off(c, off, sizeof(off));
	if (*off)
		log_warn("%s", off + strlen("; "));
	if (c->options.requests && !collector_sees_requests(c)) {
		collector_requests_text(c, requests, sizeof(requests));
		log_warn("%s", requests);
	}
	collector_warn_of_namespaces(c);
	warn_of_capabilities();
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a collector can give up while it runs, and what its programs cost. */
#include "collect/collector_private.h"

int collector_change(struct collector *c, const struct collector_parts *parts, char *why,
		     size_t why_bytes)
{
	struct collector_parts was = collector_parts(c);
	uint32_t most = c->options.sample_hz_most ?: was.sample_hz;
	bool reopen = was.requests != parts->requests || was.switches != parts->switches ||
		      parts->sample_hz > most;

	c->options.sample_hz_most = parts->sample_hz > most ? parts->sample_hz : most;
	c->options.sample_hz = parts->sample_hz;
	c->options.requests = parts->requests;
	c->options.no_switches = !parts->switches;
	session_set_rate(c->session, parts->sample_hz);
	return collector_begin_anew(c, reopen, why, why_bytes);
}

struct collector_parts collector_parts(const struct collector *c)
{
	return (struct collector_parts){.sample_hz = c->options.sample_hz,
					.requests = c->options.requests,
					.switches = !c->options.no_switches};
}

uint64_t collector_bpf_ns(struct collector *c)
{
	return c->bpf_ns + (c->session ? session_cost_ns(c->session) : 0);
}

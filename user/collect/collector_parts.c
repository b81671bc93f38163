/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a collector holds, what it can give up while it runs, and what its programs cost. */
#include "collect/collector_private.h"

/* A model beyond one of these is large: together some 400 MB at the most. */
#define LARGE_PROCESSES 100000u
#define LARGE_THREADS	100000u /* more than twice those at the start */
#define LARGE_STACKS	200000u
#define LARGE_FRAMES	10000000u
#define LARGE_LOCATIONS 1000000u
#define LARGE_STRINGS	(64u << 20)

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

size_t collector_known_bytes(const struct collector *c)
{
	return model_bytes(c->model) + ingest_bytes(c->ingest);
}

bool collector_is_large(const struct collector *c)
{
	const struct model *m = c->model;

	if (c->options.bytes_max) {
		size_t bytes = collector_known_bytes(c);

		return bytes > c->options.bytes_max && bytes > 2 * c->bytes_at_start;
	}
	return m->processes_cnt > LARGE_PROCESSES ||
	       m->threads_cnt > LARGE_THREADS + 2 * c->threads_at_start ||
	       m->stacks_cnt > LARGE_STACKS || m->frames_cnt > LARGE_FRAMES ||
	       m->locations_cnt > LARGE_LOCATIONS || m->strings_bytes > LARGE_STRINGS;
}

struct names_cost collector_names_cost(const struct collector *c)
{
	return names_cost(c->names);
}

size_t collector_most(const struct collector *c, struct ledger_use *ret_most, size_t max)
{
	return names_most(c->names, ret_most, max);
}

void collector_mark(struct collector *c)
{
	names_mark(c->names);
}

void collector_set_aside(struct collector *c, const uint64_t *parties, size_t cnt)
{
	names_set_aside(c->names, parties, cnt);
}

uint32_t collector_face(const struct collector *c, uint64_t party)
{
	return names_face(c->names, c->model, party);
}

uint64_t collector_helpers_ns(struct collector *c)
{
	struct names_cost cost = names_cost(c->names);
	uint64_t nursery_ns = nursery_cpu_ns(c->nursery);

	/* One that is gone has none any more. */
	c->nursery_ns = nursery_ns > c->nursery_ns ? nursery_ns : c->nursery_ns;
	return cost.worker_cpu_ns + c->opener_ns + cost.opener_cpu_ns + c->nursery_ns;
}

void collector_set_bound(struct collector *c, size_t bytes, const struct names_file_limits *file)
{
	c->options.bytes_max = bytes;
	c->options.file_limits = *file;
	names_workers_limit(c->workers, bytes * NAMES_PARTS, file);
}

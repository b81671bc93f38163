/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/collector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/kernel_hazards.h"
#include "collect/blocked_looks.h"
#include "collect/collector_parts.h"
#include "collect/unwind_feed.h"
#include "isolate/nursery.h"
#include "isolate/workers.h"
#include "kernel/cgroup_tree.h"
#include "opener/opener.h"

/* What may be held for names, in times of what may be known of processes and stacks. */
#define NAMES_PARTS 4u
/* Looks at threads that do not run, a second at the most, and the part of a CPU that they take at
 * the most; of who runs for ever. */
#define LOOKS_A_SECOND 10u
#define LOOKS_PART     100u
#define CALM_LOOKS     4u
#define CALM_PART      500u
/* What tables may take where nobody says: those of some 200 processes of the usual kind. */
#define UNWIND_BYTES ((size_t)64 << 20)

static void describe(struct collector *c)
{
	struct model *m = c->rooms.model;
	char filter[256] = "";
	size_t used = 0;

	if (c->options.cgroup)
		snprintf(filter, sizeof(filter), "--cgroup %s", c->options.cgroup);
	for (size_t i = 0; i < c->options.tgid_cnt && used < sizeof(filter) - 16; i++)
		used += (size_t)snprintf(filter + used, sizeof(filter) - used, "%s-p %u",
					 i ? " " : "", c->options.tgids[i]);
	m->host.name = model_str(m, c->options.host_name ?: c->rooms.host.name);
	m->host.kernel = model_str(m, c->rooms.host.release);
	m->host.machine = model_str(m, c->rooms.host.machine);
	m->host.version = HOTRUN_VERSION;
	m->host.event = c->options.cycles ? "cycles" : "cpu-clock";
	m->host.filter = model_str(m, filter);
	m->host.command = model_str(m, c->options.command);
	m->host.cpus_online = c->rooms.host.cpus_online;
	m->host.cpus_possible = c->rooms.host.cpus_possible;
	m->host.sample_hz = c->options.sample_hz;
	m->host.max_stack = c->rooms.host.max_stack;
}

int collector_open_rooms(struct collector *c)
{
	struct names_options names = {
		.nursery = c->nursery,
		.workers = c->workers,
		.memory_bytes = c->options.bytes_max * NAMES_PARTS,
		.proc_path = "/proc",
		.node_root = c->options.node_root,
		.unwinds = c->options.samples && !c->options.stacks.by_fp,
		.from = (enum names_from)c->options.names,
	};

	c->rooms.model = model_new();
	if (!c->rooms.model)
		return -ENOMEM;
	describe(c);
	c->rooms.ingest =
		ingest_new(c->rooms.model, c->rooms.host.cpus_possible, host_boot_offset_ns());
	c->rooms.names = names_new(&names);
	return c->rooms.ingest && c->rooms.names ? 0 : -ENOMEM;
}

void collector_close_rooms(struct collector *c)
{
	if (c->rooms.names)
		c->opener_ns += names_cost(c->rooms.names).opener_cpu_ns;
	names_free(c->rooms.names);
	ingest_free(c->rooms.ingest);
	model_free(c->rooms.model);
	cgroup_watch_close(&c->groups);
	c->rooms.names = NULL;
	c->rooms.ingest = NULL;
	c->rooms.model = NULL;
}

/* Without samples, too, the kernel walks the stacks of hotrun itself in a tick. */
static int check_hazards(const struct collector *c, char *why, size_t why_bytes)
{
	bool tables = c->options.samples && !c->options.stacks.by_fp;

	return host_check_hazards(&c->rooms.host,
				  HAZARD_USER_STACKS | HAZARD_KERNEL_STACKS |
					  (tables ? HAZARD_TABLES : 0) |
					  (c->options.cycles ? 0 : HAZARD_CPU_CLOCK),
				  c->options.ignore_hazards, why, why_bytes);
}

int collector_open_session(struct collector *c, char *why, size_t why_bytes)
{
	/* Without samples nobody reads stacks: the kernel walks those of one process alone,
	 * hotrun's own, which mostly sleeps. */
	uint32_t self = (uint32_t)getpid();
	struct session_options options = {
		.sample_hz = c->options.sample_hz,
		.quiet = c->options.gear.quiet,
		.sample_every = c->options.gear.sample_every,
		.cycles = c->options.cycles,
		.cpus_possible = c->rooms.host.cpus_possible,
		.max_stack = c->rooms.host.max_stack,
		.tables = c->options.samples && !c->options.stacks.by_fp,
		.unwind_bytes = c->options.stacks.unwind_bytes ?: UNWIND_BYTES,
		.stack_frames = c->options.stacks.frames,
		.tgids = c->options.samples ? c->options.tgids : &self,
		.tgid_cnt = c->options.samples ? c->options.tgid_cnt : 1,
		.cgroups = c->cgroups.folder != NULL,
		.requests = c->options.requests,
		.stands = c->options.stands || c->options.blocked,
		.wakers = c->options.wakers && c->options.blocked,
		.slow_ns = c->options.slow_ns,
		.slow_ports = c->options.slow_ports,
		.slow_port_cnt = c->options.slow_port_cnt,
	};

	int err = session_new(&options, why, why_bytes, &c->rooms.session);

	if (!err)
		c->options.gear.quiet = c->next_gear.quiet = session_is_quiet(c->rooms.session);
	if (!err)
		request_take_set_shares(&c->requests);
	if (!err && session_unwind(c->rooms.session)) {
		c->rooms.feed = unwind_feed_new(session_unwind(c->rooms.session),
						c->options.stacks.is_calm);
		if (!c->rooms.feed)
			err = -ENOMEM;
	}
	return err;
}

/* Who borrows whom. */
static void wire(struct collector *c)
{
	c->rooms.options = &c->options;
	records_open(&c->records, &c->rooms);
	c->facts.rooms = &c->rooms;
	c->facts.newly_started = &c->records.newly_started;
	c->waits.rooms = &c->rooms;
	c->waits.facts = &c->facts;
	c->naming.rooms = &c->rooms;
	c->naming.records = &c->records;
	c->naming.facts = &c->facts;
	c->naming.waits = &c->waits;
	c->requests.rooms = &c->rooms;
	c->requests.ops = &c->records.ops;
	c->requests.facts = &c->facts;
	c->listeners.rooms = &c->rooms;
	c->listeners.facts = &c->facts;
	c->switches.rooms = &c->rooms;
	c->switches.books = &c->books;
	c->notices.rooms = &c->rooms;
}

int collector_new(const struct collector_options *options, char *why, size_t why_bytes,
		  struct collector **ret_collector)
{
	struct collector *c = calloc(1, sizeof(*c));
	int err = -ENOMEM;

	snprintf(why, why_bytes, "out of memory");
	if (!c)
		return err;
	c->options = *options;
	c->asked_requests = options->requests;
	c->options.gear.sample_every = options->gear.sample_every ?: 1;
	c->next_gear = c->options.gear;
	wire(c);
	err = books_open(&c->books, &c->rooms, &c->records.ops);
	if (err)
		goto out;
	host_describe(&c->rooms.host);
	err = host_check(&c->rooms.host, why, why_bytes);
	if (!err)
		err = check_hazards(c, why, why_bytes);
	if (!err && options->cgroup) {
		err = cgroup_tree_find(options->cgroup, &c->cgroups.folder);
		if (err)
			snprintf(why, why_bytes, "%s: %s", options->cgroup,
				 err == -ENOENT ? "no such cgroup" : strerror(-err));
	}
	if (err)
		goto out;
	/* Before there is any BPF object, and for as long as there is one: none is any helper's. */
	c->nursery = nursery_new(OPENER_CAPABILITIES);
	if (c->nursery)
		c->workers = names_workers(c->nursery, c->options.bytes_max * NAMES_PARTS,
					   &c->options.file_limits);
	err = c->workers ? collector_open_rooms(c) : -errno;
	if (!err && (options->stands || options->blocked)) {
		c->rooms.looks =
			blocked_looks_new(&c->rooms, c->nursery,
					  options->stacks.is_calm ? CALM_LOOKS : LOOKS_A_SECOND,
					  options->stacks.is_calm ? CALM_PART : LOOKS_PART);
		err = c->rooms.looks ? 0 : -ENOMEM;
	}
	if (err) {
		snprintf(why, why_bytes, "out of memory");
		goto out;
	}
	err = collector_open_session(c, why, why_bytes);
	if (!err)
		switch_keep_open(&c->switches);
out:
	if (err) {
		collector_free(c);
		return err;
	}
	*ret_collector = c;
	return 0;
}

void collector_free(struct collector *c)
{
	if (!c)
		return;
	unwind_feed_free(c->rooms.feed);
	session_free(c->rooms.session);
	collector_close_rooms(c);
	workers_free(c->workers);
	blocked_looks_free(c->rooms.looks);
	nursery_free(c->nursery);
	cgroup_select_clear(&c->cgroups);
	books_close(&c->books);
	switch_keep_close(&c->switches);
	naming_close(&c->naming);
	wait_choice_close(&c->waits);
	records_close(&c->records);
	process_facts_close(&c->facts);
	free(c);
}

void collector_follow(struct collector *c, uint32_t most)
{
	c->options.follow_most = most;
}

void collector_take_switches(struct collector *c)
{
	switch_keep_want(&c->switches);
}

uint64_t collector_slice_start_ns(const struct collector *c)
{
	return c->slice_start_ns;
}

struct names_cost collector_names_cost(const struct collector *c)
{
	return names_cost(c->rooms.names);
}

size_t collector_most(const struct collector *c, struct ledger_use *ret_most, size_t max)
{
	return names_most(c->rooms.names, ret_most, max);
}

void collector_mark(struct collector *c)
{
	names_mark(c->rooms.names);
}

void collector_set_aside(struct collector *c, const uint64_t *parties, size_t cnt)
{
	names_set_aside(c->rooms.names, parties, cnt);
}

uint32_t collector_face(const struct collector *c, uint64_t party)
{
	return names_face(c->rooms.names, c->rooms.model, party);
}

uint64_t collector_helpers_ns(struct collector *c)
{
	struct names_cost cost = names_cost(c->rooms.names);
	uint64_t nursery_ns = nursery_cpu_ns(c->nursery);

	/* One that is gone has none any more. */
	c->nursery_ns = nursery_ns > c->nursery_ns ? nursery_ns : c->nursery_ns;
	return cost.worker_cpu_ns + c->opener_ns + cost.opener_cpu_ns + c->nursery_ns +
	       (c->rooms.looks ? blocked_looks_cpu_ns(c->rooms.looks) : 0);
}

void collector_set_bound(struct collector *c, size_t bytes, const struct names_file_limits *file)
{
	c->options.bytes_max = bytes;
	c->options.file_limits = *file;
	names_workers_limit(c->workers, bytes * NAMES_PARTS, file);
}

struct collector_gear collector_gear(const struct collector *c)
{
	return c->options.gear;
}

struct collector_parts collector_parts(const struct collector *c)
{
	return (struct collector_parts){.sample_hz = c->options.sample_hz,
					.requests = c->options.requests};
}

uint64_t collector_bpf_ns(struct collector *c)
{
	return c->bpf_ns + (c->rooms.session ? session_cost_ns(c->rooms.session) : 0);
}

size_t collector_map_bytes(const struct collector *c)
{
	return session_map_bytes(c->rooms.session) + switch_keep_bytes(&c->switches);
}

void collector_name_process(struct collector *c, uint32_t process)
{
	process_facts_want(&c->facts, process);
}

bool collector_walks_by_tables(const struct collector *c)
{
	return c->rooms.feed != NULL;
}

struct model *collector_model(struct collector *c)
{
	return c->rooms.model;
}

uint64_t collector_samples(const struct collector *c)
{
	return c->records.samples;
}

uint64_t collector_start_ns(const struct collector *c)
{
	return c->start_ns;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/helper_names.h"
#include "collect/collector_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/log.h"
#include "base/text.h"
#include "kernel/cgroup_tree.h"

/* Records of one instant reach the rings of two CPUs at slightly different moments. */
#define SIDEBAND_LAG_NS 100000ull
/* Reading /proc of everything at start may take this long; the rest is read when sampled. */
#define START_FACTS_NS 1500000000ull
/* Processes whose names cost too much that the log tells of in one slice. */
#define COSTLY_TOLD 3u
/* Ticks to be expected before their absence means anything. */
#define TICKS_EXPECTED_MIN 50
/*
 * What facts of processes may take of a slice, in us a CPU: a process that is sampled and has very
 * many mappings costs milliseconds. Of one parent's children a sixth, of one cgroup a third
 * (fair.h); who must wait has its turn in another slice.
 */
#define FACTS_CPU_US 30000u
/* A slice may be longer than CPUs are left without a look at whether they are on line. */
#define FOLLOW_CPUS_NS 1500000000ull

/* --- naming ---------------------------------------------------------------------------------- */

/* Names a stack unless this pass did it already. */
static void name_stack(struct collector *c, uint64_t id, uint64_t time_ns)
{
	uint32_t row = id ? model_stack_find(c->model, id) : MODEL_NONE;

	if (row == MODEL_NONE)
		return;
	while (c->stack_pass_cnt <= row) {
		if (GROW(c->stack_pass, c->stack_pass_cnt, c->stack_pass_cap))
			return;
		c->stack_pass[c->stack_pass_cnt++] = 0;
	}
	if (c->stack_pass[row] == c->pass)
		return;
	c->stack_pass[row] = c->pass;
	names_stack(c->names, c->model, row, time_ns);
}

static void read_maps(struct collector *c)
{
	uint64_t now_ns = clock_now_ns();

	names_follow(c->names, c->model, c->maps_read_ns);
	c->maps_read_ns = now_ns;
}

/* Code of the process may have changed its place since that sample. */
static bool is_restless(const struct collector *c, uint32_t process, uint64_t since_ns)
{
	return names_changed_ns(c->names, c->model, process) >= since_ns;
}

/* In the order of time, each of them: what an address means depends on it. */
static void name_restless(struct collector *c, size_t from)
{
	struct model *m = c->model;
	uint64_t since_ns = from < m->samples_cnt ? m->samples[from].time_ns : 0;

	for (size_t i = from; i < m->samples_cnt; i++) {
		struct model_sample sample = m->samples[i];
		uint32_t process = m->threads[sample.thread].process, row;

		if (!sample.user_stack || !is_restless(c, process, since_ns))
			continue;
		collector_name_process(c, process);
		row = model_stack_find(m, sample.user_stack);
		if (row != MODEL_NONE)
			names_stack(c->names, m, row, sample.time_ns);
	}
}

/* Newest sample first: a stack is named once a pass, by what its addresses mean now. */
static void name_samples(struct collector *c, size_t from)
{
	struct model *m = c->model;

	c->named = m->samples_cnt;
	c->pass++;
	name_restless(c, from);
	for (size_t i = m->samples_cnt; i-- > from;) {
		struct model_sample sample = m->samples[i];
		uint32_t process = m->threads[sample.thread].process;

		collector_name_process(c, process);
		name_stack(c, sample.kernel_stack, sample.time_ns);
		name_stack(c, sample.user_stack, sample.time_ns);
	}
}

/* --- slices ---------------------------------------------------------------------------------- */

void collector_drain_sideband(struct collector *c, uint64_t until_ns)
{
	model_loss_add(c->model, LOSS_BAD_RECORD,
		       session_drain_sideband(c->session, &c->sideband_ops, until_ns));
	for (size_t i = 0; i < c->execs_cnt; i++) {
		/* Those not sampled yet are read when they are. */
		if (c->model->processes[c->execs[i]].flags & PROCESS_SAMPLED)
			names_process_exec(c->names, c->model, c->execs[i]);
		else
			names_forget(c->names, c->model, c->execs[i]);
	}
	c->execs_cnt = 0;
}

static void drain_until(struct collector *c, uint64_t until_ns)
{
	/* The side-band first: a process is to be known before its samples. */
	collector_drain_sideband(c, until_ns);
	model_loss_add(c->model, LOSS_BAD_RECORD, session_drain(c->session, &c->ops));
	collector_young_look(c);
}

static void read_accounts(struct collector *c)
{
	int err;

	ingest_pass_begin(c->ingest);
	err = session_read_accounts(c->session, &c->ops);
	if (err)
		model_loss_add(c->model, LOSS_ITERATOR, 1);
	else
		ingest_pass_end(c->ingest, clock_now_ns());
}

/* Returns the time of the reading, to which accounts and books of this slice reach. */
static uint64_t read_cpus(struct collector *c)
{
	host_online_cpus(c->online);
	host_read_cpus(c->steal_ns, c->idle_ns, c->host.cpus_possible);
	for (uint32_t cpu = 0; cpu < c->host.cpus_possible; cpu++) {
		struct cpu_clock clock = {0};
		uint64_t now_ns = 0;

		if (session_read_cpu(c->session, cpu, &clock, &now_ns)) {
			model_loss_add(c->model, LOSS_ITERATOR, 1);
			continue;
		}
		if (c->options.no_switches)
			cpu_time_read(&c->cpu_times[cpu], now_ns, c->idle_ns[cpu], c->online[cpu],
				      &clock);
		ingest_cpu(c->ingest, cpu, &clock, now_ns, c->steal_ns[cpu], c->online[cpu]);
	}
	return clock_now_ns();
}

/* As of the last host_online_cpus(). */
static void follow_cpus(struct collector *c)
{
	model_loss_add(c->model, LOSS_CPU_UNATTACHED, session_follow_cpus(c->session, c->online));
	c->followed_ns = clock_now_ns();
}

/* Returns by how much it rose since the last reading. */
static uint64_t read_pressure(struct collector *c)
{
	uint64_t was = c->pressure_ns;

	if (c->model->host.off & OFF_PRESSURE)
		return 0;
	if (host_read_pressure(&c->pressure_ns))
		c->model->host.off |= OFF_PRESSURE;
	return c->pressure_ns > was ? c->pressure_ns - was : 0;
}

static void read_losses(struct collector *c)
{
	uint64_t counts[LOSS_KERNEL_CNT], now;

	session_read_losses(c->session, counts);
	ingest_losses(c->ingest, counts, LOSS_KERNEL_CNT);
	now = session_recursion_misses(c->session);
	model_loss_add(c->model, LOSS_RECURSION, now - c->recursion_misses);
	c->recursion_misses = now;
	now = names_timeouts(c->names);
	model_loss_add(c->model, LOSS_NAMES_TIMEOUT, now - c->names_timeouts);
	c->names_timeouts = now;
	follow_cpus(c);
}

/* A host that runs but delivers no tick: the event is there, its interrupt is not. */
static void check_ticks(struct collector *c)
{
	const struct model *m = c->model;

	/* Of this slice: the model may hold earlier ones, too. */
	for (size_t i = m->cpus_cnt; i-- > 0 && m->cpus[i].slice + 1 == m->slices_cnt;) {
		const struct model_cpu *cpu = &m->cpus[i];

		c->ticks_seen |= cpu->ticks_taken > 0;
		c->ticks_expected_ns += cpu->accounted_ns;
	}
	if (c->ticks_seen ||
	    c->ticks_expected_ns < TICKS_EXPECTED_MIN * 1000000000ull / c->options.sample_hz)
		return;
	c->ticks_seen = true; /* say it once */
	log_warn("sampling: no tick has arrived although the CPUs are busy; hot paths will be "
		 "missing (the sampling event does not fire on this machine)");
}

void collector_drain(struct collector *c)
{
	uint64_t now_ns = clock_now_ns();

	drain_until(c, now_ns - SIDEBAND_LAG_NS);
	read_maps(c);
	/* Soon, since short processes take their files' names with them. */
	name_samples(c, c->named);
	if (now_ns - c->followed_ns < FOLLOW_CPUS_NS)
		return;
	host_online_cpus(c->online);
	follow_cpus(c);
}

/* Names are needed of who is not sampled, too: of those that have lived for a slice. */
static void take_signals(struct collector *c)
{
	const struct model *m = c->model;

	if (!c->options.signals)
		return;
	for (uint32_t i = 0; i < m->processes_cnt; i++)
		if (!m->processes[i].exit_ns && m->processes[i].born_ns < c->slice_start_ns)
			collector_name_process(c, i);
	c->options.take_signals(c->options.signals, c->model);
}

/* Says whose names are left out for what they cost, each once. */
static void tell_costly(struct collector *c)
{
	unsigned told = 0;
	uint32_t row;

	if (!c->sandbox_told && names_cost(c->names).without) {
		c->sandbox_told = true;
		log_warn("names: files of other processes are read without a full sandbox: this "
			 "kernel, or "
			 "the container that hotrun is in, does not allow it; limits of CPU and "
			 "memory hold");
	}
	if (!c->helpers_told && names_cost(c->names).no_helpers) {
		c->helpers_told = true;
		log_warn("names: the process " HELPER_NURSERY " has ended: no more files of other "
			 "processes are read, and their code stays without names; start hotrun "
			 "again");
	}
	/* The others are in the report: a storm of them is not to fill the log. */
	while (told++ < COSTLY_TOLD && (row = names_next_costly(c->names)) != MODEL_NONE) {
		const struct model_process *p = &c->model->processes[row];
		const char *known = *p->name ? p->name : p->comm;
		char name[256];

		text_copy_safe(name, sizeof(name), known, strlen(known));
		if (p->files_refused)
			log_warn("pid %u (%s): its names are incomplete: a file of it takes more "
				 "work to "
				 "read than a file may; others are not affected",
				 p->tgid, name);
		else
			log_warn("pid %u (%s): its names are incomplete: its perf map is written "
				 "faster, "
				 "or anew more often, than it is followed; others are not affected",
				 p->tgid, name);
	}
}

void collector_end_slice(struct collector *c)
{
	struct model *m = c->model;
	struct model_slice *slice;
	uint64_t end_ns, pressure_ns;

	ingest_set_boot_offset(c->ingest, host_boot_offset_ns());
	drain_until(c, c->stopped ? UINT64_MAX : clock_now_ns() - SIDEBAND_LAG_NS);
	read_accounts(c);
	collector_read_requests(c);
	end_ns = read_cpus(c);
	/* What came meanwhile is in the books of this slice, and a capture may end with it. */
	drain_until(c, c->stopped ? UINT64_MAX : clock_now_ns() - SIDEBAND_LAG_NS);
	pressure_ns = read_pressure(c);
	read_losses(c);
	cgroup_select_refresh(&c->cgroups, c->session, m);
	cgroup_watch_refresh(&c->groups, m);
	read_maps(c);
	names_tail(c->names, m, c->tailed_ns);
	c->tailed_ns = clock_now_ns();
	name_samples(c, c->first_sample);
	if (c->stopped)
		names_settle(c->names, m);
	tell_costly(c);
	take_signals(c);
	ingest_slice_end(c->ingest);
	check_ticks(c);

	slice = &m->slices[m->slices_cnt - 1];
	slice->end_ns = end_ns; /* naming may take long on a slow host */
	slice->pressure_ns = pressure_ns;
	m->host.end_ns = slice->end_ns;
	c->slice_start_ns = slice->end_ns;
}

int collector_fresh_slice(struct collector *c)
{
	model_forget_slice(c->model);
	c->model->slices_cnt = 0;
	c->model->host.start_ns = c->slice_start_ns;
	return collector_begin_slice(c);
}

int collector_begin_slice(struct collector *c)
{
	struct model_slice slice = {
		.start_ns = c->slice_start_ns,
		.wall_offset_ns = host_wall_offset_ns(),
	};

	fair_begin_anew(&c->facts);
	c->facts.most = FACTS_CPU_US * c->host.cpus_online;
	c->facts.most_of_cgroup = c->facts.most_of_process = c->facts.most / 2;
	c->named = c->first_sample = c->model->samples_cnt;
	return model_slice_add(c->model, &slice);
}

/* --- start ----------------------------------------------------------------------------------- */

static void describe(struct collector *c)
{
	struct model *m = c->model;
	char filter[256] = "";
	size_t used = 0;

	if (c->options.cgroup)
		snprintf(filter, sizeof(filter), "--cgroup %s", c->options.cgroup);
	for (size_t i = 0; i < c->options.tgid_cnt && used < sizeof(filter) - 16; i++)
		used += (size_t)snprintf(filter + used, sizeof(filter) - used, "%s-p %u",
					 i ? " " : "", c->options.tgids[i]);
	m->host.name = model_str(m, c->options.host_name ?: c->host.name);
	m->host.kernel = model_str(m, c->host.release);
	m->host.machine = model_str(m, c->host.machine);
	m->host.version = HOTRUN_VERSION;
	m->host.event = c->options.cycles ? "cycles" : "cpu-clock";
	m->host.filter = model_str(m, filter);
	m->host.command = model_str(m, c->options.command);
	m->host.cpus_online = c->host.cpus_online;
	m->host.cpus_possible = c->host.cpus_possible;
	m->host.sample_hz = c->options.sample_hz;
	m->host.max_stack = c->host.max_stack;
}

static int open_session(struct collector *c, char *why, size_t why_bytes)
{
	/* Who keeps no samples spares the kernel the walk of stacks, those of one idle process
	 * apart. */
	uint32_t self = (uint32_t)getpid();
	struct session_options options = {
		.sample_hz = c->options.sample_hz,
		.sample_hz_most = c->options.sample_hz_most,
		.no_switches = c->options.no_switches,
		.cycles = c->options.cycles,
		.cpus_possible = c->host.cpus_possible,
		.max_stack = c->host.max_stack,
		.tgids = c->options.samples ? c->options.tgids : &self,
		.tgid_cnt = c->options.samples ? c->options.tgid_cnt : 1,
		.cgroups = c->cgroups.folder != NULL,
		.requests = c->options.requests,
		.slow_ns = c->options.slow_ns,
		.slow_ports = c->options.slow_ports,
		.slow_port_cnt = c->options.slow_port_cnt,
	};

	return session_new(&options, why, why_bytes, &c->session);
}

static int open_rooms(struct collector *c)
{
	struct names_options names = {
		.nursery = c->nursery,
		.workers = c->workers,
		.memory_bytes = c->options.bytes_max * NAMES_PARTS,
		.proc_path = "/proc",
		.node_root = c->options.node_root,
	};

	c->model = model_new();
	if (!c->model)
		return -ENOMEM;
	describe(c);
	c->ingest = ingest_new(c->model, c->host.cpus_possible, host_boot_offset_ns());
	c->names = names_new(&names);
	return c->ingest && c->names ? 0 : -ENOMEM;
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
	collector_take_records(c);
	c->online = calloc(HOST_MAX_CPUS, sizeof(*c->online));
	c->steal_ns = calloc(HOST_MAX_CPUS, sizeof(*c->steal_ns));
	c->idle_ns = calloc(HOST_MAX_CPUS, sizeof(*c->idle_ns));
	c->cpu_times = calloc(HOST_MAX_CPUS, sizeof(*c->cpu_times));
	if (!c->online || !c->steal_ns || !c->idle_ns || !c->cpu_times)
		goto out;
	host_describe(&c->host);
	err = host_check(&c->host, why, why_bytes);
	if (!err && options->cgroup) {
		err = cgroup_tree_find(options->cgroup, &c->cgroups.folder);
		if (err)
			snprintf(why, why_bytes, "%s: %s", options->cgroup,
				 err == -ENOENT ? "no such cgroup" : strerror(-err));
	}
	if (err)
		goto out;
	/* Before there is any BPF object, and for as long as there is one: none is any helper's. */
	c->nursery = nursery_new(NAMES_CAPABILITIES);
	if (c->nursery)
		c->workers = names_workers(c->nursery, c->options.bytes_max * NAMES_PARTS,
					   &c->options.file_limits);
	err = c->workers ? open_rooms(c) : -errno;
	if (err) {
		snprintf(why, why_bytes, "out of memory");
		goto out;
	}
	err = open_session(c, why, why_bytes);
out:
	if (err) {
		collector_free(c);
		return err;
	}
	*ret_collector = c;
	return 0;
}

static void name_process(struct collector *c, uint32_t process)
{
	names_process(c->names, c->model, process);
	/* Its mappings told. */
	if (c->options.samples && (c->model->processes[process].flags & PROCESS_DOTNET))
		collector_young_add(c, process);
}

/* Facts and mappings of what runs already; the busiest of 200 processes cost 20 ms together. */
static void read_processes(struct collector *c)
{
	uint64_t end_ns = clock_now_ns() + START_FACTS_NS;

	for (uint32_t i = 0; i < c->model->processes_cnt && clock_now_ns() < end_ns; i++)
		if (!(c->model->processes[i].flags &
		      (PROCESS_FACTS | PROCESS_GONE | PROCESS_KERNEL)))
			name_process(c, i);
}

static void mark_processes(struct collector *c)
{
	struct model *m = c->model;

	for (size_t i = 0; i < m->processes_cnt; i++) {
		if (m->processes[i].tgid == (uint32_t)getpid())
			m->processes[i].flags |= PROCESS_SELF;
		for (size_t k = 0; k < c->options.tgid_cnt; k++)
			if (m->processes[i].tgid == c->options.tgids[k])
				m->processes[i].flags |= PROCESS_SELECTED;
	}
}

/* OFF_* of model.h. */
static uint32_t kernel_off(const struct collector *c)
{
	uint32_t without = session_kernel_without(c->session);

	return (without & KERNEL_WITHOUT_GROUPS ? OFF_GROUPS : 0) |
	       (without & KERNEL_WITHOUT_QUEUES ? OFF_QUEUES : 0) |
	       (session_tells_own_waits(c->session) ? 0 : OFF_OWN) |
	       (c->options.no_switches ? OFF_SWITCHES | OFF_ACCOUNTS : 0) |
	       (collector_sees_requests(c) ? 0 : OFF_REQUESTS);
}

int collector_start(struct collector *c, char *why, size_t why_bytes)
{
	int err;

	if (c->options.samples)
		c->model->kernel_text = names_kernel_text(c->names);
	read_accounts(c);
	if (c->options.facts || c->options.signals)
		read_processes(c);
	mark_processes(c);
	cgroup_select_refresh(&c->cgroups, c->session, c->model);
	cgroup_watch_open(&c->groups, c->model);
	cgroup_watch_refresh(&c->groups, c->model);
	drain_until(c, clock_now_ns() - SIDEBAND_LAG_NS);
	names_tail(c->names, c->model, 0);

	c->model->host.off |= kernel_off(c);
	read_accounts(c);
	collector_read_requests(c);
	c->start_ns = c->slice_start_ns = c->tailed_ns = c->maps_read_ns = read_cpus(c);
	read_pressure(c);
	read_losses(c);
	ingest_begin(c->ingest, c->start_ns);
	c->threads_at_start = c->model->threads_cnt;
	c->bytes_at_start = collector_known_bytes(c);
	c->model->host.start_ns = c->start_ns;
	model_forget_slice(c->model);
	err = session_start(c->session, why, why_bytes);
	if (err)
		return err;
	err = collector_begin_slice(c);
	if (err)
		snprintf(why, why_bytes, "out of memory");
	return err;
}

void collector_stop(struct collector *c)
{
	session_stop(c->session);
	c->stopped = true;
}

/* --- a view that runs for days --------------------------------------------------------------- */

static void close_rooms(struct collector *c)
{
	if (c->names)
		c->opener_ns += names_cost(c->names).opener_cpu_ns;
	names_free(c->names);
	ingest_free(c->ingest);
	model_free(c->model);
	cgroup_watch_close(&c->groups);
	c->names = NULL;
	c->ingest = NULL;
	c->model = NULL;
}

/* After the side-band was drained. */
static int reopen_session(struct collector *c, char *why, size_t why_bytes)
{
	c->bpf_ns += session_cost_ns(c->session);
	session_free(c->session);
	c->session = NULL;
	c->recursion_misses = 0;
	return open_session(c, why, why_bytes);
}

int collector_begin_anew(struct collector *c, bool reopen, char *why, size_t why_bytes)
{
	int err;

	/* What is on its way belongs to the old model, which holds the stacks that were sent
	 * once. */
	session_stop(c->session);
	drain_until(c, clock_now_ns() - SIDEBAND_LAG_NS);
	close_rooms(c);
	c->names_timeouts = 0;
	c->stack_pass_cnt = 0;
	c->young_cnt = c->was_young_cnt = 0;
	err = open_rooms(c);
	if (err) {
		snprintf(why, why_bytes, "out of memory");
		return err;
	}
	if (reopen)
		err = reopen_session(c, why, why_bytes);
	return err ?: collector_start(c, why, why_bytes);
}

int collector_renew(struct collector *c, char *why, size_t why_bytes)
{
	return collector_begin_anew(c, false, why, why_bytes);
}

/* --------------------------------------------------------------------------------------------- */

void collector_name_process(struct collector *c, uint32_t process)
{
	uint32_t party;
	uint64_t begin_ns;

	if (c->model->processes[process].flags & (PROCESS_FACTS | PROCESS_GONE | PROCESS_KERNEL))
		return;
	party = collector_party(c, process);
	if (!fair_may(&c->facts, c->model, party))
		return;
	begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	name_process(c, process);
	fair_add(&c->facts, c->model, party,
		 (uint32_t)((clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns) / 1000) + 1);
}

struct model *collector_model(struct collector *c)
{
	return c->model;
}

size_t collector_map_bytes(const struct collector *c)
{
	return session_map_bytes(c->session);
}

uint64_t collector_samples(const struct collector *c)
{
	return c->samples;
}

uint64_t collector_start_ns(const struct collector *c)
{
	return c->start_ns;
}

uint64_t collector_slice_start_ns(const struct collector *c)
{
	return c->slice_start_ns;
}

void collector_free(struct collector *c)
{
	if (!c)
		return;
	session_free(c->session);
	close_rooms(c);
	workers_free(c->workers);
	nursery_free(c->nursery);
	cgroup_select_clear(&c->cgroups);
	free(c->online);
	free(c->steal_ns);
	free(c->idle_ns);
	free(c->cpu_times);
	free(c->stack_pass);
	free(c->execs);
	free(c->young);
	free(c->was_young);
	fair_clear(&c->looks);
	fair_clear(&c->facts);
	free(c);
}

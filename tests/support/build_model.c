/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "checked.h"
#include "build_model.h"

#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/events.h"
#include "model/requests.h"
#include "model/sched_figures.h"

/* 2026-11-21 10:00:00 UTC at the capture's start. */
#define WALL_OFFSET_NS (1795255200ll * 1000000000ll - (int64_t)BUILD_START_NS)

struct model *build_model(uint32_t cpus, uint32_t hz)
{
	struct model *m = model_new();

	if (!m)
		abort();
	m->host = (struct model_host){
		.name = model_str(m, "web-1"),
		.kernel = model_str(m, "6.1.0-18-amd64"),
		.machine = model_str(m, "x86_64"),
		.version = model_str(m, "0.1.0"),
		.event = model_str(m, "cpu-clock"),
		.filter = model_str(m, ""),
		.command = model_str(m, ""),
		.taken = model_str(m, ""),
		.cpus_online = cpus,
		.cpus_possible = cpus,
		.sample_hz = hz,
		.max_stack = 127,
		.start_ns = BUILD_START_NS,
		.end_ns = BUILD_START_NS,
		.complete = true,
	};
	return m;
}

uint32_t build_process(struct model *m, uint32_t tgid, const char *name, uint32_t flags)
{
	uint32_t row = checked(model_process_get(m, tgid, (uint64_t)tgid * BUILD_SECOND));
	struct model_process *p = &m->processes[row];

	p->flags = flags | PROCESS_FACTS;
	p->born_ns = p->start_ns;
	p->name = model_str(m, name);
	p->comm = model_str(m, flags & PROCESS_DOTNET ? "dotnet" : name);
	p->exe = model_str(m, "");
	p->unit = p->container = p->cgroup = p->exe;
	return row;
}

uint32_t build_thread(struct model *m, uint32_t process, uint32_t tid, const char *comm,
		      uint64_t on_cpu_ns, char state)
{
	uint32_t row = checked(model_thread_get(m, process, tid, (uint64_t)tid * BUILD_SECOND));

	m->threads[row].comm = model_str(m, comm);
	m->threads[row].sched.on_cpu_ns = on_cpu_ns;
	m->threads[row].state = (uint8_t)state;
	return row;
}

uint32_t build_symbol(struct model *m, const char *name, const char *module, enum model_kind kind,
		      bool application)
{
	struct model_symbol symbol = {
		.name = name,
		.raw = name,
		.module = module,
		.kind = kind,
		.application = application,
	};

	return checked(model_symbol_get(m, &symbol));
}

uint32_t build_unnamed(struct model *m, const char *module, uint32_t offset, enum model_kind kind,
		       enum model_reason reason)
{
	char name[256];
	struct model_symbol symbol = {
		.name = name,
		.raw = name,
		.module = module,
		.kind = kind,
		.reason = reason,
	};

	snprintf(name, sizeof(name), "%s+0x%x", module, offset);
	return checked(model_symbol_get(m, &symbol));
}

/* Even, so that a caller's return address (one more) is looked up as this one. */
static uint64_t address_of(uint32_t symbol)
{
	return 0x400000 + (uint64_t)symbol * 16;
}

static uint64_t stack_of(struct model *m, uint32_t process, uint16_t flags, const uint32_t *symbols,
			 uint32_t cnt)
{
	struct model_stack stack = {.process = process,
				    .flags = flags,
				    .frame_cnt = (uint16_t)cnt,
				    .broken_module = MODEL_NONE,
				    .id = hash_pair(process, flags)};
	uint64_t frames[STACK_MAX_FRAMES];

	if (!cnt)
		return 0;
	if (cnt > STACK_MAX_FRAMES)
		abort();
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t symbol = symbols[cnt - 1 - i];
		struct model_location location = {
			.process = process,
			.symbol = symbol,
			.address = address_of(symbol),
			.older = MODEL_NONE,
			.tier = "",
		};

		checked(model_location_add(m, &location));
		frames[i] = address_of(symbol) + (i ? 1 : 0);
		stack.id = hash_pair(stack.id, frames[i]);
	}
	checked(model_stack_add(m, &stack, frames));
	return stack.id;
}

void build_samples(struct model *m, uint32_t thread, uint32_t cnt, uint16_t stack_flags,
		   const uint32_t *symbols, uint32_t symbol_cnt)
{
	struct model_sample sample = {.thread = thread, .kind = SAMPLE_ON_CPU};
	uint32_t user = 0;

	while (user < symbol_cnt && m->symbols[symbols[user]].kind != KIND_KERNEL)
		user++;
	if (user < symbol_cnt)
		sample.kernel_stack =
			stack_of(m, MODEL_NONE, STACK_KERNEL, symbols + user, symbol_cnt - user);
	sample.user_stack = stack_of(m, m->threads[thread].process, stack_flags, symbols, user);
	for (uint32_t i = 0; i < cnt; i++) {
		sample.time_ns = BUILD_START_NS + m->samples_cnt * 1000000;
		checked_err(model_sample_add(m, &sample));
	}
}

void build_broken_at(struct model *m, const char *path)
{
	struct model_module module = {.path = path};

	m->stacks[m->stacks_cnt - 1].broken_module = checked(model_module_get(m, &module));
}

void build_slice(struct model *m, uint64_t length_ns, uint64_t accounted_ns,
		 uint64_t unaccounted_ns, uint64_t ticks)
{
	struct model_slice slice = {
		.start_ns = m->host.end_ns,
		.end_ns = m->host.end_ns + length_ns,
		.wall_offset_ns = WALL_OFFSET_NS,
	};

	checked_err(model_slice_add(m, &slice));
	m->host.end_ns = slice.end_ns;
	for (uint32_t i = 0; i < m->host.cpus_online; i++) {
		struct model_cpu cpu = {
			.slice = (uint32_t)m->slices_cnt - 1,
			.cpu = i,
			.elapsed_ns = length_ns,
			.idle_ns = length_ns - accounted_ns - unaccounted_ns,
			.accounted_ns = accounted_ns,
			.unaccounted_ns = unaccounted_ns,
			.switches = 1000,
			.ticks_taken = ticks,
			.queue = {ticks},
		};

		checked_err(model_cpu_add(m, &cpu));
	}
}

static uint32_t group_of(const struct model *m, uint32_t thread)
{
	uint64_t id = m->processes[m->threads[thread].process].cgroup_id;

	for (uint32_t i = 0; i < m->cgroups_cnt; i++)
		if (m->cgroups[i].id == id)
			return i;
	return MODEL_NONE;
}

static void add_account(struct model *m, uint32_t slice, uint32_t thread,
			const struct sched_figures *figures)
{
	struct model_account account = {
		.slice = slice,
		.thread = thread,
		.cgroup = group_of(m, thread),
		.sched = *figures,
	};

	checked_err(model_account_add(m, &account));
}

/* Row `part` of `parts` of what a thread has beyond its accounts; the first one has the
 * remainder. */
static struct sched_figures share_of_rest(const struct model *m,
					  const struct sched_figures *accounted, uint32_t thread,
					  uint32_t part, uint32_t parts)
{
	struct sched_figures share = m->threads[thread].sched;
	const uint64_t *was = (const uint64_t *)accounted;
	uint64_t *is = (uint64_t *)&share;

	for (size_t i = 0; i < sizeof(share) / sizeof(uint64_t); i++) {
		uint64_t rest = is[i] - was[i];

		is[i] = rest / parts + (part ? 0 : rest % parts);
	}
	return share;
}

static void build_rest(struct model *m, uint32_t first_slice, uint32_t seconds)
{
	struct sched_figures *accounted = calloc(m->threads_cnt + 1, sizeof(*accounted));
	static const struct sched_figures nothing;

	if (!accounted)
		abort();
	for (size_t i = 0; i < m->accounts_cnt; i++)
		sched_figures_add(&accounted[m->accounts[i].thread], &m->accounts[i].sched);
	for (uint32_t part = 0; part < seconds; part++) {
		for (uint32_t i = 0; i < m->threads_cnt; i++) {
			struct sched_figures share =
				share_of_rest(m, &accounted[i], i, part, seconds);

			if (memcmp(&share, &nothing, sizeof(share)) != 0)
				add_account(m, first_slice + part, i, &share);
		}
	}
	free(accounted);
}

/* As a recorder writes them: slice after slice. */
static int compare_accounts(const void *a, const void *b)
{
	const struct model_account *x = a, *y = b;

	if (x->slice != y->slice)
		return x->slice < y->slice ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

void build_books(struct model *m, uint32_t seconds)
{
	uint32_t first_slice = (uint32_t)m->slices_cnt;
	uint64_t parts = (uint64_t)seconds * m->host.cpus_online, on_cpu_ns = 0;

	for (size_t i = 0; i < m->threads_cnt; i++)
		on_cpu_ns += m->threads[i].sched.on_cpu_ns;
	for (uint32_t i = 0; i < seconds; i++)
		build_slice(m, BUILD_SECOND, on_cpu_ns / parts, 0, m->samples_cnt / parts);
	/* What the division left over. */
	m->cpus[0].accounted_ns += on_cpu_ns % parts;
	m->cpus[0].idle_ns -= on_cpu_ns % parts;
	m->cpus[0].ticks_taken += m->samples_cnt % parts;
	m->cpus[0].queue[0] += m->samples_cnt % parts;
	build_rest(m, first_slice, seconds);
	if (m->accounts_cnt)
		qsort(m->accounts, m->accounts_cnt, sizeof(*m->accounts), compare_accounts);
}

/* --- waiting --------------------------------------------------------------------------------- */

void build_sched(struct model *m, uint32_t thread, const struct sched_figures *figures)
{
	sched_figures_add(&m->threads[thread].sched, figures);
}

void build_account(struct model *m, uint32_t slice, uint32_t thread,
		   const struct sched_figures *figures)
{
	build_sched(m, thread, figures);
	add_account(m, slice, thread, figures);
}

void build_delays(struct model *m, uint32_t slice, uint32_t thread, uint64_t delay_ns, uint64_t cnt)
{
	struct model_delay row = {.slice = slice, .thread = thread, .count = cnt};

	while (row.slot + 1 < DELAY_SLOTS && delay_ns >> (row.slot + 1) >= 1000)
		row.slot++;
	checked_err(model_delay_add(m, &row));
	if (delay_ns > m->threads[thread].delay_max_ns)
		m->threads[thread].delay_max_ns = delay_ns;
}

void build_contention(struct model *m, uint32_t slice, uint32_t runner, uint32_t waiter,
		      uint64_t weight)
{
	struct model_contention row = {slice, runner, waiter, weight};

	checked_err(model_contention_add(m, &row));
}

uint32_t build_cgroup(struct model *m, uint64_t id, uint32_t parent, const char *path,
		      uint64_t quota_ns, uint64_t period_ns)
{
	uint32_t row = checked(model_cgroup_get(m, id));
	struct model_cgroup *group = &m->cgroups[row];

	group->parent = parent;
	group->path = model_str(m, path);
	group->quota_ns = quota_ns;
	group->period_ns = period_ns;
	return row;
}

void build_in_cgroup(struct model *m, uint32_t process, uint32_t cgroup)
{
	m->processes[process].cgroup_id = m->cgroups[cgroup].id;
	m->processes[process].cgroup = m->cgroups[cgroup].path;
}

void build_throttle(struct model *m, uint32_t slice, uint32_t cgroup, uint64_t periods,
		    uint64_t throttled_periods, uint64_t throttled_ns)
{
	struct model_throttle row = {slice, cgroup, periods, throttled_periods, throttled_ns};

	checked_err(model_throttle_add(m, &row));
}

void build_waiters(struct model *m, uint32_t cnt, uint32_t waiters)
{
	for (size_t i = m->samples_cnt; cnt && i-- > 0; cnt--)
		m->samples[i].waiters = waiters;
}

void build_queue(struct model *m, uint32_t slice, uint32_t cpu, uint32_t waiters, uint64_t cnt)
{
	uint32_t slot = waiters < QUEUE_SLOTS ? waiters : QUEUE_MOST;

	for (size_t i = 0; i < m->cpus_cnt; i++) {
		struct model_cpu *row = &m->cpus[i];

		if (row->slice != slice || row->cpu != cpu)
			continue;
		if (row->queue[0] < cnt) {
			row->ticks_taken += cnt - row->queue[0];
			row->queue[0] = cnt;
		}
		row->queue[0] -= cnt;
		row->queue[slot] += cnt;
	}
}

/* --- requests -------------------------------------------------------------------------------- */

uint32_t build_endpoint(struct model *m, uint32_t process, const char *address, uint16_t port)
{
	struct model_endpoint row = {
		.process = process,
		.listener = 1000 + m->endpoints_cnt,
		.address = address,
		.port = port,
		.protocols = PROTOCOL_HTTP1,
		.netns = 4026531840,
		.slow_ns = REQUESTS_SLOW_NS,
	};

	return checked(model_endpoint_get(m, &row));
}

/* The row of that endpoint and slice; adds it. */
static struct model_service *service_row(struct model *m, uint32_t slice, uint32_t endpoint)
{
	struct model_service fresh = {.slice = slice, .endpoint = endpoint};

	for (size_t i = 0; i < m->services_cnt; i++)
		if (m->services[i].slice == slice && m->services[i].endpoint == endpoint)
			return &m->services[i];
	checked_err(model_service_add(m, &fresh));
	return &m->services[m->services_cnt - 1];
}

void build_service(struct model *m, const struct model_service *service)
{
	struct model_service *row = service_row(m, service->slice, service->endpoint);
	struct model_served served = row->served;
	uint64_t time_max_ns = row->time_max_ns;

	model_served_add(&served, &service->served);
	*row = *service;
	row->served = served;
	if (row->time_max_ns < time_max_ns)
		row->time_max_ns = time_max_ns;
}

void build_answers(struct model *m, uint32_t slice, uint32_t endpoint, uint64_t time_ns,
		   uint64_t cnt)
{
	struct model_response response = {.slice = slice, .endpoint = endpoint, .count = cnt};
	struct model_service *row = service_row(m, slice, endpoint);
	uint64_t slow_ns = m->endpoints[endpoint].slow_ns;

	while (response.slot + 1 < RESPONSE_SLOTS && requests_slot_ns(response.slot + 1) <= time_ns)
		response.slot++;
	checked_err(model_response_add(m, &response));
	row->served.begun += cnt;
	row->served.answered += cnt;
	row->served.slow += time_ns > slow_ns ? cnt : 0;
	row->served.very_slow += time_ns > 4 * slow_ns ? cnt : 0;
	row->served.time_ns += cnt * time_ns;
	if (row->time_max_ns < time_ns)
		row->time_max_ns = time_ns;
}

void build_switch(struct model *m, uint64_t after_ns, struct model_switch row)
{
	row.time_ns = BUILD_START_NS + after_ns;
	row.slice = model_slice_at(m, row.time_ns);
	if (!row.kind)
		row.kind = SWITCH_TURN;
	if (!row.state)
		row.state = row.flags & SWITCH_PREEMPTED ? 'R'
			    : row.kind == SWITCH_TURN	 ? 'S'
							 : '-';
	if (model_switch_add(m, &row))
		abort();
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "checked.h"
#include "watched_host.h"

#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpf/events.h"
#include "model/sched_figures.h"

#define MS	     1000000ull
#define FIRST_TGID   1000u
#define SHORT_TGID   900000u
#define CODE	     0x7f0000000000ull
#define CODE_BYTES   0x100000ull
#define SYMBOLS	     40u
#define DRAIN_LAG_NS (2 * MS) /* samples of the end of a slice come with the next one */

static uint32_t add_process(struct model *m, uint32_t tgid, uint64_t start_ns, const char *name)
{
	uint32_t row = model_process_find(m, tgid, start_ns);
	struct model_process *p;

	if (row != MODEL_NONE)
		return row;
	row = checked(model_process_get(m, tgid, start_ns));
	p = &m->processes[row];
	p->born_ns = start_ns;
	p->comm = p->name = model_str(m, name);
	p->cgroup_id = tgid % 3 + 1;
	p->parent_tgid = 1;
	return row;
}

static uint32_t add_symbol(struct model *m, uint32_t n)
{
	char name[64];
	struct model_symbol symbol = {
		.name = name, .module = "Shop.Core", .kind = KIND_JIT, .application = true};

	snprintf(name, sizeof(name), "Shop.Core.Method%u", n);
	return checked(model_symbol_get(m, &symbol));
}

static void add_location(struct model *m, uint32_t process, uint64_t address, uint32_t symbol,
			 uint64_t from_ns)
{
	struct model_location l = {.process = process,
				   .symbol = symbol,
				   .address = address,
				   .from_ns = from_ns,
				   .older = MODEL_NONE,
				   .tier = from_ns ? "OptimizedTier1" : "QuickJitted"};

	checked(model_location_add(m, &l));
}

static void add_mapping(struct model *m, uint32_t process, uint64_t start, uint64_t from_ns,
			const char *path)
{
	struct model_module module = {.path = path, .inode = 7};
	struct model_mapping mapping = {.start = start,
					.end = start + CODE_BYTES,
					.from_ns = from_ns,
					.module = checked(model_module_get(m, &module)),
					.kind = MAPPING_FILE};

	checked_err(model_mapping_add(m, process, &mapping));
}

static uint32_t service_of(const struct watched_host *host, uint32_t i)
{
	return checked(model_process_find(host->m, FIRST_TGID + i, 7 * WATCHED_SECOND + i));
}

static void add_cgroups(struct model *m)
{
	uint32_t slice = checked(model_cgroup_get(m, 100));

	m->cgroups[slice].path = model_str(m, "/shop.slice");
	for (uint64_t id = 1; id <= 3; id++) {
		char path[64];
		uint32_t row = checked(model_cgroup_get(m, id));

		snprintf(path, sizeof(path), "/shop.slice/service-%u.service", (unsigned int)id);
		m->cgroups[row].path = model_str(m, path);
		m->cgroups[row].parent = slice;
		m->cgroups[row].quota_ns = id == 2 ? 150 * MS : 0;
		m->cgroups[row].period_ns = 100 * MS;
	}
}

struct watched_host watched_host_new(uint32_t services, uint32_t threads, uint64_t second)
{
	struct watched_host host = {model_new(), services, threads, second};
	struct model *m = host.m;

	if (!m)
		abort();
	m->host.name = model_str(m, "node-7");
	m->host.kernel = model_str(m, "6.1.0-18-amd64");
	m->host.machine = model_str(m, "x86_64");
	m->host.version = m->host.event = model_str(m, "cpu-clock");
	m->host.cpus_online = m->host.cpus_possible = 2;
	m->host.sample_hz = 19;
	m->host.max_stack = 127;
	m->host.start_ns = m->host.end_ns = WATCHED_START_NS + second * WATCHED_SECOND;
	m->kernel_text = 0x1000;
	add_cgroups(m);
	for (uint32_t i = 0; i < services; i++) {
		char name[32];
		uint32_t p;

		snprintf(name, sizeof(name), "service-%u", i);
		p = add_process(m, FIRST_TGID + i, 7 * WATCHED_SECOND + i, name);
		m->processes[p].flags = PROCESS_FACTS;
		add_mapping(m, p, CODE, 0, "/opt/shop/Shop.Core.dll");
		for (uint32_t k = 0; k < threads; k++) {
			uint32_t t = checked(model_thread_get(m, p, FIRST_TGID + i * 1000 + k,
							      8 * WATCHED_SECOND + k));

			m->threads[t].comm = model_str(m, k ? ".NET TP Worker" : "main");
			m->threads[t].state = 'S';
			m->threads[t].cpus_allowed = 2;
		}
	}
	return host;
}

/* --- a second -------------------------------------------------------------------------------- */

static uint64_t add_stack(struct model *m, uint32_t process, uint64_t second, uint32_t n,
			  uint64_t time_ns)
{
	struct model_stack stack = {.id = hash_u64(((uint64_t)process << 32) + n + 1),
				    .process = process,
				    .frame_cnt = 4,
				    .broken_module = MODEL_NONE};
	uint64_t frames[4];

	/* Of the source's identity, not of its row: two models of one host share ids. */
	stack.id = hash_u64(((uint64_t)m->processes[process].tgid << 32) + n + 1);
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t address = CODE + (n + i * 7) % SYMBOLS * 16;

		frames[i] = address + (i ? 1 : 0);
		add_location(m, process, address, add_symbol(m, (n + i * 7) % SYMBOLS), 0);
	}
	/* Every tenth second a method is compiled anew, into the place of another one. */
	if (second % 10 == 9)
		add_location(m, process, frames[0], add_symbol(m, 100 + (uint32_t)second), time_ns);
	checked(model_stack_add(m, &stack, frames));
	return stack.id;
}

static void add_account(struct model *m, uint32_t thread, const struct sched_figures *figures)
{
	uint32_t slice = (uint32_t)m->slices_cnt - 1;
	struct model_account row = {.slice = slice, .thread = thread, .sched = *figures};
	struct model_delay delay = {.slice = slice, .thread = thread, .slot = 3, .count = 20};

	row.cgroup =
		checked(model_cgroup_get(m, m->processes[m->threads[thread].process].cgroup_id));
	checked_err(model_account_add(m, &row));
	checked_err(model_delay_add(m, &delay));
	sched_figures_add(&m->threads[thread].sched, figures);
	if (m->threads[thread].delay_max_ns < 12000)
		m->threads[thread].delay_max_ns = 12000;
}

static void add_sample(struct model *m, uint32_t thread, uint64_t second, uint32_t n,
		       uint64_t time_ns)
{
	uint32_t process = m->threads[thread].process;
	struct model_sample row = {.time_ns = time_ns,
				   .user_stack = add_stack(m, process, second, n, time_ns),
				   .thread = thread,
				   .cpu = (uint16_t)(n % 2),
				   .kind = SAMPLE_ON_CPU};

	m->processes[process].flags |= PROCESS_SAMPLED;
	checked_err(model_sample_add(m, &row));
}

static void add_threads(struct watched_host *host, bool first_half)
{
	uint64_t start_ns = WATCHED_START_NS + host->second * WATCHED_SECOND;
	struct model *m = host->m;

	for (uint32_t i = 0; i < host->services; i++) {
		uint32_t p = service_of(host, i);

		/* The last thread of each sleeps for ever. */
		for (uint32_t k = 0; k + 1 < host->threads; k++) {
			uint32_t t = checked(model_thread_get(m, p, FIRST_TGID + i * 1000 + k,
							      8 * WATCHED_SECOND + k));
			const struct sched_figures did = {
				.on_cpu_ns = (3 + (i + k + host->second) % 5) * MS,
				.waited_ns = 200000,
				.voluntary = 20,
			};

			if (first_half)
				add_sample(m, t, host->second, i + k + (uint32_t)host->second % 3,
					   start_ns + (i * 10 + k + 1) * MS / 2);
			else
				add_account(m, t, &did);
		}
	}
}

/* Comes and is gone before the slice ends; the kernel told of its fork first. */
static void add_short_process(struct watched_host *host)
{
	uint64_t start_ns = WATCHED_START_NS + host->second * WATCHED_SECOND;
	const struct sched_figures did = {.on_cpu_ns = MS, .voluntary = 1};
	uint32_t tgid = SHORT_TGID + (uint32_t)host->second, p, t;
	struct model *m = host->m;

	p = checked(model_process_born(m, tgid, start_ns));
	m->processes[p].comm = m->processes[p].name = model_str(m, "sh");
	m->processes[p].start_ns = start_ns + 1;
	m->processes[p].start_exact = true;
	m->processes[p].exit_ns = start_ns + 10 * MS;
	m->processes[p].cgroup_id = 3;
	add_mapping(m, p, CODE, start_ns, "/bin/sh");
	t = checked(model_thread_get(m, p, tgid, start_ns + 1));
	m->threads[t].exit_ns = start_ns + 10 * MS;
	m->threads[t].state = 'X';
	add_account(m, t, &did);
}

static void change_facts(struct watched_host *host)
{
	struct model *m = host->m;
	uint32_t p = service_of(host, 0);
	char name[32];

	if (host->second % 7)
		return;
	snprintf(name, sizeof(name), "Shop.Api.%u", (unsigned int)host->second);
	m->processes[p].name = model_str(m, name);
	m->processes[p].unit = model_str(m, "shop.service");
	add_mapping(m, p, CODE + (1 + host->second % 50) * CODE_BYTES,
		    WATCHED_START_NS + host->second * WATCHED_SECOND, "/opt/shop/More.dll");
	m->cgroups[checked(model_cgroup_get(m, 2))].quota_ns += MS;
}

static void add_the_rest(struct watched_host *host)
{
	struct model *m = host->m;
	uint32_t slice = (uint32_t)m->slices_cnt - 1, p = service_of(host, 1);
	struct model_endpoint e = {.process = p,
				   .listener = 77,
				   .address = "0.0.0.0",
				   .port = 80,
				   .slow_ns = 500 * MS};
	struct model_service service = {.slice = slice,
					.endpoint = checked(model_endpoint_get(m, &e)),
					.served = {.begun = 10, .answered = 9, .time_ns = 9 * MS},
					.time_max_ns = 3 * MS,
					.open = 1};
	struct model_response response = {
		.slice = slice, .endpoint = service.endpoint, .slot = 5, .count = 9};
	struct model_signal signal = {.slice = slice, .process = p, .value_ppm = 1000};
	struct model_past past = {slice, p, 30, 3 * MS, 2 * MS, 0, 0};
	struct model_contention pair = {slice, service_of(host, 0), p, 1500};
	struct model_throttle throttle = {slice, checked(model_cgroup_get(m, 2)), 10, 1, MS};

	checked_err(model_service_add(m, &service));
	checked_err(model_response_add(m, &response));
	checked_err(model_signal_add(m, &signal));
	checked_err(model_past_add(m, &past));
	checked_err(model_contention_add(m, &pair));
	pair.waiter = MODEL_NONE;
	checked_err(model_contention_add(m, &pair));
	checked_err(model_throttle_add(m, &throttle));
	model_loss_add(m, LOSS_STACK_RING_FULL, 1);
}

static void add_cpus(struct watched_host *host)
{
	struct model *m = host->m;

	for (uint32_t i = 0; i < 2; i++) {
		struct model_cpu row = {.slice = (uint32_t)m->slices_cnt - 1,
					.cpu = i,
					.elapsed_ns = WATCHED_SECOND,
					.idle_ns = 900 * MS,
					.accounted_ns = 100 * MS,
					.switches = 400,
					.ticks_taken = 19,
					.queue = {19}};

		checked_err(model_cpu_add(m, &row));
	}
}

void watched_host_begin(struct watched_host *host)
{
	struct model_slice slice = {.start_ns = WATCHED_START_NS + host->second * WATCHED_SECOND,
				    .wall_offset_ns = 1795255200000000000};
	struct model *m = host->m;

	/* Late ones of the slice before. */
	if (m->slices_cnt || m->samples_gone)
		add_sample(m, 0, host->second, 1, slice.start_ns - DRAIN_LAG_NS / 2);
	checked_err(model_slice_add(m, &slice));
	add_threads(host, true);
}

void watched_host_end(struct watched_host *host)
{
	struct model *m = host->m;
	struct model_slice *slice = &m->slices[m->slices_cnt - 1];

	add_short_process(host);
	add_threads(host, false);
	change_facts(host);
	add_the_rest(host);
	add_cpus(host);
	slice->end_ns = slice->start_ns + WATCHED_SECOND;
	m->host.end_ns = slice->end_ns;
	host->second++;
}

void watched_host_slice(struct watched_host *host)
{
	watched_host_begin(host);
	watched_host_end(host);
}

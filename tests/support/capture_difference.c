/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The comparison of two captures, field by field. */
#include <string.h>

#include "capture.h"

#define SAME(table, field)        \
	if (x->field != y->field) \
	return #table "." #field
#define SAME_TEXT(table, field)              \
	if (strcmp(x->field, y->field) != 0) \
	return #table "." #field
#define SAME_SCHED(table)                              \
	do {                                           \
		SAME(table, sched.on_cpu_ns);          \
		SAME(table, sched.waited_ns);          \
		SAME(table, sched.behind_own_ns);      \
		SAME(table, sched.throttled_ns);       \
		SAME(table, sched.uninterruptible_ns); \
		SAME(table, sched.voluntary);          \
		SAME(table, sched.involuntary);        \
		SAME(table, sched.migrations);         \
	} while (0)
#define COUNT(table)                          \
	if (a->table##_cnt != b->table##_cnt) \
	return #table
#define EACH(table, i) for (size_t i = 0; i < a->table##_cnt; i++)

static const char *host_difference(const struct model_host *x, const struct model_host *y)
{
	SAME_TEXT(host, name);
	SAME_TEXT(host, kernel);
	SAME_TEXT(host, machine);
	SAME_TEXT(host, version);
	SAME_TEXT(host, event);
	SAME_TEXT(host, filter);
	SAME_TEXT(host, command);
	SAME(host, cpus_online);
	SAME(host, cpus_possible);
	SAME(host, sample_hz);
	SAME(host, max_stack);
	SAME(host, start_ns);
	SAME(host, end_ns);
	SAME(host, off);
	SAME(host, complete);
	return NULL;
}

static const char *cgroup_difference(const struct model *a, const struct model *b)
{
	COUNT(cgroups);
	EACH(cgroups, i)
	{
		const struct model_cgroup *x = &a->cgroups[i], *y = &b->cgroups[i];

		SAME(cgroups, id);
		SAME(cgroups, parent);
		SAME_TEXT(cgroups, path);
		SAME(cgroups, quota_ns);
		SAME(cgroups, period_ns);
	}
	return NULL;
}

static const char *mapping_difference(const struct model_process *a, const struct model_process *b)
{
	COUNT(mapping);
	for (size_t i = 0; i < a->mapping_cnt; i++) {
		const struct model_mapping *x = &a->mappings[i], *y = &b->mappings[i];

		SAME(mappings, start);
		SAME(mappings, end);
		SAME(mappings, file_offset);
		SAME(mappings, from_ns);
		SAME(mappings, to_ns);
		SAME(mappings, module);
		SAME(mappings, kind);
	}
	return NULL;
}

static const char *process_difference(const struct model *a, const struct model *b)
{
	const char *mapping;

	COUNT(processes);
	EACH(processes, i)
	{
		const struct model_process *x = &a->processes[i], *y = &b->processes[i];

		SAME(processes, tgid);
		SAME(processes, ns_pid);
		SAME(processes, parent_tgid);
		SAME(processes, flags);
		SAME(processes, start_ns);
		SAME(processes, born_ns);
		SAME(processes, exit_ns);
		SAME(processes, cgroup_id);
		SAME_TEXT(processes, comm);
		SAME_TEXT(processes, exe);
		SAME_TEXT(processes, name);
		SAME_TEXT(processes, unit);
		SAME_TEXT(processes, container);
		SAME_TEXT(processes, cgroup);
		SAME(processes, perf_map);
		SAME(processes, start_exact);
		mapping = mapping_difference(x, y);
		if (mapping)
			return mapping;
	}
	return NULL;
}

static const char *thread_difference(const struct model *a, const struct model *b)
{
	COUNT(threads);
	EACH(threads, i)
	{
		const struct model_thread *x = &a->threads[i], *y = &b->threads[i];

		SAME(threads, process);
		SAME(threads, tid);
		SAME(threads, start_ns);
		SAME(threads, exit_ns);
		SAME_TEXT(threads, comm);
		SAME(threads, state);
		SAME(threads, baseline);
		SAME_SCHED(threads);
		SAME(threads, delay_max_ns);
		SAME(threads, cpus_allowed);
		SAME(threads, policy);
		SAME(threads, nice);
		SAME(threads, rt_priority);
	}
	return NULL;
}

static const char *code_difference(const struct model *a, const struct model *b)
{
	COUNT(modules);
	COUNT(stacks);
	EACH(modules, i)
	{
		const struct model_module *x = &a->modules[i], *y = &b->modules[i];

		SAME_TEXT(modules, path);
		SAME(modules, dev);
		SAME(modules, inode);
		SAME(modules, build_id_len);
		if (memcmp(x->build_id, y->build_id, BUILD_ID_MAX) != 0)
			return "modules.build_id";
	}
	EACH(stacks, i)
	{
		const struct model_stack *x = &a->stacks[i], *y = &b->stacks[i];

		SAME(stacks, id);
		SAME(stacks, process);
		SAME(stacks, flags);
		SAME(stacks, frame_cnt);
		SAME(stacks, broken_module);
		if (x->frame_cnt && memcmp(model_stack_frames(a, x), model_stack_frames(b, y),
					   x->frame_cnt * sizeof(uint64_t)) != 0)
			return "stacks.frames";
		if (model_stack_find(b, x->id) != i)
			return "stacks, by id";
	}
	return NULL;
}

static const char *name_difference(const struct model *a, const struct model *b)
{
	COUNT(symbols);
	COUNT(locations);
	EACH(symbols, i)
	{
		const struct model_symbol *x = &a->symbols[i], *y = &b->symbols[i];

		SAME_TEXT(symbols, name);
		SAME_TEXT(symbols, raw);
		SAME_TEXT(symbols, module);
		SAME(symbols, kind);
		SAME(symbols, reason);
		SAME(symbols, application);
		if ((x->raw == x->name) != (y->raw == y->name))
			return "symbols.raw shared";
	}
	COUNT(renamings);
	EACH(renamings, i)
	{
		const struct model_renaming *x = &a->renamings[i], *y = &b->renamings[i];

		SAME(renamings, time_s);
		SAME_TEXT(renamings, version);
		SAME(renamings, named);
	}
	EACH(locations, i)
	{
		const struct model_location *x = &a->locations[i], *y = &b->locations[i];

		SAME(locations, process);
		SAME(locations, symbol);
		SAME(locations, address);
		SAME(locations, from_ns);
		SAME(locations, older);
		SAME(locations, flags);
		SAME_TEXT(locations, tier);
		if (model_location_find(a, x->process, x->address, x->from_ns) !=
		    model_location_find(b, x->process, x->address, x->from_ns))
			return "locations, by address";
	}
	return NULL;
}

static const char *sample_difference(const struct model *a, const struct model *b)
{
	COUNT(samples);
	EACH(samples, i)
	{
		const struct model_sample *x = &a->samples[i], *y = &b->samples[i];

		SAME(samples, time_ns);
		SAME(samples, kernel_stack);
		SAME(samples, user_stack);
		SAME(samples, thread);
		SAME(samples, waiters);
		SAME(samples, cpu);
		SAME(samples, kind);
		SAME(samples, flags);
	}
	return NULL;
}

static const char *wait_difference(const struct model *a, const struct model *b)
{
	COUNT(delays);
	COUNT(contentions);
	COUNT(throttles);
	EACH(delays, i)
	{
		const struct model_delay *x = &a->delays[i], *y = &b->delays[i];

		SAME(delays, slice);
		SAME(delays, thread);
		SAME(delays, slot);
		SAME(delays, count);
	}
	EACH(contentions, i)
	{
		const struct model_contention *x = &a->contentions[i], *y = &b->contentions[i];

		SAME(contentions, slice);
		SAME(contentions, runner);
		SAME(contentions, waiter);
		SAME(contentions, weight);
	}
	EACH(throttles, i)
	{
		const struct model_throttle *x = &a->throttles[i], *y = &b->throttles[i];

		SAME(throttles, slice);
		SAME(throttles, cgroup);
		SAME(throttles, periods);
		SAME(throttles, throttled_periods);
		SAME(throttles, throttled_ns);
	}
	return NULL;
}

static const char *request_difference(const struct model *a, const struct model *b)
{
	COUNT(endpoints);
	COUNT(services);
	COUNT(responses);
	COUNT(signals);
	EACH(endpoints, i)
	{
		const struct model_endpoint *x = &a->endpoints[i], *y = &b->endpoints[i];

		SAME(endpoints, process);
		SAME(endpoints, listener);
		SAME_TEXT(endpoints, address);
		SAME(endpoints, port);
		SAME(endpoints, protocols);
		SAME(endpoints, netns);
		SAME(endpoints, slow_ns);
		if (model_endpoint_find(b, x->process, x->listener) != i)
			return "endpoints, by listener";
	}
	EACH(services, i)
	{
		const struct model_service *x = &a->services[i], *y = &b->services[i];

		SAME(services, slice);
		SAME(services, endpoint);
		if (memcmp(&x->served, &y->served, sizeof(x->served)) != 0)
			return "services.served";
		SAME(services, time_max_ns);
		SAME(services, in_progress);
		SAME(services, late);
		SAME(services, stuck);
		SAME(services, oldest_ns);
		SAME(services, queued);
		SAME(services, backlog);
		SAME(services, unsure);
	}
	EACH(responses, i)
	{
		const struct model_response *x = &a->responses[i], *y = &b->responses[i];

		SAME(responses, slice);
		SAME(responses, endpoint);
		SAME(responses, slot);
		SAME(responses, count);
	}
	EACH(signals, i)
	{
		const struct model_signal *x = &a->signals[i], *y = &b->signals[i];

		SAME(signals, slice);
		SAME(signals, process);
		SAME(signals, value_ppm);
	}
	return NULL;
}

static const char *slice_difference(const struct model *a, const struct model *b)
{
	COUNT(slices);
	COUNT(accounts);
	COUNT(cpus);
	COUNT(losses);
	EACH(slices, i)
	{
		const struct model_slice *x = &a->slices[i], *y = &b->slices[i];

		SAME(slices, start_ns);
		SAME(slices, end_ns);
		SAME(slices, wall_offset_ns);
		SAME(slices, pressure_ns);
	}
	EACH(accounts, i)
	{
		const struct model_account *x = &a->accounts[i], *y = &b->accounts[i];

		SAME(accounts, slice);
		SAME(accounts, thread);
		SAME(accounts, cgroup);
		SAME_SCHED(accounts);
	}
	EACH(losses, i)
	{
		const struct model_loss *x = &a->losses[i], *y = &b->losses[i];

		SAME(losses, slice);
		SAME(losses, cause);
		SAME(losses, count);
	}
	EACH(cpus, i)
	{
		const struct model_cpu *x = &a->cpus[i], *y = &b->cpus[i];

		SAME(cpus, slice);
		SAME(cpus, cpu);
		SAME(cpus, elapsed_ns);
		SAME(cpus, idle_ns);
		SAME(cpus, accounted_ns);
		SAME(cpus, unaccounted_ns);
		SAME(cpus, steal_ns);
		SAME(cpus, switches);
		SAME(cpus, ticks_taken);
		SAME(cpus, ticks_idle);
		SAME(cpus, ticks_filtered);
		for (size_t k = 0; k < sizeof(x->queue) / sizeof(x->queue[0]); k++)
			SAME(cpus, queue[k]);
	}
	return NULL;
}

const char *capture_difference(const struct model *a, const struct model *b)
{
	const char *(*const parts[])(const struct model *, const struct model *) = {
		cgroup_difference, process_difference, thread_difference,
		code_difference,   name_difference,    sample_difference,
		wait_difference,   request_difference, slice_difference};
	const char *found = host_difference(&a->host, &b->host);

	for (size_t i = 0; !found && i < sizeof(parts) / sizeof(parts[0]); i++)
		found = parts[i](a, b);
	return found;
}

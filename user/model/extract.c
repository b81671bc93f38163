/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/switches.h"
#include "model/extract.h"

#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>

#include "base/grow.h"
#include "bpf/events.h"
#include "model/extract_private.h"
#include "model/sched_figures.h"

struct extract *extract_new(void)
{
	struct extract *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->m = model_new();
	if (!x->m) {
		free(x);
		errno = ENOMEM;
		return NULL;
	}
	return x;
}

static void row_map_clear(struct row_map *map)
{
	free(map->rows);
	*map = (struct row_map){0};
}

void extract_leave(struct extract *x)
{
	struct row_map *maps[] = {&x->processes, &x->threads, &x->cgroups, &x->endpoints,
				  &x->modules,	 &x->stacks,  &x->symbols, &x->locations};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		row_map_clear(maps[i]);
	x->taken_processes_cnt = x->taken_threads_cnt = x->taken_cgroups_cnt = 0;
	x->taken_endpoints_cnt = x->taken_modules_cnt = x->taken_stacks_cnt = 0;
	x->unnamed_cnt = x->wanted_cnt = 0;
	x->processes_seen = x->threads_seen = x->locations_seen = 0;
	x->since_ns = x->until_ns = x->samples_open = x->samples_seen = 0;
	x->joins |= x->from != NULL;
	x->from = NULL;
}

struct model *extract_finish(struct extract *x)
{
	struct model *m = x->m;

	x->m = NULL;
	extract_free(x);
	return m;
}

void extract_free(struct extract *x)
{
	if (!x)
		return;
	extract_leave(x);
	free(x->taken_processes);
	free(x->taken_threads);
	free(x->taken_cgroups);
	free(x->taken_endpoints);
	free(x->taken_modules);
	free(x->taken_stacks);
	free(x->unnamed);
	free(x->wanted);
	free(x->sums);
	model_free(x->m);
	free(x);
}

size_t extract_bytes(const struct extract *x)
{
	const struct row_map *maps[] = {&x->processes, &x->threads, &x->cgroups, &x->endpoints,
					&x->modules,   &x->stacks,  &x->symbols, &x->locations};
	size_t bytes = model_bytes(x->m) + model_slice_bytes(x->m) +
		       x->taken_processes_cnt * sizeof(*x->taken_processes) +
		       x->taken_threads_cnt * sizeof(*x->taken_threads) +
		       x->sums_cnt * sizeof(*x->sums);

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		bytes += maps[i]->cnt * sizeof(*maps[i]->rows);
	return bytes;
}

struct model *extract_model(struct extract *x)
{
	return x->m;
}

void extract_select(struct extract *x,
		    bool (*selects)(const void *ctx, const struct model_process *p),
		    const void *ctx)
{
	x->selects = selects;
	x->selects_ctx = ctx;
}

void extract_describe(struct extract *x, const struct model *from)
{
	struct model *m = x->m;

	m->host = from->host;
	m->host.name = model_str(m, from->host.name);
	m->host.kernel = model_str(m, from->host.kernel);
	m->host.machine = model_str(m, from->host.machine);
	m->host.version = model_str(m, from->host.version);
	m->host.event = model_str(m, from->host.event);
	m->host.filter = model_str(m, from->host.filter);
	m->host.command = model_str(m, from->host.command);
	m->host.taken = model_str(m, from->host.taken);
	m->host.complete = m->host.running = false;
	m->kernel_text = from->kernel_text;
	(void)model_copy_features(m, from);
	if (from->slices_cnt)
		m->host.start_ns = from->slices[from->slices_cnt - 1].end_ns;
	if (m->host.start_ns < from->host.start_ns)
		m->host.start_ns = from->host.start_ns;
	m->host.end_ns = m->host.start_ns;
}

/* --- rows of slices -------------------------------------------------------------------------- */

/* What one call appends: rows of slices from first on become those from base on. */
struct stretch {
	uint32_t first, last, base;
};

/* The first row of a table of the source that lies in the stretch or after it. */
#define FIRST_ROW(x, table, stretch)                                                     \
	({                                                                               \
		size_t first_ = (x)->from->table##_cnt;                                  \
                                                                                         \
		while (first_ && (x)->from->table[first_ - 1].slice >= (stretch)->first) \
			first_--;                                                        \
		first_;                                                                  \
	})

/* Walks the rows of the stretch: the body sees row, a copy that has its new slice already. */
#define EACH_ROW(x, table, stretch, row)                                                         \
	for (size_t i_ = FIRST_ROW(x, table, stretch);                                           \
	     i_ < (x)->from->table##_cnt && (x)->from->table[i_].slice <= (stretch)->last; i_++) \
		for (__typeof__(*(x)->from->table) row = (x)->from->table[i_], *once_ = &row;    \
		     once_ && (row.slice += (stretch)->base - (stretch)->first, true);           \
		     once_ = NULL)

/* First, so that what the extract itself loses comes after them. */
static void take_losses(struct extract *x, const struct stretch *stretch)
{
	struct model *m = x->m;

	EACH_ROW(x, losses, stretch, row)
	{
		if (!extract_check(x, GROW(m->losses, m->losses_cnt, m->losses_cap)))
			m->losses[m->losses_cnt++] = row;
	}
}

static struct taken_thread *touch(struct extract *x, uint32_t row)
{
	struct taken_thread *taken;

	if (extract_thread(x, row) == MODEL_NONE)
		return NULL;
	taken = &x->taken_threads[row_map_get(&x->threads, row)];
	taken->touched = true;
	return taken;
}

static void take_accounts(struct extract *x, const struct stretch *stretch)
{
	EACH_ROW(x, accounts, stretch, row)
	{
		const struct taken_thread *taken = touch(x, row.thread);

		if (!taken)
			continue;
		row.thread = taken->to;
		row.cgroup = extract_cgroup(x, row.cgroup);
		sched_figures_add(&x->sums[row.thread].sched, &row.sched);
		extract_check(x, model_account_add(x->m, &row));
	}
}

static void take_delays(struct extract *x, const struct stretch *stretch)
{
	EACH_ROW(x, delays, stretch, row)
	{
		const struct taken_thread *taken = touch(x, row.thread);

		if (!taken || row.slot >= DELAY_SLOTS)
			continue;
		row.thread = taken->to;
		x->sums[row.thread].delays[row.slot] += row.count;
		extract_check(x, model_delay_add(x->m, &row));
	}
}

static void take_contentions(struct extract *x, const struct stretch *stretch)
{
	EACH_ROW(x, contentions, stretch, row)
	{
		row.runner = extract_process(x, row.runner);
		row.waiter = extract_process(x, row.waiter);
		if (row.runner != MODEL_NONE)
			extract_check(x, model_contention_add(x->m, &row));
	}
}

static void take_throttles(struct extract *x, const struct stretch *stretch)
{
	EACH_ROW(x, throttles, stretch, row)
	{
		row.cgroup = extract_cgroup(x, row.cgroup);
		if (row.cgroup != MODEL_NONE)
			extract_check(x, model_throttle_add(x->m, &row));
	}
}

static void take_requests(struct extract *x, const struct stretch *stretch)
{
	EACH_ROW(x, services, stretch, row)
	{
		row.endpoint = extract_endpoint(x, row.endpoint);
		if (row.endpoint != MODEL_NONE)
			extract_check(x, model_service_add(x->m, &row));
	}
	EACH_ROW(x, responses, stretch, row)
	{
		row.endpoint = extract_endpoint(x, row.endpoint);
		if (row.endpoint != MODEL_NONE)
			extract_check(x, model_response_add(x->m, &row));
	}
	EACH_ROW(x, signals, stretch, row)
	{
		row.process = extract_process(x, row.process);
		if (row.process != MODEL_NONE)
			extract_check(x, model_signal_add(x->m, &row));
	}
	EACH_ROW(x, pasts, stretch, row)
	{
		row.process = extract_process(x, row.process);
		if (row.process != MODEL_NONE)
			extract_check(x, model_past_add(x->m, &row));
	}
}

static void take_stands(struct extract *x, const struct stretch *stretch)
{
	EACH_ROW(x, stands, stretch, row)
	{
		uint32_t thread = extract_thread(x, row.at.thread);
		struct taken_process *process;

		if (thread == MODEL_NONE)
			continue;
		process = extract_taken_process(x, x->from->threads[row.at.thread].process);
		row.at.thread = thread;
		if (!process->selected)
			continue;
		extract_mappings(x, process);
		extract_stack(x, row.at.kernel_stack);
		extract_stack(x, row.at.user_stack);
		extract_check(x, model_stand_add(x->m, &row));
	}
}

static void take_wakers(struct extract *x, const struct stretch *stretch)
{
	EACH_ROW(x, wakers, stretch, row)
	{
		uint32_t woken = extract_thread(x, row.woken);
		uint32_t by = extract_thread(x, row.at.thread);
		struct taken_process *process;

		if (woken == MODEL_NONE || by == MODEL_NONE)
			continue;
		process = extract_taken_process(x, x->from->threads[row.woken].process);
		if (!process->selected)
			continue;
		/* Of the waker too, whoever it is: its stack is read through its mappings. */
		extract_mappings(x,
				 extract_taken_process(x, x->from->threads[row.at.thread].process));
		row.woken = woken;
		row.at.thread = by;
		extract_stack(x, row.at.kernel_stack);
		extract_stack(x, row.at.user_stack);
		extract_check(x, model_waker_add(x->m, &row));
	}
}

static void take_switch(struct extract *x, struct model_switch row)
{
	uint32_t thread = row.thread;

	if (thread != MODEL_NONE)
		row.thread = extract_thread(x, thread);
	if (thread != row.thread && row.thread == MODEL_NONE)
		row.flags |= SWITCH_UNKNOWN;
	if (row.other != MODEL_NONE)
		row.other = extract_thread(x, row.other);
	row.slice = model_slice_at(x->m, row.time_ns);
	x->switches_ns = row.time_ns;
	extract_check(x, model_switch_add(x->m, &row));
}

/*
 * Those that came since the last call, also of slices that were taken before: a window is read at
 * the end of its last one. All of them, whoever is selected: a CPU's turns are whole or say
 * nothing.
 */
static void take_switches(struct extract *x, const struct stretch *stretch)
{
	const struct model *from = x->from;
	uint64_t until_ns = from->slices[stretch->last].end_ns, from_ns = x->switches_ns;
	size_t max = from->switches_cnt < SWITCH_CPUS_MAX ? from->switches_cnt : SWITCH_CPUS_MAX;
	struct model_switch *turns;

	if (!max)
		return;
	if (!from_ns && x->m->slices_cnt) {
		from_ns = x->m->slices[0].start_ns;
		turns = calloc(max, sizeof(*turns));
		if (extract_check(x, turns ? 0 : -ENOMEM))
			return;
		max = model_switches_begin(from, from_ns, turns, max);
		for (size_t i = 0; i < max; i++)
			take_switch(x, turns[i]);
		free(turns);
	}
	for (size_t i = 0; i < from->switches_cnt; i++)
		if (from->switches[i].time_ns > from_ns && from->switches[i].time_ns <= until_ns)
			take_switch(x, from->switches[i]);
}

static void take_cpus(struct extract *x, const struct stretch *stretch)
{
	EACH_ROW(x, cpus, stretch, row)
	extract_check(x, model_cpu_add(x->m, &row));
}

/* --- samples --------------------------------------------------------------------------------- */

static void take_sample(struct extract *x, struct model_sample row)
{
	uint32_t thread = extract_thread(x, row.thread);
	struct taken_process *process;

	if (thread == MODEL_NONE)
		return;
	process = extract_taken_process(x, x->from->threads[row.thread].process);
	row.thread = thread;
	if (process->selected) {
		extract_mappings(x, process);
		extract_stack(x, row.kernel_stack);
		extract_stack(x, row.user_stack);
	} else {
		row.kernel_stack = row.user_stack = 0;
		row.flags |= SAMPLE_FILTERED;
	}
	extract_check(x, model_sample_add(x->m, &row));
}

/* Where a number of samples, counted from the first one ever, lies among those that are left. */
static size_t place_of(const struct model *m, uint64_t number)
{
	uint64_t place = number > m->samples_gone ? number - m->samples_gone : 0;

	return place < m->samples_cnt ? (size_t)place : m->samples_cnt;
}

/*
 * By time, as a reader tells to which slice they belong. Rings are drained a moment before a slice
 * ends: samples of that moment come with those of the next slice.
 */
static void take_samples(struct extract *x, uint64_t from_ns, uint64_t to_ns)
{
	const struct model *from = x->from;
	size_t seen = place_of(from, x->samples_seen), open = from->samples_cnt;

	for (size_t i = place_of(from, x->samples_open); i < from->samples_cnt; i++) {
		const struct model_sample *sample = &from->samples[i];

		if (sample->time_ns >= to_ns)
			open = open < i ? open : i;
		else if (sample->time_ns >= (i < seen ? from_ns : x->since_ns))
			take_sample(x, *sample);
	}
	x->samples_open = from->samples_gone + open;
	x->samples_seen = from->samples_gone + from->samples_cnt;
}

/* --- a call ---------------------------------------------------------------------------------- */

static void take_host(struct extract *x, const struct model_slice *first,
		      const struct model_slice *last)
{
	struct model *m = x->m;

	if (!m->slices_cnt) {
		extract_describe(x, x->from);
		m->host.start_ns = first->start_ns;
	}
	m->host.off |= x->from->host.off;
	m->host.end_ns = last->end_ns;
	if (first->start_ns != x->until_ns)
		x->since_ns = first->start_ns;
	x->until_ns = last->end_ns;
}

/* Of threads that this call added to. */
static void set_figures(struct extract *x)
{
	for (size_t i = 0; i < x->taken_threads_cnt; i++) {
		struct taken_thread *taken = &x->taken_threads[i];
		uint64_t max_ns = x->from->threads[taken->from].delay_max_ns;
		struct model_thread *t = &x->m->threads[taken->to];
		struct sched_sum *sum = &x->sums[taken->to];

		if (!taken->touched)
			continue;
		taken->touched = false;
		if (max_ns > sum->delay_max_ns)
			sum->delay_max_ns = max_ns;
		t->sched = sum->sched;
		t->delay_max_ns = sched_bound_max_ns(sum, sum->delay_max_ns);
		t->dirty = true;
	}
}

static void take_slices(struct extract *x, const struct stretch *stretch)
{
	const struct model *from = x->from;

	for (uint32_t i = stretch->first; i <= stretch->last; i++)
		extract_check(x, model_slice_add(x->m, &from->slices[i]));
	take_losses(x, stretch);
	take_accounts(x, stretch);
	take_delays(x, stretch);
	take_contentions(x, stretch);
	take_throttles(x, stretch);
	take_requests(x, stretch);
	take_stands(x, stretch);
	take_wakers(x, stretch);
	take_switches(x, stretch);
	take_cpus(x, stretch);
	take_samples(x, from->slices[stretch->first].start_ns, from->slices[stretch->last].end_ns);
}

int extract_take(struct extract *x, const struct model *from, uint32_t first, uint32_t last)
{
	struct stretch stretch = {first, last, (uint32_t)x->m->slices_cnt};

	if (first > last || last >= from->slices_cnt)
		return -ERANGE;
	if (x->from && x->from != from)
		extract_leave(x);
	x->from = from;
	take_host(x, &from->slices[first], &from->slices[last]);
	extract_refresh_rows(x);
	take_slices(x, &stretch);
	extract_idle_threads(x, x->m->host.start_ns);
	extract_refresh_names(x);
	set_figures(x);
	return x->failed ? -ENOMEM : 0;
}

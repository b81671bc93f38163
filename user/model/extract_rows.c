/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is who in an extract: rows of the source by identity, and what changes about them. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/grow.h"
#include "model/extract_private.h"

int row_map_put(struct extract *x, struct row_map *map, uint32_t row, uint32_t to)
{
	while (map->cnt <= row) {
		if (extract_check(x, GROW(map->rows, map->cnt, map->cap)))
			return -ENOMEM;
		map->rows[map->cnt++] = MODEL_NONE;
	}
	map->rows[row] = to;
	return 0;
}

/* --- processes ------------------------------------------------------------------------------- */

static const char **string_of(struct model_process *p, size_t i)
{
	static const size_t offsets[] = {
		offsetof(struct model_process, comm),
		offsetof(struct model_process, exe),
		offsetof(struct model_process, name),
		offsetof(struct model_process, unit),
		offsetof(struct model_process, container),
		offsetof(struct model_process, container_id),
		offsetof(struct model_process, container_name),
		offsetof(struct model_process, pod),
		offsetof(struct model_process, pod_uid),
		offsetof(struct model_process, namespace),
		offsetof(struct model_process, qos),
		offsetof(struct model_process, runtime),
		offsetof(struct model_process, cgroup),
	};

	return i < sizeof(offsets) / sizeof(offsets[0]) ? (const char **)((char *)p + offsets[i])
							: NULL;
}

/* Facts stay that an earlier source had read, until this one has read them. */
static void keep_facts(struct model_process *to, const struct model_process *was)
{
	const uint32_t flags = PROCESS_FACTS | PROCESS_DOTNET;
	struct model_process known = *was;

	if (to->flags & PROCESS_FACTS || !(was->flags & PROCESS_FACTS) || to->comm != was->comm)
		return;
	for (size_t i = 0; string_of(to, i); i++)
		*string_of(to, i) = *string_of(&known, i);
	to->flags |= was->flags & flags;
	to->ns_pid = was->ns_pid;
	to->perf_map = was->perf_map;
}

static void copy_process(struct extract *x, struct taken_process *taken)
{
	struct model_process *to = &x->m->processes[taken->to], was = *to;
	const struct model_process *from = &x->from->processes[taken->from];

	*to = *from;
	for (size_t i = 0; string_of(to, i); i++)
		*string_of(to, i) = model_str(x->m, *string_of(to, i));
	to->flags = (from->flags & ~PROCESS_SAMPLED) |
		    (was.flags & (PROCESS_SAMPLED | PROCESS_SOCKETS | PROCESS_LISTENS));
	to->mappings = was.mappings;
	to->mapping_cnt = was.mapping_cnt;
	to->mapping_cap = was.mapping_cap;
	to->mapping_changes = was.mapping_changes;
	to->order = was.order;
	to->requests_refused += taken->requests_before;
	to->mappings_refused += taken->mappings_before;
	to->dirty = true;
	if (taken->joined)
		keep_facts(to, &was);
	taken->was = *from;
	taken->selected = !x->selects || x->selects(x->selects_ctx, from);
}

/* The row that an earlier source gave to the same process, or MODEL_NONE. */
static uint32_t known_process(const struct extract *x, const struct model_process *p)
{
	uint32_t row;

	if (!x->joins)
		return MODEL_NONE;
	row = p->start_exact ? model_process_find(x->m, p->tgid, p->start_ns) : MODEL_NONE;
	/* Known from its fork alone: the first that was born since. */
	if (row == MODEL_NONE)
		row = model_process_unnamed_after(x->m, p->tgid, p->born_ns ? p->born_ns - 1 : 0);
	return row;
}

struct taken_process *extract_taken_process(struct extract *x, uint32_t row)
{
	uint32_t place = row_map_get(&x->processes, row);

	return place == MODEL_NONE ? NULL : &x->taken_processes[place];
}

uint32_t extract_process(struct extract *x, uint32_t row)
{
	const struct taken_process *known = extract_taken_process(x, row);
	struct taken_process fresh = {.from = row};
	const struct model_process *p;

	if (known)
		return known->to;
	if (row >= x->from->processes_cnt)
		return MODEL_NONE;
	p = &x->from->processes[row];
	fresh.to = known_process(x, p);
	fresh.joined = fresh.to != MODEL_NONE;
	/* Two rows of one source may share an identity that was learnt late: not
	 * model_process_get(). */
	if (!fresh.joined)
		fresh.to = model_process_born(x->m, p->tgid, p->born_ns);
	if (fresh.joined) {
		fresh.requests_before = x->m->processes[fresh.to].requests_refused;
		fresh.mappings_before = x->m->processes[fresh.to].mappings_refused;
	}
	if (fresh.to == MODEL_NONE || ROOM(x, taken_processes) ||
	    row_map_put(x, &x->processes, row, (uint32_t)x->taken_processes_cnt))
		return MODEL_NONE;
	x->taken_processes[x->taken_processes_cnt] = fresh;
	copy_process(x, &x->taken_processes[x->taken_processes_cnt++]);
	x->old_process |= row < x->processes_seen;
	return fresh.to;
}

/* --- mappings -------------------------------------------------------------------------------- */

/* What the source tells of an earlier time is of its own beginning. */
static void copy_mapping(struct extract *x, struct taken_process *taken, struct model_mapping row)
{
	struct model_process *to = &x->m->processes[taken->to];

	if (to->mapping_cnt >= MODEL_MAX_MAPPING_ROWS ||
	    x->m->mappings_cnt >= MODEL_MAX_ALL_MAPPINGS) {
		model_loss_add(x->m, LOSS_MODEL_LIMIT, 1);
		return;
	}
	if (extract_check(x, GROW(to->mappings, to->mapping_cnt, to->mapping_cap)))
		return;
	if (taken->first_mapping && row.from_ns < x->from->host.start_ns)
		row.from_ns = x->from->host.start_ns;
	row.module = extract_module(x, row.module);
	row.dirty = true;
	to->mappings[to->mapping_cnt++] = row;
	x->m->mappings_cnt++;
}

static void refresh_mappings(struct extract *x, struct taken_process *taken)
{
	const struct model_process *from = &x->from->processes[taken->from];
	struct model_process *to = &x->m->processes[taken->to];
	size_t skipped = taken->skipped_mappings;
	size_t known = skipped + to->mapping_cnt - taken->first_mapping;

	taken->mapping_changes = from->mapping_changes;
	for (size_t i = skipped; i < known && i < from->mapping_cnt; i++) {
		struct model_mapping *mapping = &to->mappings[taken->first_mapping + i - skipped];

		if (mapping->to_ns == from->mappings[i].to_ns)
			continue;
		mapping->to_ns = from->mappings[i].to_ns;
		mapping->dirty = true;
	}
	for (size_t i = known; i < from->mapping_cnt; i++)
		copy_mapping(x, taken, from->mappings[i]);
}

/* The first ones, which ended before all slices of the extract. */
static uint32_t ended_mappings(const struct extract *x, const struct model_process *from)
{
	uint32_t cnt = 0;

	while (cnt < from->mapping_cnt && from->mappings[cnt].to_ns &&
	       from->mappings[cnt].to_ns <= x->m->host.start_ns)
		cnt++;
	return cnt;
}

void extract_mappings(struct extract *x, struct taken_process *taken)
{
	struct model_process *to = &x->m->processes[taken->to];

	if (taken->sampled)
		return;
	taken->sampled = true;
	to->flags |= PROCESS_SAMPLED;
	to->dirty = true;
	/* Those of an earlier source ended with it. */
	if (to->mapping_cnt)
		model_mappings_end(x->m, taken->to, x->from->host.start_ns);
	taken->first_mapping = (uint32_t)to->mapping_cnt;
	taken->skipped_mappings = ended_mappings(x, &x->from->processes[taken->from]);
	refresh_mappings(x, taken);
}

/* --- threads --------------------------------------------------------------------------------- */

static void copy_thread(struct extract *x, struct taken_thread *taken)
{
	struct model_thread *to = &x->m->threads[taken->to], was = *to;
	const struct model_thread *from = &x->from->threads[taken->from];

	*to = *from;
	to->process = was.process;
	to->comm = model_str(x->m, from->comm);
	to->sched = was.sched;
	to->delay_max_ns = was.delay_max_ns;
	to->dirty = true;
	taken->was = *from;
}

/* All but the figures. */
static bool same_thread(const struct model_thread *a, const struct model_thread *b)
{
	return a->comm == b->comm && a->state == b->state && a->exit_ns == b->exit_ns &&
	       a->cpus_allowed == b->cpus_allowed && a->policy == b->policy && a->nice == b->nice &&
	       a->rt_priority == b->rt_priority && a->baseline == b->baseline;
}

uint32_t extract_thread(struct extract *x, uint32_t row)
{
	uint32_t place = row_map_get(&x->threads, row), process;
	struct taken_thread fresh = {.from = row};
	const struct model_thread *t;

	if (place != MODEL_NONE)
		return x->taken_threads[place].to;
	if (row >= x->from->threads_cnt)
		return MODEL_NONE;
	t = &x->from->threads[row];
	process = extract_process(x, t->process);
	if (process == MODEL_NONE)
		return MODEL_NONE;
	fresh.to = model_thread_get(x->m, process, t->tid, t->start_ns);
	if (fresh.to == MODEL_NONE)
		return MODEL_NONE;
	while (x->sums_cnt <= fresh.to) {
		if (ROOM(x, sums))
			return MODEL_NONE;
		x->sums[x->sums_cnt++] = (struct sched_sum){0};
	}
	if (ROOM(x, taken_threads) ||
	    row_map_put(x, &x->threads, row, (uint32_t)x->taken_threads_cnt))
		return MODEL_NONE;
	x->taken_threads[x->taken_threads_cnt] = fresh;
	copy_thread(x, &x->taken_threads[x->taken_threads_cnt++]);
	return fresh.to;
}

void extract_idle_threads(struct extract *x, uint64_t time_ns)
{
	const struct model *from = x->from;
	/* A process is known before its threads. */
	uint32_t first = x->old_process ? 0 : (uint32_t)x->threads_seen;

	for (uint32_t i = first; i < from->threads_cnt; i++) {
		const struct model_thread *t = &from->threads[i];

		if (row_map_get(&x->processes, t->process) != MODEL_NONE &&
		    (!t->exit_ns || t->exit_ns > time_ns))
			extract_thread(x, i);
	}
	x->old_process = false;
	x->threads_seen = from->threads_cnt;
	x->processes_seen = from->processes_cnt;
}

/* --- cgroups, endpoints, modules ------------------------------------------------------------- */

static void copy_cgroup(struct extract *x, struct taken_cgroup *taken)
{
	const struct model_cgroup *from = &x->from->cgroups[taken->from];
	uint32_t to = taken->to, parent;

	taken->was = *from;
	parent = extract_cgroup(x, from->parent); /* both tables may have moved */
	x->m->cgroups[to] = (struct model_cgroup){
		.id = from->id,
		.parent = parent,
		.path = model_str(x->m, from->path),
		.quota_ns = from->quota_ns,
		.period_ns = from->period_ns,
		.dirty = true,
	};
}

uint32_t extract_cgroup(struct extract *x, uint32_t row)
{
	uint32_t place = row_map_get(&x->cgroups, row);
	struct taken_cgroup fresh = {.from = row};

	if (place != MODEL_NONE)
		return x->taken_cgroups[place].to;
	if (row >= x->from->cgroups_cnt)
		return MODEL_NONE;
	fresh.to = model_cgroup_get(x->m, x->from->cgroups[row].id);
	if (fresh.to == MODEL_NONE || ROOM(x, taken_cgroups) ||
	    row_map_put(x, &x->cgroups, row, (uint32_t)x->taken_cgroups_cnt))
		return MODEL_NONE;
	x->taken_cgroups[x->taken_cgroups_cnt++] = fresh;
	/* Parents are taken within: at most MODEL_CGROUP_DEPTH, and a ring of them ends at the
	 * map. */
	copy_cgroup(x, &x->taken_cgroups[x->taken_cgroups_cnt - 1]);
	return fresh.to;
}

static void copy_endpoint(struct extract *x, struct taken_endpoint *taken)
{
	struct model_endpoint *to = &x->m->endpoints[taken->to];
	const struct model_endpoint *from = &x->from->endpoints[taken->from];
	uint32_t process = to->process;

	*to = *from;
	to->process = process;
	to->address = model_str(x->m, from->address);
	to->dirty = true;
	taken->was = *from;
}

uint32_t extract_endpoint(struct extract *x, uint32_t row)
{
	uint32_t place = row_map_get(&x->endpoints, row);
	struct taken_endpoint fresh = {.from = row};
	struct model_endpoint key;

	if (place != MODEL_NONE)
		return x->taken_endpoints[place].to;
	if (row >= x->from->endpoints_cnt)
		return MODEL_NONE;
	key = x->from->endpoints[row];
	key.process = extract_process(x, key.process);
	if (key.process == MODEL_NONE)
		return MODEL_NONE;
	fresh.to = model_endpoint_get(x->m, &key);
	if (fresh.to == MODEL_NONE || ROOM(x, taken_endpoints) ||
	    row_map_put(x, &x->endpoints, row, (uint32_t)x->taken_endpoints_cnt))
		return MODEL_NONE;
	x->taken_endpoints[x->taken_endpoints_cnt] = fresh;
	copy_endpoint(x, &x->taken_endpoints[x->taken_endpoints_cnt++]);
	return fresh.to;
}

uint32_t extract_module(struct extract *x, uint32_t row)
{
	uint32_t to = row_map_get(&x->modules, row);
	const struct model_module *f;

	if (to != MODEL_NONE || row >= x->from->modules_cnt)
		return to;
	f = &x->from->modules[row];
	to = model_module_get(x->m, f);
	if (to == MODEL_NONE || ROOM(x, taken_modules) || row_map_put(x, &x->modules, row, to))
		return MODEL_NONE;
	x->taken_modules[x->taken_modules_cnt++] = (struct taken_row){row, to};
	model_module_learn(x->m, to, f->learnt_id, f->learnt_id_len);
	return to;
}

/* --- what changed ---------------------------------------------------------------------------- */

static void refresh_processes(struct extract *x)
{
	for (size_t i = 0; i < x->taken_processes_cnt; i++) {
		struct taken_process *taken = &x->taken_processes[i];
		const struct model_process *from = &x->from->processes[taken->from];

		if (memcmp(&taken->was, from, sizeof(*from)))
			copy_process(x, taken);
		if (taken->sampled && taken->mapping_changes != from->mapping_changes)
			refresh_mappings(x, taken);
	}
}

static void refresh_cgroups(struct extract *x)
{
	/* By place: parents may be added meanwhile. */
	for (size_t i = 0; i < x->taken_cgroups_cnt; i++) {
		const struct model_cgroup *was = &x->taken_cgroups[i].was;
		const struct model_cgroup *from = &x->from->cgroups[x->taken_cgroups[i].from];

		if (was->path != from->path || was->parent != from->parent ||
		    was->quota_ns != from->quota_ns || was->period_ns != from->period_ns)
			copy_cgroup(x, &x->taken_cgroups[i]);
	}
}

void extract_refresh_rows(struct extract *x)
{
	refresh_processes(x);
	for (size_t i = 0; i < x->taken_threads_cnt; i++) {
		struct taken_thread *taken = &x->taken_threads[i];

		if (!same_thread(&taken->was, &x->from->threads[taken->from]))
			copy_thread(x, taken);
	}
	refresh_cgroups(x);
	for (size_t i = 0; i < x->taken_endpoints_cnt; i++) {
		struct taken_endpoint *taken = &x->taken_endpoints[i];
		const struct model_endpoint *from = &x->from->endpoints[taken->from];

		if (taken->was.address != from->address ||
		    taken->was.protocols != from->protocols || taken->was.slow_ns != from->slow_ns)
			copy_endpoint(x, taken);
	}
	for (size_t i = 0; i < x->taken_modules_cnt; i++) {
		const struct taken_row *taken = &x->taken_modules[i];
		const struct model_module *from = &x->from->modules[taken->from];

		if (from->learnt_id_len)
			model_module_learn(x->m, taken->to, from->learnt_id, from->learnt_id_len);
	}
}

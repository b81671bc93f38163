/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/model.h"

#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "base/feature.h"
#include "base/grow.h"
#include "bpf/events.h"

struct model *model_new(void)
{
	struct model *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->host.name = m->host.kernel = m->host.machine = m->host.version = "";
	m->host.event = m->host.filter = m->host.command = m->host.taken = "";
	return m;
}

void model_free(struct model *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->processes_cnt; i++)
		model_mappings_forget(m, (uint32_t)i);
	for (size_t i = 0; i < m->strings_cnt; i++)
		free(m->strings[i]);
	free(m->processes);
	free(m->threads);
	free(m->modules);
	free(m->stacks);
	free(m->frames);
	free(m->resolved);
	free(m->recent);
	free(m->symbols);
	free(m->locations);
	free(m->cgroups);
	free(m->endpoints);
	free(m->slices);
	free(m->renamings);
	free(m->features);
	free(m->samples);
	free(m->accounts);
	free(m->delays);
	free(m->contentions);
	free(m->throttles);
	free(m->services);
	free(m->responses);
	free(m->signals);
	free(m->pasts);
	free(m->stands);
	free(m->wakers);
	free(m->switches);
	free(m->cpus);
	free(m->losses);
	free(m->strings);
	hash_clear(&m->process_index);
	hash_clear(&m->thread_index);
	hash_clear(&m->module_index);
	hash_clear(&m->stack_index);
	hash_clear(&m->symbol_index);
	hash_clear(&m->location_index);
	hash_clear(&m->string_index);
	hash_clear(&m->cgroup_index);
	hash_clear(&m->endpoint_index);
	free(m);
}

/* --- strings --------------------------------------------------------------------------------- */

struct string_key {
	const char *bytes;
	size_t len;
};

static bool string_equal(const void *owner, uint32_t row, const void *key)
{
	const struct model *m = owner;
	const struct string_key *k = key;
	const char *s = m->strings[row];

	return !strncmp(s, k->bytes, k->len) && !s[k->len];
}

const char *model_string(struct model *m, const char *bytes, size_t len)
{
	struct string_key key = {bytes,
				 strnlen(bytes, len < MODEL_MAX_STRING ? len : MODEL_MAX_STRING)};
	uint64_t hash;
	uint32_t row;
	char *copy;

	if (!key.len)
		return "";
	hash = hash_bytes(key.bytes, key.len);
	row = hash_find(&m->string_index, hash, string_equal, m, &key);
	if (row != HASH_NONE)
		return m->strings[row];
	if (m->strings_bytes + key.len > MODEL_MAX_STRINGS) {
		model_loss_add(m, LOSS_MODEL_LIMIT, 1);
		return "";
	}
	copy = strndup(key.bytes, key.len);
	if (!copy)
		return "";
	if (m->strings_cnt >= HASH_NONE || GROW(m->strings, m->strings_cnt, m->strings_cap) ||
	    hash_add(&m->string_index, hash, (uint32_t)m->strings_cnt)) {
		free(copy);
		return "";
	}
	m->strings[m->strings_cnt++] = copy;
	m->strings_bytes += key.len + 1;
	return copy;
}

const char *model_str(struct model *m, const char *s)
{
	return s ? model_string(m, s, strlen(s)) : "";
}

/* --- processes ------------------------------------------------------------------------------- */

/*
 * All incarnations of a tgid share one chain: hash of the tgid -> rows, told apart by start_ns. A
 * chain is as long as the pid was reused within the recording.
 */
struct process_key {
	uint32_t tgid;
	uint64_t start_ns;
};

static bool process_equal(const void *owner, uint32_t row, const void *key)
{
	const struct model *m = owner;
	const struct process_key *k = key;
	const struct model_process *p = &m->processes[row];

	return p->tgid == k->tgid && p->start_exact && p->start_ns == k->start_ns;
}

static uint32_t process_add(struct model *m, uint32_t tgid)
{
	uint32_t row = (uint32_t)m->processes_cnt;

	if (row >= MODEL_MAX_PROCESSES || GROW(m->processes, m->processes_cnt, m->processes_cap) ||
	    hash_add(&m->process_index, hash_u64(tgid), row)) {
		model_loss_add(m, LOSS_MODEL_LIMIT, 1);
		return MODEL_NONE;
	}
	m->processes[m->processes_cnt++] = (struct model_process){
		.tgid = tgid,
		.uid = UID_UNKNOWN,
		.comm = "",
		.exe = "",
		.name = "",
		.unit = "",
		.container = "",
		.container_id = "",
		.container_name = "",
		.pod = "",
		.pod_uid = "",
		.namespace = "",
		.qos = "",
		.runtime = "",
		.cgroup = "",
		.perf_map = REASON_PENDING,
		.dirty = true,
	};
	return row;
}

uint32_t model_process_find(const struct model *m, uint32_t tgid, uint64_t start_ns)
{
	struct process_key key = {tgid, start_ns};

	return hash_find(&m->process_index, hash_u64(tgid), process_equal, m, &key);
}

uint32_t model_process_get(struct model *m, uint32_t tgid, uint64_t start_ns)
{
	uint32_t row = model_process_find(m, tgid, start_ns);

	if (row != HASH_NONE)
		return row;
	row = process_add(m, tgid);
	if (row == MODEL_NONE)
		return row;
	m->processes[row].start_ns = start_ns;
	m->processes[row].start_exact = true;
	return row;
}

uint32_t model_process_born(struct model *m, uint32_t tgid, uint64_t born_ns)
{
	uint32_t row = process_add(m, tgid);

	if (row != MODEL_NONE)
		m->processes[row].born_ns = born_ns;
	return row;
}

/* Calls of hash_find that want every row of a tgid collect them through the key. */
struct process_walk {
	uint32_t tgid;
	uint64_t time_ns;
	uint32_t newest, oldest; /* born at or before time_ns / after it */
	bool inexact_only;
};

static bool process_visit(const void *owner, uint32_t row, const void *key)
{
	const struct model *m = owner;
	struct process_walk *w = (struct process_walk *)key;
	const struct model_process *p = &m->processes[row];

	if (p->tgid != w->tgid || (w->inexact_only && p->start_exact))
		return false;
	if (p->born_ns <= w->time_ns) {
		if (w->newest == MODEL_NONE || p->born_ns >= m->processes[w->newest].born_ns)
			w->newest = row;
	} else if (w->oldest == MODEL_NONE || p->born_ns < m->processes[w->oldest].born_ns) {
		w->oldest = row;
	}
	return false;
}

uint32_t model_process_at(const struct model *m, uint32_t tgid, uint64_t time_ns)
{
	struct process_walk walk = {tgid, time_ns, MODEL_NONE, MODEL_NONE, false};

	hash_find(&m->process_index, hash_u64(tgid), process_visit, m, &walk);
	return walk.newest != MODEL_NONE ? walk.newest : walk.oldest;
}

/* Of helpers below each other: the nursery, what it forks. */
#define HELPER_LEVELS 2u

bool model_is_own(const struct model *m, uint32_t process)
{
	const struct model_process *p = &m->processes[process], *parent = p;

	for (unsigned int i = 0; !(p->flags & PROCESS_SELF); i++, p = parent) {
		uint32_t row = i < HELPER_LEVELS && p->parent_tgid
				       ? model_process_at(m, p->parent_tgid, p->born_ns)
				       : MODEL_NONE;

		if (row == MODEL_NONE)
			return false;
		parent = &m->processes[row];
		if (parent->start_ns > p->start_ns ||
		    (*parent->exe && *p->exe && strcmp(parent->exe, p->exe)))
			return false;
	}
	return true;
}

uint32_t model_process_unnamed_after(const struct model *m, uint32_t tgid, uint64_t born_ns)
{
	struct process_walk walk = {tgid, born_ns, MODEL_NONE, MODEL_NONE, true};

	hash_find(&m->process_index, hash_u64(tgid), process_visit, m, &walk);
	return walk.oldest;
}

/* --- threads --------------------------------------------------------------------------------- */

static bool thread_equal(const void *owner, uint32_t row, const void *key)
{
	const struct model *m = owner;
	const struct model_thread *k = key, *t = &m->threads[row];

	return t->tid == k->tid && t->start_ns == k->start_ns && t->process == k->process;
}

uint32_t model_thread_get(struct model *m, uint32_t process, uint32_t tid, uint64_t start_ns)
{
	struct model_thread key = {.process = process, .tid = tid, .start_ns = start_ns};
	uint64_t hash = hash_pair(tid, start_ns);
	uint32_t row = hash_find(&m->thread_index, hash, thread_equal, m, &key);

	if (row != HASH_NONE)
		return row;
	row = (uint32_t)m->threads_cnt;
	if (row >= MODEL_MAX_THREADS || GROW(m->threads, m->threads_cnt, m->threads_cap) ||
	    hash_add(&m->thread_index, hash, row)) {
		model_loss_add(m, LOSS_MODEL_LIMIT, 1);
		return MODEL_NONE;
	}
	key.comm = "";
	key.state = '?';
	key.dirty = true;
	m->threads[m->threads_cnt++] = key;
	return row;
}

/* --- modules and symbols --------------------------------------------------------------------- */

static bool module_equal(const void *owner, uint32_t row, const void *key)
{
	const struct model *m = owner;
	const struct model_module *k = key, *f = &m->modules[row];

	return f->path == k->path && f->dev == k->dev && f->inode == k->inode &&
	       f->build_id_len == k->build_id_len &&
	       !memcmp(f->build_id, k->build_id, k->build_id_len);
}

uint32_t model_module_get(struct model *m, const struct model_module *module)
{
	struct model_module key = *module;
	uint64_t hash;
	uint32_t row;

	key.path = model_str(m, module->path);
	if (key.build_id_len > BUILD_ID_MAX)
		key.build_id_len = BUILD_ID_MAX;
	memset(key.build_id + key.build_id_len, 0, BUILD_ID_MAX - key.build_id_len);
	hash = hash_pair((uintptr_t)key.path,
			 hash_pair(key.inode, key.dev) ^ hash_bytes(key.build_id, BUILD_ID_MAX));
	row = hash_find(&m->module_index, hash, module_equal, m, &key);
	if (row != HASH_NONE)
		return row;
	row = (uint32_t)m->modules_cnt;
	if (row >= MODEL_MAX_LOCATIONS || GROW(m->modules, m->modules_cnt, m->modules_cap) ||
	    hash_add(&m->module_index, hash, row)) {
		model_loss_add(m, LOSS_MODEL_LIMIT, 1);
		return MODEL_NONE;
	}
	m->modules[m->modules_cnt++] = key;
	return row;
}

void model_module_learn(struct model *m, uint32_t module, const uint8_t *id, uint8_t len)
{
	struct model_module *f = &m->modules[module];

	if (f->learnt_id_len || f->build_id_len || !len || len > BUILD_ID_MAX)
		return;
	memcpy(f->learnt_id, id, len);
	f->learnt_id_len = len;
	f->dirty = true;
}

static bool symbol_equal(const void *owner, uint32_t row, const void *key)
{
	const struct model *m = owner;
	const struct model_symbol *k = key, *s = &m->symbols[row];

	return s->name == k->name && s->module == k->module && s->kind == k->kind &&
	       s->reason == k->reason && s->raw == k->raw && s->application == k->application;
}

uint32_t model_symbol_get(struct model *m, const struct model_symbol *symbol)
{
	struct model_symbol key = *symbol;
	uint64_t hash;
	uint32_t row;

	key.name = model_str(m, symbol->name);
	key.raw = model_str(m, symbol->raw ? symbol->raw : symbol->name);
	key.module = model_str(m, symbol->module);
	/* All of it: a perf map may give one display name to a million raw ones. */
	hash = hash_pair(hash_pair((uintptr_t)key.name, (uintptr_t)key.raw),
			 hash_pair((uintptr_t)key.module, (uint64_t)key.kind << 16 |
								  (uint64_t)key.reason << 8 |
								  key.application));
	row = hash_find(&m->symbol_index, hash, symbol_equal, m, &key);
	if (row != HASH_NONE)
		return row;
	row = (uint32_t)m->symbols_cnt;
	if (row >= MODEL_MAX_LOCATIONS || GROW(m->symbols, m->symbols_cnt, m->symbols_cap) ||
	    hash_add(&m->symbol_index, hash, row)) {
		model_loss_add(m, LOSS_MODEL_LIMIT, 1);
		return MODEL_NONE;
	}
	m->symbols[m->symbols_cnt++] = key;
	return row;
}

/* --- stacks ---------------------------------------------------------------------------------- */

/* hash_u64() gives each id a hash of its own: the same hash is the same id, and its row need not be
 * fetched to know that. */
static bool stack_equal(const void *owner, uint32_t row, const void *key)
{
	(void)owner;
	(void)row;
	(void)key;
	return true;
}

uint32_t model_stack_find(const struct model *m, uint64_t id)
{
	return hash_find(&m->stack_index, hash_u64(id), stack_equal, m, NULL);
}

uint32_t model_stack_add(struct model *m, const struct model_stack *stack, const uint64_t *frames)
{
	uint32_t row = model_stack_find(m, stack->id);
	struct model_stack copy = *stack;

	if (row != HASH_NONE)
		return row;
	row = (uint32_t)m->stacks_cnt;
	if (row >= MODEL_MAX_STACKS || stack->frame_cnt > STACK_MAX_FRAMES ||
	    GROW(m->stacks, m->stacks_cnt, m->stacks_cap))
		goto limit;
	while (m->frames_cap - m->frames_cnt < stack->frame_cnt)
		if (grow_array((void **)&m->frames, m->frames_cap, &m->frames_cap,
			       sizeof(*m->frames)))
			goto limit;
	if (hash_add(&m->stack_index, hash_u64(stack->id), row))
		goto limit;
	copy.first_frame = m->frames_cnt;
	copy.resolved_cnt = 0;
	if (stack->frame_cnt)
		memcpy(m->frames + m->frames_cnt, frames, stack->frame_cnt * sizeof(*frames));
	m->frames_cnt += stack->frame_cnt;
	m->stacks[m->stacks_cnt++] = copy;
	return row;
limit:
	model_loss_add(m, LOSS_MODEL_LIMIT, 1);
	return MODEL_NONE;
}

/* --- locations ------------------------------------------------------------------------------- */

void model_settle(struct model *m)
{
	m->settled = true;
}

static void unsettle(struct model *m)
{
	if (!m->settled)
		return;
	m->settled = false;
	m->resolved_cnt = 0;
	free(m->recent);
	m->recent = NULL;
	for (size_t i = 0; i < m->stacks_cnt; i++)
		m->stacks[i].resolved_cnt = 0;
}

static bool location_equal(const void *owner, uint32_t row, const void *key)
{
	const struct model *m = owner;
	const struct model_location *k = key, *l = &m->locations[row];

	return l->address == k->address && l->process == k->process;
}

static uint32_t location_newest(const struct model *m, uint32_t process, uint64_t address)
{
	struct model_location key = {.process = process, .address = address};

	return hash_find(&m->location_index, hash_pair(address, process), location_equal, m, &key);
}

uint32_t model_location_find(const struct model *m, uint32_t process, uint64_t address,
			     uint64_t time_ns)
{
	uint32_t row = location_newest(m, process, address);

	while (row != MODEL_NONE && m->locations[row].from_ns > time_ns &&
	       m->locations[row].older != MODEL_NONE) {
		const struct model_location *l = &m->locations[row];

		row = m->locations[l->jump].from_ns > time_ns ? l->jump : l->older;
	}
	return row;
}

/*
 * Where a look-up goes on that need not stop before: as far back as the row before goes in two
 * jumps, where these are of one length (E. W. Myers, An applicative random-access stack, 1983). Of
 * n rows of an address, a look-up visits 2 log n.
 */
static void link_location(const struct model *m, struct model_location *l, uint32_t row)
{
	const struct model_location *older, *jump, *far;

	l->depth = 0;
	l->jump = row;
	if (l->older == MODEL_NONE)
		return;
	older = &m->locations[l->older];
	jump = &m->locations[older->jump];
	far = &m->locations[jump->jump];
	l->depth = older->depth + 1;
	l->jump = older->depth - jump->depth == jump->depth - far->depth ? jump->jump : l->older;
}

uint32_t model_location_add(struct model *m, const struct model_location *location)
{
	struct model_location copy = *location;
	uint64_t hash = hash_pair(copy.address, copy.process);
	uint32_t newest = location_newest(m, copy.process, copy.address);
	uint32_t row = (uint32_t)m->locations_cnt;

	copy.tier = model_str(m, location->tier);
	copy.older = newest;
	if (newest != MODEL_NONE) {
		const struct model_location *was = &m->locations[newest];

		if (was->from_ns >= copy.from_ns ||
		    (was->symbol == copy.symbol && was->tier == copy.tier))
			return newest;
	}
	if (row >= MODEL_MAX_LOCATIONS || GROW(m->locations, m->locations_cnt, m->locations_cap))
		goto limit;
	if (newest != MODEL_NONE)
		hash_repoint(&m->location_index, hash, newest, row);
	else if (hash_add(&m->location_index, hash, row))
		goto limit;
	link_location(m, &copy, row);
	m->locations[m->locations_cnt++] = copy;
	unsettle(m);
	return row;
limit:
	model_loss_add(m, LOSS_MODEL_LIMIT, 1);
	return MODEL_NONE;
}

int model_location_restore(struct model *m, const struct model_location *location)
{
	uint64_t hash = hash_pair(location->address, location->process);
	struct model_location copy = *location;
	uint32_t row = (uint32_t)m->locations_cnt;

	if (GROW(m->locations, m->locations_cnt, m->locations_cap))
		return -ENOMEM;
	if (location->older != MODEL_NONE)
		hash_repoint(&m->location_index, hash, location->older, row);
	else if (hash_add(&m->location_index, hash, row))
		return -ENOMEM;
	link_location(m, &copy, row);
	m->locations[m->locations_cnt++] = copy;
	unsettle(m);
	return 0;
}

void model_locations_forget(struct model *m)
{
	m->locations_cnt = 0;
	hash_clear(&m->location_index);
	unsettle(m);
}

/* --- scheduler ------------------------------------------------------------------------------- */

static bool same_cgroup(const void *owner, uint32_t row, const void *key)
{
	return ((const struct model *)owner)->cgroups[row].id == *(const uint64_t *)key;
}

uint32_t model_cgroup_find(const struct model *m, uint64_t id)
{
	return hash_find(&m->cgroup_index, hash_u64(id), same_cgroup, m, &id);
}

uint32_t model_cgroup_get(struct model *m, uint64_t id)
{
	uint32_t row = model_cgroup_find(m, id);

	if (row != MODEL_NONE)
		return row;
	row = (uint32_t)m->cgroups_cnt;
	if (row >= MODEL_MAX_CGROUPS || GROW(m->cgroups, m->cgroups_cnt, m->cgroups_cap) ||
	    hash_add(&m->cgroup_index, hash_u64(id), row)) {
		model_loss_add(m, LOSS_MODEL_LIMIT, 1);
		return MODEL_NONE;
	}
	m->cgroups[m->cgroups_cnt++] =
		(struct model_cgroup){.id = id, .parent = MODEL_NONE, .path = "", .dirty = true};
	return row;
}

bool model_cgroups_sound(const struct model *m)
{
	for (size_t i = 0; i < m->cgroups_cnt; i++) {
		uint32_t row = m->cgroups[i].parent;

		for (int depth = 0; row != MODEL_NONE; depth++) {
			if (row >= m->cgroups_cnt || depth == MODEL_CGROUP_DEPTH)
				return false;
			row = m->cgroups[row].parent;
		}
	}
	return true;
}

static int add_feature(struct model *m, const char *name, uint32_t status, const char *why)
{
	const struct model_feature feature = {model_str(m, name), status, model_str(m, why)};

	if (GROW(m->features, m->features_cnt, m->features_cap))
		return -ENOMEM;
	m->features[m->features_cnt++] = feature;
	return 0;
}

int model_take_features(struct model *m, const struct feature_set *set)
{
	int err = 0;

	m->features_cnt = 0;
	for (enum feature f = 0; f < FEATURE_CNT && !err; f++)
		err = add_feature(m, feature_rows[f].id, set->status[f], feature_why(set, f) ?: "");
	return err;
}

int model_copy_features(struct model *m, const struct model *from)
{
	int err = 0;

	m->features_cnt = 0;
	for (size_t i = 0; i < from->features_cnt && !err; i++)
		err = add_feature(m, from->features[i].name, from->features[i].status,
				  from->features[i].why);
	return err;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/jit.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "names/map_job.h"
#include "perfmap/name.h"

/* After so many looks in vain a missing map is looked for at every eighth only. */
#define EAGER_LOOKS 8

struct jit_map {
	uint32_t process;
	struct map_job *job;	  /* with the tail; NULL = not open */
	enum model_reason reason; /* why it is not */
	bool looked;
	bool ended;	     /* read once more after its process's exit */
	unsigned looks;	     /* in vain */
	uint32_t generation; /* goes up with every change of the map */
	uint64_t changed_ns; /* what its newest entries were stamped with */
	uint64_t used;	     /* the look-up that used it last */
};

/* Which symbol an entry of a map is. */
struct jit_entry {
	uint64_t start;
	uint32_t process, offset;
	uint32_t symbol;  /* row */
	const char *tier; /* interned */
};

struct waiting {
	uint64_t address, time_ns;
	uint32_t process;
	uint8_t looks;
	bool anonymous;
};

struct jit {
	struct asker *asker;
	struct jit_map *maps;
	size_t maps_cnt, maps_cap, open_cnt;
	struct hash_index map_index;
	struct jit_entry *entries;
	size_t entries_cnt, entries_cap;
	struct hash_index entry_index;
	struct waiting *waiting;
	size_t waiting_cnt, waiting_cap;
	struct hash_index waiting_index;
	uint64_t uses;
};

struct jit *jit_new(struct asker *asker)
{
	struct jit *j = calloc(1, sizeof(*j));

	if (j)
		j->asker = asker;
	return j;
}

static void close_map(struct jit *j, struct jit_map *map)
{
	if (!map->job)
		return;
	map->job->base.release(&map->job->base);
	map->job = NULL;
	j->open_cnt--;
}

void jit_free(struct jit *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < j->maps_cnt; i++)
		close_map(j, &j->maps[i]);
	free(j->maps);
	free(j->entries);
	free(j->waiting);
	hash_clear(&j->map_index);
	hash_clear(&j->entry_index);
	hash_clear(&j->waiting_index);
	free(j);
}

static bool map_equal(const void *owner, uint32_t row, const void *key)
{
	return ((const struct jit *)owner)->maps[row].process == *(const uint32_t *)key;
}

/* Finds or adds; NULL without memory. */
static struct jit_map *map_of(struct jit *j, uint32_t process)
{
	uint64_t hash = hash_u64(process);
	uint32_t row = hash_find(&j->map_index, hash, map_equal, j, &process);

	if (row != HASH_NONE)
		return &j->maps[row];
	if (GROW(j->maps, j->maps_cnt, j->maps_cap) ||
	    hash_add(&j->map_index, hash, (uint32_t)j->maps_cnt))
		return NULL;
	j->maps[j->maps_cnt] = (struct jit_map){.process = process, .reason = REASON_NO_PERF_MAP};
	return &j->maps[j->maps_cnt++];
}

static enum model_reason reason_of(int err)
{
	switch (err) {
	case 0:
		return REASON_NAMED;
	case -ELOOP:
	case -ENOTSUP:
	case -EPERM:
	case -EFBIG:
		return REASON_PERF_MAP_UNSAFE;
	case -ESTALE:
		return REASON_PERF_MAP_STALE;
	case -EACCES:
		return REASON_FILE_DENIED;
	case -ESRCH:
		return REASON_PROCESS_GONE;
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
		return REASON_LIMIT;
	default:
		return REASON_NO_PERF_MAP;
	}
}

static enum model_reason run_step(struct jit *j, struct jit_map *map, enum map_step step)
{
	struct loader_job *left;
	enum model_reason reason;

	map->job->step = step;
	if (step != MAP_STEP_OPEN && map->job->local) {
		map->job->base.run(&map->job->base);
		return REASON_NAMED;
	}
	reason = asker_run(j->asker, map->process, &map->job->base, &left);
	if (!left) {
		map->job = NULL;
		map->reason = reason;
		j->open_cnt--;
	}
	return reason;
}

static void tell_process(struct model *m, const struct jit_map *map)
{
	struct model_process *p = &m->processes[map->process];
	uint32_t reason = map->job ? REASON_NAMED : map->reason;

	if (p->perf_map != reason) {
		p->perf_map = reason;
		p->dirty = true;
	}
}

static void close_unused(struct jit *j, struct model *m, const struct jit_map *but)
{
	struct jit_map *oldest = NULL;

	for (size_t i = 0; i < j->maps_cnt; i++) {
		struct jit_map *map = &j->maps[i];

		if (map->job && map != but && (!oldest || map->used < oldest->used))
			oldest = map;
	}
	if (oldest) {
		close_map(j, oldest);
		oldest->reason = REASON_LIMIT;
		oldest->generation++;
		tell_process(m, oldest);
	}
}

/* Reads what was added; its lines are known from seen_ns on. */
static enum model_reason advance(struct jit *j, struct jit_map *map, uint64_t seen_ns)
{
	enum model_reason reason;

	map->job->seen_ns = seen_ns;
	reason = run_step(j, map, MAP_STEP_ADVANCE);
	if (!reason && map->job->grown) {
		map->generation++;
		map->changed_ns = seen_ns;
	}
	return reason;
}

/* Looks for the map and reads it whole; its lines are known from seen_ns on. */
static void look(struct jit *j, struct model *m, struct jit_map *map, uint64_t seen_ns)
{
	struct asker_target target = asker_target(j->asker, m, map->process);
	enum model_reason reason;

	map->looked = true;
	map->looks++;
	map->job = map_job_new(&target);
	if (!map->job)
		return;
	if (j->open_cnt++ >= JIT_MAPS_MAX)
		close_unused(j, m, map);
	reason = run_step(j, map, MAP_STEP_OPEN);
	if (!reason)
		reason = reason_of(map->job->error);
	if (!reason)
		reason = advance(j, map, seen_ns);
	map->generation++;
	if (reason) {
		map->reason = reason;
		close_map(j, map);
	}
	tell_process(m, map);
}

static bool entry_equal(const void *owner, uint32_t row, const void *key)
{
	const struct jit_entry *a = &((const struct jit *)owner)->entries[row], *b = key;

	return a->start == b->start && a->process == b->process && a->offset == b->offset;
}

static uint32_t unnamed_symbol(struct model *m, enum model_reason reason)
{
	bool anonymous = reason == REASON_ANONYMOUS_CODE;
	struct model_symbol symbol = {
		.name = anonymous ? "[anonymous code]" : "[jit code]",
		.module = anonymous ? "[anonymous]" : "[jit]",
		.kind = anonymous ? KIND_UNKNOWN : KIND_JIT,
		.reason = (uint8_t)reason,
	};

	symbol.raw = symbol.name;
	return model_symbol_get(m, &symbol);
}

/* Reads and takes apart the name of an entry. */
static void read_entry(struct jit *j, struct model *m, struct jit_map *map,
		       const struct perfmap_hit *hit, struct jit_entry *entry)
{
	char buf[PERFMAP_NAME_BYTES];
	struct perfmap_name name;
	struct model_symbol symbol;
	enum model_reason reason;
	bool is_stub;

	entry->tier = "";
	map->job->hit = *hit;
	reason = run_step(j, map, MAP_STEP_NAME);
	if (!reason && map->job->error)
		reason = REASON_PERF_MAP_REWRITTEN;
	if (reason) {
		entry->symbol = unnamed_symbol(m, reason);
		return;
	}
	perfmap_name_parse(map->job->name, map->job->name_len, buf, sizeof(buf), &name);
	is_stub = hit->is_stub || name.is_stub;
	symbol = (struct model_symbol){
		.name = name.display,
		.raw = model_string(m, map->job->name, name.raw_len),
		.module = *name.assembly ? name.assembly
			  : is_stub	 ? "[stubs]"
					 : "[jit]",
		.kind = is_stub ? KIND_STUB : KIND_JIT,
		.application = !perfmap_is_framework(&name),
	};
	entry->symbol = model_symbol_get(m, &symbol);
	entry->tier = model_str(m, name.tier);
}

static uint32_t add_hit(struct jit *j, struct model *m, struct jit_map *map, uint64_t address,
			const struct perfmap_hit *hit)
{
	struct jit_entry key = {
		.start = hit->start, .process = map->process, .offset = hit->offset};
	uint64_t hash = hash_pair(hit->start, (uint64_t)map->process << 32 | hit->offset);
	uint32_t row = hash_find(&j->entry_index, hash, entry_equal, j, &key);
	struct model_location location;

	if (row != HASH_NONE) {
		key = j->entries[row];
	} else {
		read_entry(j, m, map, hit, &key);
		if (!GROW(j->entries, j->entries_cnt, j->entries_cap) &&
		    !hash_add(&j->entry_index, hash, (uint32_t)j->entries_cnt))
			j->entries[j->entries_cnt++] = key;
	}
	if (key.symbol == MODEL_NONE)
		return MODEL_NONE;
	location = (struct model_location){
		.process = map->process,
		.symbol = key.symbol,
		.address = address,
		.from_ns = hit->seen_ns,
		.older = MODEL_NONE,
		.flags = hit->later ? LOCATION_LATER : 0,
		.tier = key.tier,
	};
	return model_location_add(m, &location);
}

/* Why an address has no entry. */
static uint32_t add_reason(struct model *m, const struct jit_map *map, uint64_t address,
			   bool anonymous)
{
	enum model_reason reason = map->reason;
	struct model_location location = {
		.process = map->process,
		.address = address,
		.older = MODEL_NONE,
		.tier = "",
	};

	if (map->job)
		reason = perfmap_tail_rewritten(map->job->tail) ? REASON_PERF_MAP_REWRITTEN
			 : perfmap_damage(perfmap_tail_map(map->job->tail))
				 ? REASON_PERF_MAP_DAMAGED
				 : REASON_PERF_MAP_NO_ENTRY;
	else if (anonymous && (reason == REASON_NO_PERF_MAP || reason == REASON_PROCESS_GONE))
		reason = REASON_ANONYMOUS_CODE;
	location.symbol = unnamed_symbol(m, reason);
	return location.symbol == MODEL_NONE ? MODEL_NONE : model_location_add(m, &location);
}

/* MODEL_NONE where the map has no entry. */
static uint32_t find(struct jit *j, struct model *m, struct jit_map *map, uint64_t address,
		     uint64_t time_ns)
{
	struct perfmap_hit hit;

	if (!map->job || perfmap_find(perfmap_tail_map(map->job->tail), address, time_ns, &hit))
		return MODEL_NONE;
	return add_hit(j, m, map, address, &hit);
}

static bool waiting_equal(const void *owner, uint32_t row, const void *key)
{
	const struct waiting *a = &((const struct jit *)owner)->waiting[row], *b = key;

	return a->process == b->process && a->address == b->address;
}

/* Returns false when there is no room. Only the first sample of an address waits. */
static bool add_waiting(struct jit *j, const struct waiting *w)
{
	uint64_t hash = hash_pair(w->process, w->address);

	if (hash_find(&j->waiting_index, hash, waiting_equal, j, w) != HASH_NONE)
		return true;
	if (j->waiting_cnt >= JIT_PENDING_MAX || GROW(j->waiting, j->waiting_cnt, j->waiting_cap) ||
	    hash_add(&j->waiting_index, hash, (uint32_t)j->waiting_cnt))
		return false;
	j->waiting[j->waiting_cnt++] = *w;
	return true;
}

uint32_t jit_name(struct jit *j, struct model *m, uint32_t process, uint64_t address,
		  uint64_t time_ns, bool anonymous)
{
	struct waiting w = {
		.process = process, .address = address, .time_ns = time_ns, .anonymous = anonymous};
	struct jit_map *map = map_of(j, process);
	uint32_t location;

	if (!map)
		return MODEL_NONE;
	map->used = ++j->uses;
	if (!map->looked)
		look(j, m, map, 0);
	location = find(j, m, map, address, time_ns);
	if (location == MODEL_NONE)
		location = model_location_find(m, process, address, time_ns);
	if (location == MODEL_NONE && ((anonymous && !map->job) || !add_waiting(j, &w)))
		location = add_reason(m, map, address, anonymous);
	return location;
}

uint32_t jit_generation(struct jit *j, uint32_t process, uint64_t time_ns)
{
	uint32_t row = hash_find(&j->map_index, hash_u64(process), map_equal, j, &process);

	if (row == HASH_NONE || time_ns < j->maps[row].changed_ns)
		return 0;
	j->maps[row].used = ++j->uses;
	return j->maps[row].generation;
}

void jit_forget(struct jit *j, uint32_t process)
{
	uint32_t row = hash_find(&j->map_index, hash_u64(process), map_equal, j, &process);

	if (row == HASH_NONE)
		return;
	close_map(j, &j->maps[row]);
	j->maps[row].looked = j->maps[row].ended = false;
	j->maps[row].looks = 0;
	j->maps[row].reason = REASON_NO_PERF_MAP;
	j->maps[row].generation++;
}

/* The runtime's file was deleted: the next one at its path is another. */
static bool is_deleted(const struct map_job *job)
{
	struct stat st;

	return job->local && !fstat(job->fd, &st) && !st.st_nlink;
}

static void tail_map(struct jit *j, struct model *m, struct jit_map *map, uint64_t written_ns)
{
	bool exited = m->processes[map->process].exit_ns;

	if (map->ended)
		return;
	map->ended = exited;
	if (map->job) {
		advance(j, map, written_ns);
		if (map->job && !exited && is_deleted(map->job)) {
			close_map(j, map);
			map->reason = REASON_PERF_MAP_REWRITTEN;
			map->looks = 0;
			map->generation++;
		}
		tell_process(m, map);
	} else if (map->reason != REASON_FILE_TIMEOUT && map->reason != REASON_PROCESS_GONE &&
		   !exited && j->open_cnt < JIT_MAPS_MAX &&
		   (map->looks < EAGER_LOOKS || map->looks++ % EAGER_LOOKS == 0)) {
		look(j, m, map, written_ns);
	}
}

/* Names what can be named by now; the others wait on, unless settle or their patience is over. */
static void serve_waiting(struct jit *j, struct model *m, bool settle)
{
	size_t cnt = j->waiting_cnt;

	if (!cnt)
		return;
	hash_clear(&j->waiting_index);
	j->waiting_cnt = 0;
	for (size_t i = 0; i < cnt; i++) {
		struct waiting w = j->waiting[i];
		struct jit_map *map = map_of(j, w.process);

		if (!map || find(j, m, map, w.address, w.time_ns) != MODEL_NONE)
			continue;
		w.looks++;
		if (settle || w.looks >= JIT_PATIENCE || !add_waiting(j, &w))
			add_reason(m, map, w.address, w.anonymous);
	}
}

void jit_tail(struct jit *j, struct model *m, uint64_t written_ns)
{
	for (size_t i = 0; i < j->maps_cnt; i++)
		tail_map(j, m, &j->maps[i], written_ns);
	serve_waiting(j, m, false);
}

void jit_settle(struct jit *j, struct model *m)
{
	serve_waiting(j, m, true);
}

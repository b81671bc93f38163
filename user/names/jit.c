/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/jit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "names/jit_code.h"
#include "names/jit_memory.h"
#include "names/map_file.h"
#include "names/name_cache.h"
#include "names/symbol.h"

/* After so many looks in vain a missing map is looked for at every eighth only. */
#define EAGER_LOOKS 8

struct jit_map {
	uint32_t process;
	struct map_file *file;	  /* NULL = not open */
	enum model_reason reason; /* why it is not */
	bool looked;
	bool wanted;	     /* code of it was sampled: it is read, not only kept open */
	bool left;	     /* looked for once more after its process's exit */
	bool ended;	     /* read once more after it */
	uint8_t looks_ended; /* looks since */
	uint8_t looks_gone;  /* the same, whether there is a map or not */
	bool behind;	     /* not read to its end yet */
	uint64_t seen_ns;    /* what is read now was there since then at the latest */
	uint64_t begun_ns;   /* seen_ns of the first look at the file; 0 = none yet */
	unsigned looks;	     /* in vain */
	uint32_t generation; /* goes up with every change of the map */
	uint32_t image;	     /* programs before this one */
	uint64_t since_ns;   /* when its program was started by an exec, 0 = was there */
	uint64_t changed_ns; /* what its newest entries were stamped with */
	uint64_t used;	     /* the look-up that used it last */
	bool loaded;	     /* it was read to its end once */
	uint64_t room_bytes; /* of it that may be read in this slice, once loaded */
};

/* Which symbol an entry of a map is. */
struct jit_entry {
	uint64_t start;
	uint32_t process, image, offset;
	uint32_t symbol;  /* row */
	const char *tier; /* interned */
};

struct waiting {
	uint64_t address, time_ns;
	uint64_t since_ns; /* clock_now_ns() */
	uint64_t moment; /* time_ns where what lies there may change from one to the next, else 0 */
	uint32_t process;
	uint8_t looks;
	enum jit_place place;
};

/* How many frames of a party wait. */
struct waiting_party {
	uint64_t party;
	size_t cnt;
};

struct jit {
	const struct sources *sources;
	struct file_requests *requests; /* of the sources */
	struct name_cache *cache;
	struct jit_code *code;
	struct jit_memory *memory;
	bool no_maps;
	size_t entries_max; /* of all maps */
	uint64_t later_ns;  /* all that is read was written by then at the latest; 0 = it is new */
	struct jit_map *maps;
	size_t maps_cnt, maps_cap, open_cnt;
	struct hash_index map_index;
	struct jit_entry *entries;
	size_t entries_cnt, entries_cap;
	struct hash_index entry_index;
	struct waiting *waiting;
	size_t waiting_cnt, waiting_cap;
	struct hash_index waiting_index;
	struct waiting_party *parties;
	size_t parties_cnt, parties_cap;
	struct hash_index party_index;
	uint64_t uses;
	size_t bytes_left; /* to be read in this slice, of all maps */
	size_t next;	   /* the map whose turn is first in the next slice */
};

struct jit *jit_new(const struct jit_options *options)
{
	struct jit *j = calloc(1, sizeof(*j));

	if (j) {
		j->sources = options->sources;
		j->requests = options->sources->requests;
		j->cache = options->cache;
		j->code = options->code;
		j->memory = options->memory;
		j->no_maps = options->no_maps;
		j->later_ns = options->later_ns;
		j->entries_max = options->memory_bytes / JIT_ENTRY_BYTES;
		j->bytes_left = JIT_SLICE_BYTES;
	}
	return j;
}

static void close_map(struct jit *j, struct jit_map *map)
{
	if (!map->file)
		return;
	map_file_free(j->sources, map->file);
	map->file = NULL;
	map->behind = map->loaded = false;
	map->begun_ns = 0;
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
	free(j->parties);
	hash_clear(&j->party_index);
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
	j->maps[j->maps_cnt] = (struct jit_map){
		.process = process, .reason = REASON_NO_PERF_MAP, .since_ns = j->later_ns};
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

static void tell_process(const struct jit *j, struct model *m, const struct jit_map *map)
{
	struct model_process *p = &m->processes[map->process];
	uint32_t reason = map->file ? REASON_NAMED : map->reason;

	if (reason == REASON_NO_PERF_MAP && j->memory && jit_memory_names(j->memory, map->process))
		reason = REASON_FROM_MEMORY;
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

		if (map->file && map != but && (!oldest || map->used < oldest->used))
			oldest = map;
	}
	if (oldest) {
		close_map(j, oldest);
		oldest->looked &= oldest->wanted;
		oldest->reason = REASON_LIMIT;
		oldest->generation++;
		tell_process(j, m, oldest);
	}
}

static size_t copy_of(const struct jit_map *map)
{
	return map->file ? (size_t)map->file->copied_bytes : 0;
}

/* What a map takes, as so many entries. */
static size_t entries_of(const struct jit_map *map)
{
	if (!map->file)
		return 0;
	return perfmap_entries(perfmap_tail_map(map->file->tail)) + copy_of(map) / JIT_ENTRY_BYTES;
}

size_t jit_bytes(const struct jit *j)
{
	size_t bytes = j->memory ? jit_memory_bytes(j->memory) : 0;

	for (size_t i = 0; i < j->maps_cnt; i++)
		if (j->maps[i].file)
			bytes += perfmap_memory_bytes(perfmap_tail_map(j->maps[i].file->tail)) +
				 copy_of(&j->maps[i]);
	return bytes;
}

/* Entries of all maps of a party. */
static size_t entries_of_party(const struct jit *j, const struct model *m, uint64_t party)
{
	size_t cnt = 0;

	for (size_t i = 0; i < j->maps_cnt; i++)
		if (j->maps[i].file &&
		    file_requests_party(j->requests, m, j->maps[i].process) == party)
			cnt += entries_of(&j->maps[i]);
	return cnt;
}

/* The largest map of the party that has most, but for one. */
static struct jit_map *largest_map(struct jit *j, const struct model *m, const struct jit_map *but)
{
	struct jit_map *largest = NULL;
	size_t most = 0;

	for (size_t i = 0; i < j->maps_cnt; i++) {
		struct jit_map *map = &j->maps[i];
		size_t cnt;

		if (!map->file || map == but || !entries_of(map))
			continue;
		cnt = entries_of_party(j, m, file_requests_party(j->requests, m, map->process));
		if (cnt > most || (cnt == most && entries_of(map) > entries_of(largest))) {
			most = cnt;
			largest = map;
		}
	}
	return largest;
}

/*
 * What a map may hold: at most half, so that another one finds room. Where too little is left for
 * that, the largest one goes of the party that has most, unless this one's has more.
 */
static size_t entries_allowed(struct jit *j, struct model *m, const struct jit_map *map)
{
	uint64_t party = file_requests_party(j->requests, m, map->process);
	size_t others = 0, half = j->entries_max / 2, copy = copy_of(map) / JIT_ENTRY_BYTES;
	struct jit_map *largest;

	for (size_t i = 0; i < j->maps_cnt; i++)
		if (&j->maps[i] != map)
			others += entries_of(&j->maps[i]);
	largest = others > half ? largest_map(j, m, map) : NULL;
	if (largest &&
	    entries_of_party(j, m, file_requests_party(j->requests, m, largest->process)) >
		    entries_of_party(j, m, party)) {
		others -= entries_of(largest);
		close_map(j, largest);
		largest->reason = REASON_LIMIT;
		largest->generation++;
		tell_process(j, m, largest);
	}
	others = others < j->entries_max ? j->entries_max - others : 0;
	others = others < half ? others : half;
	return others > copy ? others - copy : 0;
}

static uint64_t left_of(uint64_t most, uint64_t used)
{
	return used < most ? most - used : 0;
}

/* What a copy may grow by, so that all together and those of its party keep to their bounds, and it
 * leaves as much to its entries. */
static uint64_t copy_room(const struct jit *j, const struct model *m, const struct jit_map *map)
{
	uint64_t party = file_requests_party(j->requests, m, map->process), all = 0, own = 0, room;

	for (size_t i = 0; i < j->maps_cnt; i++) {
		size_t bytes = copy_of(&j->maps[i]);

		all += bytes;
		if (bytes && file_requests_party(j->requests, m, j->maps[i].process) == party)
			own += bytes;
	}
	room = left_of(JIT_COPIES_BYTES, all);
	if (room > left_of(JIT_COPIES_PARTY_BYTES, own))
		room = left_of(JIT_COPIES_PARTY_BYTES, own);
	own = left_of(j->entries_max / 4 * JIT_ENTRY_BYTES, copy_of(map));
	return room < own ? room : own;
}

/* How much of the map may be read now. */
static size_t bytes_allowed(const struct jit *j, const struct jit_map *map)
{
	size_t bytes = j->bytes_left < JIT_MAP_BYTES ? j->bytes_left : JIT_MAP_BYTES;

	return map->loaded && bytes > map->room_bytes ? map->room_bytes : bytes;
}

/* It is given up, for what it costs or for what it is. */
static void leave_map(struct jit *j, struct jit_map *map, enum model_reason reason)
{
	uint64_t unread = map_file_unread(map->file);
	struct file_requests_cost *cost = NULL;

	if (reason == REASON_BUDGET || reason == REASON_FILE_COSTLY)
		cost = file_requests_cost(j->requests, map->process);
	if (cost)
		cost->unread_bytes += unread ? unread : 1;
	close_map(j, map);
	map->reason = reason;
	map->looks = 0;
	map->generation++;
}

/* Reads what was added, as far as the slice's bytes go; its lines are known from seen_ns on. A map
 * that may be read no further, or is another file by now, is closed. */
static void advance(struct jit *j, struct model *m, struct jit_map *map, uint64_t seen_ns)
{
	struct perfmap *entries = perfmap_tail_map(map->file->tail);
	uint64_t deferred = j->requests->deferred;
	size_t bytes = bytes_allowed(j, map);
	enum model_reason reason;
	int err;

	if (!map->behind)
		map->seen_ns = seen_ns;
	if (!map->behind && !map->begun_ns)
		map->begun_ns = seen_ns;
	map->behind = true;
	if (!bytes)
		return;
	perfmap_limit(entries, entries_allowed(j, m, map));
	map->file->copy_room = copy_room(j, m, map);
	map->file->keeps_code = j->code != NULL;
	reason = map_file_advance(map->file, j->sources, m, map->process, map->seen_ns, bytes, &err,
				  &bytes);
	if (reason == REASON_PENDING || j->requests->deferred != deferred)
		return;
	if (reason || err) {
		leave_map(j, map, reason ? reason : REASON_PERF_MAP_REWRITTEN);
		return;
	}
	if (j->code)
		jit_code_add(j->code, map->process, map->file->code, map->file->code_cnt);
	if (perfmap_counters(entries).rewrites > JIT_REWRITES_MAX) {
		leave_map(j, map, REASON_BUDGET);
		return;
	}
	map->behind = map->file->more;
	if (!map->loaded && !map->behind) {
		map->loaded = true;
		map->room_bytes = JIT_FOLLOW_BYTES;
	} else {
		map->room_bytes -= bytes < map->room_bytes ? bytes : map->room_bytes;
	}
	j->bytes_left -= bytes < j->bytes_left ? bytes : j->bytes_left;
	if (bytes) {
		map->generation++;
		map->changed_ns = map->seen_ns;
	}
}

/* Looks for the map and opens it. Returns false where it was put off. */
static bool open_map(struct jit *j, struct model *m, struct jit_map *map)
{
	uint64_t deferred = j->requests->deferred;
	enum model_reason reason;
	int err = 0;

	if (j->no_maps) {
		map->looked = true;
		return true;
	}
	reason = map_file_open(j->sources, m, map->process, &err, &map->file);
	if (j->requests->deferred != deferred) {
		/* What may be waited for in this slice is spent: it is looked for in the next. */
		map->reason = reason == REASON_LIMIT ? REASON_PENDING : reason;
		return false;
	}
	map->looked = true;
	map->looks++;
	map->generation++;
	if (!map->file)
		map->reason = reason ? reason : reason_of(err);
	else if (j->open_cnt++ >= JIT_MAPS_MAX)
		close_unused(j, m, map);
	return true;
}

/* Looks for the map unless it is open, and begins to read it; its lines are known from seen_ns on.
 * Returns false where that was put off. */
static bool look(struct jit *j, struct model *m, struct jit_map *map, uint64_t seen_ns)
{
	map->wanted = true;
	map->ended = false;
	if (!map->file && !open_map(j, m, map))
		return false;
	if (map->file)
		advance(j, m, map, seen_ns);
	tell_process(j, m, map);
	return true;
}

static bool entry_equal(const void *owner, uint32_t row, const void *key)
{
	const struct jit_entry *a = &((const struct jit *)owner)->entries[row], *b = key;

	return a->start == b->start && a->process == b->process && a->image == b->image &&
	       a->offset == b->offset;
}

static uint32_t unnamed_symbol(struct model *m, enum model_reason reason)
{
	bool anonymous = reason == REASON_ANONYMOUS_CODE;
	struct model_symbol symbol;

	if (reason == REASON_COMPRESSED)
		return symbol_note(m, "[compressed assembly]", KIND_IMAGE, reason);
	symbol = (struct model_symbol){
		.name = anonymous ? "[anonymous code]" : "[jit code]",
		.module = anonymous ? "[anonymous]" : "[jit]",
		.kind = anonymous ? KIND_UNKNOWN : KIND_JIT,
		.reason = (uint8_t)reason,
	};

	symbol.raw = symbol.name;
	return model_symbol_get(m, &symbol);
}

/* Has the name of an entry read and taken apart. False: not now. */
static bool read_entry(struct jit *j, struct model *m, const struct jit_map *map,
		       const struct perfmap_hit *hit, struct jit_entry *entry)
{
	struct model_symbol symbol;
	struct name_parts parts;
	enum model_reason reason =
		name_cache_line(j->cache, m, map->process, hit, map->file->fd, &parts);
	bool is_stub;

	entry->tier = "";
	if (reason == REASON_PENDING)
		return false;
	if (reason) {
		entry->symbol = unnamed_symbol(m, reason);
		return true;
	}
	is_stub = hit->is_stub || parts.is_stub;
	symbol = (struct model_symbol){
		.name = parts.display,
		.raw = parts.raw,
		.module = *parts.assembly ? parts.assembly
			  : is_stub	  ? "[stubs]"
					  : "[jit]",
		.kind = is_stub ? KIND_STUB : KIND_JIT,
		.application = !parts.is_framework,
	};
	entry->symbol = model_symbol_get(m, &symbol);
	entry->tier = model_str(m, parts.tier);
	return true;
}

/* Whether an address has no name, of all times up to now, because there was no map. Of .NET, whose
 * memory names what is older than its map, and which uses addresses again, that says nothing. */
static bool had_no_map(const struct model *m, uint32_t process, uint64_t address)
{
	uint32_t row = model_location_find(m, process, address, UINT64_MAX);
	enum model_reason reason;

	if (row == MODEL_NONE || m->locations[row].from_ns ||
	    m->processes[process].flags & PROCESS_DOTNET)
		return false;
	reason = m->symbols[m->locations[row].symbol].reason;
	return reason == REASON_NO_PERF_MAP || reason == REASON_ANONYMOUS_CODE;
}

static uint32_t add_hit(struct jit *j, struct model *m, const struct jit_map *map, uint64_t address,
			const struct perfmap_hit *hit)
{
	struct jit_entry key = {
		.start = hit->start,
		.process = map->process,
		.image = map->image,
		.offset = hit->offset,
	};
	uint64_t hash = hash_pair(hit->start, (uint64_t)map->process << 32 | hit->offset);
	uint32_t row = hash_find(&j->entry_index, hash, entry_equal, j, &key);
	struct model_location location;
	bool is_first;

	if (row != HASH_NONE) {
		key = j->entries[row];
	} else {
		if (!read_entry(j, m, map, hit, &key))
			return MODEL_NONE;
		if (!GROW(j->entries, j->entries_cnt, j->entries_cap) &&
		    !hash_add(&j->entry_index, hash, (uint32_t)j->entries_cnt))
			j->entries[j->entries_cnt++] = key;
	}
	if (key.symbol == MODEL_NONE)
		return MODEL_NONE;
	/* A map that is written once, of code that was there before. */
	is_first = hit->seen_ns == map->begun_ns && had_no_map(m, map->process, address);
	location = (struct model_location){
		.process = map->process,
		.symbol = key.symbol,
		.address = address,
		.from_ns = is_first ? map->since_ns + 1 : hit->seen_ns,
		.older = MODEL_NONE,
		.flags = hit->later || is_first ? LOCATION_LATER : 0,
		.tier = key.tier,
	};
	return model_location_add(m, &location);
}

/* That an address has no name, of any time. */
static uint32_t add_note(struct model *m, uint32_t process, uint64_t address,
			 enum model_reason reason)
{
	struct model_location location = {
		.process = process,
		.symbol = unnamed_symbol(m, reason),
		.address = address,
		.older = MODEL_NONE,
		.tier = "",
	};

	return location.symbol == MODEL_NONE ? MODEL_NONE : model_location_add(m, &location);
}

/* What the memory of its process says of an address; MODEL_NONE: nothing, for a reason. */
static uint32_t find_in_memory(struct jit *j, struct model *m, struct jit_map *map,
			       uint64_t address, uint64_t time_ns, enum model_reason *ret_reason)
{
	struct jit_memory_name name;
	struct model_location location = {
		.process = map->process,
		.address = address,
		.older = MODEL_NONE,
		.flags = LOCATION_MEMORY,
	};
	uint32_t newest;

	*ret_reason = jit_memory_find(j->memory, map->process, address, time_ns, &name);
	if (*ret_reason)
		return MODEL_NONE;
	location.symbol = name.symbol;
	location.tier = name.tier;
	location.from_ns = name.from_ns;
	/* After what was told of that address last, but for that time. */
	newest = model_location_find(m, map->process, address, UINT64_MAX);
	if (newest != MODEL_NONE && m->locations[newest].from_ns >= name.from_ns &&
	    name.calm_ns > name.from_ns)
		location.from_ns = name.calm_ns;
	if (j->later_ns)
		location.flags |= LOCATION_LATER;
	else if (map->since_ns > location.from_ns)
		location.from_ns = map->since_ns;
	/* Before that other code may have lain there. */
	if (name.from_ns && model_location_find(m, map->process, address, 0) == MODEL_NONE)
		add_note(m, map->process, address, REASON_MEMORY_LATE);
	return model_location_add(m, &location);
}

/* Why an address has no name: memory says why that has none, REASON_NAMED: it was not asked. */
static uint32_t add_reason(struct jit *j, struct model *m, const struct jit_map *map,
			   uint64_t address, enum jit_place place, bool is_coming,
			   enum model_reason memory)
{
	enum model_reason reason = map->reason;

	if (place == JIT_UNPACKED)
		reason = is_coming ? file_requests_why_pending(j->requests, m, map->process)
				   : REASON_COMPRESSED;
	else if (is_coming || map->behind || (!map->file && reason == REASON_PENDING))
		reason = file_requests_why_pending(j->requests, m, map->process);
	else if (map->file)
		reason = perfmap_tail_rewritten(map->file->tail) ? REASON_PERF_MAP_REWRITTEN
			 : perfmap_damage(perfmap_tail_map(map->file->tail))
				 ? REASON_PERF_MAP_DAMAGED
				 : REASON_PERF_MAP_NO_ENTRY;
	else if (place == JIT_ANONYMOUS &&
		 (reason == REASON_NO_PERF_MAP || reason == REASON_PROCESS_GONE))
		reason = REASON_ANONYMOUS_CODE;
	/* A runtime that says nothing of itself may write a map. */
	else if (memory &&
		 (j->no_maps || (memory != REASON_RUNTIME_SILENT && reason == REASON_NO_PERF_MAP)))
		reason = memory;
	return add_note(m, map->process, address, reason);
}

/* Sorting a large map costs more than its lines did. */
static void settle_entries(struct jit *j, const struct model *m, const struct jit_map *map)
{
	struct perfmap *entries = perfmap_tail_map(map->file->tail);
	uint64_t since_ns;

	if (perfmap_is_settled(entries))
		return;
	since_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	perfmap_settle(entries); /* what fails here fails in the look-up */
	file_requests_charge(j->requests, m, map->process, since_ns);
}

/* MODEL_NONE where the map has no entry. */
static uint32_t find_in_map(struct jit *j, struct model *m, struct jit_map *map, uint64_t address,
			    uint64_t time_ns, bool *ret_later)
{
	struct perfmap_hit hit;
	uint32_t row;

	*ret_later = false;
	if (!map->file)
		return MODEL_NONE;
	settle_entries(j, m, map);
	if (perfmap_find(perfmap_tail_map(map->file->tail), address, time_ns, &hit))
		return MODEL_NONE;
	*ret_later = hit.later;
	/* What its memory says of that time is better, where it does. */
	if (hit.later && j->memory) {
		row = find_in_memory(j, m, map, address, time_ns, &(enum model_reason){0});
		if (row != MODEL_NONE)
			return row;
	}
	return add_hit(j, m, map, address, &hit);
}

/* MODEL_NONE where nothing names it: ret_reason says why its memory does not, REASON_PENDING: not
 * yet. */
static uint32_t find(struct jit *j, struct model *m, struct jit_map *map, uint64_t address,
		     uint64_t time_ns, enum jit_place place, enum model_reason *ret_reason)
{
	uint64_t deferred = j->requests->deferred;
	bool later;
	uint32_t row;

	*ret_reason = place == JIT_UNPACKED ? REASON_COMPRESSED : REASON_NAMED;
	if (place == JIT_UNPACKED)
		return j->memory ? find_in_memory(j, m, map, address, time_ns, ret_reason)
				 : MODEL_NONE;
	row = find_in_map(j, m, map, address, time_ns, &later);
	/* There is an entry: its name is being read; or there may be one. */
	if (row != MODEL_NONE || j->requests->deferred != deferred || place == JIT_ANONYMOUS ||
	    !j->memory || (map->file && map->behind))
		return row;
	return find_in_memory(j, m, map, address, time_ns, ret_reason);
}

static bool waiting_equal(const void *owner, uint32_t row, const void *key)
{
	const struct waiting *a = &((const struct jit *)owner)->waiting[row], *b = key;

	return a->process == b->process && a->address == b->address && a->moment == b->moment;
}

static bool party_equal(const void *owner, uint32_t row, const void *key)
{
	return ((const struct jit *)owner)->parties[row].party == *(const uint64_t *)key;
}

/* NULL without memory. */
static struct waiting_party *waiting_of(struct jit *j, const struct model *m, uint32_t process)
{
	uint64_t party = file_requests_party(j->requests, m, process);
	uint64_t hash = hash_pair(party, 0);
	uint32_t row = hash_find(&j->party_index, hash, party_equal, j, &party);

	if (row != HASH_NONE)
		return &j->parties[row];
	if (GROW(j->parties, j->parties_cnt, j->parties_cap) ||
	    hash_add(&j->party_index, hash, (uint32_t)j->parties_cnt))
		return NULL;
	j->parties[j->parties_cnt] = (struct waiting_party){.party = party};
	return &j->parties[j->parties_cnt++];
}

static void clear_waiting(struct jit *j)
{
	hash_clear(&j->waiting_index);
	hash_clear(&j->party_index);
	j->waiting_cnt = j->parties_cnt = 0;
}

/* Returns false when there is no room: a party may have as much as it leaves to the others. Only
 * the first sample of an address waits, unless each is to be looked up for its moment. */
static bool add_waiting(struct jit *j, const struct model *m, const struct waiting *w)
{
	uint64_t hash = hash_pair(w->process + (w->moment << 32), w->address);
	struct waiting_party *party;

	if (hash_find(&j->waiting_index, hash, waiting_equal, j, w) != HASH_NONE)
		return true;
	party = waiting_of(j, m, w->process);
	if (!party || party->cnt >= JIT_PENDING_MAX - j->waiting_cnt ||
	    GROW(j->waiting, j->waiting_cnt, j->waiting_cap) ||
	    hash_add(&j->waiting_index, hash, (uint32_t)j->waiting_cnt))
		return false;
	j->waiting[j->waiting_cnt++] = *w;
	party->cnt++;
	return true;
}

/* What an address was named before. That it had to wait says nothing once it is known whether there
 * is a map. */
static uint32_t find_before(const struct model *m, const struct jit_map *map, uint64_t address,
			    uint64_t time_ns)
{
	uint32_t row = model_location_find(m, map->process, address, time_ns);
	bool waits_still = map->file ? map->behind : map->reason == REASON_PENDING;

	if (row == MODEL_NONE || waits_still)
		return row;
	return m->symbols[m->locations[row].symbol].reason == REASON_PENDING ? MODEL_NONE : row;
}

uint32_t jit_name(struct jit *j, struct model *m, uint32_t process, uint64_t address,
		  uint64_t time_ns, enum jit_place place)
{
	struct waiting w = {.process = process,
			    .address = address,
			    .time_ns = time_ns,
			    .since_ns = clock_now_ns(),
			    .place = place};
	struct jit_map *map = map_of(j, process);
	enum model_reason memory;
	uint64_t deferred;
	uint32_t location;
	bool is_over;

	if (!map)
		return MODEL_NONE;
	map->used = ++j->uses;
	if (!map->wanted || !map->looked)
		look(j, m, map, map->since_ns);
	deferred = j->requests->deferred;
	location = find(j, m, map, address, time_ns, place, &memory);
	/* Of an entry whose name is being read the one before it says nothing. */
	if (location == MODEL_NONE && j->requests->deferred == deferred && memory != REASON_PENDING)
		location = find_before(m, map, address, time_ns);
	is_over = place == JIT_ANONYMOUS  ? !map->file && map->reason != REASON_PENDING
		  : place == JIT_UNPACKED ? memory != REASON_PENDING
					  : false;
	w.moment = memory == REASON_PENDING ? time_ns : 0;
	if (location == MODEL_NONE && (is_over || !add_waiting(j, m, &w)))
		location = add_reason(j, m, map, address, place, false, memory);
	return location;
}

bool jit_keep(struct jit *j, struct model *m, uint32_t process)
{
	struct jit_map *map = map_of(j, process);

	if (j->memory)
		jit_memory_keep(j->memory, m, process);
	if (!map || map->file || map->wanted || j->open_cnt >= JIT_KEPT_MAX || j->no_maps)
		return true;
	open_map(j, m, map);
	/* Its first sample looks again. */
	map->looked = map->file != NULL;
	map->looks = 0;
	return map->file != NULL;
}

uint32_t jit_generation(struct jit *j, uint32_t process, uint64_t time_ns)
{
	uint32_t row = hash_find(&j->map_index, hash_u64(process), map_equal, j, &process);

	if (row == HASH_NONE || time_ns < jit_changed_ns(j, process))
		return 0;
	j->maps[row].used = ++j->uses;
	return j->maps[row].generation +
	       (j->memory ? jit_memory_generation(j->memory, process) : 0);
}

enum serving {
	SERVE_AGAIN,  /* in between */
	SERVE_LOOK,   /* after a look at the maps */
	SERVE_SETTLE, /* nobody waits any more */
};

static bool is_too_long(const struct jit *j, const struct model *m, uint32_t process, uint64_t ns)
{
	return ns >= JIT_PATIENCE_NS ||
	       (ns >= JIT_IN_DEBT_NS && file_requests_in_debt(j->requests, m, process));
}

/* Names what can be named by now; the others wait on, unless their patience is over. */
static void serve_waiting(struct jit *j, struct model *m, enum serving serving)
{
	uint64_t now_ns = clock_now_ns();
	size_t cnt = j->waiting_cnt;

	if (!cnt)
		return;
	clear_waiting(j);
	for (size_t i = 0; i < cnt; i++) {
		struct waiting w = j->waiting[i];
		struct jit_map *map = map_of(j, w.process);
		uint64_t deferred = j->requests->deferred;
		enum model_reason memory;
		bool is_coming;

		if (!map || find(j, m, map, w.address, w.time_ns, w.place, &memory) != MODEL_NONE)
			continue;
		/* There is an entry: its name is being read; or its memory is; or nobody had the
		 * time yet to look for a map. */
		is_coming = j->requests->deferred != deferred || memory == REASON_PENDING ||
			    (!map->file && map->reason == REASON_PENDING);
		w.looks += serving == SERVE_LOOK && !map->behind && !is_coming;
		/* Nothing that comes later tells of then, but a map. */
		if (memory == REASON_MEMORY_LATE && !map->file)
			w.looks = JIT_PATIENCE;
		if (serving == SERVE_SETTLE || w.looks >= JIT_PATIENCE ||
		    is_too_long(j, m, w.process, now_ns - w.since_ns) || !add_waiting(j, m, &w))
			add_reason(j, m, map, w.address, w.place, is_coming, memory);
	}
}

/* Gives the frames of a process that wait their reason. */
static void settle_process(struct jit *j, struct model *m, uint32_t process)
{
	size_t cnt = j->waiting_cnt;

	clear_waiting(j);
	for (size_t i = 0; i < cnt; i++) {
		struct waiting w = j->waiting[i];
		struct jit_map *map = map_of(j, w.process);
		enum model_reason memory;

		if (w.process != process)
			add_waiting(j, m, &w);
		else if (map &&
			 find(j, m, map, w.address, w.time_ns, w.place, &memory) == MODEL_NONE)
			add_reason(j, m, map, w.address, w.place, false, REASON_NAMED);
	}
}

void jit_forget(struct jit *j, struct model *m, uint32_t process, uint64_t exec_ns)
{
	uint32_t row = hash_find(&j->map_index, hash_u64(process), map_equal, j, &process);

	if (row == HASH_NONE)
		return;
	if (j->code)
		jit_code_forget(j->code, process);
	/* The old program's frames that still wait are not to be named from the new one's map. */
	settle_process(j, m, process);
	if (j->memory)
		jit_memory_forget(j->memory, m, process);
	close_map(j, &j->maps[row]);
	j->maps[row].looked = j->maps[row].wanted = false;
	j->maps[row].left = j->maps[row].ended = false;
	j->maps[row].looks = j->maps[row].looks_ended = j->maps[row].looks_gone = 0;
	j->maps[row].reason = REASON_NO_PERF_MAP;
	j->maps[row].generation++;
	j->maps[row].image++;
	j->maps[row].since_ns = exec_ns;
}

/* The names that were given stay; of what comes that late nothing is a sample of that process. */
static void leave_ended(struct jit *j, struct jit_map *map)
{
	if (!map->file || map->behind || j->later_ns || map->looks_ended++ < JIT_PATIENCE)
		return;
	close_map(j, map);
	map->reason = REASON_PERF_MAP_NO_ENTRY;
}

static void tail_map(struct jit *j, struct model *m, struct jit_map *map, uint64_t written_ns)
{
	bool exited = m->processes[map->process].exit_ns;

	if (map->ended) {
		if (j->code)
			jit_code_forget(j->code, map->process);
		if (j->memory && !j->later_ns && map->looks_gone <= JIT_PATIENCE &&
		    map->looks_gone++ == JIT_PATIENCE)
			jit_memory_forget(j->memory, m, map->process);
		leave_ended(j, map);
	} else if (!map->wanted) {
		map->ended = exited;
	} else if (map->file) {
		advance(j, m, map, written_ns);
		if (map->file && !exited && map_file_is_deleted(map->file)) {
			close_map(j, map);
			map->reason = REASON_PERF_MAP_REWRITTEN;
			map->looks = 0;
			map->generation++;
		}
		map->ended = exited && !map->behind;
		tell_process(j, m, map);
	} else if (exited && !map->left) {
		/* It may have written one since the last look. */
		map->left = look(j, m, map, written_ns);
	} else if (exited) {
		map->ended = true;
	} else if (map->reason != REASON_FILE_TIMEOUT && map->reason != REASON_PROCESS_GONE &&
		   map->reason != REASON_BUDGET && map->reason != REASON_FILE_COSTLY &&
		   j->open_cnt < JIT_MAPS_MAX &&
		   (map->looks < EAGER_LOOKS || map->looks++ % EAGER_LOOKS == 0)) {
		look(j, m, map, written_ns);
	}
	if (map->wanted && !map->file)
		tell_process(j, m, map);
}

uint64_t jit_changed_ns(const struct jit *j, uint32_t process)
{
	uint32_t row = hash_find(&j->map_index, hash_u64(process), map_equal, j, &process);

	uint64_t map_ns = row == HASH_NONE ? 0 : j->maps[row].changed_ns;
	uint64_t memory_ns = j->memory ? jit_memory_changed_ns(j->memory, process) : 0;

	return map_ns > memory_ns ? map_ns : memory_ns;
}

void jit_follow(struct jit *j, struct model *m, uint64_t written_ns)
{
	for (size_t i = 0; i < j->maps_cnt; i++) {
		struct jit_map *map = &j->maps[i];

		if (map->file && map->wanted && map->file->local && !map->ended)
			advance(j, m, map, written_ns);
	}
}

void jit_tail(struct jit *j, struct model *m, uint64_t written_ns)
{
	size_t cnt = j->maps_cnt, first = j->next;

	j->bytes_left = JIT_SLICE_BYTES;
	for (size_t i = 0; i < cnt; i++)
		j->maps[i].room_bytes = JIT_FOLLOW_BYTES;
	/* Who came too late in this slice begins the next one. */
	for (size_t i = 0; i < cnt; i++) {
		size_t row = (first + i) % cnt;
		bool had = j->bytes_left;

		tail_map(j, m, &j->maps[row], written_ns);
		if (had && !j->bytes_left)
			j->next = row + 1;
	}
	if (j->memory)
		jit_memory_work(j->memory, m);
	serve_waiting(j, m, SERVE_LOOK);
}

bool jit_read(struct jit *j, struct model *m)
{
	if (!j->memory || (!j->waiting_cnt && !jit_memory_is_busy(j->memory)))
		return false;
	jit_memory_work(j->memory, m);
	serve_waiting(j, m, SERVE_AGAIN);
	return jit_memory_is_busy(j->memory);
}

void jit_serve(struct jit *j, struct model *m)
{
	serve_waiting(j, m, SERVE_AGAIN);
}

size_t jit_waiting(const struct jit *j)
{
	return j->waiting_cnt;
}

bool jit_is_worth_waiting(const struct jit *j, const struct model *m)
{
	for (size_t i = 0; i < j->waiting_cnt; i++)
		if (!file_requests_in_debt(j->requests, m, j->waiting[i].process))
			return true;
	return false;
}

void jit_settle(struct jit *j, struct model *m)
{
	serve_waiting(j, m, SERVE_SETTLE);
}

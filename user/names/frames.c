/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "names/symbol.h"
#include "process/facts.h"

/* x86-64 maps it at the same address everywhere (arch/x86/include/uapi/asm/vsyscall.h). */
#define VSYSCALL_START 0xffffffffff600000ull
#define VSYSCALL_END   0xffffffffff601000ull

/* What a location was made from, to see cheaply whether it still holds. */
struct frame_origin {
	uint32_t mapping; /* row of the process's mappings, or MODEL_NONE */
	uint32_t check;	  /* JIT: generation of the map; no mapping: mappings known then */
	bool deferred;	  /* its file was not looked at for lack of time */
};

/* A frame to be looked at again: once, however often it was sampled meanwhile. */
struct frame_again {
	uint64_t address, time_ns;
	uint32_t process;
	uint32_t mapping;  /* row of the process's mappings, or MODEL_NONE */
	uint64_t since_ns; /* clock_now_ns() */
};

/* Of these; what does not fit is looked at again with its next sample, and so is what has waited so
 * long: until then it has the reason for a name. On a full host the files of a service take longer
 * than its samples; who is in debt waits for its own fault. */
#define AGAIN_MAX	  65536u
#define AGAIN_PATIENCE_NS 20000000000ull
#define AGAIN_IN_DEBT_NS  3000000000ull

void frames_close(struct frames *f)
{
	free(f->origins);
	free(f->again);
	hash_clear(&f->again_index);
}

static uint32_t symbol_nowhere(struct model *m, uint32_t process, uint64_t address)
{
	const struct model_process *p = &m->processes[process];

	if (address >= VSYSCALL_START && address < VSYSCALL_END)
		return symbol_note(m, "[vsyscall]", KIND_NATIVE, REASON_VSYSCALL);
	return symbol_note(m, "[unknown]", KIND_UNKNOWN,
			   !p->mapping_cnt && (p->flags & PROCESS_GONE) ? REASON_PROCESS_GONE
									: REASON_NO_MAPPING);
}

static void keep_origin(struct frames *f, uint32_t location, struct frame_origin origin)
{
	while (f->origins_cnt <= location) {
		if (GROW(f->origins, f->origins_cnt, f->origins_cap))
			return;
		f->origins[f->origins_cnt++] = (struct frame_origin){.mapping = MODEL_NONE};
	}
	f->origins[location] = origin;
}

static bool is_deferred(const struct frames *f, uint32_t location)
{
	return location < f->origins_cnt && f->origins[location].deferred;
}

static bool holds(const struct model_mapping *map, uint64_t time_ns)
{
	return map->from_ns <= time_ns && (!map->to_ns || time_ns < map->to_ns);
}

/* Whether a location found for time_ns is still what a look-up would give. */
static bool is_current(const struct frames *f, const struct model_process *p, uint32_t location,
		       uint64_t time_ns, uint32_t generation)
{
	struct frame_origin o;
	const struct model_mapping *map;

	if (location >= f->origins_cnt)
		return false;
	o = f->origins[location];
	if (o.deferred)
		return file_requests_is_spent(f->requests);
	if (o.mapping == MODEL_NONE)
		return o.check == p->mapping_cnt;
	if (o.mapping >= p->mapping_cnt)
		return false;
	map = &p->mappings[o.mapping];
	if (!holds(map, time_ns))
		return false;
	if (map->kind == MAPPING_JIT || map->kind == MAPPING_ANON)
		return generation && o.check == generation;
	return true;
}

/*
 * Whether anonymous code of a .NET process is that of assemblies which its executable keeps
 * compressed. With write-xor-execute off the JIT's code is anonymous, too: then the map decides.
 */
static bool is_unpacked(struct frames *f, const struct model *m, uint32_t process)
{
	const struct model_process *p = &m->processes[process];
	const struct model_mapping *exe = NULL;
	bool jit = false;

	if (!(p->flags & PROCESS_DOTNET))
		return false;
	for (uint32_t i = 0; i < p->mapping_cnt; i++) {
		const struct model_mapping *map = &p->mappings[i];

		jit |= map->kind == MAPPING_JIT;
		if (!exe && map->kind == MAPPING_FILE &&
		    !strcmp(m->modules[map->module].path, p->exe))
			exe = map;
	}
	return jit && exe && files_compressed(f->files, m, process, exe);
}

static bool again_equal(const void *owner, uint32_t row, const void *key)
{
	const struct frame_again *a = &((const struct frames *)owner)->again[row], *b = key;

	return a->address == b->address && a->process == b->process && a->mapping == b->mapping;
}

/* Has the frame looked at again later: until then it has no location. False: it cannot wait. */
static bool keep_again(struct frames *f, uint32_t process, uint32_t mapping, uint64_t address,
		       uint64_t time_ns)
{
	struct frame_again again = {
		.address = address,
		.time_ns = time_ns,
		.process = process,
		.mapping = mapping,
		.since_ns = f->since_ns ? f->since_ns : clock_now_ns(),
	};
	uint64_t hash = hash_pair(address, (uint64_t)process << 32 | mapping);

	if (f->settling)
		return false;
	if (hash_find(&f->again_index, hash, again_equal, f, &again) != HASH_NONE)
		return true;
	if (f->again_cnt >= AGAIN_MAX || GROW(f->again, f->again_cnt, f->again_cap) ||
	    hash_add(&f->again_index, hash, (uint32_t)f->again_cnt))
		return false;
	f->again[f->again_cnt++] = again;
	return true;
}

static void name_user(struct frames *f, struct model *m, uint32_t process, uint64_t address,
		      uint64_t time_ns)
{
	const struct model_mapping *map = model_mapping_find(m, process, address, time_ns);
	struct model_process *p = &m->processes[process];
	struct model_location location = {
		.process = process, .address = address, .older = MODEL_NONE, .tier = ""};
	struct frame_origin origin = {.mapping = MODEL_NONE, .check = (uint32_t)p->mapping_cnt};
	uint64_t deferred = f->requests->deferred;
	enum jit_place place = JIT_COMPILED;
	uint32_t row;

	if (map && map->kind == MAPPING_ANON)
		place = is_unpacked(f, m, process)  ? JIT_UNPACKED
			: p->flags & PROCESS_DOTNET ? JIT_COMPILED
						    : JIT_ANONYMOUS;
	/* Whether it is, is not known yet: what is bundled is being read. */
	if (place != JIT_UNPACKED && f->requests->deferred != deferred &&
	    keep_again(f, process, (uint32_t)(map - p->mappings), address, time_ns))
		return;
	if (map && (map->kind == MAPPING_JIT || map->kind == MAPPING_ANON)) {
		origin.mapping = (uint32_t)(map - p->mappings);
		if (map->kind == MAPPING_JIT)
			facts_note_mapping(m, process, map);
		row = jit_name(f->jit, m, process, address, time_ns, place);
		origin.check = jit_generation(f->jit, process, time_ns);
	} else {
		if (map) {
			origin.mapping = (uint32_t)(map - p->mappings);
			/* Where other code lay at this address before, the name is not for then. */
			row = model_location_find(m, process, address, time_ns);
			if (row != MODEL_NONE)
				location.from_ns = is_deferred(f, row) ? time_ns : map->from_ns;
		}
		location.symbol = map ? file_symbols_at(f->symbols, m, process, map, address)
				      : symbol_nowhere(m, process, address);
		if (location.symbol != MODEL_NONE &&
		    m->symbols[location.symbol].kind == KIND_IMAGE &&
		    !m->symbols[location.symbol].reason)
			location.tier = "PreJIT";
		origin.deferred = f->requests->deferred != deferred;
		if (origin.deferred && keep_again(f, process, origin.mapping, address, time_ns))
			return;
		row = location.symbol == MODEL_NONE ? MODEL_NONE : model_location_add(m, &location);
	}
	if (row != MODEL_NONE)
		keep_origin(f, row, origin);
}

void frames_name(struct frames *f, struct model *m, uint32_t process, uint64_t address,
		 uint64_t time_ns)
{
	uint32_t row = model_location_find(m, process, address, time_ns);

	if (row == MODEL_NONE || !is_current(f, &m->processes[process], row, time_ns,
					     jit_generation(f->jit, process, time_ns)))
		name_user(f, m, process, address, time_ns);
}

void frames_name_stack(struct frames *f, struct model *m, const struct model_stack *stack,
		       uint64_t time_ns)
{
	struct model_stack s = *stack;
	uint32_t generation = jit_generation(f->jit, s.process, time_ns);

	for (uint32_t i = 0; i < s.frame_cnt; i++) {
		uint64_t address = model_stack_address(m, &s, i);
		uint32_t row = model_location_find(m, s.process, address, time_ns);

		if (row == MODEL_NONE ||
		    !is_current(f, &m->processes[s.process], row, time_ns, generation)) {
			name_user(f, m, s.process, address, time_ns);
			generation = jit_generation(f->jit, s.process, time_ns);
		}
	}
}

void frames_name_again(struct frames *f, struct model *m, bool settle)
{
	struct frame_again *again = take_ptr(&f->again);
	uint64_t now_ns = clock_now_ns(), ns;
	size_t cnt = f->again_cnt;

	f->again_cnt = f->again_cap = 0;
	hash_clear(&f->again_index);
	for (size_t i = 0; i < cnt; i++) {
		f->since_ns = again[i].since_ns;
		ns = now_ns - f->since_ns;
		f->settling = settle || ns >= AGAIN_PATIENCE_NS ||
			      (ns >= AGAIN_IN_DEBT_NS &&
			       file_requests_in_debt(f->requests, m, again[i].process));
		frames_name(f, m, again[i].process, again[i].address, again[i].time_ns);
	}
	f->since_ns = 0;
	f->settling = false;
	free(again);
}

bool frames_is_worth_waiting(const struct frames *f, const struct model *m)
{
	for (size_t i = 0; i < f->again_cnt; i++)
		if (!file_requests_in_debt(f->requests, m, f->again[i].process))
			return true;
	return false;
}

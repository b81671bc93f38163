/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/again.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/hash.h"
#include "names/names.h"

/* Times that what was put off for lack of time is asked again, and that a large map is read on. */
#define ROUNDS_MAX 64
/* Look-ups between two refills of the budget of waiting: nothing waits here, unlike a recording. */
#define LOOKUPS_A_REFILL 256
/* For files that are being read. */
#define AWAIT_NS 200000000ull

/* One place of code: an address of a process, from a time on. */
struct place {
	uint32_t process;
	uint32_t location; /* row in the capture, MODEL_NONE = it was never looked up */
	uint64_t address, time_ns;
};

struct work {
	struct model *m, *fresh;
	const struct again_options *options;
	struct names *names;
	struct place *places;
	size_t places_cnt, places_cap;
	struct hash_index place_index; /* of those without a location */
	uint8_t *seen;		       /* by row of locations */
	uint32_t *rows;		       /* by row of processes: that of again.processes, plus one */
};

/* --- what is to be looked up ------------------------------------------------------------------ */

static bool place_equal(const void *owner, uint32_t row, const void *key)
{
	const struct place *a = &((const struct work *)owner)->places[row], *b = key;

	return a->process == b->process && a->address == b->address;
}

static bool is_wanted(struct work *w, const struct place *place)
{
	const struct model *m = w->m;
	const struct model_symbol *symbol;

	if (place->location == MODEL_NONE)
		return hash_find(&w->place_index, hash_pair(place->process, place->address),
				 place_equal, w, place) == HASH_NONE;
	if (w->seen[place->location])
		return false;
	w->seen[place->location] = 1;
	symbol = &m->symbols[m->locations[place->location].symbol];
	/* What no mapping held is mostly no code: a word that the walk took for a caller. */
	return w->options->all ||
	       (symbol->reason != REASON_NAMED && symbol->reason != REASON_NO_MAPPING);
}

static int add_place(struct work *w, const struct place *place)
{
	if (!is_wanted(w, place))
		return 0;
	if (GROW(w->places, w->places_cnt, w->places_cap))
		return -ENOMEM;
	if (place->location == MODEL_NONE &&
	    hash_add(&w->place_index, hash_pair(place->process, place->address),
		     (uint32_t)w->places_cnt))
		return -ENOMEM;
	w->places[w->places_cnt++] = *place;
	return 0;
}

/* Frames of all samples, as of the first sample of each. */
static int collect(struct work *w)
{
	const struct model *m = w->m;
	int err = 0;

	for (size_t i = 0; !err && i < m->samples_cnt; i++) {
		const struct model_sample *sample = &m->samples[i];
		uint32_t row =
			sample->user_stack ? model_stack_find(m, sample->user_stack) : MODEL_NONE;
		const struct model_stack *s;

		if (row == MODEL_NONE || m->stacks[row].process == MODEL_NONE)
			continue;
		s = &m->stacks[row];
		for (uint32_t k = 0; !err && k < s->frame_cnt; k++) {
			struct place place = {
				.process = s->process,
				.address = model_stack_address(m, s, k),
				.time_ns = sample->time_ns,
			};

			place.location =
				model_location_find(m, place.process, place.address, place.time_ns);
			err = add_place(w, &place);
		}
	}
	return err;
}

/* --- looking up ------------------------------------------------------------------------------- */

static bool is_stopped(const struct work *w)
{
	return w->options->stop && *w->options->stop;
}

/* NULL: waits still. */
static const struct model_location *found(const struct work *w, const struct place *place)
{
	uint32_t row =
		model_location_find(w->fresh, place->process, place->address, place->time_ns);

	return row == MODEL_NONE ? NULL : &w->fresh->locations[row];
}

static const struct model_symbol *symbol_of(const struct work *w, const struct place *place)
{
	const struct model_location *location = found(w, place);

	return location ? &w->fresh->symbols[location->symbol] : NULL;
}

static uint64_t later_ns(const struct work *w)
{
	return w->m->host.end_ns + 1;
}

/* Returns how many were put off. */
static size_t look_up(struct work *w)
{
	size_t left = 0;

	for (size_t i = 0; i < w->places_cnt && !is_stopped(w); i++) {
		const struct place *place = &w->places[i];
		const struct model_symbol *symbol;

		if (i % LOOKUPS_A_REFILL == 0)
			names_tail(w->names, w->fresh, later_ns(w));
		names_address(w->names, w->fresh, place->process, place->address, place->time_ns);
		symbol = symbol_of(w, place);
		left += symbol && symbol->reason == REASON_LIMIT;
	}
	return left;
}

static int look_up_all(struct work *w)
{
	size_t left = SIZE_MAX, before;

	/* As long as it gets fewer: what hangs is not asked for ever. */
	for (int i = 0; i < ROUNDS_MAX; i++) {
		before = left;
		left = look_up(w);
		if (!left || left >= before)
			break;
	}
	for (int i = 0; i < ROUNDS_MAX && names_waiting(w->names) && !is_stopped(w); i++) {
		names_await(w->names, AWAIT_NS);
		names_tail(w->names, w->fresh, later_ns(w));
	}
	names_settle(w->names, w->fresh);
	return is_stopped(w) ? -EINTR : 0;
}

/* --- into the capture ------------------------------------------------------------------------- */

static bool is_managed(const struct model_symbol *symbol)
{
	return symbol->kind == KIND_JIT || symbol->kind == KIND_STUB;
}

static bool is_equal(const struct model_symbol *a, const struct model_symbol *b)
{
	return a->kind == b->kind && a->reason == b->reason && !strcmp(a->name, b->name) &&
	       !strcmp(a->raw, b->raw) && !strcmp(a->module, b->module);
}

/* Returns whether the place got another name. */
static bool apply(struct work *w, const struct place *place)
{
	const struct model_location *location = found(w, place);
	struct model *m = w->m;
	struct model_location added;
	const struct model_symbol *symbol;
	uint32_t row;

	if (!location)
		return false;
	symbol = &w->fresh->symbols[location->symbol];
	if (symbol->reason != REASON_NAMED || symbol->kind == KIND_NOTE)
		return false;
	if (place->location != MODEL_NONE &&
	    is_equal(symbol, &m->symbols[m->locations[place->location].symbol]))
		return false;
	row = model_symbol_get(m, symbol);
	if (row == MODEL_NONE)
		return false;
	added = (struct model_location){
		.process = place->process,
		.symbol = row,
		.address = place->address,
		.flags = location->flags,
		.older = MODEL_NONE,
		.tier = location->tier,
	};
	if (place->location == MODEL_NONE)
		return model_location_add(m, &added) != MODEL_NONE;
	m->locations[place->location].symbol = row;
	m->locations[place->location].flags = added.flags;
	m->locations[place->location].tier = model_str(m, added.tier);
	return true;
}

static struct again_process *process_of(struct again *again, const struct work *w, uint32_t process)
{
	struct again_process *p;

	if (w->rows[process])
		return &again->processes[w->rows[process] - 1];
	if (GROW(again->processes, again->processes_cnt, again->processes_cap))
		return NULL;
	p = &again->processes[again->processes_cnt++];
	w->rows[process] = (uint32_t)again->processes_cnt;
	*p = (struct again_process){.process = process};
	p->alive = w->options->ask && names_is_alive(w->names, w->fresh, process);
	return p;
}

static enum model_reason reason_of(const struct work *w, const struct place *place)
{
	const struct model_symbol *symbol = symbol_of(w, place);

	/* The name that it has was found again. */
	return symbol ? (enum model_reason)symbol->reason : REASON_PENDING;
}

static int apply_all(struct work *w, struct again *again)
{
	for (size_t i = 0; i < w->places_cnt; i++) {
		const struct place *place = &w->places[i];
		struct again_process *p = process_of(again, w, place->process);
		const struct model_location *location;

		if (!p)
			return -ENOMEM;
		p->asked++;
		again->asked++;
		if (!apply(w, place)) {
			p->by_reason[reason_of(w, place)]++;
			continue;
		}
		location = found(w, place);
		p->named++;
		again->named++;
		p->later += location->flags & LOCATION_LATER;
		p->managed += is_managed(&w->fresh->symbols[location->symbol]);
	}
	for (size_t i = 0; i < again->processes_cnt; i++)
		if (again->processes[i].managed)
			w->m->processes[again->processes[i].process].perf_map = REASON_NAMED;
	return 0;
}

/* --------------------------------------------------------------------------------------------- */

/* Nobody is asked: whoever has its id here is another process. */
static void end_processes(struct model *m)
{
	for (size_t i = 0; i < m->processes_cnt; i++)
		if (!m->processes[i].exit_ns)
			m->processes[i].exit_ns = 1;
}

static int compare_processes(const void *pa, const void *pb)
{
	const struct again_process *a = pa, *b = pb;

	if (a->named != b->named)
		return (a->named < b->named) - (a->named > b->named);
	if (a->asked != b->asked)
		return (a->asked < b->asked) - (a->asked > b->asked);
	return (a->process > b->process) - (a->process < b->process);
}

int again_run(struct model *m, struct model *fresh, const struct again_options *options,
	      struct again *ret_again)
{
	struct work w = {.m = m, .fresh = fresh, .options = options};
	struct names_options names = {
		.proc_path = options->proc_path,
		.later_ns = later_ns(&w),
		.symbols = options->dirs,
		.from = (enum names_from)options->from,
	};
	struct again again = {0};
	int err = -ENOMEM;

	w.seen = calloc(m->locations_cnt + 1, 1);
	w.rows = calloc(m->processes_cnt + 1, sizeof(*w.rows));
	w.names = names_new(&names);
	if (!w.names)
		err = -errno;
	if (w.seen && w.rows && w.names)
		err = collect(&w);
	model_locations_forget(fresh);
	if (!options->ask)
		end_processes(fresh);
	if (!err)
		err = look_up_all(&w);
	if (!err)
		err = apply_all(&w, &again);
	names_free(w.names);
	hash_clear(&w.place_index);
	free(w.places);
	free(w.seen);
	free(w.rows);
	if (err) {
		again_clear(&again);
		return err;
	}
	if (again.processes_cnt)
		qsort(again.processes, again.processes_cnt, sizeof(*again.processes),
		      compare_processes);
	*ret_again = again;
	return 0;
}

void again_clear(struct again *again)
{
	free(again->processes);
	*again = (struct again){0};
}

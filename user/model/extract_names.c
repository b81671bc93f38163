/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of an extract, and what their addresses mean. */
#include <errno.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/grow.h"
#include "model/extract_private.h"

/* --- symbols and locations ------------------------------------------------------------------- */

static uint32_t take_symbol(struct extract *x, uint32_t row)
{
	uint32_t to = row_map_get(&x->symbols, row);

	if (to != MODEL_NONE || row >= x->from->symbols_cnt)
		return to;
	to = model_symbol_get(x->m, &x->from->symbols[row]);
	return to == MODEL_NONE || row_map_put(x, &x->symbols, row, to) ? MODEL_NONE : to;
}

/*
 * An address that an earlier source had named, too: the same name is the same row. Another one is
 * of this source's time, whatever it says of the beginning. Returns the row that stands for it
 * already, or MODEL_NONE.
 */
static uint32_t join_location(const struct extract *x, uint32_t newest, struct model_location *l)
{
	const struct model_location *was = &x->m->locations[newest];

	if (was->symbol == l->symbol && was->tier == l->tier)
		return newest;
	if (l->from_ns < x->from->host.start_ns)
		l->from_ns = x->from->host.start_ns;
	return MODEL_NONE;
}

/* Older ones of its address have been taken. */
static void take_location(struct extract *x, uint32_t row)
{
	const struct model_location *from = &x->from->locations[row];
	struct model_location l = *from;
	uint32_t known = MODEL_NONE;

	if (l.process != MODEL_NONE) {
		l.process = extract_process(x, l.process);
		if (l.process == MODEL_NONE)
			return;
	}
	l.symbol = take_symbol(x, l.symbol);
	if (l.symbol == MODEL_NONE)
		return;
	l.tier = model_str(x->m, l.tier);
	l.older = model_location_find(x->m, l.process, l.address, UINT64_MAX);
	if (l.older != MODEL_NONE && row_map_get(&x->locations, from->older) == MODEL_NONE)
		known = join_location(x, l.older, &l);
	if (l.older != MODEL_NONE && x->m->locations[l.older].from_ns > l.from_ns)
		l.from_ns = x->m->locations[l.older].from_ns;
	if (known == MODEL_NONE) {
		known = (uint32_t)x->m->locations_cnt;
		if (known >= MODEL_MAX_LOCATIONS) {
			model_loss_add(x->m, LOSS_MODEL_LIMIT, 1);
			return;
		}
		if (extract_check(x, model_location_restore(x->m, &l)))
			return;
	}
	row_map_put(x, &x->locations, row, known);
}

/*
 * The location of an address of the source by this call, and those before it that slices of the
 * extract may need: down to the one that was valid when the first of them began. False: there is
 * none.
 */
static bool want_location(struct extract *x, uint32_t process, uint64_t address)
{
	uint32_t row = model_location_find(x->from, process, address, UINT64_MAX);
	bool any = row != MODEL_NONE;

	while (row != MODEL_NONE && row_map_get(&x->locations, row) == MODEL_NONE) {
		const struct model_location *l = &x->from->locations[row];

		if (ROOM(x, wanted))
			return any;
		x->wanted[x->wanted_cnt++] = row;
		row = l->from_ns > x->m->host.start_ns ? l->older : MODEL_NONE;
	}
	return any;
}

/* In the order of the source, in which older ones come first. */
static void take_wanted(struct extract *x)
{
	if (x->wanted_cnt)
		qsort(x->wanted, x->wanted_cnt, sizeof(*x->wanted), compare_u32);
	for (size_t i = 0; i < x->wanted_cnt; i++)
		if (row_map_get(&x->locations, x->wanted[i]) == MODEL_NONE)
			take_location(x, x->wanted[i]);
	x->wanted_cnt = 0;
}

/* --- stacks ---------------------------------------------------------------------------------- */

static void want_frames(struct extract *x, const struct model_stack *s)
{
	for (uint32_t i = 0; i < s->frame_cnt; i++) {
		struct taken_place place = {s->process, model_stack_address(x->from, s, i)};

		if (!want_location(x, place.process, place.address) && !ROOM(x, unnamed))
			x->unnamed[x->unnamed_cnt++] = place;
	}
}

void extract_stack(struct extract *x, uint64_t id)
{
	uint32_t row = id ? model_stack_find(x->from, id) : MODEL_NONE, to;
	const struct model_stack *from;
	struct model_stack copy;

	/* One that was lost is lost here, too: the sample keeps its id. */
	if (row == MODEL_NONE || row_map_get(&x->stacks, row) != MODEL_NONE)
		return;
	from = &x->from->stacks[row];
	copy = *from;
	if (copy.process != MODEL_NONE) {
		copy.process = extract_process(x, copy.process);
		if (copy.process == MODEL_NONE)
			return;
	}
	copy.broken_module = extract_module(x, copy.broken_module);
	to = model_stack_add(x->m, &copy, model_stack_frames(x->from, from));
	if (to == MODEL_NONE || ROOM(x, taken_stacks) || row_map_put(x, &x->stacks, row, to))
		return;
	x->taken_stacks[x->taken_stacks_cnt++] = (struct taken_row){row, to};
	want_frames(x, from);
}

/* --- what changed ---------------------------------------------------------------------------- */

static void refresh_stacks(struct extract *x)
{
	for (size_t i = 0; i < x->taken_stacks_cnt; i++) {
		const struct model_stack *from = &x->from->stacks[x->taken_stacks[i].from];
		struct model_stack *to = &x->m->stacks[x->taken_stacks[i].to];

		to->flags = from->flags;
		to->broken_module = extract_module(x, from->broken_module);
	}
}

/* Who names adds locations and never changes one: a new one follows another, or is the first of a
 * frame that was met before it was looked up. */
static void refresh_locations(struct extract *x)
{
	size_t left = 0;

	if (x->locations_seen == x->from->locations_cnt)
		return;
	for (size_t i = x->locations_seen; i < x->from->locations_cnt; i++) {
		uint32_t older = x->from->locations[i].older;

		if (older != MODEL_NONE && row_map_get(&x->locations, older) != MODEL_NONE &&
		    row_map_get(&x->locations, (uint32_t)i) == MODEL_NONE)
			take_location(x, (uint32_t)i);
	}
	for (size_t i = 0; i < x->unnamed_cnt; i++)
		if (!want_location(x, x->unnamed[i].process, x->unnamed[i].address))
			x->unnamed[left++] = x->unnamed[i];
	x->unnamed_cnt = left;
	take_wanted(x);
	x->locations_seen = x->from->locations_cnt;
}

void extract_refresh_names(struct extract *x)
{
	refresh_stacks(x);
	take_wanted(x);
	refresh_locations(x);
}

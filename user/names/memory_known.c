/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/memory_known.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "names/symbol.h"

/* Beyond so many bodies those are dropped that may not stay and were last read so long ago. */
#define STALE_BODIES 16384u
#define STALE_NS     60000000000ull
/* Who was not sampled again is not waited for longer. */
#define GAP_NS 10000000000ull

void memory_known_clear(struct memory_known *k)
{
	free(k->bodies);
	free(k->answers);
	free(k->wanted);
	free(k->places);
	free(k->fresh);
	hash_clear(&k->places_index);
	hash_clear(&k->answers_index);
	hash_clear(&k->wanted_index);
}

size_t memory_known_bytes(const struct memory_known *k)
{
	return k->bodies_cap * sizeof(*k->bodies) + k->fresh_cap * sizeof(*k->fresh) +
	       k->answers_cap * sizeof(*k->answers) + k->wanted_cap * sizeof(*k->wanted) +
	       k->places_cap * sizeof(*k->places) +
	       (k->answers_index.cap + k->wanted_index.cap + k->places_index.cap) *
		       sizeof(struct hash_slot);
}

/* Index of the first body that begins behind an address. */
static size_t body_behind(const struct memory_known *k, uint64_t address)
{
	size_t low = 0, high = k->bodies_cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (k->bodies[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct known_body *memory_known_body(const struct memory_known *k, uint64_t address)
{
	size_t i = body_behind(k, address);
	struct known_body *b = i ? &k->bodies[i - 1] : NULL;

	return b && address - b->start < b->size ? b : NULL;
}

bool memory_known_is_now(const struct calms *c, const struct known_body *b)
{
	return b->calm != CALM_NONE && b->calm == calms_now(c);
}

uint64_t memory_known_until(const struct calms *c, const struct known_body *b)
{
	return calms_known_until(c, b->calm, b->until_ns);
}

static bool is_same(const struct known_body *a, const struct known_body *b)
{
	return a->start == b->start && a->size == b->size && a->symbol == b->symbol &&
	       a->tier == b->tier;
}

bool memory_known_keep_body(struct memory_known *k, const struct known_body *body)
{
	struct known_body *was = memory_known_body(k, body->start);

	if (was && is_same(was, body)) {
		/* It was there all the time. */
		was->calm = body->calm;
		was->until_ns = body->until_ns;
		if (body->from_ns < was->from_ns)
			was->from_ns = body->from_ns;
		return false;
	}
	if (GROW(k->fresh, k->fresh_cnt, k->fresh_cap))
		return false;
	k->fresh[k->fresh_cnt++] = *body;
	return true;
}

static int compare_bodies(const void *a, const void *b)
{
	const struct known_body *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Of those that a job told of the first one at each place. */
static void sort_fresh(struct memory_known *k)
{
	uint64_t end = 0;
	size_t kept = 0;

	qsort(k->fresh, k->fresh_cnt, sizeof(*k->fresh), compare_bodies);
	for (size_t i = 0; i < k->fresh_cnt; i++) {
		if (k->fresh[i].start < end)
			continue;
		end = k->fresh[i].start + k->fresh[i].size;
		k->fresh[kept++] = k->fresh[i];
	}
	k->fresh_cnt = kept;
}

static bool is_stale(const struct calms *c, const struct known_body *b)
{
	return b->is_fleeting && !memory_known_is_now(c, b) && b->until_ns + STALE_NS < c->mark_ns;
}

void memory_known_merge(struct memory_known *k, const struct calms *c)
{
	size_t cnt = 0, from = 0, cap = k->bodies_cnt + k->fresh_cnt;
	bool is_full = k->bodies_cnt >= STALE_BODIES;
	struct known_body *all;

	if (!k->fresh_cnt)
		return;
	sort_fresh(k);
	all = malloc(cap * sizeof(*all));
	for (size_t i = 0; all && i <= k->fresh_cnt; i++) {
		const struct known_body *next = i < k->fresh_cnt ? &k->fresh[i] : NULL;

		for (; from < k->bodies_cnt &&
		       (!next || k->bodies[from].start < next->start + next->size);
		     from++) {
			const struct known_body *b = &k->bodies[from];

			if ((!next || b->start + b->size <= next->start) &&
			    (!is_full || !is_stale(c, b)))
				all[cnt++] = *b;
		}
		if (next)
			all[cnt++] = *next;
	}
	k->fresh_cnt = 0;
	if (!all || cnt > MEMORY_BODIES_MAX) {
		free(all);
		return;
	}
	free(k->bodies);
	k->bodies = all;
	k->bodies_cnt = cnt;
	k->bodies_cap = cap;
}

static bool answer_equal(const void *owner, uint32_t row, const void *key)
{
	return ((const struct memory_known *)owner)->answers[row].address == *(const uint64_t *)key;
}

static struct known_answer *find_answer(const struct memory_known *k, uint64_t address)
{
	uint32_t row = hash_find(&k->answers_index, hash_u64(address), answer_equal, k, &address);

	return row == HASH_NONE ? NULL : &k->answers[row];
}

const struct known_answer *memory_known_answer(const struct memory_known *k, uint64_t address)
{
	return find_answer(k, address);
}

void memory_known_keep_answer(struct memory_known *k, uint64_t address, uint64_t read_ns,
			      enum model_reason reason)
{
	struct known_answer *a = find_answer(k, address);

	if (!a) {
		if (k->answers_cnt >= MEMORY_ANSWERS_MAX) {
			k->answers_cnt = 0;
			hash_clear(&k->answers_index);
		}
		if (GROW(k->answers, k->answers_cnt, k->answers_cap) ||
		    hash_add(&k->answers_index, hash_u64(address), (uint32_t)k->answers_cnt))
			return;
		a = &k->answers[k->answers_cnt++];
	}
	*a = (struct known_answer){address, read_ns, reason};
}

static bool wanted_equal(const void *owner, uint32_t row, const void *key)
{
	return ((const struct memory_known *)owner)->wanted[row] == *(const uint64_t *)key;
}

bool memory_known_want(struct memory_known *k, uint64_t address)
{
	uint64_t hash = hash_u64(address);

	if (hash_find(&k->wanted_index, hash, wanted_equal, k, &address) != HASH_NONE)
		return true;
	if (k->wanted_cnt >= MEMORY_WANTED_MAX || GROW(k->wanted, k->wanted_cnt, k->wanted_cap) ||
	    hash_add(&k->wanted_index, hash, (uint32_t)k->wanted_cnt))
		return false;
	k->wanted[k->wanted_cnt++] = address;
	return true;
}

void memory_known_drop_asked(struct memory_known *k, size_t again)
{
	memmove(k->wanted + again, k->wanted + k->asked,
		(k->wanted_cnt - k->asked) * sizeof(*k->wanted));
	k->wanted_cnt -= k->asked - again;
	k->asked = 0;
	hash_clear(&k->wanted_index);
	for (size_t i = 0; i < k->wanted_cnt; i++)
		hash_add(&k->wanted_index, hash_u64(k->wanted[i]), (uint32_t)i);
}

void memory_known_want_none(struct memory_known *k)
{
	k->wanted_cnt = 0;
	hash_clear(&k->wanted_index);
}

static bool place_equal(const void *owner, uint32_t row, const void *key)
{
	return ((const struct memory_known *)owner)->places[row].address == *(const uint64_t *)key;
}

static struct known_place *find_place(const struct memory_known *k, uint64_t address)
{
	uint32_t row = hash_find(&k->places_index, hash_u64(address), place_equal, k, &address);

	return row == HASH_NONE ? NULL : &k->places[row];
}

bool memory_known_keep_place(struct memory_known *k, const struct calms *c, uint64_t address,
			     const struct known_body *b)
{
	struct known_place *place = find_place(k, address);

	if (!place) {
		if (k->places_cnt >= MEMORY_FLEETING_MAX ||
		    GROW(k->places, k->places_cnt, k->places_cap) ||
		    hash_add(&k->places_index, hash_u64(address), (uint32_t)k->places_cnt))
			return false;
		place = &k->places[k->places_cnt++];
		*place = (struct known_place){.address = address};
		if (!memory_known_is_now(c, b))
			place->gap_ns = memory_known_until(c, b) + 1;
	}
	place->symbol = b->symbol;
	place->is_used = true;
	k->has_new_gap = true;
	return true;
}

/* What was fleeting may be gone. What was sampled since is asked for, since other samples of it may
 * have been given its name; the rest with its next sample. */
void memory_known_begin_calm(struct memory_known *k, uint64_t until_ns)
{
	for (size_t i = 0; i < k->places_cnt; i++) {
		struct known_place *place = &k->places[i];
		const struct known_body *b = memory_known_body(k, place->address);

		if (!place->gap_ns)
			place->gap_ns = until_ns + 1;
		if (place->is_used)
			memory_known_want(k, b ? b->start : place->address);
		place->is_used = false;
	}
}

static void tell_late(struct model *m, uint32_t process, const struct known_place *place)
{
	struct model_location location = {
		.process = process,
		.symbol = symbol_note(m, "[jit code]", KIND_JIT, REASON_MEMORY_LATE),
		.address = place->address,
		.from_ns = place->gap_ns,
		.older = MODEL_NONE,
		.tier = "",
	};

	if (location.symbol != MODEL_NONE)
		model_location_add(m, &location);
}

void memory_known_close_gaps(struct memory_known *k, const struct calms *c, struct model *m,
			     uint32_t process, uint32_t generation, bool all)
{
	size_t kept = 0, cnt = k->places_cnt;

	if (k->closed == generation && !k->has_new_gap && !all &&
	    c->mark_ns - k->closed_ns < GAP_NS / 4)
		return;
	for (size_t i = 0; i < cnt; i++) {
		struct known_place place = k->places[i];
		const struct known_body *b = memory_known_body(k, place.address);
		const struct known_answer *a = b ? NULL : memory_known_answer(k, place.address);
		bool is_read = b ? memory_known_until(c, b) >= place.gap_ns
				 : a && a->read_ns >= place.gap_ns;
		bool is_same = b && b->symbol == place.symbol && b->from_ns < place.gap_ns;
		bool is_over = all || (place.gap_ns && c->mark_ns >= place.gap_ns + GAP_NS);

		if (place.gap_ns && is_read && is_same) {
			place.gap_ns = memory_known_is_now(c, b) ? 0 : memory_known_until(c, b) + 1;
		} else if (place.gap_ns && (is_read || is_over)) {
			tell_late(m, process, &place);
			continue;
		}
		k->places[kept++] = place;
	}
	k->closed = generation;
	k->has_new_gap = false;
	k->closed_ns = c->mark_ns;
	if (kept == cnt)
		return;
	k->places_cnt = kept;
	hash_clear(&k->places_index);
	for (size_t i = 0; i < kept; i++)
		hash_add(&k->places_index, hash_u64(k->places[i].address), (uint32_t)i);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of the data block: strings, symbols, and the tiers in which methods were sampled. */
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/grow.h"
#include "output/flame_internal.h"

/* Strings of the model are interned: equal ones have one address. */
static bool string_equal(const void *owner, uint32_t row, const void *key)
{
	return ((const struct flame_data *)owner)->strings[row] == key;
}

int flame_string(struct flame_data *d, const char *string, uint32_t *ret_number)
{
	uint64_t hash = hash_u64((uintptr_t)string);
	uint32_t row = hash_find(&d->string_index, hash, string_equal, d, string);
	int err;

	if (row == HASH_NONE) {
		err = GROW(d->strings, d->strings_cnt, d->strings_cap);
		if (!err)
			err = hash_add(&d->string_index, hash, (uint32_t)d->strings_cnt);
		if (err)
			return err;
		row = (uint32_t)d->strings_cnt;
		d->strings[d->strings_cnt++] = string;
	}
	*ret_number = row;
	return 0;
}

int flame_symbol(struct flame_data *d, uint32_t row, uint32_t *ret_number)
{
	if (d->symbol_number[row] == MODEL_NONE) {
		int err = GROW(d->symbols, d->symbols_cnt, d->symbols_cap);

		if (err)
			return err;
		d->symbol_number[row] = (uint32_t)d->symbols_cnt;
		d->symbols[d->symbols_cnt++] = row;
	}
	*ret_number = d->symbol_number[row];
	return 0;
}

/* --- tiers ----------------------------------------------------------------------------------- */

static bool tier_equal(const void *owner, uint32_t row, const void *key)
{
	const struct flame_tier *tier = &((const struct flame_data *)owner)->tiers[row], *k = key;

	return tier->symbol == k->symbol && tier->tier == k->tier;
}

int flame_count_tier(struct flame_data *d, uint32_t symbol, const struct model_location *location,
		     uint64_t weight)
{
	struct flame_tier key = {.symbol = symbol, .tier = location->tier};
	uint64_t hash = hash_pair(symbol, (uintptr_t)location->tier);
	uint32_t row = hash_find(&d->tier_index, hash, tier_equal, d, &key);
	int err;

	if (row == HASH_NONE) {
		err = GROW(d->tiers, d->tiers_cnt, d->tiers_cap);
		if (!err)
			err = hash_add(&d->tier_index, hash, (uint32_t)d->tiers_cnt);
		if (err)
			return err;
		row = (uint32_t)d->tiers_cnt;
		d->tiers[d->tiers_cnt++] = key;
	}
	d->tiers[row].frames += weight;
	d->tiers[row].later += location->flags & LOCATION_LATER ? weight : 0;
	return 0;
}

/* By symbol in the order of the output, commonest first. Frames of cut stacks may have a tier and
 * no number: they sort last and are left out. */
static int compare_tiers(const void *a, const void *b, void *arg)
{
	const struct flame_data *d = arg;
	const struct flame_tier *ta = a, *tb = b;
	int c = COMPARE(d->symbol_number[ta->symbol], d->symbol_number[tb->symbol]);

	if (!c)
		c = COMPARE(tb->frames, ta->frames);
	return c ? c : strcmp(ta->tier, tb->tier);
}

static int put_tiers(struct flame_data *d)
{
	size_t at = 0;
	int err = 0;

	if (d->tiers_cnt)
		qsort_r(d->tiers, d->tiers_cnt, sizeof(*d->tiers), compare_tiers, d);
	for (size_t i = 0; !err && i < d->symbols_cnt; i++) {
		uint64_t later = 0;

		for (; !err && at < d->tiers_cnt && d->symbol_number[d->tiers[at].symbol] == i;
		     at++) {
			uint32_t name;

			later += d->tiers[at].later;
			if (!*d->tiers[at].tier)
				continue;
			err = flame_string(d, d->tiers[at].tier, &name);
			FLAME_RISE(d, TIER_SYMBOL, i);
			FLAME_PUT(d, TIER_NAME, err ? 0 : name);
			FLAME_PUT(d, TIER_FRAMES, d->tiers[at].frames);
		}
		FLAME_PUT(d, SYMBOL_LATER, later);
	}
	return err;
}

int flame_symbols(struct flame_data *d)
{
	int err = 0;

	for (size_t i = 0; !err && i < d->symbols_cnt; i++) {
		const struct model_symbol *s = &d->m->symbols[d->symbols[i]];
		uint32_t name = 0, raw = 0, module = 0;

		err = flame_string(d, s->name, &name);
		if (!err)
			err = flame_string(d, s->raw, &raw);
		if (!err)
			err = flame_string(d, s->module, &module);
		FLAME_RISE(d, SYMBOL_NAME, name);
		FLAME_RISE(d, SYMBOL_RAW, raw);
		FLAME_PUT(d, SYMBOL_MODULE, module);
		FLAME_PUT(d, SYMBOL_KIND, s->kind);
		FLAME_PUT(d, SYMBOL_REASON, s->reason);
		FLAME_PUT(d, SYMBOL_APPLICATION, s->application);
	}
	return err ? err : put_tiers(d);
}

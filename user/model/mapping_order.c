/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/mapping_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

struct mapping_order {
	/* By start, the highest first: the kernel places new ones below the others, so at the end.
	 * Ended ones stay until half are such: a new mapping mostly takes the place of one,
	 * and then nothing has to move. */
	uint32_t *rows;
	size_t cnt, cap;
	size_t ended; /* of cnt */
	size_t seen;  /* rows of the process that were taken in */
	struct mapping_index index;
};

/* The first place whose mapping starts at start or below. */
static size_t place_of(const struct model_process *p, uint64_t start)
{
	const struct mapping_order *o = p->order;
	size_t low = 0, high = o->cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (p->mappings[o->rows[mid]].start > start)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool has_ended(const struct model_process *p, size_t place)
{
	return p->mappings[p->order->rows[place]].to_ns != 0;
}

static int insert(struct model_process *p, uint32_t row)
{
	struct mapping_order *o = p->order;
	size_t at = place_of(p, p->mappings[row].start);

	/* Either neighbour's place keeps the order. */
	if (at < o->cnt && has_ended(p, at)) {
		o->ended--;
	} else if (at && has_ended(p, at - 1)) {
		at--;
		o->ended--;
	} else {
		if (GROW(o->rows, o->cnt, o->cap))
			return -ENOMEM;
		memmove(o->rows + at + 1, o->rows + at, (o->cnt - at) * sizeof(*o->rows));
		o->cnt++;
	}
	o->rows[at] = row;
	return 0;
}

static void sweep(struct model_process *p)
{
	struct mapping_order *o = p->order;
	size_t kept = 0;

	for (size_t i = 0; i < o->cnt; i++)
		if (!has_ended(p, i))
			o->rows[kept++] = o->rows[i];
	o->cnt = kept;
	o->ended = 0;
}

int mapping_order_update(struct model_process *p)
{
	int err;

	if (!p->order)
		p->order = calloc(1, sizeof(*p->order));
	if (!p->order)
		return -ENOMEM;
	for (; p->order->seen < p->mapping_cnt; p->order->seen++) {
		if (p->mappings[p->order->seen].to_ns)
			continue;
		err = insert(p, (uint32_t)p->order->seen);
		if (err)
			return err;
	}
	return 0;
}

size_t mapping_order_cnt(const struct model_process *p)
{
	return p->order->cnt - p->order->ended;
}

uint32_t mapping_order_same(const struct model_process *p, const struct model_mapping *mapping)
{
	const struct mapping_order *o = p->order;
	uint32_t same = MODEL_NONE;

	for (size_t i = place_of(p, mapping->start); i < o->cnt; i++) {
		const struct model_mapping *old = &p->mappings[o->rows[i]];

		if (old->start != mapping->start)
			break;
		if (!old->to_ns && old->end == mapping->end &&
		    old->file_offset == mapping->file_offset && old->module == mapping->module &&
		    (same == MODEL_NONE || o->rows[i] > same))
			same = o->rows[i];
	}
	return same;
}

void mapping_order_end_covered(struct model_process *p, const struct model_mapping *mapping,
			       uint32_t first_row)
{
	struct mapping_order *o = p->order;

	for (size_t i = place_of(p, mapping->end - 1); i < o->cnt; i++) {
		struct model_mapping *old = &p->mappings[o->rows[i]];

		if (old->start < mapping->start)
			break;
		if (old->to_ns || old->end > mapping->end || o->rows[i] < first_row)
			continue;
		old->to_ns = mapping->from_ns;
		old->dirty = true;
		o->ended++;
	}
	if (o->ended > o->cnt / 2 + 16)
		sweep(p);
}

struct mapping_index *mapping_order_index(struct model_process *p)
{
	if (!p->order)
		p->order = calloc(1, sizeof(*p->order));
	return p->order ? &p->order->index : NULL;
}

void mapping_order_drop(struct model_process *p)
{
	if (p->order) {
		free(p->order->rows);
		mapping_index_clear(&p->order->index);
	}
	free(p->order);
	p->order = NULL;
}

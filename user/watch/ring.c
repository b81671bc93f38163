/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/ring.h"

#include <errno.h>
#include <stdlib.h>

/* Slices are dropped some at a time, since each time all rows are walked: this part of what is
 * kept. */
#define BATCH_PART 8

struct ring {
	struct ring_options options;
	struct model *past; /* or NULL */
};

struct ring *ring_new(const struct ring_options *options)
{
	struct ring *r = calloc(1, sizeof(*r));

	if (r)
		r->options = *options;
	return r;
}

void ring_set(struct ring *r, const struct ring_options *options)
{
	r->options = *options;
}

void ring_free(struct ring *r)
{
	if (!r)
		return;
	model_free(r->past);
	free(r);
}

void ring_clear(struct ring *r)
{
	model_free(r->past);
	r->past = NULL;
}

/* The slice that is being filled has no end yet. */
static uint32_t closed_slices(const struct model *m)
{
	uint32_t cnt = m ? (uint32_t)m->slices_cnt : 0;

	while (cnt && !m->slices[cnt - 1].end_ns)
		cnt--;
	return cnt;
}

/* The first closed slice that ends after from_ns. */
static uint32_t first_after(const struct model *m, uint64_t from_ns)
{
	uint32_t cnt = closed_slices(m), first = 0;

	while (first < cnt && m->slices[first].end_ns <= from_ns)
		first++;
	return first;
}

static void drop_past(struct ring *r, uint32_t slices)
{
	if (slices < r->past->slices_cnt) {
		model_forget_before(r->past, slices);
		return;
	}
	model_free(r->past);
	r->past = NULL;
}

/* When what is kept begins at the latest, as of the newest slice. */
static uint64_t keep_from_ns(const struct model *live, uint64_t keep_ns)
{
	uint32_t cnt = closed_slices(live);
	uint64_t now_ns = cnt ? live->slices[cnt - 1].end_ns : 0;

	return now_ns > keep_ns ? now_ns - keep_ns : 0;
}

static uint32_t drop_old(struct ring *r, struct model *live)
{
	uint64_t keep_ns = r->options.keep_ns, slack_ns = keep_ns / BATCH_PART;
	uint64_t due_ns = keep_from_ns(live, keep_ns + slack_ns);
	uint64_t from_ns = keep_from_ns(live, keep_ns);
	uint32_t first;

	/* The past is small beside live's work, and soon gone: at once. */
	if (r->past)
		drop_past(r, first_after(r->past, from_ns));
	if (!first_after(live, due_ns))
		return 0;
	first = first_after(live, from_ns);
	model_forget_before(live, first);
	return first;
}

static uint32_t part_of(uint32_t slices)
{
	return slices / BATCH_PART + 1;
}

/* The oldest go first; the newest slice stays whatever it has. */
static uint32_t drop_much(struct ring *r, struct model *live)
{
	uint32_t cnt = closed_slices(live), dropped = 0;

	while (r->past && ring_bytes(r, live) > r->options.bytes_max)
		drop_past(r, part_of((uint32_t)r->past->slices_cnt));
	while (cnt > 1 && ring_bytes(r, live) > r->options.bytes_max) {
		uint32_t part = part_of(cnt);

		part = part < cnt ? part : cnt - 1;
		model_forget_before(live, part);
		dropped += part;
		cnt -= part;
	}
	return dropped;
}

uint32_t ring_slice(struct ring *r, struct model *live)
{
	uint32_t dropped = drop_old(r, live);

	return dropped + drop_much(r, live);
}

static int take_after(struct extract *x, const struct model *m, uint64_t from_ns)
{
	uint32_t cnt = closed_slices(m), first = first_after(m, from_ns);

	return first < cnt ? extract_take(x, m, first, cnt - 1) : 0;
}

int ring_extract(const struct ring *r, const struct model *live, uint64_t from_ns,
		 struct extract *x)
{
	int err = 0;

	if (r->past) {
		err = take_after(x, r->past, from_ns);
		extract_leave(x);
	}
	return err ? err : take_after(x, live, from_ns);
}

int ring_retire(struct ring *r, const struct model *live)
{
	struct extract *x = extract_new();
	int err = x ? ring_extract(r, live, keep_from_ns(live, r->options.keep_ns), x) : -ENOMEM;

	model_free(r->past);
	r->past = NULL;
	if (err || !extract_model(x)->slices_cnt) {
		extract_free(x);
		return err;
	}
	/* Nothing is added to it: what the extract remembers of live is as large again. */
	r->past = extract_finish(x);
	return 0;
}

uint64_t ring_from_ns(const struct ring *r, const struct model *live)
{
	if (r->past)
		return r->past->slices[0].start_ns;
	return closed_slices(live) ? live->slices[0].start_ns : 0;
}

size_t ring_bytes(const struct ring *r, const struct model *live)
{
	return (r->past ? model_slice_bytes(r->past) : 0) + model_slice_bytes(live);
}

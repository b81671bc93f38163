/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/unnamed.h"

#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "bpf/events.h"
#include "model/frame_book.h"

/* breaks[] has a counter for each module, and behind them one for breaks nobody knows where, by why
 * they broke. */
static void add_stack(struct unnamed *u, const struct model *m, const struct model_stack *s,
		      uint64_t ticks)
{
	size_t place;

	u->user_stacks += ticks;
	u->cut += s->left_out > 0 ? ticks : 0;
	u->unsure += s->flags & STACK_UNSURE ? ticks : 0;
	if (s->left_out > u->left_out_most)
		u->left_out_most = s->left_out;
	if (!(s->flags & STACK_BROKEN))
		return;
	u->broken += ticks;
	u->ends[s->end] += ticks;
	place = s->broken_module < m->modules_cnt ? s->broken_module : m->modules_cnt;
	u->breaks[place * STACK_END_CNT + s->end].samples += ticks;
}

static void add_stacks(struct unnamed *u, const struct model *m, const struct frame_book *b)
{
	for (size_t i = 0; i < m->stacks_cnt; i++)
		if (b->stacks[i] && !(m->stacks[i].flags & STACK_KERNEL))
			add_stack(u, m, &m->stacks[i], b->stacks[i]);
}

static bool is_managed(const struct model_symbol *s)
{
	return s->kind == KIND_JIT || s->kind == KIND_STUB || s->kind == KIND_IMAGE;
}

enum named_by unnamed_named_by(const struct model *m, const struct model_symbol *symbol,
			       uint32_t location)
{
	/* Precompiled code that was unpacked from its file, too. */
	if (location != MODEL_NONE && m->locations[location].flags & LOCATION_MEMORY)
		return NAMED_BY_MEMORY;
	return symbol->kind == KIND_IMAGE ? NAMED_BY_IMAGE : NAMED_BY_MAP;
}

static void add_managed(struct unnamed *u, const struct model *m, const struct model_symbol *s,
			uint32_t location, uint64_t ticks)
{
	if (!is_managed(s))
		return;
	u->managed += ticks;
	if (s->reason == REASON_NAMED)
		u->managed_by[unnamed_named_by(m, s, location)] += ticks;
	else
		u->managed_unnamed += ticks;
}

static void add_location(struct unnamed *u, const struct model *m, const struct frame_book *b,
			 uint32_t location)
{
	const struct model_location *l = &m->locations[location];
	const struct model_symbol *s = &m->symbols[l->symbol];
	uint64_t ticks = b->passed[location];

	if (s->kind != KIND_NOTE || s->reason == REASON_PENDING)
		u->frames += ticks;
	add_managed(u, m, s, location, ticks);
	u->by_reason[s->reason] += ticks;
	if (l->flags & LOCATION_LATER)
		u->later += ticks;
}

static void add_frames(struct unnamed *u, const struct model *m, const struct frame_book *b)
{
	for (uint32_t i = 0; i < m->locations_cnt; i++)
		if (b->passed[i])
			add_location(u, m, b, i);
	for (int i = 0; i < REASON_CNT; i++) {
		u->by_reason[i] += b->notes[i];
		u->leaves[i] += b->leaves[i];
	}
	u->frames += b->notes[REASON_PENDING];
}

static const char *place_of(const struct model *m, size_t module)
{
	const char *path = module < m->modules_cnt ? m->modules[module].path : NULL, *slash;
	enum model_mapping_kind kind;

	if (!path)
		return BREAK_IN_UNKNOWN;
	kind = model_mapping_kind_of(path, strlen(path));
	if (!path[0] || kind == MAPPING_ANON || kind == MAPPING_JIT)
		return BREAK_IN_CODE;
	slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* What is not known comes last. */
static int compare_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : !a - !b;
}

static int compare_places(const void *a, const void *b)
{
	const struct unnamed_break *ba = a, *bb = b;
	int c = compare_text(ba->place, bb->place);

	return c ? c : COMPARE(ba->end, bb->end);
}

static int compare_breaks(const void *a, const void *b)
{
	const struct unnamed_break *ba = a, *bb = b;
	int c = COMPARE(bb->samples, ba->samples);

	return c ? c : compare_places(a, b);
}

/* From one row a module to one row a place (each by why it broke), those without one left out. */
static void merge_breaks(struct unnamed *u, size_t cnt)
{
	qsort(u->breaks, cnt, sizeof(*u->breaks), compare_places);
	for (size_t i = 0; i < cnt; i++) {
		struct unnamed_break *last = u->breaks_cnt ? &u->breaks[u->breaks_cnt - 1] : NULL;

		if (!u->breaks[i].samples)
			continue;
		if (last && !compare_places(last, &u->breaks[i]))
			last->samples += u->breaks[i].samples;
		else
			u->breaks[u->breaks_cnt++] = u->breaks[i];
	}
	qsort(u->breaks, u->breaks_cnt, sizeof(*u->breaks), compare_breaks);
}

static int begin_breaks(struct unnamed *u, const struct model *m, size_t cnt)
{
	u->breaks = calloc(cnt, sizeof(*u->breaks));
	if (!u->breaks)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		u->breaks[i].place = place_of(m, i / STACK_END_CNT);
		u->breaks[i].end = (enum stack_end)(i % STACK_END_CNT);
	}
	return 0;
}

static int unnamed_build(struct unnamed *u, struct model *m, uint32_t process)
{
	size_t cnt = (m->modules_cnt + 1) * STACK_END_CNT;
	struct frame_book book = {0};
	int err = begin_breaks(u, m, cnt);

	if (!err)
		err = frame_book_fill(&book, m, process);
	if (!err) {
		u->samples = book.samples;
		add_frames(u, m, &book);
		add_stacks(u, m, &book);
		merge_breaks(u, cnt);
	}
	frame_book_clear(&book);
	return err;
}

struct unnamed *unnamed_new(struct model *m, uint32_t process)
{
	struct unnamed *u = calloc(1, sizeof(*u));
	int err;

	if (!u)
		return NULL;
	err = unnamed_build(u, m, process);
	if (err) {
		unnamed_free(u);
		errno = -err;
		return NULL;
	}
	return u;
}

void unnamed_free(struct unnamed *u)
{
	if (!u)
		return;
	free(u->breaks);
	free(u);
}

bool unnamed_is_note(enum model_reason reason)
{
	return reason == REASON_STACK_LOST || reason == REASON_TRUNCATED ||
	       reason == REASON_BROKEN || reason == REASON_UNSURE;
}

uint64_t unnamed_frames(const struct unnamed *u)
{
	uint64_t sum = 0;

	for (int i = REASON_NAMED + 1; i < REASON_CNT; i++)
		if (!unnamed_is_note(i))
			sum += u->by_reason[i];
	return sum;
}

enum model_reason unnamed_commonest(const struct unnamed *u)
{
	enum model_reason most = REASON_NAMED;

	for (int i = REASON_NAMED + 1; i < REASON_CNT; i++)
		if (!unnamed_is_note(i) && u->by_reason[i] > (most ? u->by_reason[most] : 0))
			most = i;
	return most;
}

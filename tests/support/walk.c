/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "walk.h"

#include <stdbool.h>
#include <stddef.h>

/* Whose memory is read: the step knows of none. */
static const struct walk *walking;

static long stack_read(void *to, __u32 bytes, __u64 at)
{
	return walking->read(walking->memory, to, bytes, at);
}

#include "bpf/unwind_step.h"

static const struct walk_mapping *find_mapping(const struct walk *w, uint64_t place)
{
	for (size_t i = 0; i < w->mappings_cnt; i++)
		if (place >= w->mappings[i].start && place < w->mappings[i].end)
			return &w->mappings[i];
	return NULL;
}

static enum stack_end why(enum unwind_mapping_kind kind)
{
	switch (kind) {
	case UNWIND_BY_TABLE:
	case UNWIND_NO_TABLE:
		return STACK_END_NO_TABLE;
	case UNWIND_BY_FP:
		return STACK_END_CODE;
	case UNWIND_NO_MEMORY:
		return STACK_END_MEMORY;
	default:
		return STACK_END_NOT_YET;
	}
}

/* Where the row of the frame says nothing: what the walk will have ended of. */
static enum stack_end doubt_of(const struct walk *w, uint64_t place, struct unwind_row *ret_row)
{
	const struct walk_mapping *map = find_mapping(w, place);

	if (!map)
		return STACK_END_NOT_YET;
	if (map->table)
		*ret_row = unwind_table_row(map->table, place - map->bias);
	return ret_row->cfa == UNWIND_UNKNOWN ? why(map->kind) : STACK_END_UNTOLD;
}

void walk_run(struct walk *w)
{
	struct unwind_frame frame = {.ip = w->ip, .sp = w->sp, .fp = w->fp};
	enum stack_end first_doubt = STACK_END_UNTOLD;

	walking = w;
	w->frames_cnt = w->unsure = 0;
	w->end = STACK_END_UNTOLD;
	while (!w->end && w->frames_cnt < WALK_FRAMES_MAX) {
		struct unwind_row row = {0};
		enum stack_end doubt = doubt_of(w, unwind_place(&frame), &row);

		w->frames[w->frames_cnt++] = frame.ip;
		w->end = doubt ? unwind_by_fp(&frame) : unwind_by_row(&frame, &row);
		w->unsure += doubt && !w->end;
		if (!first_doubt)
			first_doubt = doubt;
	}
	w->last_sp = frame.sp;
	w->last_fp = frame.fp;
	w->signals = frame.signals;
	if (!w->end)
		w->end = STACK_END_DEPTH;
	else if (first_doubt && (w->end == STACK_END_ASTRAY || w->end == STACK_END_UNREADABLE))
		w->end = first_doubt;
}

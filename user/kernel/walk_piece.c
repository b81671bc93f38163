/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/walk_piece.h"

#include <stdbool.h>
#include <string.h>

#include "kernel/unwind_maps.h"

struct unwind_frame;

/* The steps know of no memory but that of their frame. */
static long piece_read(const struct unwind_frame *f, void *to, __u32 bytes, __u64 at);
#define stack_read(to, bytes, at) piece_read(f, to, bytes, at)
#include "bpf/unwind_step.h"
#undef stack_read

struct walk {
	struct unwind_frame frame; /* first: piece_read() */
	const struct walk_piece *piece;
	struct unwind_process process;
	bool has_tables;
	enum stack_end doubt; /* what it will have ended of, where it goes astray */
	/* The frame at hand: its caller was found without a row, and that is told of it. */
	bool is_unsure, is_marked;
};

static long piece_read(const struct unwind_frame *f, void *to, __u32 bytes, __u64 at)
{
	const struct walk_piece *piece = ((const struct walk *)f)->piece;
	uint64_t from = at - piece->sp;

	if (at < piece->sp || from > piece->bytes_cnt || bytes > piece->bytes_cnt - from)
		return -1;
	memcpy(to, piece->bytes + from, bytes);
	return 0;
}

static enum stack_end why(enum unwind_mapping_kind kind)
{
	switch (kind) {
	case UNWIND_BY_FP:
		return STACK_END_CODE;
	case UNWIND_BY_TABLE:
	case UNWIND_NO_TABLE:
		return STACK_END_NO_TABLE;
	case UNWIND_NO_MEMORY:
		return STACK_END_MEMORY;
	default:
		return STACK_END_NOT_YET;
	}
}

/* From a frame to its caller. */
static enum stack_end step(struct walk *w)
{
	enum unwind_mapping_kind kind = UNWIND_NOT_YET;
	struct unwind_row row = {0};
	enum stack_end end;

	if (w->has_tables)
		row = unwind_maps_row(w->piece->maps, &w->process, unwind_place(&w->frame), &kind);
	w->is_unsure = w->is_marked = false;
	if (row.cfa != UNWIND_UNKNOWN)
		return unwind_by_row(&w->frame, &row);
	if (!w->doubt)
		w->doubt = why(kind);
	end = unwind_by_fp(&w->frame);
	w->is_unsure = !end;
	/* Of what has no tables yet, all of it is: that is said once. */
	w->is_marked = !end && why(kind) != STACK_END_NOT_YET;
	return end;
}

void walk_piece_run(struct walk_piece *p)
{
	struct walk w = {.frame = {.ip = p->ip, .sp = p->sp, .fp = p->fp}, .piece = p};

	p->flags = 0;
	p->frames_cnt = 0;
	p->end = STACK_END_UNTOLD;
	w.has_tables = p->maps &&
		       unwind_maps_find_process(p->maps, p->tgid, p->process_start_ns, &w.process);
	while (!p->end && p->frames_cnt < STACK_MAX_FRAMES) {
		uint64_t ip = w.frame.ip;

		p->end = step(&w);
		p->flags |= w.is_unsure ? STACK_UNSURE : 0;
		if (w.is_marked && !(ip >> 62))
			ip |= FRAME_CALLER_UNSURE;
		p->frames[p->frames_cnt++] = ip;
	}
	if (!p->end) {
		p->end = STACK_END_DEPTH;
		p->flags |= STACK_TRUNCATED;
	} else if (w.doubt && (p->end == STACK_END_ASTRAY || p->end == STACK_END_UNREADABLE)) {
		p->end = w.doubt;
	}
}

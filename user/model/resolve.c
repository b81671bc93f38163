/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/resolve.h"

#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "bpf/events.h"

static const char OSR_TIER[] = "OptimizedTier1OSR";

static struct resolve_frame note(struct model *m, const char *text, enum model_reason reason)
{
	struct model_symbol symbol = {
		.name = text, .module = "", .kind = KIND_NOTE, .reason = reason};

	return (struct resolve_frame){model_symbol_get(m, &symbol), MODEL_NONE};
}

/* On-stack replacement leaves the replaced body below the new one: one call, one frame. Two new
 * bodies in a row are two calls: the method called itself. */
static bool same_activation(const struct model *m, const struct resolve_frame *caller,
			    const struct resolve_frame *callee)
{
	return caller->symbol == callee->symbol && caller->location != MODEL_NONE &&
	       callee->location != MODEL_NONE &&
	       !strcmp(m->locations[callee->location].tier, OSR_TIER) &&
	       strcmp(m->locations[caller->location].tier, OSR_TIER);
}

/* What addresses were found to mean last. Stacks that are asked for one after another share most of
 * theirs, and the tables of all are too large for the caches of a CPU. */
#define RECENT_BITS 14
struct resolve_recent {
	uint64_t address;
	uint32_t process;
	struct resolve_frame newest; /* MODEL_NONE, both = not looked up */
	bool varies;		     /* it had another meaning before */
};

static void find_newest(const struct model *m, struct resolve_recent *ret)
{
	uint32_t row = model_location_find(m, ret->process, ret->address, UINT64_MAX);

	ret->newest = (struct resolve_frame){MODEL_NONE, MODEL_NONE};
	ret->varies = false;
	if (row == MODEL_NONE)
		return;
	ret->newest = (struct resolve_frame){m->locations[row].symbol, row};
	ret->varies = m->locations[row].older != MODEL_NONE;
}

/* A stack at a time. */
struct stack_at {
	const struct model_stack *s;
	uint64_t time_ns;
	uint64_t from_ns; /* from then on it means the same */
	struct resolve_recent scratch;
};

static const struct resolve_recent *newest_at(struct model *m, struct stack_at *at,
					      uint64_t address)
{
	uint64_t hash = (address ^ at->s->process) * 0x9e3779b97f4a7c15ull;
	struct resolve_recent *recent = &at->scratch;

	if (m->settled && !m->recent)
		m->recent = calloc(1u << RECENT_BITS, sizeof(*m->recent));
	if (m->settled && m->recent)
		recent = &m->recent[hash >> (64 - RECENT_BITS)];
	if (recent->address && recent->address == address && recent->process == at->s->process &&
	    m->settled)
		return recent;
	recent->address = address;
	recent->process = at->s->process;
	find_newest(m, recent);
	return recent;
}

/* Both rows are MODEL_NONE where nothing was looked up. */
static struct resolve_frame frame_at(struct model *m, struct stack_at *at, uint32_t i)
{
	uint64_t address = model_stack_address(m, at->s, i), from_ns;
	const struct resolve_recent *recent = newest_at(m, at, address);
	uint32_t row;

	if (!recent->varies)
		return recent->newest;
	from_ns = m->locations[recent->newest.location].from_ns;
	if (from_ns > at->from_ns)
		at->from_ns = from_ns;
	if (at->time_ns >= from_ns)
		return recent->newest;
	row = model_location_find(m, at->s->process, address, at->time_ns);
	return (struct resolve_frame){m->locations[row].symbol, row};
}

/*
 * Frames of a stack, from the leaf on, that are what they seem. Where code without frame pointers
 * led the walk astray, the "callers" from the first address outside all code on are stray words.
 */
static uint32_t sound_frames(struct model *m, struct stack_at *at)
{
	const struct model_stack *s = at->s;

	if (!(s->flags & STACK_BROKEN))
		return s->frame_cnt;
	for (uint32_t i = 1; i < s->frame_cnt; i++) {
		uint32_t symbol = frame_at(m, at, i).symbol;

		if (symbol != MODEL_NONE && m->symbols[symbol].reason == REASON_NO_MAPPING)
			return i;
	}
	return s->frame_cnt;
}

/* Whether frames are left out between that frame and the one that called it. */
static bool is_cut_at(const struct model_stack *s, uint32_t i)
{
	return s->left_out && i + STACK_ROOT_FRAMES + 1 == s->frame_cnt;
}

/* Whether callers of that frame may be missing without anybody's noticing: said of methods. Where
 * native code has no table, or code no name, that says enough. */
static bool is_caller_unsure(const struct model *m, const struct model_stack *s, uint32_t i,
			     const struct resolve_frame *frame)
{
	const struct model_symbol *symbol;

	if (frame->location == MODEL_NONE || !model_stack_unsure(m, s, i))
		return false;
	symbol = &m->symbols[frame->symbol];
	return symbol->kind == KIND_JIT && symbol->reason == REASON_NAMED;
}

/* Its frames, root first. */
static size_t walk_stack(struct model *m, struct stack_at *at, struct resolve_frame *frames)
{
	const struct model_stack *s = at->s;
	size_t n = 0;

	if (s->flags & STACK_BROKEN)
		frames[n++] = note(m, "[broken stack]", REASON_BROKEN);
	else if (s->flags & STACK_TRUNCATED && !(s->flags & STACK_KERNEL))
		frames[n++] = note(m, "[truncated]", REASON_TRUNCATED);
	for (uint32_t i = sound_frames(m, at); i-- > 0;) {
		struct resolve_frame frame = frame_at(m, at, i);

		if (is_cut_at(s, i))
			frames[n++] = note(m, "[frames left out]", REASON_TRUNCATED);
		if (frame.location == MODEL_NONE)
			frame = note(m, "[not looked up]", REASON_PENDING);
		if (n && same_activation(m, &frames[n - 1], &frame))
			n--;
		else if (is_caller_unsure(m, s, i, &frame))
			frames[n++] = note(m, "[caller unsure]", REASON_UNSURE);
		frames[n++] = frame;
	}
	return n;
}

/* Samples of one stack are many, and so are those who ask for each. */
static void keep(struct model *m, struct model_stack *s, const struct resolve_frame *frames,
		 size_t cnt)
{
	if (cnt > UINT16_MAX || m->resolved_cnt + cnt > UINT32_MAX)
		return;
	while (m->resolved_cap - m->resolved_cnt < cnt)
		if (grow_array((void **)&m->resolved, m->resolved_cap, &m->resolved_cap,
			       sizeof(*m->resolved)))
			return;
	memcpy(m->resolved + m->resolved_cnt, frames, cnt * sizeof(*frames));
	s->resolved = (uint32_t)m->resolved_cnt;
	s->resolved_cnt = (uint16_t)cnt;
	m->resolved_cnt += cnt;
}

/* Whether its frames are kept, as they are at that time. */
static bool is_kept(const struct model *m, const struct model_stack *s, uint64_t time_ns)
{
	return m->settled && s->resolved_cnt && time_ns >= s->resolved_from_ns;
}

static size_t put_stack(struct model *m, struct model_stack *s, uint64_t time_ns,
			struct resolve_frame *frames)
{
	struct stack_at at = {.s = s, .time_ns = time_ns};
	size_t n;

	if (is_kept(m, s, time_ns)) {
		memcpy(frames, m->resolved + s->resolved, s->resolved_cnt * sizeof(*frames));
		return s->resolved_cnt;
	}
	n = walk_stack(m, &at, frames);
	if (m->settled && !s->resolved_cnt && time_ns >= at.from_ns) {
		keep(m, s, frames, n);
		s->resolved_from_ns = at.from_ns;
	}
	return n;
}

size_t resolve_part(struct model *m, const struct resolve_part *part, uint64_t time_ns,
		    struct resolve_frame *frames)
{
	if (part->stack != MODEL_NONE)
		return put_stack(m, &m->stacks[part->stack], time_ns, frames);
	frames[0] = note(m, part->note, part->reason);
	return 1;
}

/* flags: STACK_KERNEL or 0. A file may say that one is the other: then it is none, since both
 * together have to find room. */
static struct resolve_part stack_part(const struct model *m, uint64_t id, uint32_t guess,
				      uint16_t flags)
{
	struct resolve_part part = {model_stack_find_at(m, id, guess), "[stack lost]",
				    REASON_STACK_LOST};

	if (part.stack != MODEL_NONE && (m->stacks[part.stack].flags & STACK_KERNEL) != flags)
		part.stack = MODEL_NONE;
	return part;
}

static struct resolve_part note_part(const char *text, enum model_reason reason)
{
	return (struct resolve_part){MODEL_NONE, text, reason};
}

/* A stack without frames, which walk_stack() puts no note for. */
static bool is_empty(const struct model *m, const struct resolve_part *part)
{
	const struct model_stack *s;

	if (part->stack == MODEL_NONE)
		return false;
	s = &m->stacks[part->stack];
	return !s->frame_cnt && !(s->flags & STACK_BROKEN) &&
	       (s->flags & STACK_KERNEL || !(s->flags & STACK_TRUNCATED));
}

struct parts {
	struct resolve_part *at;
	size_t cnt, empty;
};

/* Those without frames come first, so that the last one has the leaf. */
static void add_part(struct parts *parts, const struct model *m, struct resolve_part part)
{
	parts->at[parts->cnt++] = part;
	if (!is_empty(m, &part))
		return;
	parts->at[parts->cnt - 1] = parts->at[parts->empty];
	parts->at[parts->empty++] = part;
}

size_t resolve_parts(const struct model *m, const struct model_sample *sample,
		     struct resolve_part ret_parts[static RESOLVE_PARTS])
{
	struct parts parts = {.at = ret_parts};

	/* In captures of the resident recorder: who was not selected is counted, not shown. */
	if (sample->flags & SAMPLE_FILTERED) {
		ret_parts[0] = note_part("[not selected]", REASON_NAMED);
		return 1;
	}
	if (sample->user_stack)
		add_part(&parts, m, stack_part(m, sample->user_stack, sample->user_row, 0));
	else if (sample->flags & SAMPLE_USER_STACK_FAULT)
		add_part(&parts, m, note_part("[stack lost]", REASON_STACK_LOST));
	if (sample->kernel_stack)
		add_part(&parts, m,
			 stack_part(m, sample->kernel_stack, sample->kernel_row, STACK_KERNEL));
	else if (sample->flags & SAMPLE_KERNEL_STACK_FAULT)
		add_part(&parts, m, note_part("[kernel stack lost]", REASON_STACK_LOST));
	if (parts.empty == parts.cnt)
		add_part(&parts, m, note_part("[no stack]", REASON_STACK_LOST));
	return parts.cnt;
}

size_t resolve_sample(struct model *m, const struct model_sample *sample,
		      struct resolve_frame *frames)
{
	struct resolve_part parts[RESOLVE_PARTS];
	size_t cnt = resolve_parts(m, sample, parts), n = 0;

	for (size_t i = 0; i < cnt; i++)
		n += resolve_part(m, &parts[i], sample->time_ns, frames + n);
	return n;
}

bool resolve_stack_lasts(const struct model *m, uint32_t stack)
{
	return is_kept(m, &m->stacks[stack], 0);
}

bool resolve_lasts(const struct model *m, const struct model_sample *sample)
{
	struct resolve_part parts[RESOLVE_PARTS];
	size_t cnt = resolve_parts(m, sample, parts);

	for (size_t i = 0; i < cnt; i++)
		if (parts[i].stack != MODEL_NONE && !resolve_stack_lasts(m, parts[i].stack))
			return false;
	return true;
}

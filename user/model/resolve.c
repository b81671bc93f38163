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
 * theirs, and the index of all is too large for the caches of a CPU. */
#define RECENT_BITS 13
struct resolve_recent {
	uint64_t address;
	uint32_t process;
	uint32_t newest; /* row */
};

static uint32_t newest_location(struct model *m, uint32_t process, uint64_t address)
{
	uint64_t hash = (address ^ process) * 0x9e3779b97f4a7c15ull;
	struct resolve_recent *recent;

	if (m->settled && !m->recent)
		m->recent = calloc(1u << RECENT_BITS, sizeof(*m->recent));
	if (!m->settled || !m->recent)
		return model_location_find(m, process, address, UINT64_MAX);
	recent = &m->recent[hash >> (64 - RECENT_BITS)];
	if (!recent->address || recent->address != address || recent->process != process)
		*recent = (struct resolve_recent){
			address, process, model_location_find(m, process, address, UINT64_MAX)};
	return recent->newest;
}

/* A stack at a time, and whether it may mean something else at another. */
struct stack_at {
	const struct model_stack *s;
	uint64_t time_ns;
	bool varies;
};

static uint32_t location_of(struct model *m, struct stack_at *at, uint32_t i)
{
	uint64_t address = model_stack_address(m, at->s, i);
	uint32_t newest = newest_location(m, at->s->process, address);

	if (newest == MODEL_NONE || m->locations[newest].older == MODEL_NONE)
		return newest;
	at->varies = true;
	return model_location_find(m, at->s->process, address, at->time_ns);
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
		uint32_t location = location_of(m, at, i);

		if (location != MODEL_NONE &&
		    m->symbols[m->locations[location].symbol].reason == REASON_NO_MAPPING)
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
			     uint32_t location)
{
	const struct model_symbol *symbol;

	if (location == MODEL_NONE || !model_stack_unsure(m, s, i))
		return false;
	symbol = &m->symbols[m->locations[location].symbol];
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
		uint32_t location = location_of(m, at, i);
		struct resolve_frame frame = {0};

		if (is_cut_at(s, i))
			frames[n++] = note(m, "[frames left out]", REASON_TRUNCATED);
		if (location == MODEL_NONE)
			frame = note(m, "[not looked up]", REASON_PENDING);
		else
			frame = (struct resolve_frame){m->locations[location].symbol, location};
		if (n && same_activation(m, &frames[n - 1], &frame))
			n--;
		else if (is_caller_unsure(m, s, i, location))
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

/* flags: STACK_KERNEL or 0. A file may say that one is the other: then it is none, since both
 * together have to find room. */
static size_t put_stack(struct model *m, uint64_t id, uint32_t guess, uint64_t time_ns,
			uint16_t flags, struct resolve_frame *frames)
{
	uint32_t row = model_stack_find_at(m, id, guess);
	struct stack_at at = {.time_ns = time_ns};
	struct model_stack *s;
	size_t n;

	if (row == MODEL_NONE || (m->stacks[row].flags & STACK_KERNEL) != flags) {
		frames[0] = note(m, "[stack lost]", REASON_STACK_LOST);
		return 1;
	}
	s = &m->stacks[row];
	if (m->settled && s->resolved_cnt) {
		memcpy(frames, m->resolved + s->resolved, s->resolved_cnt * sizeof(*frames));
		return s->resolved_cnt;
	}
	at.s = s;
	n = walk_stack(m, &at, frames);
	if (m->settled && !at.varies)
		keep(m, s, frames, n);
	return n;
}

size_t resolve_sample(struct model *m, const struct model_sample *sample,
		      struct resolve_frame *frames)
{
	size_t n = 0;

	/* In captures of the resident recorder: who was not selected is counted, not shown. */
	if (sample->flags & SAMPLE_FILTERED) {
		frames[n++] = note(m, "[not selected]", REASON_NAMED);
		return n;
	}
	if (sample->user_stack)
		n += put_stack(m, sample->user_stack, sample->user_row, sample->time_ns, 0, frames);
	else if (sample->flags & SAMPLE_USER_STACK_FAULT)
		frames[n++] = note(m, "[stack lost]", REASON_STACK_LOST);
	if (sample->kernel_stack)
		n += put_stack(m, sample->kernel_stack, sample->kernel_row, sample->time_ns,
			       STACK_KERNEL, frames + n);
	else if (sample->flags & SAMPLE_KERNEL_STACK_FAULT)
		frames[n++] = note(m, "[kernel stack lost]", REASON_STACK_LOST);
	if (!n)
		frames[n++] = note(m, "[no stack]", REASON_STACK_LOST);
	return n;
}

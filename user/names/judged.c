/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/judged.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "names/root.h"
#include "process/entry.h"

/* Longer than any frame waits for its name. */
#define PATIENCE_NS 30000000000ull
/* Of stacks; what is more is judged as it is. */
#define LATER_MAX 65536u

static const struct model_symbol *symbol_of(const struct model *m, const struct model_stack *s,
					    uint32_t frame, uint64_t time_ns)
{
	uint32_t location =
		model_location_find(m, s->process, model_stack_address(m, s, frame), time_ns);

	return location == MODEL_NONE ? NULL : &m->symbols[m->locations[location].symbol];
}

/* Whether the kernel's walk left it open where the stack ended: code that keeps frame pointers may
 * have led to the root although no table told of it. */
static bool is_open(const struct model_stack *s)
{
	return s->end == STACK_END_UNTOLD || s->end == STACK_END_NO_TABLE ||
	       s->end == STACK_END_NOT_YET || s->end == STACK_END_MEMORY;
}

/* Go's first functions have unwind data that do not say that they are: the step from there leads
 * nowhere. */
static bool leads_astray_from_name(const struct model_stack *s, const struct model_symbol *root)
{
	return s->end == STACK_END_ASTRAY && root->reason == REASON_NAMED;
}

/* Whether a frame of it, from that one on, has no name yet, and will have one or the reason for
 * none: it is the frame then. */
static bool waits(const struct model *m, const struct model_stack *s, uint64_t time_ns,
		  uint32_t *frame)
{
	while (*frame < s->frame_cnt && symbol_of(m, s, *frame, time_ns))
		++*frame;
	return *frame < s->frame_cnt;
}

/* Sets STACK_BROKEN and the module whose code lost the way: that of the last good frame. */
static void judge(struct model *m, struct model_stack *s, uint64_t time_ns)
{
	const struct model_process *p = &m->processes[s->process];
	const struct model_symbol *root = NULL, *inner = NULL;
	const struct model_mapping *map;
	uint32_t good = 0;

	if (!s->frame_cnt || !p->mapping_cnt || s->end == STACK_END_ROOT)
		return;
	for (; good < s->frame_cnt; good++) {
		inner = root;
		root = symbol_of(m, s, good, time_ns);
		if (root && root->reason == REASON_NO_MAPPING)
			break;
	}
	/* A stack as deep as the kernel walks cannot show its root; but a walk astray may be that
	 * long. */
	if (good == s->frame_cnt && ((s->flags & STACK_TRUNCATED) ||
				     (root && (is_open(s) || leads_astray_from_name(s, root)) &&
				      root_reached(root, inner, entry_basename(p->exe)))))
		return;
	s->flags |= STACK_BROKEN;
	map = good ? model_mapping_find(m, s->process, model_stack_address(m, s, good - 1), time_ns)
		   : NULL;
	s->broken_module = map ? map->module : MODEL_NONE;
}

static bool is_known(struct judged *j, uint32_t stack)
{
	while (j->known_cnt <= stack) {
		if (GROW(j->known, j->known_cnt, j->known_cap))
			return true;
		j->known[j->known_cnt++] = 0;
	}
	if (j->known[stack])
		return true;
	j->known[stack] = 1;
	return false;
}

static bool put_off(struct judged *j, const struct judged_later *later)
{
	if (j->later_cnt >= LATER_MAX || GROW(j->later, j->later_cnt, j->later_cap))
		return false;
	j->later[j->later_cnt++] = *later;
	return true;
}

void judged_stack(struct judged *j, struct model *m, uint32_t stack, uint64_t time_ns)
{
	struct judged_later later = {
		.stack = stack, .time_ns = time_ns, .since_ns = clock_now_ns()};
	struct model_stack *s = &m->stacks[stack];

	if (is_known(j, stack))
		return;
	if (!waits(m, s, time_ns, &later.frame) || !put_off(j, &later))
		judge(m, s, time_ns);
}

void judged_again(struct judged *j, struct model *m, bool all)
{
	uint64_t now_ns = clock_now_ns();
	size_t kept = 0;

	for (size_t i = 0; i < j->later_cnt; i++) {
		struct judged_later *later = &j->later[i];
		struct model_stack *s = &m->stacks[later->stack];

		if (all || now_ns - later->since_ns >= PATIENCE_NS ||
		    !waits(m, s, later->time_ns, &later->frame))
			judge(m, s, later->time_ns);
		else
			j->later[kept++] = *later;
	}
	j->later_cnt = kept;
}

void judged_clear(struct judged *j)
{
	free(j->known);
	free(j->later);
	*j = (struct judged){0};
}

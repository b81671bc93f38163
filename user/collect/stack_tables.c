/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/stack_tables.h"

#include "collect/unwind_feed.h"

/* Of compiled code through which the stack led on a guess the rows are to be read. */
static void want_code(const struct rooms *rooms, uint32_t process, const struct model_stack *stack,
		      uint64_t time_ns)
{
	struct model *m = rooms->model;

	for (uint32_t i = 0; i < stack->frame_cnt; i++) {
		uint64_t address = model_stack_address(m, stack, i);
		const struct model_mapping *map;

		if (!model_stack_unsure(m, stack, i))
			continue;
		map = model_mapping_find(m, process, address, time_ns);
		if (map && (map->kind == MAPPING_JIT || map->kind == MAPPING_ANON))
			names_unwind_want(rooms->names, process, address);
	}
}

void stack_tables_note_samples(const struct rooms *rooms, size_t from)
{
	const struct model *m = rooms->model;

	for (size_t i = from; rooms->feed && i < m->samples_cnt; i++) {
		const struct model_sample *s = &m->samples[i];
		uint32_t row = s->user_stack ? model_stack_find(m, s->user_stack) : MODEL_NONE;
		const struct model_stack *stack = row == MODEL_NONE ? NULL : &m->stacks[row];
		uint32_t process = m->threads[s->thread].process;

		if (stack)
			want_code(rooms, process, stack, s->time_ns);
		if (stack)
			unwind_feed_note(rooms->feed, m, rooms->names, process, s->time_ns,
					 stack->end == STACK_END_NOT_YET ||
						 stack->end == STACK_END_MEMORY ||
						 stack->flags & STACK_UNSURE);
	}
}

void stack_tables_note_wait(const struct rooms *rooms, const struct model_sample *at)
{
	const struct model *m = rooms->model;
	uint32_t row = at->user_stack ? model_stack_find(m, at->user_stack) : MODEL_NONE;
	uint32_t process = m->threads[at->thread].process;

	if (!rooms->feed || row == MODEL_NONE ||
	    (m->stacks[row].end == STACK_END_ROOT && !(m->stacks[row].flags & STACK_UNSURE)))
		return;
	want_code(rooms, process, &m->stacks[row], at->time_ns);
	unwind_feed_note(rooms->feed, m, rooms->names, process, at->time_ns, true);
}

void stack_tables_note_stands(const struct rooms *rooms, const struct stands *stands)
{
	const struct model *m = rooms->model;

	for (size_t i = 0; rooms->feed && i < stands->cnt; i++) {
		const struct model_sample *at = &stands->rows[i].at;
		uint32_t row = at->user_stack ? model_stack_find(m, at->user_stack) : MODEL_NONE;
		uint32_t process = m->threads[at->thread].process;

		if (row == MODEL_NONE)
			continue;
		want_code(rooms, process, &m->stacks[row], at->time_ns);
		unwind_feed_note(rooms->feed, m, rooms->names, process, at->time_ns,
				 m->stacks[row].end != STACK_END_ROOT ||
					 m->stacks[row].flags & STACK_UNSURE);
	}
}

void stack_tables_work(const struct rooms *rooms)
{
	if (rooms->feed && !rooms->stopped)
		unwind_feed_work(rooms->feed, rooms->model, rooms->names);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What becomes of the kernel's record of a thread; the walk of the piece of its stack. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "build_model.h"
#include "collect/stand_take.h"

#define SP	0x7f0000001000ull
#define CODE	0x400000ull
#define CODE_TO 0x410000ull
#define TGID	100u

/* --- the kernel's maps: one process, whose code from CODE on has one row --- */

static struct unwind_row row;
static bool has_tables;

bool unwind_maps_find_process(const struct unwind_maps *u, uint32_t tgid, uint64_t start_ns,
			      struct unwind_process *ret_process)
{
	(void)u;
	(void)start_ns;
	*ret_process = (struct unwind_process){.cnt = 1};
	return has_tables && tgid == TGID;
}

struct unwind_row unwind_maps_row(const struct unwind_maps *u, const struct unwind_process *process,
				  uint64_t address, enum unwind_mapping_kind *ret_kind)
{
	bool known = address >= CODE && address < CODE_TO;

	(void)u;
	(void)process;
	*ret_kind = known ? UNWIND_BY_TABLE : UNWIND_NO_TABLE;
	/* The last page is the thread's first function. */
	if (known && address >= CODE_TO - 0x1000)
		return (struct unwind_row){.cfa = UNWIND_END};
	return known ? row : (struct unwind_row){0};
}

/* --------------------------------------------------------------------------------------------- */

struct fixture {
	struct model *m;
	struct ingest *ingest;
	struct model_stand stand;
	struct stand_taker *taker;
	struct event_stand event;
	uint64_t stack[64];
};

static void make(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->m = build_model(1, 99);
	build_process(f->m, TGID, "mine", 0);
	f->ingest = ingest_new(f->m, 1, 0);
	f->taker = calloc(1, sizeof(*f->taker));
	cr_assert(f->ingest && f->taker);
	f->taker->model = f->m;
	f->taker->ingest = f->ingest;
	f->taker->maps = (void *)f;
	/* Each frame is 16 bytes: what lies there, and the return address. */
	row = (struct unwind_row){.cfa = UNWIND_SP, .cfa_offset = 2, .fp = UNWIND_FP_SAME};
	has_tables = true;
	f->event = (struct event_stand){
		.header = {.kind = EVENT_STAND},
		.time_ns = BUILD_START_NS,
		.tgid = TGID,
		.tid = 101,
		.process_start_ns = TGID * BUILD_SECOND,
		.thread_start_ns = 101 * BUILD_SECOND,
		.age_ns = 31 * BUILD_SECOND,
		.switches = 7,
		.ip = CODE + 0x10,
		.sp = SP,
		.call = 202,
		.stack_bytes = sizeof(f->stack),
		.kernel_cnt = 2,
		.state = 'S',
		.kernel = {0xffffffff81000010ull, 0xffffffff81000020ull},
	};
	f->stack[1] = CODE + 0x20;
	f->stack[3] = CODE + 0x30;
	f->stack[5] = CODE_TO - 0x10;
}

static void drop(struct fixture *f)
{
	free(f->taker);
	ingest_free(f->ingest);
	model_free(f->m);
}

static const struct model_stand *take(struct fixture *f)
{
	return stand_take(f->taker, &f->event, (const uint8_t *)f->stack, &f->stand) ? &f->stand
										     : NULL;
}

static const struct model_stack *user_stack(const struct fixture *f, const struct model_stand *s)
{
	uint32_t at = model_stack_find(f->m, s->at.user_stack);

	cr_assert_neq(at, MODEL_NONE);
	return &f->m->stacks[at];
}

Test(stand_take, what_stands_has_both_stacks_its_age_and_its_call)
{
	struct fixture f;
	const struct model_stand *s;
	const struct model_stack *stack;

	make(&f);
	s = take(&f);
	cr_assert(s);
	cr_expect_eq(s->age_ns, 31 * BUILD_SECOND);
	cr_expect_eq(s->call, 202);
	cr_expect_eq(s->state, 'S');
	cr_expect_neq(s->at.kernel_stack, 0);
	stack = user_stack(&f, s);
	cr_expect_eq(stack->frame_cnt, 4);
	cr_expect_eq(stack->end, STACK_END_ROOT);
	cr_expect_eq(stack->flags, 0);
	cr_expect_eq(model_stack_frames(f.m, stack)[3], CODE_TO - 0x10);
	drop(&f);
}

Test(stand_take, equal_stacks_are_one)
{
	struct fixture f;
	uint64_t id;

	make(&f);
	id = take(&f)->at.user_stack;
	f.event.tid = 102;
	cr_expect_eq(take(&f)->at.user_stack, id);
	f.stack[3]++;
	f.event.tid = 103;
	cr_expect_neq(take(&f)->at.user_stack, id);
	drop(&f);
}

/* The witness: between two looks at its switches it ran, or it runs. */
Test(stand_take, no_stack_is_believed_of_a_thread_that_ran_while_it_was_read)
{
	static const uint32_t flags[] = {STAND_MOVED, STAND_RUNS, STAND_MOVED | STAND_LOCK};
	struct fixture f;

	make(&f);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		const struct model_stand *s;

		f.event.flags = flags[i];
		f.event.tid = 200 + (uint32_t)i;
		f.event.lock[2] = 5;
		s = take(&f);
		cr_expect_eq(s->at.user_stack, 0);
		cr_expect_eq(s->at.kernel_stack, 0);
		cr_expect_eq(s->call, STAND_CALL_NONE);
		cr_expect_eq(s->holder, 0);
		cr_expect_eq(s->flags, flags[i]);
	}
	drop(&f);
}

Test(stand_take, a_process_that_is_not_known_yet_is_known_by_it)
{
	const struct model_stand *stand;
	struct fixture f;
	size_t cnt;

	make(&f);
	cnt = f.m->processes_cnt;
	f.event.process_start_ns++;
	stand = take(&f);
	cr_assert_not_null(stand);
	cr_expect_eq(f.m->processes_cnt, cnt + 1);
	cr_expect_eq(f.m->threads[stand->at.thread].process, cnt);
	drop(&f);
}

Test(stand_take, a_piece_that_is_too_small_is_told_as_depth_and_one_that_lies_as_unreadable)
{
	struct fixture f;
	const struct model_stack *stack;

	make(&f);
	f.event.stack_bytes = 32;
	stack = user_stack(&f, take(&f));
	cr_expect_eq(stack->end, STACK_END_UNREADABLE);
	cr_expect_eq(stack->frame_cnt, 3);
	f.event.flags = STAND_DEEP;
	f.event.tid = 102;
	stack = user_stack(&f, take(&f));
	cr_expect_eq(stack->end, STACK_END_DEPTH);
	cr_expect(stack->flags & STACK_TRUNCATED);
	drop(&f);
}

Test(stand_take, without_its_memory_the_address_alone_is_kept)
{
	struct fixture f;
	const struct model_stand *s;

	make(&f);
	f.event.flags = STAND_UNREADABLE;
	f.event.stack_bytes = 0;
	s = take(&f);
	cr_expect_eq(user_stack(&f, s)->frame_cnt, 1);
	cr_expect_eq(user_stack(&f, s)->end, STACK_END_UNREADABLE);
	f.event.flags = STAND_COMPAT;
	f.event.tid = 102;
	cr_expect_eq(take(&f)->at.user_stack, 0);
	drop(&f);
}

Test(stand_take, a_stack_that_leads_in_circles_ends)
{
	struct fixture f;

	make(&f);
	/* Frame pointers that point at themselves, in code without tables. */
	has_tables = false;
	f.event.fp = SP;
	f.stack[0] = SP;
	f.stack[1] = CODE;
	cr_expect_eq(user_stack(&f, take(&f))->frame_cnt, 2);
	/* A piece full of return addresses: as many frames as fit in it. */
	has_tables = true;
	for (size_t i = 0; i < 64; i++)
		f.stack[i] = CODE + 0x40;
	f.event.tid = 102;
	cr_expect_eq(user_stack(&f, take(&f))->frame_cnt, 33);
	/* At the end of all addresses. */
	f.event.sp = UINT64_MAX - 15;
	f.event.tid = 103;
	cr_expect_leq(user_stack(&f, take(&f))->frame_cnt, 33);
	drop(&f);
}

Test(stand_take, code_without_a_table_is_walked_along_frame_pointers_and_marked)
{
	struct fixture f;
	const struct model_stack *stack;

	make(&f);
	f.event.ip = 0x900000;
	f.event.fp = SP + 16;
	f.stack[2] = 0;
	f.stack[3] = CODE_TO - 0x10;
	stack = user_stack(&f, take(&f));
	cr_expect_eq(stack->end, STACK_END_ROOT);
	cr_expect(stack->flags & STACK_UNSURE);
	cr_expect(model_stack_unsure(f.m, stack, 0));
	cr_expect_not(model_stack_unsure(f.m, stack, 1));
	drop(&f);
}

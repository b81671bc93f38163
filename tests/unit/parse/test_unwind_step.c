/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One step of a walk, on a stack that the test writes: what the kernel does with a row. */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <stdbool.h>
#include <string.h>

#include "bpf/events.h"

/* The only memory that there is. */
#define STACK_AT    0x7ffd00000000ull
#define STACK_WORDS 256
static __u64 stack[STACK_WORDS];

static long stack_read(void *to, __u32 bytes, __u64 at)
{
	if (at < STACK_AT || at - STACK_AT > sizeof(stack) - bytes)
		return -14;
	memcpy(to, (const char *)stack + (at - STACK_AT), bytes);
	return 0;
}

#include "bpf/unwind_step.h"

#define CODE 0x401000ull

static __u64 at(unsigned word)
{
	return STACK_AT + 8 * word;
}

static struct unwind_frame frame(unsigned sp, unsigned fp)
{
	memset(stack, 0, sizeof(stack));
	return (struct unwind_frame){.ip = CODE, .sp = at(sp), .fp = at(fp)};
}

Test(unwind_step, leads_to_the_caller_along_either_pointer)
{
	static const struct {
		const char *name;
		struct unwind_row row;
		__u64 fp;
	} cases[] = {
		{"stack pointer, frame pointer untouched",
		 {0, UNWIND_SP, UNWIND_FP_SAME, 11, 0},
		 20},
		{"stack pointer, frame pointer below the address",
		 {0, UNWIND_SP, UNWIND_FP_SAVED, 11, -2},
		 40},
		{"stack pointer, frame pointer deeper",
		 {0, UNWIND_SP, UNWIND_FP_SAVED, 11, -4},
		 41},
		{"frame pointer", {0, UNWIND_FP, UNWIND_FP_SAVED, 1, -2}, 40},
		{"realigned", {0, UNWIND_FP_DEREF, UNWIND_FP_AT_FP, -1, 0}, 42},
		{"frame pointer lost", {0, UNWIND_SP, UNWIND_FP_LOST, 11, 0}, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct unwind_frame f = frame(10, 20);

		bool is_realigned = cases[i].row.cfa == UNWIND_FP_DEREF;

		stack[17] = at(41);
		stack[19] = is_realigned ? at(22) : at(40);
		stack[20] = is_realigned ? at(42) : CODE + 100;
		stack[21] = CODE + 100;
		cr_expect_eq(unwind_by_row(&f, &cases[i].row), STACK_END_UNTOLD, "%s",
			     cases[i].name);
		cr_expect_eq(f.ip, CODE + 100, "%s", cases[i].name);
		cr_expect_eq(f.fp, cases[i].fp ? at((unsigned)cases[i].fp) : 0, "%s",
			     cases[i].name);
		cr_expect_eq(unwind_place(&f), CODE + 99, "%s", cases[i].name);
	}
}

/* Where the kernel puts what a signal interrupted: struct rt_sigframe, arch/x86/include/asm. */
static void interrupt(unsigned sp, __u64 ip, __u64 stack_pointer, __u64 frame_pointer)
{
	stack[sp + 15] = frame_pointer;
	stack[sp + 20] = stack_pointer;
	stack[sp + 21] = ip;
}

static const struct unwind_row restorer = {.cfa = UNWIND_SIGNAL, .cfa_offset = 20};

/* A function's first instruction must not be taken for the end of the one before. */
Test(unwind_step, a_signal_leads_to_the_very_instruction_that_it_interrupted)
{
	struct unwind_frame f = frame(10, 20);

	interrupt(10, CODE + 0x40, at(100), at(120));
	cr_assert_eq(unwind_by_row(&f, &restorer), STACK_END_UNTOLD);
	cr_expect_eq(unwind_place(&f), CODE + 0x40);
	cr_expect_eq(f.ip - 1, CODE + 0x40, "as all callers are looked up");
	cr_expect_eq(f.sp, at(100));
	cr_expect_eq(f.fp, at(120));
}

Test(unwind_step, a_signal_may_have_its_stack_above_or_below)
{
	struct unwind_frame f = frame(100, 20);

	interrupt(100, CODE, at(10), at(12));
	cr_expect_eq(unwind_by_row(&f, &restorer), STACK_END_UNTOLD);
	for (unsigned i = 1; i < UNWIND_SIGNALS_MAX; i++) {
		interrupt(10, CODE, at(10), at(12));
		cr_expect_eq(unwind_by_row(&f, &restorer), STACK_END_UNTOLD);
	}
	cr_expect_eq(unwind_by_row(&f, &restorer), STACK_END_ASTRAY, "but not for ever");
}

/* An entry of the table of procedure linkage pushes its number before byte 11 of 16. */
Test(unwind_step, entries_of_the_linkage_table_are_told_by_the_instruction)
{
	static const struct unwind_row row = {.cfa = UNWIND_PLT, .cfa_offset = 11};
	struct unwind_frame f = frame(10, 20);

	stack[10] = CODE + 5;
	f.ip = CODE + 6;
	cr_expect_eq(unwind_by_row(&f, &row), STACK_END_UNTOLD);
	cr_expect_eq(f.sp, at(11));
	f = frame(10, 20);
	stack[11] = CODE + 5;
	f.ip = CODE + 11;
	cr_expect_eq(unwind_by_row(&f, &row), STACK_END_UNTOLD);
	cr_expect_eq(f.sp, at(12));
}

Test(unwind_step, a_signal_in_the_linkage_table_is_told_apart_as_well)
{
	static const struct unwind_row row = {.cfa = UNWIND_PLT, .cfa_offset = 11};
	struct unwind_frame f = frame(10, 20);

	interrupt(10, CODE + 10, at(100), 0);
	stack[100] = CODE + 5;
	cr_assert_eq(unwind_by_row(&f, &restorer), STACK_END_UNTOLD);
	cr_expect_eq(unwind_by_row(&f, &row), STACK_END_UNTOLD);
	cr_expect_eq(f.sp, at(101));
}

/* What cannot be code is no frame: it would be one that the process never called. */
Test(unwind_step, what_cannot_be_an_address_of_code_is_no_caller)
{
	static const __u64 bad[] = {0, 1ull << 47, 0x28d26cd575c89e96, ~0ull, 0xffffffffff600400};
	static const struct unwind_row row = {.cfa = UNWIND_SP, .cfa_offset = 2};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct unwind_frame f = frame(10, 10);

		stack[10] = at(20);
		stack[11] = bad[i];
		cr_expect_eq(unwind_by_fp(&f), STACK_END_ASTRAY, "%llx", bad[i]);
		cr_expect_eq(unwind_by_row(&f, &row), STACK_END_ASTRAY, "%llx", bad[i]);
		interrupt(10, bad[i], at(100), at(120));
		cr_expect_eq(unwind_by_row(&f, &restorer), STACK_END_ASTRAY, "%llx", bad[i]);
		cr_expect_eq(f.ip, CODE, "and the frame is what it was");
	}
}

Test(unwind_step, a_step_leads_up_or_ends_the_walk)
{
	static const struct {
		const char *name;
		struct unwind_row row;
		enum stack_end end;
	} cases[] = {
		{"down", {.cfa = UNWIND_SP, .cfa_offset = -1}, STACK_END_ASTRAY},
		{"nowhere", {.cfa = UNWIND_SP, .cfa_offset = 0}, STACK_END_ASTRAY},
		{"out of the stack", {.cfa = UNWIND_SP, .cfa_offset = 30000}, STACK_END_UNREADABLE},
		{"crooked", {.cfa = UNWIND_FP, .cfa_offset = 2}, STACK_END_ASTRAY},
		{"root", {.cfa = UNWIND_END}, STACK_END_ROOT},
		{"not to be told", {.cfa = UNWIND_INEXPRESSIBLE}, STACK_END_INEXPRESSIBLE},
		{"unknown", {.cfa = UNWIND_UNKNOWN}, STACK_END_NO_TABLE},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct unwind_frame f = frame(10, 20);

		f.fp += 4;
		cr_expect_eq(unwind_by_row(&f, &cases[i].row), cases[i].end, "%s", cases[i].name);
	}
}

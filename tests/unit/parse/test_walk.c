/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <execinfo.h>
#include <signal.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "walk.h"
#include "walk_process.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Code of functions of 256 bytes with a row each; the last one is the root, whose address stands in
 * each word of the stack, so that what was read tells from where. */
#define CODE	  0x10000u
#define FUNCTIONS 4
#define AT(i)	  (CODE + 256 * (i))
#define ROOT	  AT(FUNCTIONS - 1)
#define STACK	  0x7fff0000u
#define WORDS	  128u
#define WORD(i)	  (STACK + 8 * (i))

struct world {
	struct unwind_row rows[FUNCTIONS + 1];
	struct unwind_page page;
	struct unwind_table table;
	struct walk_mapping mapping;
	uint64_t words[WORDS];
	struct walk walk;
};

static long read_words(void *memory, void *to, uint32_t bytes, uint64_t at)
{
	const struct world *w = memory;

	if (at < STACK || at - STACK > sizeof(w->words) || bytes > sizeof(w->words) - (at - STACK))
		return -1;
	memcpy(to, (const char *)w->words + (at - STACK), bytes);
	return 0;
}

/* The first function has that row. */
static void make_world(struct world *w, struct unwind_row first)
{
	*w = (struct world){.rows = {first, {.cfa = UNWIND_INEXPRESSIBLE}}};
	for (unsigned i = 0; i < FUNCTIONS; i++)
		w->rows[i].at = (uint16_t)(256 * i);
	w->rows[FUNCTIONS - 1].cfa = UNWIND_END;
	w->rows[FUNCTIONS].at = 256 * FUNCTIONS;
	w->page = (struct unwind_page){0, FUNCTIONS + 1};
	w->table = (struct unwind_table){.page_base = CODE >> UNWIND_PAGE_BITS,
					 .page_cnt = 1,
					 .pages = &w->page,
					 .rows = w->rows,
					 .rows_cnt = FUNCTIONS + 1};
	w->mapping = (struct walk_mapping){.start = CODE, .end = CODE + 65536, .table = &w->table};
	for (unsigned i = 0; i < WORDS; i++)
		w->words[i] = ROOT + 1 + i;
	w->walk = (struct walk){.mappings = &w->mapping,
				.mappings_cnt = 1,
				.read = read_words,
				.memory = w,
				.ip = CODE + 16,
				.sp = WORD(4),
				.fp = WORD(10)};
}

Test(walk, each_kind_of_row_leads_to_its_caller)
{
	static const struct {
		const char *name;
		struct unwind_row row;
		uint64_t ip, sp, fp;
		unsigned from;		/* the word that holds the return address */
		unsigned at, points_to; /* a word that points to another */
		uint64_t caller_fp;
	} kinds[] = {
		{"rsp + 24", {0, UNWIND_SP, UNWIND_FP_SAME, 3, 0}, 0, 4, 10, 6, 0, 0, WORD(10)},
		{"rbp below the return address",
		 {0, UNWIND_SP, UNWIND_FP_SAVED, 3, -2},
		 0,
		 4,
		 10,
		 6,
		 0,
		 0,
		 ROOT + 1 + 5},
		{"rbp further below",
		 {0, UNWIND_SP, UNWIND_FP_SAVED, 3, -3},
		 0,
		 4,
		 10,
		 6,
		 0,
		 0,
		 ROOT + 1 + 4},
		{"rbp lost", {0, UNWIND_SP, UNWIND_FP_LOST, 3, 0}, 0, 4, 10, 6, 0, 0, 0},
		{"rbp + 16",
		 {0, UNWIND_FP, UNWIND_FP_SAVED, 2, -2},
		 0,
		 4,
		 10,
		 11,
		 0,
		 0,
		 ROOT + 1 + 10},
		{"a realigned stack",
		 {0, UNWIND_FP_DEREF, UNWIND_FP_AT_FP, -1, 0},
		 0,
		 4,
		 20,
		 29,
		 19,
		 30,
		 ROOT + 1 + 20},
		{"by what lies on the stack",
		 {0, UNWIND_SP_DEREF, UNWIND_FP_SAME, 5, 0},
		 0,
		 4,
		 10,
		 15,
		 9,
		 16,
		 WORD(10)},
		{"PLT before its push",
		 {0, UNWIND_PLT, UNWIND_FP_SAME, 11, 0},
		 CODE + 0x2a,
		 4,
		 10,
		 4,
		 0,
		 0,
		 WORD(10)},
		{"PLT behind its push",
		 {0, UNWIND_PLT, UNWIND_FP_SAME, 11, 0},
		 CODE + 0x2b,
		 4,
		 10,
		 5,
		 0,
		 0,
		 WORD(10)},
		/* The page below may never have been touched. */
		{"at the first word of the stack's memory",
		 {0, UNWIND_SP, UNWIND_FP_SAME, 1, 0},
		 0,
		 0,
		 10,
		 0,
		 0,
		 0,
		 WORD(10)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct world w;

		make_world(&w, kinds[i].row);
		w.walk.sp = WORD(kinds[i].sp);
		w.walk.fp = WORD(kinds[i].fp);
		if (kinds[i].ip)
			w.walk.ip = kinds[i].ip;
		if (kinds[i].points_to)
			w.words[kinds[i].at] = WORD(kinds[i].points_to);
		walk_run(&w.walk);
		cr_expect_eq(w.walk.end, STACK_END_ROOT, "%s: ends %d", kinds[i].name, w.walk.end);
		cr_expect_eq(w.walk.frames_cnt, 2, "%s: %zu frames", kinds[i].name,
			     w.walk.frames_cnt);
		cr_expect_eq(w.walk.frames[1], ROOT + 1 + kinds[i].from, "%s: from word %lu",
			     kinds[i].name, w.walk.frames[1] - ROOT - 1);
		cr_expect_eq(w.walk.last_sp, WORD(kinds[i].from + 1), "%s: sp", kinds[i].name);
		cr_expect_eq(w.walk.last_fp, kinds[i].caller_fp, "%s: fp 0x%lx", kinds[i].name,
			     w.walk.last_fp);
		cr_expect_eq(w.walk.unsure, 0, "%s", kinds[i].name);
	}
}

Test(walk, a_step_that_leads_nowhere_ends_the_walk)
{
	static const struct {
		const char *name;
		struct unwind_row row;
		uint64_t sp, fp;
		enum stack_end end;
	} ends[] = {
		{"root", {.cfa = UNWIND_END}, WORD(4), 0, STACK_END_ROOT},
		{"not expressible",
		 {.cfa = UNWIND_INEXPRESSIBLE},
		 WORD(4),
		 0,
		 STACK_END_INEXPRESSIBLE},
		{"a kind that there is not", {.cfa = 200}, WORD(4), WORD(9), STACK_END_NO_TABLE},
		{"sp into nowhere",
		 {0, UNWIND_SP, UNWIND_FP_SAME, 1, 0},
		 0x1000,
		 0,
		 STACK_END_UNREADABLE},
		{"sp of nothing",
		 {0, UNWIND_SP, UNWIND_FP_SAVED, 1, -2},
		 0,
		 0,
		 STACK_END_UNREADABLE},
		{"sp at the top of all addresses",
		 {0, UNWIND_SP, UNWIND_FP_SAME, 1, 0},
		 -8ull,
		 0,
		 STACK_END_ASTRAY},
		{"past the end of the stack",
		 {0, UNWIND_SP, UNWIND_FP_SAME, 1, 0},
		 WORD(WORDS),
		 0,
		 STACK_END_UNREADABLE},
		{"rbp saved where no memory is",
		 {0, UNWIND_SP, UNWIND_FP_SAVED, 1, -100},
		 WORD(4),
		 0,
		 STACK_END_UNREADABLE},
		{"sp into itself",
		 {0, UNWIND_SP, UNWIND_FP_SAME, 0, 0},
		 WORD(4),
		 0,
		 STACK_END_ASTRAY},
		{"downwards", {0, UNWIND_SP, UNWIND_FP_SAME, -1, 0}, WORD(4), 0, STACK_END_ASTRAY},
		{"sp of no word",
		 {0, UNWIND_SP, UNWIND_FP_SAME, 1, 0},
		 WORD(4) + 4,
		 0,
		 STACK_END_ASTRAY},
		{"rbp below the stack",
		 {0, UNWIND_FP, UNWIND_FP_SAVED, 2, -2},
		 WORD(8),
		 WORD(2),
		 STACK_END_ASTRAY},
		{"realigned by no memory",
		 {0, UNWIND_FP_DEREF, UNWIND_FP_AT_FP, -1, 0},
		 WORD(4),
		 0x1000,
		 STACK_END_UNREADABLE},
		{"realigned to an odd place",
		 {0, UNWIND_FP_DEREF, UNWIND_FP_AT_FP, 0, 0},
		 WORD(4),
		 WORD(9),
		 STACK_END_ASTRAY},
		{"a signal's frame that is not there",
		 {0, UNWIND_SIGNAL, UNWIND_FP_SAME, 1000, 0},
		 WORD(4),
		 0,
		 STACK_END_UNREADABLE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct world w;

		make_world(&w, ends[i].row);
		w.walk.sp = ends[i].sp;
		w.walk.fp = ends[i].fp;
		walk_run(&w.walk);
		cr_expect_eq(w.walk.end, ends[i].end, "%s: ends %d", ends[i].name, w.walk.end);
		cr_expect_eq(w.walk.frames_cnt, 1, "%s", ends[i].name);
	}
}

static long read_the_same(void *memory, void *to, uint32_t bytes, uint64_t at)
{
	const uint64_t words[2] = {CODE + 16, CODE + 16};

	(void)memory;
	(void)at;
	memcpy(to, words, bytes);
	return 0;
}

Test(walk, a_row_that_goes_up_for_ever_ends_with_the_stack_or_at_the_depth)
{
	struct world w;

	make_world(&w, (struct unwind_row){0, UNWIND_SP, UNWIND_FP_SAME, 1, 0});
	for (unsigned i = 0; i < WORDS; i++)
		w.words[i] = CODE + 16;
	walk_run(&w.walk);
	cr_expect_eq(w.walk.end, STACK_END_UNREADABLE);
	cr_expect_eq(w.walk.frames_cnt, WORDS - 4 + 1);

	w.walk.read = read_the_same;
	walk_run(&w.walk);
	cr_expect_eq(w.walk.end, STACK_END_DEPTH);
	cr_expect_eq(w.walk.frames_cnt, WALK_FRAMES_MAX);
}

/* A call that does not return may be the last instruction of its function: the return address is
 * the next one's. What a signal interrupted is where it says. */
Test(walk, callers_are_looked_up_at_their_call)
{
	const struct unwind_row up = {0, UNWIND_SP, UNWIND_FP_SAME, 1, 0};
	struct world w;

	make_world(&w, up);
	w.words[4] = AT(1);
	walk_run(&w.walk);
	cr_expect_eq(w.walk.end, STACK_END_ROOT);
	cr_expect_eq(w.walk.frames_cnt, 3);

	make_world(&w, up);
	w.walk.ip = AT(1);
	walk_run(&w.walk);
	cr_expect_eq(w.walk.end, STACK_END_INEXPRESSIBLE);
}

Test(walk, what_a_signal_interrupted_comes_from_its_frame_eight_times)
{
	const struct unwind_row up = {0, UNWIND_SP, UNWIND_FP_SAME, 1, 0};
	struct world w;

	make_world(&w, up);
	w.rows[1].cfa = UNWIND_SIGNAL;
	w.rows[1].cfa_offset = 20;
	w.walk.sp = WORD(3);
	w.words[3] = AT(1) + 16;    /* the handler's return address */
	w.words[4 + 20] = WORD(60); /* rsp */
	w.words[4 + 21] = ROOT;	    /* rip: its first instruction, not the call before */
	walk_run(&w.walk);
	cr_expect_eq(w.walk.end, STACK_END_ROOT);
	cr_expect_eq(w.walk.frames_cnt, 3);
	cr_expect_eq(w.walk.last_sp, WORD(60));
	cr_expect_eq(w.walk.last_fp, ROOT + 1 + 4 + 15);

	/* In a PLT entry, before its push: what is told by the address is told by where it was. */
	w.rows[2] = (struct unwind_row){2 * 256, UNWIND_PLT, UNWIND_FP_SAME, 11, 0};
	w.words[4 + 21] = AT(2) + 10;
	walk_run(&w.walk);
	cr_expect_eq(w.walk.end, STACK_END_ROOT);
	cr_expect_eq(w.walk.frames[3], ROOT + 1 + 60, "from word %lu", w.walk.frames[3] - ROOT - 1);

	/* One that was interrupted within itself. */
	w.words[4 + 20] = WORD(4);
	w.words[4 + 21] = AT(1) + 16;
	walk_run(&w.walk);
	cr_expect_eq(w.walk.end, STACK_END_ASTRAY);
	cr_expect_eq(w.walk.frames_cnt, 1 + 9);
}

Test(walk, code_without_rows_is_walked_by_frame_pointer_and_says_why_it_broke)
{
	static const struct {
		const char *name;
		enum unwind_mapping_kind kind;
		bool is_mapped, has_table;
		enum stack_end end;
	} kinds[] = {
		{"not mapped", UNWIND_BY_TABLE, false, true, STACK_END_NOT_YET},
		{"a gap in a table", UNWIND_BY_TABLE, true, true, STACK_END_NO_TABLE},
		{"made at run time", UNWIND_BY_FP, true, false, STACK_END_CODE},
		{"a gap in what was made at run time", UNWIND_BY_FP, true, true, STACK_END_CODE},
		{"not read yet", UNWIND_NOT_YET, true, false, STACK_END_NOT_YET},
		{"a file without", UNWIND_NO_TABLE, true, false, STACK_END_NO_TABLE},
		{"no room", UNWIND_NO_MEMORY, true, false, STACK_END_MEMORY},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct world w;

		make_world(&w, (struct unwind_row){0});
		w.mapping.kind = kinds[i].kind;
		w.mapping.table = kinds[i].has_table ? &w.table : NULL;
		w.walk.mappings_cnt = kinds[i].is_mapped;
		w.words[10] = WORD(20); /* the caller's frame, which leads below itself */
		w.words[11] = CODE + 32;
		w.words[20] = WORD(2);
		w.words[21] = CODE + 48;
		walk_run(&w.walk);
		cr_expect_eq(w.walk.end, kinds[i].end, "%s: ends %d", kinds[i].name, w.walk.end);
		cr_expect_eq(w.walk.frames_cnt, 3, "%s", kinds[i].name);
		cr_expect_eq(w.walk.frames[2], CODE + 48, "%s", kinds[i].name);
		cr_expect_eq(w.walk.unsure, 2, "%s", kinds[i].name);
	}
}

/* --- truth ----------------------------------------------------------------------------------- */

/* Both walks of this process from one place of it. */
struct truth {
	struct walk_process process;
	struct walk walk;
	void *referee[256];
	int referee_cnt;
};
static struct truth truth; /* large, and looked at in a handler */

static long read_itself(void *memory, void *to, uint32_t bytes, uint64_t at)
{
	struct iovec here = {to, bytes}, there = {(void *)at, bytes};

	(void)memory;
	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)bytes ? 0 : -1;
}

/* This file is built without frame pointers. Sanitizers would keep one for what they add to the
 * stack. */
#define FRAMELESS __attribute__((noinline, no_sanitize("address", "undefined", "coverage")))

static FRAMELESS int take_both(void)
{
	ucontext_t context;

	getcontext(&context);
	truth.walk = (struct walk){.mappings = truth.process.mappings,
				   .mappings_cnt = truth.process.cnt,
				   .read = read_itself,
				   .ip = (uint64_t)context.uc_mcontext.gregs[REG_RIP],
				   .sp = (uint64_t)context.uc_mcontext.gregs[REG_RSP],
				   .fp = (uint64_t)context.uc_mcontext.gregs[REG_RBP]};
	truth.referee_cnt = backtrace(truth.referee, ARRAY_SIZE(truth.referee));
	walk_run(&truth.walk);
	return truth.referee_cnt;
}

/* Frames of several sizes. */
static FRAMELESS int descend(int depth)
{
	volatile int room[3] = {depth, 1, 2};

	room[1] = depth ? descend(depth - 1) : take_both();
	return room[0] + room[1];
}

static FRAMELESS int descend_odd(int depth)
{
	volatile char room[200] = {(char)depth};

	room[1] = (char)descend(depth);
	return room[0] + room[1];
}

/* The referee has its own frames in front, and another place in the function that took both. The
 * frame that a signal interrupted, 0 = none. */
static void expect_agreement(const char *name, size_t interrupted)
{
	size_t first = 0, cnt = (size_t)truth.referee_cnt;

	cr_expect_eq(truth.walk.end, STACK_END_ROOT, "%s: ends %d after %zu frames", name,
		     truth.walk.end, truth.walk.frames_cnt);
	cr_expect_eq(truth.walk.unsure, 0, "%s", name);
	while (first < cnt && (uint64_t)truth.referee[first] != truth.walk.frames[1])
		first++;
	cr_assert_lt(first, cnt, "%s: not even the first caller", name);
	cr_expect_eq(truth.walk.frames_cnt - 1, cnt - first, "%s: %zu callers, %zu of libgcc", name,
		     truth.walk.frames_cnt - 1, cnt - first);
	for (size_t i = 1; i < truth.walk.frames_cnt && first < cnt; i++, first++)
		/* What a signal interrupted is given as a return behind its first byte. */
		cr_expect_eq(truth.walk.frames[i] - (i == interrupted),
			     (uint64_t)truth.referee[first], "%s, caller %zu: 0x%lx, libgcc 0x%lx",
			     name, i, truth.walk.frames[i], (uint64_t)truth.referee[first]);
}

Test(walk, this_process_is_walked_as_libgcc_walks_it)
{
	cr_assert_eq(walk_process_read(&truth.process, 0), 0);
	cr_assert_gt(descend_odd(12), 0);
	cr_expect_gt(truth.walk.frames_cnt, 15);
	expect_agreement("calls", 0);
	walk_process_clear(&truth.process);
}

/* take_both() and what it is called by: descend() from 3 to 0, handle(), the restorer. */
#define INTERRUPTED 7

static void handle(int signal)
{
	volatile int room = signal;

	room = descend(3);
	(void)room;
}

Test(walk, a_handler_on_a_stack_of_its_own_is_walked_as_libgcc_walks_it)
{
	static char room[256 << 10];
	const stack_t own = {.ss_sp = room, .ss_size = sizeof(room)};
	const struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};

	cr_assert_eq(walk_process_read(&truth.process, 0), 0);
	cr_assert_eq(sigaltstack(&own, NULL), 0);
	cr_assert_eq(sigaction(SIGUSR1, &action, NULL), 0);
	cr_assert_eq(raise(SIGUSR1), 0);
	cr_expect_eq(truth.walk.signals, 1);
	expect_agreement("a signal", INTERRUPTED);
	walk_process_clear(&truth.process);
}

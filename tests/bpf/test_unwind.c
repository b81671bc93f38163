/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks that the kernel walks by tables, of children whose callers are known. */
#include <criterion/criterion.h>
#include <errno.h>
#include <execinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "drive.h"
#include "kernel/unwind_maps.h"
#include "model/ingest.h"
#include "walk_process.h"

#define HZ	    499
#define REFEREE_MAX 1024

/* --- a child with known callers -------------------------------------------------------------- */

/* What it tells of itself: who called the function that it is in. */
struct truth {
	void *callers[REFEREE_MAX];
	int cnt; /* set last */
};

#define FRAMELESS __attribute__((noinline, optimize("omit-frame-pointer")))

static FRAMELESS int spin_below(struct truth *truth)
{
	void *callers[REFEREE_MAX];
	int cnt = backtrace(callers, REFEREE_MAX);

	memcpy(truth->callers, callers, sizeof(callers));
	__atomic_store_n(&truth->cnt, cnt, __ATOMIC_RELEASE);
	for (volatile uint64_t i = 1; i; i++)
		;
	return 0;
}

struct descent {
	struct truth *truth; /* shared with the test */
	int depth;
};

static FRAMELESS int descend(const struct descent *d, int depth)
{
	volatile int room[3] = {depth, 1, 2};

	room[1] = depth ? descend(d, depth - 1) : spin_below(d->truth);
	return room[0] + room[1];
}

static int spin_deep(void *arg)
{
	const struct descent *d = arg;

	return descend(d, d->depth);
}

static struct descent descent_new(int depth)
{
	struct descent d = {.depth = depth};

	d.truth = mmap(NULL, sizeof(*d.truth), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	cr_assert_neq(d.truth, MAP_FAILED);
	return d;
}

static pid_t start_at(struct descent *d, drive_work_fn work)
{
	pid_t pid = drive_fork(work, d, drive_cpu(0), true);

	while (!__atomic_load_n(&d->truth->cnt, __ATOMIC_ACQUIRE))
		drive_sleep(DRIVE_MS);
	return pid;
}

static pid_t start(struct descent *d)
{
	return start_at(d, spin_deep);
}

/* --- what the kernel is given ---------------------------------------------------------------- */

static void open_with_tables(struct drive *d)
{
	const struct session_options options = {
		.sample_hz = HZ, .tables = true, .unwind_bytes = UNWIND_MAPS_LEAST};

	drive_open(d, &options);
	if (!session_unwind(d->s))
		drive_skip(feature_why(session_features(d->s), FEATURE_UNWIND_TABLES));
}

/* The mappings of a process, as the collector would hand them over; tgid is whose they become. */
static void give(struct drive *d, const struct walk_process *from, pid_t tgid)
{
	struct unwind_mapping to[WALK_MAPPINGS_MAX];

	for (size_t i = 0; i < from->cnt; i++) {
		const struct walk_mapping *map = &from->mappings[i];

		to[i] = (struct unwind_mapping){
			.start = map->start, .end = map->end, .bias = map->bias, .kind = map->kind};
		if (map->table) {
			const struct unwind_maps_table table = {
				map->table->pages, map->table->page_base, map->table->page_cnt,
				map->table->rows, (uint32_t)map->table->rows_cnt};

			to[i].page_base = table.page_base;
			to[i].page_cnt = table.page_cnt;
			cr_assert_eq(
				unwind_maps_add(session_unwind(d->s), &table, &to[i].first_page),
				0);
		}
	}
	cr_assert_eq(unwind_maps_set_process(session_unwind(d->s), (uint32_t)tgid, 0, to,
					     (uint32_t)from->cnt),
		     0);
}

/* --- what comes back ------------------------------------------------------------------------- */

struct seen {
	pid_t pid;
	struct model *m;
	struct ingest *in;
	uint64_t newest; /* stack of its newest sample */
	size_t samples;
};

static void take_stack(void *ctx, const struct event_stack *stack)
{
	ingest_stack(((struct seen *)ctx)->in, stack);
}

static void take_sample(void *ctx, const struct event_sample *sample)
{
	struct seen *seen = ctx;

	if (sample->tgid != (uint32_t)seen->pid || !sample->user_stack)
		return;
	seen->newest = sample->user_stack;
	seen->samples++;
}

static void take_task(void *ctx, const struct event_task *task)
{
	(void)ctx;
	(void)task;
}

/* Samples a child that spins, for 50 samples at least. */
static struct seen watch(struct drive *d, pid_t pid)
{
	struct seen seen = {.pid = pid, .m = model_new()};
	struct session_ops ops = {
		.ctx = &seen, .sample = take_sample, .stack = take_stack, .task = take_task};
	char why[512] = "";

	seen.in = ingest_new(seen.m, d->host.cpus_possible, 0);
	cr_assert(seen.in);
	cr_assert_eq(session_start(d->s, why, sizeof(why)), 0, "%s", why);
	for (int i = 0; i < 1000 && seen.samples < 50; i++) {
		drive_sleep(10 * DRIVE_MS);
		d->bad += session_drain(d->s, &ops);
	}
	cr_assert_geq(seen.samples, 50);
	return seen;
}

static const struct model_stack *newest_stack(const struct seen *seen)
{
	for (size_t i = seen->m->stacks_cnt; i-- > 0;)
		if (seen->m->stacks[i].id == seen->newest)
			return &seen->m->stacks[i];
	cr_assert_fail("the stack was never sent");
	return NULL;
}

static void end(struct drive *d, struct seen *seen, pid_t pid)
{
	drive_kill(pid);
	ingest_free(seen->in);
	model_free(seen->m);
	drive_close(d);
}

/* Callers [first, until) of the stack against those of the truth from another one on. */
static void expect_callers(const struct seen *seen, const struct truth *truth, size_t first,
			   size_t until, size_t truth_first)
{
	const uint64_t *frames = model_stack_frames(seen->m, newest_stack(seen));

	for (size_t i = first; i < until; i++)
		cr_expect_eq(frames[i], (uint64_t)truth->callers[truth_first + i - first],
			     "caller %zu: 0x%lx, libgcc 0x%lx", i, frames[i],
			     (uint64_t)truth->callers[truth_first + i - first]);
}

/* --- walks ----------------------------------------------------------------------------------- */

Test(unwind, a_chain_without_frame_pointers_is_whole_and_as_libgcc_tells_it)
{
	struct descent descent = descent_new(40);
	pid_t pid = start(&descent);
	struct walk_process process;
	const struct model_stack *stack;
	struct seen seen;
	struct drive d;

	open_with_tables(&d);
	cr_assert_eq(walk_process_read(&process, pid), 0);
	give(&d, &process, pid);
	seen = watch(&d, pid);
	stack = newest_stack(&seen);
	cr_expect_eq(stack->end, STACK_END_ROOT, "ends %d", stack->end);
	cr_expect_eq(stack->flags & (STACK_UNSURE | STACK_TRUNCATED), 0);
	cr_expect_gt(stack->frame_cnt, 43);
	cr_assert_eq(stack->frame_cnt, descent.truth->cnt);
	expect_callers(&seen, descent.truth, 1, stack->frame_cnt, 1);
	walk_process_clear(&process);
	end(&d, &seen, pid);
}

/* Through code as CPython writes it for each function (-X perf). */
static int spin_behind_trampoline(void *arg)
{
	static const uint8_t code[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3};
	const struct descent *d = arg;
	int (*call)(const struct descent *, int, void *, int (*)(const struct descent *, int));
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(page, code, sizeof(code));
	memcpy(&call, &page, sizeof(call));
	return call(d, d->depth, NULL, descend) + 1;
}

Test(unwind, a_trampoline_of_cpython_has_a_caller)
{
	struct descent descent = descent_new(5);
	pid_t pid = start_at(&descent, spin_behind_trampoline);
	struct walk_process process;
	const struct model_stack *stack;
	struct seen seen;
	struct drive d;

	open_with_tables(&d);
	cr_assert_eq(walk_process_read(&process, pid), 0);
	give(&d, &process, pid);
	seen = watch(&d, pid);
	stack = newest_stack(&seen);
	cr_expect_eq(stack->end, STACK_END_ROOT, "ends %d", stack->end);
	cr_expect_eq(stack->flags & STACK_UNSURE, 0);
	cr_expect_gt(stack->frame_cnt, descent.truth->cnt + 1, "libgcc ends at the trampoline");
	walk_process_clear(&process);
	end(&d, &seen, pid);
}

Test(unwind, a_process_without_tables_is_walked_by_frame_pointer_and_says_so)
{
	struct descent descent = descent_new(40);
	pid_t pid = start(&descent);
	struct walk_process process;
	struct seen seen;
	struct drive d;

	open_with_tables(&d);
	cr_assert_eq(walk_process_read(&process, pid), 0);
	/* Those of a process that had its id before are not its own. */
	give(&d, &process, pid);
	unwind_maps_forget_process(session_unwind(d.s), (uint32_t)pid, 0);
	seen = watch(&d, pid);
	cr_expect_eq(newest_stack(&seen)->end, STACK_END_NOT_YET);
	cr_expect_lt(newest_stack(&seen)->frame_cnt, 40);
	walk_process_clear(&process);
	end(&d, &seen, pid);
}

Test(unwind, a_forked_child_is_walked_by_the_tables_of_its_parent)
{
	struct descent descent = descent_new(40);
	struct walk_process process;
	struct seen seen;
	struct drive d;
	pid_t pid;

	open_with_tables(&d);
	cr_assert_eq(walk_process_read(&process, 0), 0);
	give(&d, &process, getpid());
	pid = start(&descent);
	seen = watch(&d, pid);
	cr_expect_eq(newest_stack(&seen)->end, STACK_END_ROOT);
	cr_assert_eq(newest_stack(&seen)->frame_cnt, descent.truth->cnt);
	expect_callers(&seen, descent.truth, 1, newest_stack(&seen)->frame_cnt, 1);
	walk_process_clear(&process);
	end(&d, &seen, pid);
}

Test(unwind, of_a_stack_that_is_too_deep_leaf_and_root_are_there_and_the_middle_is_counted)
{
	struct descent descent = descent_new(600);
	pid_t pid = start(&descent);
	struct walk_process process;
	const struct model_stack *stack;
	size_t leaf_side;
	struct seen seen;
	struct drive d;

	open_with_tables(&d);
	cr_assert_eq(walk_process_read(&process, pid), 0);
	give(&d, &process, pid);
	seen = watch(&d, pid);
	stack = newest_stack(&seen);
	cr_expect_eq(stack->end, STACK_END_ROOT);
	cr_expect_eq(stack->frame_cnt, 512);
	cr_assert_eq(stack->frame_cnt + stack->left_out, (uint32_t)descent.truth->cnt);
	leaf_side = stack->frame_cnt - STACK_ROOT_FRAMES;
	expect_callers(&seen, descent.truth, 1, leaf_side, 1);
	expect_callers(&seen, descent.truth, leaf_side, stack->frame_cnt,
		       leaf_side + stack->left_out);
	walk_process_clear(&process);
	end(&d, &seen, pid);
}

/* --- rows that lie --------------------------------------------------------------------------- */

#define WORDS 4096

/* Burns with a stack in which each word is the address of its own code. */
static int spin_among_callers(void *arg)
{
	uint64_t *words = arg;

#ifdef __x86_64__
	__asm__ volatile("lea 1f(%%rip), %%rax\n"
			 "mov %0, %%rdx\n"
			 "2: mov %%rax, (%%rdx)\n"
			 "add $8, %%rdx\n"
			 "cmp %1, %%rdx\n"
			 "jb 2b\n"
			 "mov %0, %%rsp\n"
			 "1: jmp 1b\n"
			 :
			 : "r"(words), "r"(words + WORDS)
			 : "rax", "rdx", "memory");
#endif
	return words == NULL;
}

Test(unwind, a_row_that_lies_ends_the_walk)
{
	static const struct {
		const char *name;
		struct unwind_row row;
		enum stack_end end;
		uint32_t frames, left_out_least, left_out_most;
	} lies[] = {
		{"a CFA that is the stack pointer",
		 {0, UNWIND_SP, UNWIND_FP_SAME, 0, 0},
		 STACK_END_ASTRAY,
		 1,
		 0,
		 0},
		{"up by a word for ever",
		 {0, UNWIND_SP, UNWIND_FP_SAME, 1, 0},
		 STACK_END_DEPTH,
		 512,
		 3 * 512,
		 3 * 512 + 64},
	};

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		uint64_t *words = calloc(WORDS, sizeof(*words));
		const uint64_t code = (uint64_t)spin_among_callers & ~(UNWIND_PAGE_BYTES - 1ull);
		/* What the first row says of itself, and what is nothing. */
		struct unwind_page pages[2] = {{0, 1}, {7, 1}};
		struct unwind_mapping map = {.start = code,
					     .end = code + 2 * UNWIND_PAGE_BYTES,
					     .bias = code,
					     .page_cnt = 2};
		struct seen seen;
		struct drive d;
		pid_t pid = drive_fork(spin_among_callers, words, drive_cpu(0), true);

		open_with_tables(&d);
		cr_assert_eq(
			unwind_maps_add(session_unwind(d.s),
					&(struct unwind_maps_table){pages, 0, 2, &lies[i].row, 1},
					&map.first_page),
			0);
		cr_assert_eq(
			unwind_maps_set_process(session_unwind(d.s), (uint32_t)pid, 0, &map, 1), 0);
		drive_await(NULL, pid, 20 * DRIVE_MS);
		seen = watch(&d, pid);
		cr_expect_eq(newest_stack(&seen)->end, lies[i].end, "%s: ends %d", lies[i].name,
			     newest_stack(&seen)->end);
		cr_expect_eq(newest_stack(&seen)->frame_cnt, lies[i].frames, "%s: %u frames",
			     lies[i].name, newest_stack(&seen)->frame_cnt);
		cr_expect(newest_stack(&seen)->left_out >= lies[i].left_out_least &&
				  newest_stack(&seen)->left_out <= lies[i].left_out_most,
			  "%s: %u left out", lies[i].name, newest_stack(&seen)->left_out);
		cr_expect_eq(!!(newest_stack(&seen)->flags & STACK_TRUNCATED),
			     lies[i].end == STACK_END_DEPTH, "%s", lies[i].name);
		end(&d, &seen, pid);
		free(words);
	}
}

/* --- the maps -------------------------------------------------------------------------------- */

/* A page that fills a third of a chunk. */
#define PAGE_ROWS 40000u

static int add_pages(struct unwind_maps *u, uint32_t cnt, uint32_t *ret_first)
{
	static struct unwind_row rows[PAGE_ROWS];
	struct unwind_page pages[64];

	for (uint32_t i = 0; i < cnt; i++)
		pages[i] = (struct unwind_page){0, PAGE_ROWS};
	return unwind_maps_add(u, &(struct unwind_maps_table){pages, 0, cnt, rows, PAGE_ROWS},
			       ret_first);
}

static void pass_grace(void)
{
	drive_sleep(UNWIND_MAPS_GRACE_NS + 5 * DRIVE_MS);
}

Test(unwind_maps, room_that_is_given_back_is_used_again_after_the_grace_alone)
{
	const size_t page = PAGE_ROWS * sizeof(struct unwind_row);
	uint32_t first[64], again, cnt = 0;
	struct unwind_maps *u;
	struct drive d;
	uint64_t dropped_ns;

	open_with_tables(&d);
	u = session_unwind(d.s);
	while (cnt < 64 && !add_pages(u, 1, &first[cnt]))
		cnt++;
	/* Three to a chunk of 1 MiB, and what else there is leaves room for three of these. */
	cr_expect_eq(cnt, 9);
	cr_expect_eq(unwind_maps_used(u), cnt * page);
	cr_expect_leq(unwind_maps_bytes(u), UNWIND_MAPS_LEAST);

	dropped_ns = clock_now_ns();
	unwind_maps_drop(u, first[4], 1);
	if (clock_now_ns() - dropped_ns < UNWIND_MAPS_GRACE_NS / 2) {
		int err = add_pages(u, 1, &again);

		cr_expect(err == -ENOSPC || clock_now_ns() - dropped_ns > UNWIND_MAPS_GRACE_NS);
	}
	pass_grace();
	cr_expect_eq(add_pages(u, 1, &first[4]), 0);
	cr_expect_eq(add_pages(u, 1, &again), -ENOSPC);
	cr_expect_eq(unwind_maps_used(u), cnt * page);

	/* One that finds room for a part of itself alone leaves nothing behind. */
	unwind_maps_drop(u, first[0], 1);
	unwind_maps_drop(u, first[8], 1);
	pass_grace();
	cr_expect_eq(add_pages(u, 3, &again), -ENOSPC);
	pass_grace();
	cr_expect_eq(add_pages(u, 2, &again), 0);
	cr_expect_eq(unwind_maps_used(u), cnt * page);
	drive_close(&d);
}

Test(unwind_maps, pages_whose_rows_are_not_there_take_no_room)
{
	const struct unwind_row rows[4] = {{.cfa = UNWIND_END}};
	const struct unwind_page pages[] = {{0, 5},	{4, 1}, {5, 1}, {UINT32_MAX, 2},
					    {2, 70000}, {1, 0}, {1, 3}};
	const uint32_t cnt = sizeof(pages) / sizeof(pages[0]);
	uint32_t first;
	struct drive d;

	open_with_tables(&d);
	cr_assert_eq(unwind_maps_add(session_unwind(d.s),
				     &(struct unwind_maps_table){pages, 0, cnt, rows, 4}, &first),
		     0);
	cr_expect_eq(unwind_maps_used(session_unwind(d.s)), 3 * sizeof(rows[0]));
	cr_expect_eq(unwind_maps_add(
			     session_unwind(d.s),
			     &(struct unwind_maps_table){pages, 0, UNWIND_PAGES_MAX + 1, rows, 4},
			     &first),
		     -ENOSPC);
	drive_close(&d);
}

Test(unwind_maps, mappings_of_a_process_stay_until_they_are_replaced_or_its_own)
{
	const uint32_t cnt = UNWIND_MAPPINGS_MAX / 8 * 3;
	struct unwind_mapping *maps = calloc(UNWIND_MAPPINGS_MAX, sizeof(*maps));
	struct unwind_maps *u;
	struct drive d;

	open_with_tables(&d);
	u = session_unwind(d.s);
	cr_expect_eq(unwind_maps_set_process(u, 1, 11, maps, cnt), 0);
	cr_expect_eq(unwind_maps_set_process(u, 1, 11, maps, cnt), 0);
	cr_expect_eq(unwind_maps_set_process(u, 2, 22, maps, cnt), -ENOSPC, "within the grace");
	pass_grace();
	cr_expect_eq(unwind_maps_set_process(u, 2, 22, maps, cnt), 0);
	cr_expect_eq(unwind_maps_set_process(u, 3, 33, maps, cnt), -ENOSPC);
	unwind_maps_forget_process(u, 2, 11); /* of one that had its id before */
	unwind_maps_forget_process(u, 4, 11);
	pass_grace();
	cr_expect_eq(unwind_maps_set_process(u, 3, 33, maps, cnt), -ENOSPC);
	unwind_maps_forget_process(u, 2, 22);
	unwind_maps_forget_process(u, 2, 22);
	pass_grace();
	cr_expect_eq(unwind_maps_set_process(u, 3, 33, maps, cnt), 0);
	cr_expect_eq(unwind_maps_set_process(u, 4, 44, maps, 0), -ENOSPC);
	free(maps);
	drive_close(&d);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "model/resolve.h"

#define OSR   "OptimizedTier1OSR"
#define QUICK "QuickJitted"

struct fixture {
	struct model *m;
	uint32_t process, thread;
	struct model_sample sample;
};

static struct fixture fixture_new(void)
{
	struct fixture f = {.m = build_model(1, 99)};

	f.process = build_process(f.m, 7, "app", 0);
	f.thread = build_thread(f.m, f.process, 7, "app", 0, 'R');
	f.sample = (struct model_sample){.time_ns = 1000, .thread = f.thread};
	return f;
}

/* Gives an address of the process (MODEL_NONE: of the kernel) a name from a time on. */
static void name_at(struct fixture *f, uint32_t process, uint64_t address, uint64_t from_ns,
		    const char *name, const char *tier)
{
	struct model_location location = {
		.process = process,
		.address = address,
		.from_ns = from_ns,
		.symbol = build_symbol(f->m, name, "app", KIND_JIT, true),
		.tier = tier,
	};

	cr_assert_neq(model_location_add(f->m, &location), MODEL_NONE);
}

/* Adds a stack of frame_cnt frames 100, 201, 301 ..., which are looked up at 100, 200, 300 ... */
static void put_stack(struct fixture *f, uint64_t id, bool kernel, uint16_t flags,
		      uint16_t frame_cnt)
{
	uint64_t *frames = calloc(frame_cnt + 1u, sizeof(*frames));
	struct model_stack stack = {
		.id = id,
		.process = kernel ? MODEL_NONE : f->process,
		.flags = (uint16_t)(flags | (kernel ? STACK_KERNEL : 0)),
		.frame_cnt = frame_cnt,
		.broken_module = MODEL_NONE,
	};

	for (uint32_t i = 0; i < frame_cnt; i++)
		frames[i] = (i + 1) * 100 + (i > 0);
	cr_assert_neq(model_stack_add(f->m, &stack, frames), MODEL_NONE);
	free(frames);
	if (kernel)
		f->sample.kernel_stack = id;
	else
		f->sample.user_stack = id;
}

/* The names of a resolved sample, root first, joined by '|'. */
static void expect_path(struct fixture *f, const char *expected, const char *row)
{
	static struct resolve_frame frames[RESOLVE_MAX_FRAMES];
	size_t n = resolve_sample(f->m, &f->sample, frames);
	char text[512] = "";

	cr_assert_geq(n, 1, "%s", row);
	for (size_t i = 0; i < n; i++) {
		cr_assert_lt(frames[i].symbol, f->m->symbols_cnt, "%s", row);
		strncat(text, i ? "|" : "", sizeof(text) - strlen(text) - 1);
		strncat(text, f->m->symbols[frames[i].symbol].name,
			sizeof(text) - strlen(text) - 1);
	}
	cr_expect_str_eq(text, expected, "%s: %s", row, text);
}

Test(resolve, kernel_frames_come_last)
{
	struct fixture f = fixture_new();

	name_at(&f, f.process, 100, 0, "read", "");
	name_at(&f, f.process, 200, 0, "main", "");
	name_at(&f, MODEL_NONE, 100, 0, "vfs_read", "");
	name_at(&f, MODEL_NONE, 200, 0, "entry", "");
	put_stack(&f, 1, false, 0, 2);
	put_stack(&f, 2, true, 0, 2);
	expect_path(&f, "main|read|entry|vfs_read", "both stacks");
	f.sample.user_stack = 0;
	expect_path(&f, "entry|vfs_read", "a kernel thread");
	model_free(f.m);
}

Test(resolve, notes_what_is_missing)
{
	static const struct {
		const char *name;
		uint64_t user, kernel;
		uint8_t flags;
		const char *expected;
	} rows[] = {
		{"no stack at all", 0, 0, 0, "[no stack]"},
		{"user stack record lost", 99, 0, 0, "[stack lost]"},
		{"kernel stack record lost", 1, 98, 0, "main|[stack lost]"},
		{"user stack unreadable", 0, 0, SAMPLE_USER_STACK_FAULT, "[stack lost]"},
		{"user stack unreadable in the kernel", 0, 2, SAMPLE_USER_STACK_FAULT,
		 "[stack lost]|entry"},
		{"kernel stack unreadable", 1, 0, SAMPLE_KERNEL_STACK_FAULT,
		 "main|[kernel stack lost]"},
		{"truncated at the root", 3, 0, 0, "[truncated]|main"},
		{"a truncated kernel stack has no root to miss", 1, 4, 0, "main|entry"},
		{"empty stack with a record", 5, 0, 0, "[no stack]"},
	};
	struct fixture f = fixture_new();

	name_at(&f, f.process, 100, 0, "main", "");
	name_at(&f, MODEL_NONE, 100, 0, "entry", "");
	put_stack(&f, 1, false, 0, 1);
	put_stack(&f, 2, true, 0, 1);
	put_stack(&f, 3, false, STACK_TRUNCATED, 1);
	put_stack(&f, 4, true, STACK_TRUNCATED, 1);
	put_stack(&f, 5, false, 0, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		f.sample.user_stack = rows[i].user;
		f.sample.kernel_stack = rows[i].kernel;
		f.sample.flags = rows[i].flags;
		expect_path(&f, rows[i].expected, rows[i].name);
	}
	for (size_t i = 0; i < f.m->symbols_cnt; i++)
		if (f.m->symbols[i].name[0] == '[')
			cr_expect_eq(f.m->symbols[i].kind, KIND_NOTE);
	model_free(f.m);
}

Test(resolve, frames_not_looked_up_say_so_one_by_one)
{
	struct fixture f = fixture_new();

	name_at(&f, f.process, 200, 0, "work", "");
	put_stack(&f, 1, false, 0, 3);
	expect_path(&f, "[not looked up]|work|[not looked up]", "pending");
	model_free(f.m);
}

Test(resolve, names_are_those_of_the_samples_time)
{
	static const struct {
		uint64_t time_ns;
		const char *expected;
	} rows[] = {
		{0, "First"},	  {499, "First"},  {500, "Second"},
		{1999, "Second"}, {2000, "Third"}, {UINT64_MAX, "Third"},
	};
	struct fixture f = fixture_new();

	name_at(&f, f.process, 100, 100, "First", QUICK);
	name_at(&f, f.process, 100, 500, "Second", QUICK);
	name_at(&f, f.process, 100, 2000, "Third", QUICK);
	put_stack(&f, 1, false, 0, 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		f.sample.time_ns = rows[i].time_ns;
		expect_path(&f, rows[i].expected, rows[i].expected);
	}
	model_free(f.m);
}

/* Frames leaf first: name and tier of each. */
struct chain {
	const char *name;
	struct {
		const char *method, *tier;
	} frames[4];
	const char *expected;
};

static const struct chain chains[] = {
	{"the replaced body below the new one",
	 {{"Spin", OSR}, {"Spin", QUICK}, {"Main", ""}},
	 "Main|Spin"},
	{"the new one alone", {{"Spin", OSR}, {"Main", ""}}, "Main|Spin"},
	{"recursion in one tier",
	 {{"Spin", QUICK}, {"Spin", QUICK}, {"Main", ""}},
	 "Main|Spin|Spin"},
	{"recursion in another tier",
	 {{"Spin", "OptimizedTier1"}, {"Spin", QUICK}, {"Main", ""}},
	 "Main|Spin|Spin"},
	{"the old body above the new one is a call",
	 {{"Spin", QUICK}, {"Spin", OSR}, {"Main", ""}},
	 "Main|Spin|Spin"},
	{"new bodies in a row are calls",
	 {{"Spin", OSR}, {"Spin", OSR}, {"Main", ""}},
	 "Main|Spin|Spin"},
	{"each call with its replaced body",
	 {{"Spin", OSR}, {"Spin", QUICK}, {"Spin", OSR}, {"Spin", QUICK}},
	 "Spin|Spin"},
	{"another method between",
	 {{"Spin", OSR}, {"Other", QUICK}, {"Spin", QUICK}},
	 "Spin|Other|Spin"},
	{"other methods", {{"Spin", OSR}, {"Main", QUICK}}, "Main|Spin"},
	{"a tier that only begins so", {{"Spin", OSR "2"}, {"Spin", QUICK}}, "Spin|Spin"},
};

Test(resolve, on_stack_replacement_is_one_call)
{
	for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++) {
		struct fixture f = fixture_new();
		uint16_t n = 0;

		for (; n < 4 && chains[i].frames[n].method; n++)
			name_at(&f, f.process, (n + 1) * 100u, 0, chains[i].frames[n].method,
				chains[i].frames[n].tier);
		put_stack(&f, 1, false, 0, n);
		expect_path(&f, chains[i].expected, chains[i].name);
		model_free(f.m);
	}
}

Test(resolve, the_frame_that_stays_of_a_replacement_is_the_new_body)
{
	struct resolve_frame frames[RESOLVE_MAX_FRAMES];
	struct fixture f = fixture_new();

	name_at(&f, f.process, 100, 0, "Spin", OSR);
	name_at(&f, f.process, 200, 0, "Spin", QUICK);
	put_stack(&f, 1, false, 0, 2);
	cr_assert_eq(resolve_sample(f.m, &f.sample, frames), 1);
	cr_expect_str_eq(f.m->locations[frames[0].location].tier, OSR);
	model_free(f.m);
}

Test(resolve, the_deepest_stacks_fit)
{
	struct resolve_frame *frames = calloc(RESOLVE_MAX_FRAMES, sizeof(*frames));
	struct fixture f = fixture_new();

	put_stack(&f, 1, false, STACK_TRUNCATED, STACK_MAX_FRAMES);
	put_stack(&f, 2, true, STACK_TRUNCATED, STACK_MAX_FRAMES);
	cr_expect_eq(resolve_sample(f.m, &f.sample, frames), 2 * STACK_MAX_FRAMES + 1);
	free(frames);
	model_free(f.m);
}

Test(resolve, a_sample_belongs_to_the_process_of_its_thread)
{
	struct fixture f = fixture_new();
	uint32_t other = build_process(f.m, 9, "other", 0);

	cr_expect_eq(resolve_process(f.m, &f.sample), f.process);
	f.sample.thread = build_thread(f.m, other, 9, "other", 0, 'S');
	cr_expect_eq(resolve_process(f.m, &f.sample), other);
	model_free(f.m);
}

Test(resolve, a_broken_stack_shows_no_stray_words)
{
	static const struct {
		const char *name;
		uint16_t flags, frame_cnt;
		uint32_t stray_from; /* frame, from the leaf */
		const char *expected;
	} rows[] = {
		{"stray words after two frames", STACK_BROKEN, 6, 2, "[broken stack]|f2|f1"},
		{"as deep as the kernel walks", STACK_BROKEN | STACK_TRUNCATED, 127, 2,
		 "[broken stack]|f2|f1"},
		{"ends too early", STACK_BROKEN, 2, 9, "[broken stack]|f2|f1"},
		{"the leaf itself stays", STACK_BROKEN, 3, 0, "[broken stack]|[unknown]"},
		{"a whole stack keeps even such frames", 0, 3, 2, "[unknown]|f2|f1"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f = fixture_new();
		struct model_symbol stray = {
			.name = "[unknown]", .kind = KIND_UNKNOWN, .reason = REASON_NO_MAPPING};

		name_at(&f, f.process, 100, 0, "f1", "");
		name_at(&f, f.process, 200, 0, "f2", "");
		put_stack(&f, 1, false, rows[i].flags, rows[i].frame_cnt);
		for (uint32_t k = rows[i].stray_from; k < rows[i].frame_cnt; k++) {
			struct model_location location = {
				.process = f.process,
				.address = (k + 1) * 100,
				.from_ns = 1,
				.symbol = model_symbol_get(f.m, &stray),
			};

			model_location_add(f.m, &location);
		}
		expect_path(&f, rows[i].expected, rows[i].name);
		model_free(f.m);
	}
}

Test(resolve, a_sample_that_was_not_selected_says_so)
{
	struct fixture f = fixture_new();

	f.sample.flags = SAMPLE_FILTERED | SAMPLE_USER_STACK_FAULT;
	expect_path(&f, "[not selected]", "no lost stack");
	model_free(f.m);
}

/* What is kept of a stack is what it means: at any time, and after names have changed. */
Test(resolve, a_settled_capture_says_the_same_each_time)
{
	struct fixture f = fixture_new();

	name_at(&f, f.process, 100, 0, "leaf", "");
	name_at(&f, f.process, 200, 0, "before", QUICK);
	put_stack(&f, 1, false, 0, 1);
	put_stack(&f, 2, false, 0, 2);
	name_at(&f, f.process, 200, 2000, "after", QUICK);
	for (int settled = 0; settled < 2; settled++) {
		for (int times = 0; times < 2; times++) {
			f.sample.user_stack = 1;
			expect_path(&f, "leaf", "means one thing");
			f.sample.user_stack = 2;
			f.sample.time_ns = 1000;
			expect_path(&f, "before|leaf", "before");
			f.sample.time_ns = 3000;
			expect_path(&f, "after|leaf", "after");
			f.sample.user_row = 1; /* a guess that is right, then one that is wrong */
		}
		f.sample.user_row = 0;
		expect_path(&f, "after|leaf", "a wrong guess");
		f.sample.user_row = 7;
		expect_path(&f, "after|leaf", "a guess outside");
		model_settle(f.m);
	}
	cr_expect_gt(f.m->stacks[0].resolved_cnt, 0, "of what means one thing it is kept");
	cr_expect_eq(f.m->stacks[1].resolved_from_ns, 2000, "of what varies what it means last");
	name_at(&f, f.process, 100, 2500, "renamed", "");
	f.sample.user_stack = 1;
	expect_path(&f, "renamed", "a new name ends what was kept");
	model_free(f.m);
}

/* A file may name one stack as both: frames have room for one of each kind. */
Test(resolve, a_stack_of_the_other_kind_is_none)
{
	struct resolve_frame *frames = calloc(RESOLVE_MAX_FRAMES, sizeof(*frames));
	struct fixture f = fixture_new();
	size_t cnt;

	put_stack(&f, 1, false, STACK_UNSURE, STACK_MAX_FRAMES);
	put_stack(&f, 2, true, STACK_UNSURE, STACK_MAX_FRAMES);
	f.sample.user_stack = f.sample.kernel_stack = 1;
	cnt = resolve_sample(f.m, &f.sample, frames);
	cr_assert_leq(cnt, RESOLVE_MAX_FRAMES);
	cr_expect_str_eq(f.m->symbols[frames[cnt - 1].symbol].name, "[stack lost]");
	f.sample.user_stack = f.sample.kernel_stack = 2;
	cnt = resolve_sample(f.m, &f.sample, frames);
	cr_assert_leq(cnt, RESOLVE_MAX_FRAMES);
	cr_expect_str_eq(f.m->symbols[frames[0].symbol].name, "[stack lost]");
	free(frames);
	model_free(f.m);
}

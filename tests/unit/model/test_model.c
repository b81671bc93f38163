/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bpf/events.h"
#include "model/model.h"

Test(model, keeps_equal_strings_once)
{
	struct model *m = model_new();
	const char *a = model_str(m, "Shop.Api");

	cr_expect_str_eq(a, "Shop.Api");
	cr_expect_eq(model_string(m, "Shop.Api and more", 8), a);
	cr_expect_neq(model_str(m, "Shop.Ap"), a);
	cr_expect_neq(model_str(m, "Shop.Api2"), a);
	cr_expect_str_eq(model_str(m, ""), "");
	cr_expect_str_eq(model_str(m, NULL), "");
	cr_expect_eq(m->strings_cnt, 3);
	model_free(m);
}

Test(model, reads_a_string_of_strangers_by_its_length)
{
	static const struct {
		const char *name, *bytes;
		size_t len;
		const char *expected;
	} rows[] = {
		{"ends at a NUL byte", "ab\0cd", 5, "ab"},
		{"full comm without NUL", "0123456789abcdefXYZ", 16, "0123456789abcdef"},
		{"NUL first", "\0ab", 3, ""},
		{"no bytes", "x", 0, ""},
		{"bad UTF-8 is kept", "\xff\xfe", 2, "\xff\xfe"},
	};
	struct model *m = model_new();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *copy = malloc(rows[i].len + 1); /* ASan sees a read beyond len + 1 */

		memcpy(copy, rows[i].bytes, rows[i].len);
		copy[rows[i].len] = 'Z';
		cr_expect_str_eq(model_string(m, copy, rows[i].len), rows[i].expected, "%s",
				 rows[i].name);
		free(copy);
	}
	model_free(m);
}

Test(model, cuts_a_string_at_its_bound)
{
	size_t len = MODEL_MAX_STRING + 100;
	struct model *m = model_new();
	char *bytes = malloc(len);
	const char *s;

	memset(bytes, 'a', len);
	s = model_string(m, bytes, len);
	cr_expect_eq(strlen(s), MODEL_MAX_STRING);
	cr_expect_eq(model_string(m, bytes, MODEL_MAX_STRING), s);
	cr_expect_neq(model_string(m, bytes, MODEL_MAX_STRING - 1), s);
	free(bytes);
	model_free(m);
}

Test(model, identity_of_a_process_is_id_and_start)
{
	struct model *m = model_new();
	uint32_t a = model_process_get(m, 7, 100), b = model_process_get(m, 7, 200);

	cr_expect_neq(a, b);
	cr_expect_eq(model_process_get(m, 7, 100), a);
	cr_expect_eq(model_process_find(m, 7, 200), b);
	cr_expect_eq(model_process_find(m, 7, 300), MODEL_NONE);
	cr_expect_eq(model_process_find(m, 8, 100), MODEL_NONE);
	cr_expect_eq(m->processes_cnt, 2);
	cr_expect_str_eq(m->processes[a].name, "");
	model_free(m);
}

Test(model, a_process_without_start_is_not_found_by_identity)
{
	struct model *m = model_new();
	uint32_t born = model_process_born(m, 7, 1000);

	cr_expect_eq(model_process_find(m, 7, 0), MODEL_NONE);
	cr_expect_neq(model_process_get(m, 7, 0), born);
	model_free(m);
}

Test(model, tells_which_incarnation_lived_at_a_time)
{
	struct model *m = model_new();
	uint32_t rows[40];

	/* Ids around it fill the index, so that the chain of 7 is broken up and moved. */
	for (uint32_t i = 0; i < 40; i++) {
		rows[i] = model_process_born(m, 7, 1000 * (i + 1));
		for (uint32_t k = 0; k < 50; k++)
			model_process_born(m, 1000 + i * 50 + k, 5);
	}
	for (uint32_t i = 0; i < 40; i++) {
		uint64_t born_ns = 1000 * (i + 1);

		cr_expect_eq(model_process_at(m, 7, born_ns), rows[i]);
		cr_expect_eq(model_process_at(m, 7, born_ns + 999), rows[i]);
		cr_expect_eq(model_process_unnamed_after(m, 7, born_ns - 1), rows[i]);
	}
	cr_expect_eq(model_process_at(m, 7, 999), rows[0], "before the first: the oldest known");
	cr_expect_eq(model_process_at(m, 7, UINT64_MAX), rows[39]);
	cr_expect_eq(model_process_unnamed_after(m, 7, 40000), MODEL_NONE);
	m->processes[rows[20]].start_exact = true;
	cr_expect_eq(model_process_unnamed_after(m, 7, 20999), rows[21]);
	cr_expect_eq(model_process_at(m, 8, 5000), MODEL_NONE);
	model_free(m);
}

Test(model, identity_of_a_thread_is_process_id_and_start)
{
	struct model *m = model_new();
	uint32_t t = model_thread_get(m, 0, 7, 100);

	cr_expect_eq(model_thread_get(m, 0, 7, 100), t);
	cr_expect_neq(model_thread_get(m, 1, 7, 100), t);
	cr_expect_neq(model_thread_get(m, 0, 8, 100), t);
	cr_expect_neq(model_thread_get(m, 0, 7, 101), t);
	cr_expect_eq(m->threads[t].state, '?');
	model_free(m);
}

Test(model, modules_of_one_path_differ_by_file_and_build_id)
{
	struct model *m = model_new();
	struct model_module module = {.path = "/app/lib.so", .dev = 1, .inode = 2};
	uint32_t first = model_module_get(m, &module), other;

	cr_expect_eq(model_module_get(m, &module), first);
	module.inode = 3;
	cr_expect_neq(model_module_get(m, &module), first);
	module.inode = 2;
	module.build_id_len = 4;
	memcpy(module.build_id, "\1\2\3\4", 4);
	other = model_module_get(m, &module);
	cr_expect_neq(other, first);
	module.build_id[5] = 99; /* beyond its length */
	cr_expect_eq(model_module_get(m, &module), other);
	module.build_id_len = 2;
	cr_expect_neq(model_module_get(m, &module), other);
	module.build_id_len = 200; /* hostile */
	other = model_module_get(m, &module);
	cr_expect_eq(m->modules[other].build_id_len, BUILD_ID_MAX);
	model_free(m);
}

Test(model, symbols_are_equal_in_all_fields)
{
	static const struct model_symbol rows[] = {
		{.name = "A", .module = "lib", .kind = KIND_JIT},
		{.name = "B", .module = "lib", .kind = KIND_JIT},
		{.name = "A", .module = "app", .kind = KIND_JIT},
		{.name = "A", .module = "lib", .kind = KIND_IMAGE},
		{.name = "A", .module = "lib", .kind = KIND_JIT, .reason = REASON_PENDING},
		{.name = "A", .module = "lib", .kind = KIND_JIT, .application = true},
		{.name = "A", .raw = "a", .module = "lib", .kind = KIND_JIT},
	};
	struct model *m = model_new();
	uint32_t cnt = sizeof(rows) / sizeof(rows[0]);

	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < cnt; i++)
			cr_expect_eq(model_symbol_get(m, &rows[i]), i);
	cr_expect_eq(m->symbols[0].raw, m->symbols[0].name);
	model_free(m);
}

Test(model, keeps_the_frames_of_each_stack)
{
	struct model *m = model_new();
	uint64_t frames[STACK_MAX_FRAMES];

	for (uint64_t id = 1; id <= 300; id++) {
		struct model_stack stack = {.id = id, .frame_cnt = (uint16_t)(id % 40)};

		for (uint32_t i = 0; i < stack.frame_cnt; i++)
			frames[i] = id * 1000 + i;
		cr_assert_eq(model_stack_add(m, &stack, frames), id - 1);
	}
	for (uint64_t id = 1; id <= 300; id++) {
		const struct model_stack *stack = &m->stacks[model_stack_find(m, id)];

		cr_assert_eq(stack->frame_cnt, id % 40);
		for (uint32_t i = 0; i < stack->frame_cnt; i++)
			cr_assert_eq(model_stack_frames(m, stack)[i], id * 1000 + i);
	}
	model_free(m);
}

Test(model, a_stack_of_a_known_id_is_left_as_it_is)
{
	struct model *m = model_new();
	struct model_stack stack = {.id = 5, .frame_cnt = 2};
	uint32_t row = model_stack_add(m, &stack, (uint64_t[]){1, 2});

	stack.frame_cnt = 1;
	cr_expect_eq(model_stack_add(m, &stack, (uint64_t[]){9}), row);
	cr_expect_eq(m->stacks[row].frame_cnt, 2);
	cr_expect_eq(m->frames_cnt, 2);
	cr_expect_eq(model_stack_find(m, 6), MODEL_NONE);
	model_free(m);
}

Test(model, refuses_a_stack_deeper_than_the_contract)
{
	struct model *m = model_new();
	uint64_t *frames = calloc(UINT16_MAX, sizeof(*frames));
	struct model_stack stack = {.id = 5, .frame_cnt = STACK_MAX_FRAMES};

	cr_expect_eq(model_stack_add(m, &stack, frames), 0);
	stack.id = 6;
	stack.frame_cnt = STACK_MAX_FRAMES + 1;
	cr_expect_eq(model_stack_add(m, &stack, frames), MODEL_NONE);
	stack.frame_cnt = UINT16_MAX;
	cr_expect_eq(model_stack_add(m, &stack, frames), MODEL_NONE);
	cr_assert_eq(m->losses_cnt, 1);
	cr_expect_eq(m->losses[0].cause, LOSS_MODEL_LIMIT);
	cr_expect_eq(m->losses[0].count, 2);
	free(frames);
	model_free(m);
}

Test(model, callers_are_looked_up_before_their_return_address)
{
	struct model *m = model_new();
	struct model_stack stack = {.id = 5, .frame_cnt = 3};
	uint32_t row = model_stack_add(m, &stack, (uint64_t[]){100, 200, 0});

	cr_expect_eq(model_stack_address(m, &m->stacks[row], 0), 100);
	cr_expect_eq(model_stack_address(m, &m->stacks[row], 1), 199);
	cr_expect_eq(model_stack_address(m, &m->stacks[row], 2), 0);
	model_free(m);
}

static struct model_location location(uint32_t process, uint64_t address, uint64_t from_ns,
				      uint32_t symbol, const char *tier)
{
	return (struct model_location){.process = process,
				       .address = address,
				       .from_ns = from_ns,
				       .symbol = symbol,
				       .tier = tier};
}

Test(model, an_address_means_what_lived_there_then)
{
	struct model *m = model_new();
	struct model_location a = location(0, 64, 0, 1, "QuickJitted"),
			      b = location(0, 64, 500, 2, "QuickJitted"),
			      c = location(0, 64, 900, 1, "QuickJitted");
	uint32_t ra = model_location_add(m, &a), rb = model_location_add(m, &b),
		 rc = model_location_add(m, &c);

	cr_expect(ra != rb && rb != rc && ra != rc);
	cr_expect_eq(model_location_find(m, 0, 64, 0), ra);
	cr_expect_eq(model_location_find(m, 0, 64, 499), ra);
	cr_expect_eq(model_location_find(m, 0, 64, 500), rb);
	cr_expect_eq(model_location_find(m, 0, 64, 899), rb);
	cr_expect_eq(model_location_find(m, 0, 64, UINT64_MAX), rc);
	cr_expect_eq(model_location_find(m, 0, 65, 0), MODEL_NONE);
	cr_expect_eq(model_location_find(m, 1, 64, 0), MODEL_NONE);
	cr_expect_eq(model_location_find(m, MODEL_NONE, 64, 0), MODEL_NONE);
	model_free(m);
}

Test(model, a_location_before_all_known_times_is_the_oldest)
{
	struct model *m = model_new();
	struct model_location a = location(3, 64, 500, 1, ""), b = location(3, 64, 900, 2, "");
	uint32_t ra = model_location_add(m, &a);

	model_location_add(m, &b);
	cr_expect_eq(model_location_find(m, 3, 64, 100), ra);
	model_free(m);
}

Test(model, a_location_that_says_nothing_new_is_not_added)
{
	struct model *m = model_new();
	struct model_location a = location(0, 64, 100, 1, "QuickJitted"),
			      same = location(0, 64, 500, 1, "QuickJitted"),
			      old = location(0, 64, 50, 2, ""), equal = location(0, 64, 100, 2, ""),
			      tier = location(0, 64, 500, 1, "OptimizedTier1");
	uint32_t ra = model_location_add(m, &a);

	cr_expect_eq(model_location_add(m, &same), ra);
	cr_expect_eq(model_location_add(m, &old), ra);
	cr_expect_eq(model_location_add(m, &equal), ra);
	cr_expect_eq(m->locations_cnt, 1);
	cr_expect_neq(model_location_add(m, &tier), ra);
	model_free(m);
}

Test(model, restores_locations_as_a_capture_has_them)
{
	struct model *m = model_new();
	struct model_location a = location(0, 64, 500, 1, ""), b = location(0, 64, 100, 1, "");

	a.older = MODEL_NONE;
	cr_expect_eq(model_location_restore(m, &a), 0);
	b.older = 0; /* a repeat, which adding would have dropped */
	cr_expect_eq(model_location_restore(m, &b), 0);
	cr_expect_eq(m->locations_cnt, 2);
	cr_expect_eq(model_location_find(m, 0, 64, 200), 1);
	model_free(m);
}

Test(model, each_location_of_an_address_is_found_by_its_time)
{
	struct model *m = model_new();

	for (uint32_t i = 0; i < 1000; i++) {
		struct model_location l = location(0, 64, 10 * i + 10, i & 1, "");

		cr_assert_eq(model_location_add(m, &l), i);
		for (uint64_t time_ns = 0; time_ns <= 10 * i + 10; time_ns += 7)
			cr_assert_eq(model_location_find(m, 0, 64, time_ns),
				     time_ns < 10 ? 0 : time_ns / 10 - 1, "%u %lu", i, time_ns);
	}
	model_free(m);
}

/* A capture may hold as many as it likes: the first is found as fast as the last. One by one: 20
 * s. */
Test(model, a_long_chain_of_locations_is_not_walked)
{
	enum { CHAIN = 200000, LOOKS = 50000 };
	struct model *m = model_new();
	clock_t start;

	for (uint32_t i = 0; i < CHAIN; i++) {
		struct model_location l = location(0, 64, i + 10, 1, "");

		l.older = i ? i - 1 : MODEL_NONE;
		cr_assert_eq(model_location_restore(m, &l), 0);
	}
	start = clock();
	for (uint64_t i = 0; i < LOOKS; i++)
		cr_assert_eq(model_location_find(m, 0, 64, i % 50), i % 50 < 10 ? 0 : i % 50 - 10);
	cr_expect_lt(clock() - start, 2 * CLOCKS_PER_SEC);
	model_free(m);
}

Test(model, sums_losses_by_cause_and_slice)
{
	struct model *m = model_new();
	struct model_slice slice = {0};

	model_loss_add(m, LOSS_SIDEBAND, 0);
	cr_expect_eq(m->losses_cnt, 0);
	model_loss_add(m, LOSS_SIDEBAND, 2);
	model_slice_add(m, &slice);
	model_loss_add(m, LOSS_SIDEBAND,
		       3); /* the first slice is row 0 before and after it began */
	model_loss_add(m, LOSS_RECURSION, 1);
	model_slice_add(m, &slice);
	model_loss_add(m, LOSS_SIDEBAND, 7);
	cr_assert_eq(m->losses_cnt, 3);
	cr_expect_eq(m->losses[0].count, 5);
	cr_expect_eq(m->losses[2].slice, 1);
	cr_expect_eq(m->losses[2].count, 7);
	model_free(m);
}

Test(model, forgets_a_slice_and_keeps_the_rest)
{
	struct model *m = model_new();

	model_process_get(m, 1, 1);
	model_thread_get(m, 0, 1, 1);
	model_sample_add(m, &(struct model_sample){0});
	model_account_add(m, &(struct model_account){0});
	model_delay_add(m, &(struct model_delay){0});
	model_contention_add(m, &(struct model_contention){0});
	model_throttle_add(m, &(struct model_throttle){0});
	model_cpu_add(m, &(struct model_cpu){0});
	model_cgroup_get(m, 1);
	model_loss_add(m, LOSS_SIDEBAND, 1);
	model_slice_add(m, &(struct model_slice){0});
	model_forget_slice(m);
	cr_expect_eq(m->samples_cnt + m->accounts_cnt + m->cpus_cnt + m->losses_cnt, 0);
	cr_expect_eq(m->delays_cnt + m->contentions_cnt + m->throttles_cnt, 0);
	cr_expect_eq(m->processes_cnt + m->threads_cnt + m->slices_cnt + m->cgroups_cnt, 4);
	model_free(m);
	model_free(NULL);
}

Test(model, every_reason_and_loss_has_words_and_an_id_of_its_own)
{
	for (uint32_t i = 0; i < REASON_CNT; i++) {
		cr_expect(model_reason_text(i) && *model_reason_text(i), "reason %u", i);
		for (uint32_t k = 0; k < i; k++)
			cr_expect_str_neq(model_reason_id(i), model_reason_id(k), "%u %u", i, k);
	}
	cr_expect_str_eq(model_reason_text(REASON_CNT), "unknown reason");
	for (uint32_t i = 0; i < LOSS_CAUSE_CNT; i++) {
		cr_expect_str_neq(model_loss_id(i), "unknown", "loss %u", i);
		for (uint32_t k = 0; k < i; k++)
			cr_expect_str_neq(model_loss_id(i), model_loss_id(k), "%u %u", i, k);
	}
	cr_expect_str_eq(model_loss_text(UINT32_MAX), "unknown cause");
}

Test(model, cgroups_are_sound_when_every_chain_of_parents_ends)
{
	struct model *m = model_new();
	uint32_t rows[MODEL_CGROUP_DEPTH + 2];

	for (uint32_t i = 0; i < MODEL_CGROUP_DEPTH + 2; i++)
		rows[i] = model_cgroup_get(m, 1000 + i);
	cr_expect_eq(model_cgroup_get(m, 1000), rows[0]);
	cr_expect_eq(model_cgroup_find(m, 1001), rows[1]);
	cr_expect_eq(model_cgroup_find(m, 999), MODEL_NONE);
	cr_expect(model_cgroups_sound(m));
	/* Each below the next, which is a later row. */
	for (uint32_t i = 0; i < MODEL_CGROUP_DEPTH; i++)
		m->cgroups[rows[i]].parent = rows[i + 1];
	cr_expect(model_cgroups_sound(m));
	m->cgroups[rows[MODEL_CGROUP_DEPTH]].parent = rows[MODEL_CGROUP_DEPTH + 1];
	cr_expect_not(model_cgroups_sound(m), "too deep");
	m->cgroups[rows[MODEL_CGROUP_DEPTH]].parent = rows[3];
	cr_expect_not(model_cgroups_sound(m), "a circle");
	m->cgroups[rows[MODEL_CGROUP_DEPTH]].parent = (uint32_t)m->cgroups_cnt;
	cr_expect_not(model_cgroups_sound(m), "no such row");
	model_free(m);
}

Test(model, what_a_capture_lacks_has_words_of_its_own)
{
	struct model *m = model_new();

	for (uint32_t i = 0; i < OFF_CNT; i++) {
		cr_expect_str_neq(model_off_text(m, 1u << i), "unknown reason", "bit %u", i);
		for (uint32_t k = 0; k < i; k++)
			cr_expect_str_neq(model_off_text(m, 1u << i), model_off_text(m, 1u << k));
	}
	cr_expect_str_eq(model_off_text(m, 1u << OFF_CNT), "unknown reason");
	model_free(m);
}

Test(model, the_recorders_reason_is_the_one_that_is_shown)
{
	struct feature_set set = {0};
	struct model *m = model_new(), *copy = model_new();

	feature_ask(&set, FEATURE_BIT(FEATURE_REQUESTS) | FEATURE_BIT(FEATURE_SAMPLES));
	feature_switch_off(&set, FEATURE_REQUESTS, FEATURE_REFUSED,
			   "the kernel refused BPF program on_data (EPERM)");
	cr_assert_eq(model_take_features(m, &set), 0);
	cr_assert_eq(model_copy_features(copy, m), 0);
	cr_expect_eq(copy->features_cnt, (size_t)FEATURE_CNT);
	cr_expect_str_eq(model_off_text(copy, OFF_REQUESTS),
			 "the kernel refused BPF program on_data (EPERM)");
	cr_expect_null(model_feature_why(copy, FEATURE_SAMPLES));
	cr_expect_null(model_feature_why(copy, FEATURE_WAKERS), "nobody asked");
	model_free(m);
	model_free(copy);
}

Test(model, a_group_is_one_row)
{
	struct model *m = model_new();

	for (uint64_t id = 0; id < 1000; id++)
		cr_assert_eq(model_cgroup_get(m, id * 7919), id);
	cr_expect_eq(model_cgroup_get(m, 500 * 7919), 500);
	cr_expect_eq(m->cgroups_cnt, 1000);
	cr_expect_eq(m->cgroups[500].parent, MODEL_NONE);
	cr_expect_str_eq(m->cgroups[500].path, "");
	cr_expect(m->cgroups[500].dirty);
	model_free(m);
}

Test(model, many_raw_names_of_one_display_name_are_found_at_once)
{
	struct model *m = model_new();
	clock_t start = clock();
	char raw[32];

	for (uint32_t i = 0; i < 50000; i++) {
		struct model_symbol symbol = {
			.name = "T.Run", .raw = raw, .module = "a", .kind = KIND_JIT};

		snprintf(raw, sizeof(raw), "T::Run(%u)", i);
		cr_assert_eq(model_symbol_get(m, &symbol), i);
	}
	cr_expect_lt(clock() - start, 2 * CLOCKS_PER_SEC);
	model_free(m);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "build_page.h"
#include "export/folded.h"
#include "export_models.h"

static char *folded(struct model *m, struct export_options options)
{
	return export_text(folded_write, m, options, NULL);
}

static void expect_folded(struct model *m, struct export_options options, const char *expected)
{
	char *text = folded(m, options);

	cr_expect_str_eq(text, expected);
	free(text);
	model_free(m);
}

Test(folded, merges_equal_stacks_and_sorts_by_frame)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 7, "app", 0);
	uint32_t t1 = build_thread(m, p, 7, "app", 0, 'R'), t2 = build_thread(m, p, 8, "b", 0, 'R');
	uint32_t main = build_symbol(m, "main", "app", KIND_NATIVE, true);
	uint32_t work = build_symbol(m, "work", "app", KIND_JIT, true);
	uint32_t read = build_symbol(m, "read", "[kernel]", KIND_KERNEL, false);

	BUILD_SAMPLES(m, t1, 3, main, work);
	BUILD_SAMPLES(m, t2, 4, main, work);
	BUILD_SAMPLES(m, t1, 2, main, read);
	BUILD_SAMPLES(m, t1, 1, main);
	expect_folded(m, (struct export_options){0},
		      "app;main 1\napp;main;read_[k] 2\napp;main;work_[j] 7\n");
}

static struct model *two_of_a_name(void)
{
	struct model *m = build_model(2, 99);
	uint32_t a = build_process(m, 8, "app", 0), b = build_process(m, 7, "app", 0);
	uint32_t c = build_process(m, 9, "0first", 0);
	uint32_t main = build_symbol(m, "main", "a.out", KIND_NATIVE, true);
	uint32_t same = build_symbol(m, "main", "b.out", KIND_NATIVE, true);

	BUILD_SAMPLES(m, build_thread(m, a, 8, "app", 0, 'R'), 2, main);
	BUILD_SAMPLES(m, build_thread(m, b, 7, "app", 0, 'R'), 3, same);
	BUILD_SAMPLES(m, build_thread(m, c, 9, "x", 0, 'R'), 1, main);
	return m;
}

Test(folded, processes_of_one_name_are_merged)
{
	expect_folded(two_of_a_name(), (struct export_options){0}, "0first;main 1\napp;main 5\n");
}

Test(folded, pid_option_keeps_them_apart)
{
	expect_folded(two_of_a_name(), (struct export_options){.pid = true},
		      "0first-9;main 1\napp-7;main 3\napp-8;main 2\n");
}

Test(folded, replicas_are_merged_by_their_workload)
{
	struct model *m = two_of_a_name();

	m->processes[0].pod = model_str(m, "shop-7d9c6b5f4d-x2x9k");
	m->processes[2].pod = model_str(m, "shop-7d9c6b5f4d-zk4tr");
	m->processes[0].namespace = m->processes[2].namespace = model_str(m, "prod");
	expect_folded(m, (struct export_options){.workload = true},
		      "app;main 3\nprod/shop;main 3\n");
}

Test(folded, one_process_only)
{
	expect_folded(two_of_a_name(),
		      (struct export_options){.wanted = (const uint8_t[]){0, 1, 0}},
		      "app;main 3\n");
}

Test(folded, several_processes_are_one_result)
{
	expect_folded(two_of_a_name(),
		      (struct export_options){.wanted = (const uint8_t[]){1, 1, 0}},
		      "app;main 5\n");
}

Test(folded, unnamed_addresses_are_one_frame_unless_asked)
{
	for (int addresses = 0; addresses < 2; addresses++) {
		struct model *m = build_model(2, 99);
		uint32_t p = build_process(m, 7, "app", 0);
		uint32_t t = build_thread(m, p, 7, "app", 0, 'R');
		uint32_t a = build_unnamed(m, "x.so", 0x10, KIND_NATIVE, REASON_NO_SYMBOL);
		uint32_t b = build_unnamed(m, "x.so", 0x20, KIND_NATIVE, REASON_NO_SYMBOL);

		BUILD_SAMPLES(m, t, 1, a, b);
		expect_folded(m, (struct export_options){.addresses = addresses},
			      addresses ? "app;x.so+0x10;x.so+0x20 1\n" : "app;x.so 1\n");
	}
}

Test(folded, empty_capture_is_an_empty_file)
{
	expect_folded(build_model(2, 99), (struct export_options){0}, "");
}

static bool is_valid_line(const char *line, size_t len, size_t separators)
{
	size_t digits = 0;

	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			return false;
		separators -= line[i] == ';';
	}
	while (digits < len && line[len - 1 - digits] >= '0' && line[len - 1 - digits] <= '9')
		digits++;
	return !separators && digits && len > digits && line[len - 1 - digits] == ' ';
}

Test(folded, hostile_names_break_neither_lines_nor_separators)
{
	for (unsigned int i = 0; i < build_hostile_cnt; i++) {
		struct model *m = build_model(2, 99);
		uint32_t p = build_process(m, 7, build_hostile_names[i], 0);
		uint32_t t = build_thread(m, p, 7, "app", 0, 'R');
		uint32_t frame = build_symbol(m, build_hostile_names[i], "app", KIND_NATIVE, true);
		uint32_t leaf = build_symbol(m, "leaf", "app", KIND_NATIVE, true);
		char *text, *end;

		BUILD_SAMPLES(m, t, 12, frame, leaf);
		text = folded(m, (struct export_options){0});
		end = strchr(text, '\n');
		cr_assert(end && !end[1], "not one line: %s", text);
		cr_expect(is_valid_line(text, (size_t)(end - text), 2), "%s", text);
		cr_expect(strstr(text, ";leaf 12\n"), "%s", text);
		free(text);
		model_free(m);
	}
}

Test(folded, semicolon_and_empty_name_are_spelled_out)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 7, "a;b", 0), t = build_thread(m, p, 7, "app", 0, 'R');

	BUILD_SAMPLES(m, t, 1, build_symbol(m, "", "app", KIND_NATIVE, true),
		      build_symbol(m, "back\\slash", "app", KIND_NATIVE, true));
	expect_folded(m, (struct export_options){0}, "a\\x3bb;[unnamed];back\\\\slash 1\n");
}

Test(folded, reports_a_full_device)
{
	struct model *m = build_page_capture();
	struct export_options options = {0};
	FILE *out = fopen("/dev/full", "w");

	cr_assert(out);
	cr_expect_eq(folded_write(out, m, &options), -EIO);
	fclose(out);
	model_free(m);
}

Test(folded, weight_of_waiters_counts_threads_and_leaves_out_what_nobody_waited_for)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 7, "app", 0), t = build_thread(m, p, 7, "app", 0, 'R');
	uint32_t main = build_symbol(m, "main", "app", KIND_NATIVE, true);
	uint32_t work = build_symbol(m, "work", "app", KIND_JIT, true);

	BUILD_SAMPLES(m, t, 3, main, work);
	build_waiters(m, 2, 5);
	BUILD_SAMPLES(m, t, 4, main);
	build_waiters(m, 4, 0);
	BUILD_SAMPLES(m, t, 2, main, work, main);
	build_waiters(m, 2, WAITERS_UNKNOWN);
	expect_folded(m, (struct export_options){.weight = EXPORT_WAITERS},
		      "app;main;work_[j] 10\n");
}

Test(folded, weight_of_waiters_of_a_calm_capture_is_an_empty_file)
{
	struct model *m = two_of_a_name();

	expect_folded(m, (struct export_options){.weight = EXPORT_WAITERS}, "");
}

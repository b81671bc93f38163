/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "model/paths.h"
#include "model/frame_view.h"
#include "model/top.h"
#include "model/unnamed.h"
#include "export/folded.h"

static void expect_folded(struct model *m, const char *expected)
{
	struct export_options options = {0};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	cr_assert_eq(folded_write(out, m, &options), 0);
	fclose(out);
	cr_expect_str_eq(text, expected);
	free(text);
}

static void add_module(struct model *m, const char *path)
{
	struct model_module module = {.path = path, .inode = 1};

	cr_assert_neq(model_module_get(m, &module), MODEL_NONE);
}

/* A .NET service with every kind of frame. */
struct fixture {
	struct model *m;
	uint32_t process, thread;
	uint32_t start, pool, kestrel, main, handler, json, serilog, stub, gc, jit, sqlite, libc,
		unnamed, kernel;
};

static struct fixture fixture_new(void)
{
	struct fixture f = {.m = build_model(2, 99)};
	struct model *m = f.m;

	f.process = build_process(m, 100, "Shop.Api", PROCESS_DOTNET);
	m->processes[f.process].exe = model_str(m, "/srv/shop/Shop.Api");
	f.thread = build_thread(m, f.process, 100, "Shop.Api", BUILD_SECOND, 'S');
	f.start = build_symbol(m, "start_thread", "libc.so.6", KIND_NATIVE, false);
	f.pool =
		build_symbol(m, "ThreadPool.Dispatch", "System.Private.CoreLib", KIND_IMAGE, false);
	f.kestrel =
		build_symbol(m, "Kestrel.Process", "Microsoft.AspNetCore.Kestrel", KIND_JIT, false);
	f.main = build_symbol(m, "Shop.Main", "Shop.Api", KIND_JIT, true);
	f.handler = build_symbol(m, "Shop.Orders.Get", "Shop.Api", KIND_JIT, true);
	f.json = build_symbol(m, "JsonSerializer.Serialize", "System.Text.Json", KIND_JIT, false);
	f.serilog = build_symbol(m, "Serilog.Log.Write", "Serilog", KIND_JIT, true);
	f.stub = build_symbol(m, "[write barrier]", "[stubs]", KIND_STUB, false);
	f.gc = build_symbol(m, "gc_heap::mark", "libcoreclr.so", KIND_NATIVE, false);
	f.jit = build_symbol(m, "host", "Shop.Api", KIND_NATIVE, true);
	f.sqlite = build_symbol(m, "sqlite3_step", "libe_sqlite3.so", KIND_NATIVE, false);
	f.libc = build_symbol(m, "memset", "libc.so.6", KIND_NATIVE, false);
	f.unnamed = build_unnamed(m, "[jit]", 0x10, KIND_JIT, REASON_NO_PERF_MAP);
	f.kernel = build_symbol(m, "do_syscall_64", "[kernel]", KIND_KERNEL, false);
	add_module(m, "/usr/lib/x86_64-linux-gnu/libc.so.6");
	add_module(m, "/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.12/libcoreclr.so");
	add_module(m, "/srv/shop/libe_sqlite3.so");
	add_module(m, "/srv/shop/Shop.Api");
	return f;
}

static void just_my_code(struct fixture *f, const struct frame_view_rule *rules, size_t cnt)
{
	cr_assert_eq(frame_view_mark_code(f->m, rules, cnt), 0);
	f->m->just_my_code = true;
}

Test(frame_view, globs)
{
	static const struct {
		const char *glob, *text;
		bool matches;
	} rows[] = {
		{"Shop", "Shop", true},
		{"Shop", "Shop.Api", false},
		{"Shop*", "Shop.Api", true},
		{"*.Api", "Shop.Api", true},
		{"*Api*", "Shop.Api", true},
		{"S*p.*i", "Shop.Api", true},
		{"s*P.*I", "Shop.Api", true},
		{"Sh?p.Api", "Shop.Api", true},
		{"Sh?p", "Shp", false},
		{"*", "", true},
		{"?", "", false},
		{"", "", true},
		{"", "x", false},
		{"**a**", "bab", true},
		{"*a*b*c", "xaxbxcx", false},
		{"lib?.so*", "libc.so.6", true},
		{"*aaaaaaab", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_expect_eq(
			frame_view_glob_matches(rows[i].glob, rows[i].text, strlen(rows[i].text)),
			rows[i].matches, "%s %s", rows[i].glob, rows[i].text);
}

Test(frame_view, a_glob_of_stars_takes_no_age)
{
	char glob[512], *text = malloc(MODEL_MAX_STRING);

	for (size_t i = 0; i + 2 < sizeof(glob); i += 2)
		memcpy(glob + i, "*a", 3);
	memset(text, 'a', MODEL_MAX_STRING);
	text[MODEL_MAX_STRING - 1] = 'b';
	cr_expect_not(frame_view_glob_matches(glob, text, MODEL_MAX_STRING));
	free(text);
}

Test(frame_view, framework_frames_fold_into_the_application_frame_that_called_them)
{
	struct fixture f = fixture_new();

	BUILD_SAMPLES(f.m, f.thread, 3, f.start, f.pool, f.kestrel, f.handler, f.json);
	BUILD_SAMPLES(f.m, f.thread, 2, f.start, f.pool, f.kestrel, f.handler, f.json, f.stub);
	BUILD_SAMPLES(f.m, f.thread, 4, f.start, f.pool, f.handler, f.libc, f.kernel);
	BUILD_SAMPLES(f.m, f.thread, 1, f.start, f.handler, f.json, f.main, f.json);
	just_my_code(&f, NULL, 0);
	expect_folded(f.m, "Shop.Api;Shop.Orders.Get_[j] 9\n"
			   "Shop.Api;Shop.Orders.Get_[j];Shop.Main_[j] 1\n");
	model_free(f.m);
}

Test(frame_view, libraries_of_the_application_stay_and_those_of_the_system_fold)
{
	struct fixture f = fixture_new();

	BUILD_SAMPLES(f.m, f.thread, 2, f.start, f.gc, f.jit, f.main, f.sqlite, f.libc);
	BUILD_SAMPLES(f.m, f.thread, 1, f.main, f.serilog, f.json);
	just_my_code(&f, NULL, 0);
	expect_folded(f.m, "Shop.Api;Shop.Main_[j];Serilog.Log.Write_[j] 1\n"
			   "Shop.Api;Shop.Main_[j];sqlite3_step 2\n");
	model_free(f.m);
}

Test(frame_view, every_sample_is_counted_where_there_is_no_application_frame_too)
{
	struct fixture f = fixture_new();
	uint32_t tid = build_thread(f.m, f.process, 101, "w", BUILD_SECOND, 'S');

	/* The managed module tells most, then the runtime's, then any. */
	BUILD_SAMPLES(f.m, f.thread, 1, f.start, f.gc, f.pool, f.kestrel, f.libc, f.kernel);
	BUILD_SAMPLES(f.m, f.thread, 2, f.start, f.gc, f.libc, f.kernel);
	BUILD_SAMPLES(f.m, f.thread, 4, f.start, f.libc);
	BUILD_SAMPLES(f.m, f.thread, 8, f.kernel);
	BUILD_SAMPLES(f.m, f.thread, 16, f.stub);
	BUILD_BROKEN(f.m, tid, 32, STACK_BROKEN, f.libc, f.libc);
	BUILD_BROKEN(f.m, tid, 64, STACK_TRUNCATED, f.pool, f.handler, f.json);
	just_my_code(&f, NULL, 0);
	expect_folded(f.m, "Shop.Api;[broken stack];[framework];libc.so.6 32\n"
			   "Shop.Api;[framework];Microsoft.AspNetCore.Kestrel_[j] 1\n"
			   "Shop.Api;[framework];[stubs] 16\n"
			   "Shop.Api;[framework];libc.so.6 4\n"
			   "Shop.Api;[framework];libcoreclr.so 2\n"
			   "Shop.Api;[kernel]_[k] 8\n"
			   "Shop.Api;[truncated];Shop.Orders.Get_[j] 64\n");
	model_free(f.m);
}

Test(frame_view, jit_code_without_a_name_may_be_anybodys_and_stays)
{
	struct fixture f = fixture_new();

	BUILD_SAMPLES(f.m, f.thread, 3, f.start, f.pool, f.unnamed, f.json);
	just_my_code(&f, NULL, 0);
	expect_folded(f.m, "Shop.Api;[jit]_[j] 3\n");
	model_free(f.m);
}

Test(frame_view, the_last_rule_that_matches_decides)
{
	static const struct frame_view_rule rules[] = {
		{"serilog*", false},	    {"System.*", true},	 {"System.Private.*", false},
		{"libe_sqlite3.so", false}, {"libc.so.?", true}, {"*stubs*", true},
	};
	struct fixture f = fixture_new();
	uint32_t image =
		build_unnamed(f.m, "System.Net.Http.dll", 0x20, KIND_IMAGE, REASON_PRECOMPILED);
	static const struct frame_view_rule bare[] = {{"System.Net.Http", true}};

	BUILD_SAMPLES(f.m, f.thread, 1, f.pool, f.main, f.json, f.stub);
	BUILD_SAMPLES(f.m, f.thread, 1, f.pool, f.main, f.serilog, f.sqlite);
	BUILD_SAMPLES(f.m, f.thread, 1, f.main, f.serilog, f.libc, f.kernel);
	just_my_code(&f, rules, sizeof(rules) / sizeof(*rules));
	expect_folded(f.m, "Shop.Api;Shop.Main_[j] 1\n"
			   "Shop.Api;Shop.Main_[j];JsonSerializer.Serialize_[j] 1\n"
			   "Shop.Api;Shop.Main_[j];memset 1\n");
	cr_expect_not(f.m->symbols[f.kernel].application);
	cr_assert_eq(frame_view_mark_code(f.m, bare, 1), 0);
	cr_expect(f.m->symbols[image].application);
	model_free(f.m);
}

Test(frame_view, self_and_total_add_up)
{
	struct fixture f = fixture_new();
	uint64_t self = 0;
	struct top *top;

	BUILD_SAMPLES(f.m, f.thread, 3, f.start, f.pool, f.handler, f.json);
	BUILD_SAMPLES(f.m, f.thread, 2, f.start, f.gc);
	BUILD_SAMPLES(f.m, f.thread, 1, f.start, f.main, f.handler, f.kernel);
	just_my_code(&f, NULL, 0);
	top = top_new(f.m, f.process);
	cr_assert(top);
	cr_expect_eq(top->samples, 6);
	for (size_t i = 0; i < top->methods.rows_cnt; i++) {
		const struct top_row *row = &top->methods.rows[i];
		const char *name = f.m->symbols[row->symbol].name;

		self += row->self;
		if (!strcmp(name, "Shop.Orders.Get"))
			cr_expect(row->self == 4 && row->total == 4);
		if (!strcmp(name, "[framework]"))
			cr_expect(row->self == 0 && row->total == 2);
	}
	cr_expect_eq(self, 6);
	top_free(top);
	model_free(f.m);
}

Test(frame_view, what_is_unnamed_is_counted_over_all_frames)
{
	struct fixture f = fixture_new();
	uint32_t stripped =
		build_unnamed(f.m, "libcoreclr.so", 0x40, KIND_NATIVE, REASON_NO_SYMBOL);
	struct unnamed *unnamed;

	BUILD_SAMPLES(f.m, f.thread, 3, f.start, stripped, f.handler, stripped);
	just_my_code(&f, NULL, 0);
	unnamed = unnamed_new(f.m, f.process);
	cr_assert(unnamed);
	cr_expect_eq(unnamed->frames, 12);
	unnamed_free(unnamed);
	model_free(f.m);
}

Test(frame_view, raw_names_are_a_row_each)
{
	struct model *m = build_model(2, 99);
	uint32_t process = build_process(m, 100, "app", PROCESS_DOTNET);
	uint32_t thread = build_thread(m, process, 100, "app", BUILD_SECOND, 'S');
	uint32_t one = build_symbol(m, "P.Go", "a", KIND_JIT, false);
	uint32_t two = build_symbol(m, "P.Go", "a", KIND_IMAGE, false);

	m->symbols[one].raw = model_str(m, "void [a] P::Go(int32)");
	m->symbols[two].raw = model_str(m, "void [a] P::Go(string)");
	BUILD_SAMPLES(m, thread, 1, one);
	BUILD_SAMPLES(m, thread, 2, two);
	expect_folded(m, "app;P.Go_[j] 3\n");
	frame_view_raw_names(m);
	expect_folded(m, "app;void [a] P::Go(int32)_[j] 1\n"
			 "app;void [a] P::Go(string) 2\n");
	model_free(m);
}

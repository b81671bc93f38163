/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/types.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "golden.h"
#include "model/frame_view.h"
#include "output/report.h"
#include "output/report_text.h"
#include "report_support.h"

#define CS (BUILD_SECOND / 100)

/* The stacks of a web service, from thread start to its own code. */
struct service {
	uint32_t start, clr, worker, dispatch, box, endpoint, orders, price, discount, json, gc,
		sha;
	uint32_t r2r, send, syscall, tcp, copy;
};

static struct service service_symbols(struct model *m)
{
	const char *corelib = "System.Private.CoreLib";

	return (struct service){
		.start = build_symbol(m, "start_thread", "libc.so.6", KIND_NATIVE, false),
		.clr = build_unnamed(m, "libcoreclr.so", 0x51230, KIND_NATIVE, REASON_NO_SYMBOL),
		.worker = build_symbol(
			m, "System.Threading.PortableThreadPool+WorkerThread.WorkerThreadStart",
			corelib, KIND_JIT, false),
		.dispatch = build_symbol(m, "System.Threading.ThreadPoolWorkQueue.Dispatch",
					 corelib, KIND_JIT, false),
		.box = build_symbol(
			m,
			"System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+"
			"AsyncStateMachineBox`1[System.__Canon,Shop.Api.OrdersEndpoint+<Get>d__3]."
			"ExecuteFromThreadPool",
			corelib, KIND_JIT, false),
		.endpoint = build_symbol(m, "Shop.Api.OrdersEndpoint.Get (async)", "Shop.Api",
					 KIND_JIT, true),
		.orders =
			build_symbol(m, "Shop.Orders.OrderBook.Load", "Shop.Core", KIND_JIT, true),
		.price = build_symbol(m, "Shop.Pricing.PriceEngine.Compute", "Shop.Core", KIND_JIT,
				      true),
		.discount = build_symbol(m, "Shop.Pricing.Discounts.Apply", "Shop.Core", KIND_JIT,
					 true),
		.json = build_symbol(m, "System.Text.Json.JsonSerializer.Serialize",
				     "System.Text.Json", KIND_JIT, false),
		.gc = build_unnamed(m, "libclrgc.so", 0x4242, KIND_NATIVE, REASON_NO_SYMBOL),
		.sha = build_symbol(m, "SHA256_Update", "libcrypto.so.3", KIND_NATIVE, false),
		.r2r = build_unnamed(m, "System.Private.CoreLib.dll", 0x9000, KIND_IMAGE,
				     REASON_PRECOMPILED),
		.send = build_symbol(m, "send", "libc.so.6", KIND_NATIVE, false),
		.syscall = build_symbol(m, "do_syscall_64", "[kernel]", KIND_KERNEL, false),
		.tcp = build_symbol(m, "tcp_sendmsg", "[kernel]", KIND_KERNEL, false),
		.copy = build_symbol(m, "nft_do_chain", "nf_tables", KIND_KERNEL, false),
	};
}

static void service_samples(struct model *m, const struct service *s, uint32_t worker, uint32_t n)
{
	BUILD_SAMPLES(m, worker, 40 * n, s->start, s->clr, s->worker, s->dispatch, s->box,
		      s->endpoint, s->orders, s->price, s->discount);
	BUILD_SAMPLES(m, worker, 22 * n, s->start, s->clr, s->worker, s->dispatch, s->box,
		      s->endpoint, s->orders, s->price);
	BUILD_SAMPLES(m, worker, 5 * n, s->start, s->clr, s->worker, s->dispatch, s->box,
		      s->endpoint, s->orders, s->price, s->sha);
	BUILD_SAMPLES(m, worker, 12 * n, s->start, s->clr, s->worker, s->dispatch, s->box,
		      s->endpoint, s->json, s->r2r);
	BUILD_SAMPLES(m, worker, 4 * n, s->start, s->clr, s->worker, s->dispatch, s->r2r);
	BUILD_BROKEN(m, worker, 6 * n, STACK_BROKEN, s->send, s->syscall, s->tcp, s->copy);
	build_broken_at(m, "/usr/lib/x86_64-linux-gnu/libc.so.6");
}

static uint32_t add_service(struct model *m)
{
	struct service s = service_symbols(m);
	uint32_t p = build_process(m, 1234, "Shop.Api", PROCESS_DOTNET), t;
	struct model_process *process = &m->processes[p];

	process->unit = model_str(m, "shop-api.service");
	process->exe = model_str(m, "/usr/share/dotnet/dotnet");
	process->ns_pid = 7;
	process->perf_map = REASON_NAMED;
	build_thread(m, p, 1234, "Shop.Api", 0, 'S');
	for (uint32_t i = 0; i < 4; i++) {
		t = build_thread(m, p, 1240 + i, ".NET TP Worker", 180 * CS, 'S');
		service_samples(m, &s, t, 2);
	}
	t = build_thread(m, p, 1250, ".NET Server GC", 61 * CS, 'S');
	BUILD_SAMPLES(m, t, 60, s.start, s.clr, s.gc);
	build_thread(m, p, 1251, ".NET TP Gate", CS / 4, 'S');
	build_thread(m, p, 1252, "outbox-1", 3 * CS, 'S');
	build_thread(m, p, 1253, "outbox-12", 2 * CS, 'S');
	build_thread(m, p, 1254, ".NET Sockets", 9 * CS, 'S');
	return p;
}

static void add_others(struct model *m)
{
	uint32_t p = build_process(m, 800, "postgres", 0), t;
	uint32_t main_ = build_symbol(m, "main", "postgres", KIND_NATIVE, true);
	uint32_t exec = build_symbol(m, "ExecScan", "postgres", KIND_NATIVE, true);
	uint32_t hash = build_symbol(m, "hash_search", "postgres", KIND_NATIVE, true);
	uint32_t kmain = build_symbol(m, "worker_thread", "[kernel]", KIND_KERNEL, false);

	m->processes[p].container = model_str(m, "db-0/3f2a91c04d11");
	t = build_thread(m, p, 800, "postgres", 50 * CS, 'S');
	BUILD_SAMPLES(m, t, 20, main_, exec);
	BUILD_SAMPLES(m, t, 29, main_, exec, hash);
	p = build_process(m, 40, "kworker/0:1", PROCESS_KERNEL);
	t = build_thread(m, p, 40, "kworker/0:1", 4 * CS, 'I');
	BUILD_SAMPLES(m, t, 4, kmain);
	p = build_process(m, 41, "ksoftirqd/0", PROCESS_KERNEL);
	build_thread(m, p, 41, "ksoftirqd/0", 0, 'S');
	p = build_process(m, 9000, "hotrun", PROCESS_SELF);
	build_thread(m, p, 9000, "hotrun", 2 * CS, 'S');
	p = build_process(m, 500, "cron", 0);
	build_thread(m, p, 500, "cron", 0, 'S');
	m->processes[p].unit = model_str(m, "cron.service");
	p = build_process(m, 600, "Shop.Stuck", PROCESS_DOTNET);
	for (uint32_t i = 0; i < 12; i++)
		build_thread(m, p, 600 + i, ".NET TP Worker", 0, i ? 'S' : 'D');
	for (uint32_t i = 0; i < 12; i++) {
		p = build_process(m, 3000 + i, "sh", 0);
		build_thread(m, p, 3000 + i, "sh", CS / 2, 'X');
	}
}

Test(report, dotnet_service_under_load)
{
	struct model *m = build_model(2, 99);

	add_service(m);
	add_others(m);
	build_books(m, 10);
	report_expect("report_service.txt", m, &(struct report_options){.all = true});
}

Test(report, just_my_code_folds_the_framework)
{
	struct model *m = build_model(2, 99);

	add_service(m);
	add_others(m);
	build_books(m, 10);
	cr_assert_eq(frame_view_mark_code(m, NULL, 0), 0);
	m->just_my_code = true;
	report_expect("report_my_code.txt", m, &(struct report_options){.process_cnt = 1});
}

Test(report, first_screen_alone_fits_80_columns)
{
	struct model *m = build_model(2, 99);

	add_service(m);
	add_others(m);
	build_books(m, 10);
	report_expect("report_summary.txt", m,
		      &(struct report_options){.width = 80, .summary = true});
}

Test(report, bottom_up_of_one_process)
{
	struct model *m = build_model(2, 99);
	uint32_t p = add_service(m);

	add_others(m);
	build_books(m, 10);
	report_expect(
		"report_bottom_up.txt", m,
		&(struct report_options){
			.bottom_up = true, .processes = &p, .process_cnt = 1, .min_share = 0.05});
}

#define EVIL "\033[31mred\033[0m\n;<script>alert(1)</script>\xff\xc3\xe2\x80\xae\x07"

Test(report, hostile_names_stay_on_one_line_and_steer_nothing)
{
	struct model *m = build_model(1, 99);
	struct model_process *process;
	char long_name[5000];
	uint32_t p, t, a, b;

	memset(long_name, 'A', sizeof(long_name));
	memcpy(long_name, EVIL, strlen(EVIL));
	long_name[sizeof(long_name) - 1] = '\0';
	p = build_process(m, 66, EVIL, PROCESS_DOTNET);
	process = &m->processes[p];
	process->unit = model_str(m, EVIL);
	process->container = model_str(m, long_name);
	process->exe = model_str(m, long_name);
	process->perf_map = REASON_PERF_MAP_UNSAFE;
	m->host.name = model_str(m, EVIL);
	m->host.filter = model_str(m, EVIL);
	t = build_thread(m, p, 67, EVIL, 50 * CS, 'R');
	a = build_symbol(m, EVIL, EVIL, KIND_JIT, true);
	b = build_symbol(m, long_name, long_name, KIND_NATIVE, false);
	BUILD_SAMPLES(m, t, 30, a, b);
	BUILD_BROKEN(m, t, 20, STACK_BROKEN, a);
	build_broken_at(m, "/tmp/" EVIL);
	build_books(m, 1);
	report_expect("report_hostile.txt", m, &(struct report_options){.all = true});
}

Test(report, no_control_byte_but_newline_ever_leaves)
{
	struct model *m = build_model(1, 99);
	uint32_t p = build_process(m, 66, EVIL, 0);
	uint32_t t = build_thread(m, p, 67, EVIL, 50 * CS, 'R');
	uint32_t a = build_symbol(m, EVIL, EVIL, KIND_JIT, true);
	size_t len;
	char *text;

	BUILD_SAMPLES(m, t, 30, a);
	build_books(m, 1);
	text = report_text(m, &(struct report_options){.all = true}, &len);
	for (size_t i = 0; i < len; i++)
		cr_assert((unsigned char)text[i] >= 0x20 || text[i] == '\n', "byte %02x at %zu",
			  text[i], i);
	cr_assert(!strstr(text, "\xe2\x80\xae"), "an override of the text direction");
	free(text);
	model_free(m);
}

Test(report, losses_and_gaps_withhold_shares_and_tell_remedies)
{
	struct model *m = build_model(2, 99);
	struct service s = service_symbols(m);
	uint32_t p = build_process(m, 1234, "Shop.Api", PROCESS_DOTNET);
	uint32_t t = build_thread(m, p, 1240, ".NET TP Worker", 700 * CS, 'S');
	uint32_t jit = build_unnamed(m, "memfd:doublemapper", 0x100, KIND_JIT, REASON_NO_PERF_MAP);

	m->processes[p].perf_map = REASON_NO_PERF_MAP;
	BUILD_BROKEN(m, t, 300, STACK_TRUNCATED, s.start, jit, s.clr);
	for (int i = 0; i < 10; i++)
		build_slice(m, BUILD_SECOND, 40 * CS, 10 * CS, 45);
	for (size_t i = 0; i < m->cpus_cnt; i++)
		m->cpus[i].steal_ns = 20 * CS;
	model_loss_add(m, LOSS_SAMPLE_RING_FULL, 480);
	model_loss_add(m, LOSS_STACK_RING_FULL, 31);
	model_loss_add(m, LOSS_ACCOUNT_MISSING, 12345);
	model_loss_add(m, LOSS_BAD_RECORD, 1);
	model_loss_add(m, LOSS_TICKS_MISSED, 90);
	model_loss_add(m, LOSS_ENDPOINTS, 3950);
	m->processes[build_process(m, 4711, "taker", 0)].requests_refused = 3944;
	m->processes[p].requests_refused = 6;
	model_loss_add(m, LOSS_MODEL_LIMIT, 700);
	m->processes[p].mappings_refused = 650;
	m->processes[p].files_refused = 3;
	m->processes[p].map_unread_bytes = 412000000;
	m->processes[p].names_aside_ns = m->host.end_ns - 12 * BUILD_SECOND / 10;
	m->processes[p].naming_cpu_ns = 1234 * 1000000;
	report_expect("report_losses.txt", m, NULL);
}

Test(report, empty_capture)
{
	struct model *m = build_model(2, 99);

	build_slice(m, BUILD_SECOND, 0, 0, 0);
	report_expect("report_empty.txt", m, NULL);
}

Test(report, capture_cut_short_before_its_first_slice)
{
	struct model *m = build_model(2, 99);

	m->host.complete = false;
	report_expect("report_no_slice.txt", m, NULL);
}

Test(report, capture_cut_short_tells_so_and_shows_what_is_there)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 77, "batch", 0);
	uint32_t t = build_thread(m, p, 77, "batch", 99 * CS, 'R');
	uint32_t pending = build_unnamed(m, "batch", 0x40, KIND_NATIVE, REASON_PENDING);
	uint32_t main_ = build_symbol(m, "main", "batch", KIND_NATIVE, true);

	BUILD_SAMPLES(m, t, 80, main_, pending);
	BUILD_SAMPLES(m, t, 18, main_);
	build_books(m, 3);
	m->host.complete = false;
	report_expect("report_cut.txt", m, NULL);
}

Test(report, capture_still_being_recorded_is_not_called_cut_short)
{
	struct model *m = build_model(2, 99);
	size_t len;
	char *text;

	m->host.complete = false;
	m->host.running = true;
	text = report_text(m, NULL, &len);
	cr_expect(strstr(text,
			 "web-1 · 2 CPUs · no second of it is written yet · 99 Hz\nstill being "
			 "recorded, this is what it has so far\n"),
		  "%s", text);
	cr_expect(!strstr(text, "ended early"));
	free(text);
	model_free(m);
}

Test(report, time_in_no_books_is_not_told_as_wrong_time_of_threads)
{
	struct model *m = build_model(2, 99);
	size_t len;
	char *text;

	for (int i = 0; i < 5; i++) {
		build_slice(m, BUILD_SECOND, 0, 0, 0);
		m->cpus[m->cpus_cnt - 1].elapsed_ns -= 10 * CS;
		m->cpus[m->cpus_cnt - 1].idle_ns -= 10 * CS;
	}
	text = report_text(m, NULL, &len);
	cr_expect(strstr(text, ": 500.0 ms are in no CPU's books\n"), "%s", text);
	cr_expect(!strstr(text, "are off"));
	free(text);
	model_free(m);
}

Test(report, what_was_selected_is_told_though_idle_and_the_others_fold)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 77, "Shop.Idle", PROCESS_DOTNET | PROCESS_SELECTED);

	build_thread(m, p, 77, "Shop.Idle", 0, 'S');
	p = build_process(m, 78, "busy", 0);
	build_thread(m, p, 78, "busy", 150 * CS, 'R');
	p = build_process(m, 79, "less", 0);
	build_thread(m, p, 79, "less", 10 * CS, 'R');
	p = build_process(m, 9000, "hotrun", PROCESS_SELF);
	build_thread(m, p, 9000, "hotrun", CS, 'S');
	m->host.filter = model_str(m, "-p 77");
	build_books(m, 3);
	for (size_t i = 0; i < m->cpus_cnt; i++) {
		m->cpus[i].ticks_taken = m->cpus[i].accounted_ns * 99 / BUILD_SECOND;
		m->cpus[i].ticks_filtered = m->cpus[i].ticks_taken;
	}
	report_expect("report_selected.txt", m, NULL);
}

/* Eleven compilers, of which none is big, one that calls itself, and a build with its code in many
 * places; the recording beside another. */
static void add_build(struct model *m)
{
	uint32_t cc = build_unnamed(m, "cc1", 0x100, KIND_NATIVE, REASON_NO_SYMBOL);
	uint32_t rec = build_symbol(m, "fold_rtx", "cc1", KIND_NATIVE, false);
	uint32_t jit = build_unnamed(m, "memfd:doublemapper", 0x100, KIND_JIT, REASON_NO_PERF_MAP);
	uint32_t task = build_symbol(m, "Build.Task", "Build", KIND_JIT, true);
	uint32_t p, t;

	for (uint32_t i = 0; i < 11; i++) {
		p = build_process(m, 100 + i, "cc1", 0);
		t = build_thread(m, p, 100 + i, "cc1", (20 + i) * CS, 'X');
		BUILD_SAMPLES(m, t, 8, rec, rec, rec, rec, cc);
		BUILD_BROKEN(m, t, 12 + i, STACK_BROKEN, cc);
		build_broken_at(m, "/lib/libc.so.6");
	}
	p = build_process(m, 50, "dotnet build", PROCESS_DOTNET);
	m->processes[p].perf_map = REASON_NAMED;
	t = build_thread(m, p, 50, "dotnet", 900 * CS, 'S');
	BUILD_SAMPLES(m, t, 36, task);
	BUILD_SAMPLES(m, t, 810, jit, jit);
	BUILD_BROKEN(m, t, 54, STACK_BROKEN, jit);
	build_broken_at(m, "");
	for (uint32_t i = 0; i < 4; i++) {
		p = build_process(m, 9000 + i, "hotrun", i == 1 ? PROCESS_SELF : 0);
		build_thread(m, p, 9000 + i, "hotrun", CS, 'S');
		p = build_process(m, 200 + i, "sleep", 0);
		build_thread(m, p, 200 + i, "sleep", 0, 'S');
	}
}

Test(report, groups_are_told_by_their_heaviest_and_nothing_is_named_that_holds_little)
{
	struct model *m = build_model(2, 99);

	add_build(m);
	build_books(m, 60);
	model_loss_add(m, LOSS_SWITCH_UNSEEN, 3);
	report_expect("report_groups.txt", m, &(struct report_options){.all = true});
}

Test(report, no_name_is_wider_than_the_page)
{
	static const unsigned int widths[] = {80, 100, 132, 200};
	struct model *m = build_model(2, 99);

	add_service(m);
	add_others(m);
	build_books(m, 10);
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		struct report_options options = {.width = widths[i]};
		size_t len;
		char *text = report_text(m, &options, &len);

		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			cr_expect(text_columns(line) <= widths[i], "%zu columns of %u: %s",
				  text_columns(line), widths[i], line);
		free(text);
	}
	model_free(m);
}

Test(report, a_tree_ends_at_its_lines)
{
	struct model *m = build_model(2, 99);
	uint32_t p = add_service(m);
	size_t len;
	char *text;

	build_books(m, 10);
	text = report_text(
		m, &(struct report_options){.lines = 3, .processes = &p, .process_cnt = 1}, &len);
	cr_expect(strstr(text, "did not fit into 3 lines"));
	free(text);
	model_free(m);
}

Test(report, says_when_its_output_failed)
{
	struct model *m = build_model(1, 99);
	FILE *full = fopen("/dev/full", "w");

	cr_assert(full);
	cr_expect_eq(report_write(full, m, NULL), -EIO);
	fclose(full);
	model_free(m);
}

Test(report, numbers_do_not_follow_the_locale)
{
	setlocale(LC_ALL, "de_DE.UTF-8");
	cr_expect_str_eq(number_fixed(1234.56, 1).text, "1234.6");
	cr_expect_str_eq(number_percent(0.5).text, "50.0 %");
	cr_expect_str_eq(number_count(0).text, "0");
	cr_expect_str_eq(number_count(999).text, "999");
	cr_expect_str_eq(number_count(1234567).text, "1,234,567");
	cr_expect_str_eq(number_fixed(-0.001, 2).text, "0.00");
	cr_expect_str_eq(number_fixed(-1.5, 0).text, "-2");
	cr_expect_str_eq(number_fixed(0.0 / 0.0, 2).text, "-");
	cr_expect_str_eq(number_time(1500000000).text, "1.5 s");
	cr_expect_str_eq(number_time(2500000).text, "2.5 ms");
	cr_expect_str_eq(number_time(900).text, "1 us");
	cr_expect_str_eq(number_utc(1795255200).text, "2026-11-21 10:00:00 UTC");
	cr_expect_str_eq(number_utc(0).text, "time unknown");
}

struct cut_case {
	const char *text;
	size_t columns;
	enum text_cut cut;
	const char *expected;
};

static const struct cut_case cut_cases[] = {
	{"abcdef", 6, CUT_END, "abcdef"},    {"abcdefgh", 5, CUT_END, "abcd…"},
	{"abcdefgh", 5, CUT_START, "…efgh"}, {"abcdefgh", 5, CUT_MIDDLE, "ab…gh"},
	{"äöüßäöüß", 4, CUT_MIDDLE, "ä…üß"}, {"abcdef", 5, CUT_START, "…def"},
	{"abcdef", 5, CUT_END, "abc…"},	     {"abcdef", 2, CUT_END, "ab"},
	{"abcdef", 0, CUT_END, ""},
};

Test(report, names_are_cut_where_they_tell_least)
{
	for (size_t i = 0; i < sizeof(cut_cases) / sizeof(cut_cases[0]); i++) {
		char buf[64];

		strcpy(buf, cut_cases[i].text);
		text_shorten(buf, cut_cases[i].columns, cut_cases[i].cut);
		cr_expect_str_eq(buf, cut_cases[i].expected, "%s in %zu: %s", cut_cases[i].text,
				 cut_cases[i].columns, buf);
	}
}

static const char *const fold_cases[][2] = {
	{"N.Node<Tuple<A, B>, Canon>.Get", "N.Node<…>.Get"},
	{"N.Box`1[System.__Canon,X+<Get>d__3].Run", "N.Box`1[…].Run"},
	{"std::map<std::string, int>::find<std::string>", "std::map<…>::find<…>"},
	{"N.List<int>.Add", "N.List<int>.Add"},
	{"N.T.<Get>b__0", "N.T.<Get>b__0"},
	{"operator<<(std::ostream&)", "operator<<(std::ostream&)"},
	{"<<<<<<<<<<<<", "<<<<<<<<<<<<"},
	{"[a whole name in brackets]", "[a whole name in brackets]"},
	{"", ""},
};

Test(report, long_type_arguments_fold_and_lone_brackets_stay)
{
	for (size_t i = 0; i < sizeof(fold_cases) / sizeof(fold_cases[0]); i++) {
		char buf[64];

		strcpy(buf, fold_cases[i][0]);
		text_fold_arguments(buf);
		cr_expect_str_eq(buf, fold_cases[i][1], "%s: %s", fold_cases[i][0], buf);
	}
}

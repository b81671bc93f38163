/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "golden.h"
#include "output/report_text.h"
#include "output/top_text.h"

#define MS 1000000ull

/* The service has two ports, of which one hangs. */
static void build_requests(struct model *m, uint32_t process)
{
	uint32_t http = build_endpoint(m, process, "0.0.0.0", 8080);
	struct model_service stand = {
		.endpoint = build_endpoint(m, process, "0.0.0.0", 8081),
		.open = 12,
		.late = 12,
		.stuck = 9,
		.oldest_ns = 11000 * MS,
	};

	build_answers(m, 0, http, 3 * MS, 180);
	build_answers(m, 0, http, 700 * MS, 8);
	build_service(m, &stand);
}

/* One interval of a service beside a batch job and a hostile name. */
static struct model *busy_host(uint32_t *ret_service)
{
	struct model *m = build_model(2, 99);
	uint32_t api = build_process(m, 4711, "Shop.Api", PROCESS_DOTNET);
	uint32_t job = build_process(m, 99, "ev\033[31mil\n\xff", 0);
	uint32_t kernel = build_process(m, 15, "rcu_preempt", PROCESS_KERNEL);
	uint32_t self = build_process(m, 500, "hotrun", PROCESS_SELF);
	uint32_t idle = build_process(m, 501, "idle", 0);
	uint32_t price =
		build_symbol(m, "Shop.Pricing.PriceEngine.Compute", "Shop.Core", KIND_JIT, true);
	uint32_t json = build_symbol(m, "System.Text.Json.JsonSerializer.Serialize",
				     "System.Text.Json", KIND_JIT, false);
	uint32_t copy = build_symbol(m, "copy_user_generic", "[kernel]", KIND_KERNEL, false);
	uint32_t worker = build_thread(m, api, 4712, ".NET TP Worker", 600 * MS, 'R');
	uint32_t second = build_thread(m, api, 4713, "pricing", 400 * MS, 'S');
	uint32_t loop = build_thread(m, job, 99, "loop", 700 * MS, 'R');

	m->processes[api].unit = model_str(m, "shop.service");
	build_thread(m, idle, 501, "idle", 0, 'S');
	build_thread(m, kernel, 15, "rcu_preempt", 1 * MS, 'I');
	build_thread(m, self, 500, "hotrun", 2 * MS, 'R');
	build_sched(m, worker,
		    &(struct sched_figures){.waited_ns = 900 * MS,
					    .behind_own_ns = 300 * MS,
					    .throttled_ns = 500 * MS,
					    .voluntary = 1200,
					    .involuntary = 34});
	build_sched(m, second, &(struct sched_figures){.waited_ns = 100 * MS, .voluntary = 10});
	build_sched(m, loop, &(struct sched_figures){.waited_ns = 1300 * MS, .involuntary = 250});
	build_delays(m, 0, worker, 3 * MS, 500);
	build_delays(m, 0, worker, 40 * MS, 20);
	build_delays(m, 0, second, 5000, 10);
	build_delays(m, 0, loop, 8 * MS, 250);
	BUILD_SAMPLES(m, worker, 40, price, json);
	BUILD_SAMPLES(m, worker, 19, json);
	BUILD_SAMPLES(m, second, 5, price);
	BUILD_SAMPLES(m, loop, 69, copy);
	build_requests(m, api);
	build_books(m, 1);
	for (size_t i = 0; i < m->cpus_cnt; i++)
		m->cpus[i].switches = 5000;
	*ret_service = api;
	return m;
}

static void expect_view(const char *golden, struct top_view *v, size_t rows, size_t columns)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	cr_assert_eq(top_text_write(out, v, rows, columns), 0);
	fclose(out);
	golden_expect(golden, text, len);
	free(text);
}

Test(top_screen, processes)
{
	static const struct {
		const char *golden;
		size_t rows, columns;
		enum top_order order;
	} cases[] = {
		{"top_wide.txt", 10, 130, TOP_BY_CPU},	 {"top_100.txt", 10, 100, TOP_BY_WAITING},
		{"top_60.txt", 10, 60, TOP_BY_SWITCHES}, {"top_rows.txt", 2, 130, TOP_BY_CPU},
		{"top_120.txt", 10, 120, TOP_BY_SLOW},	 {"top_160.txt", 10, 160, TOP_BY_VERDICT},
	};
	uint32_t service;
	struct model *m = busy_host(&service);
	struct top_view *v = top_view_new(m, NULL);

	cr_assert(v);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_assert_eq(top_view_arrange(v, MODEL_NONE, cases[i].order), 0);
		expect_view(cases[i].golden, v, cases[i].rows, cases[i].columns);
	}
	top_view_free(v);
	model_free(m);
}

Test(top_screen, threads_of_a_process)
{
	uint32_t service;
	struct model *m = busy_host(&service);
	struct top_view *v = top_view_new(m, NULL);

	cr_assert(v);
	cr_assert_eq(top_view_arrange(v, service, TOP_BY_CPU), 0);
	expect_view("top_threads.txt", v, 10, 130);
	top_view_free(v);
	model_free(m);
}

Test(top_screen, orders)
{
	static const struct {
		const char *name;
		enum top_order order;
		uint32_t pids[4];
	} cases[] = {
		{"by CPU", TOP_BY_CPU, {4711, 99, 500, 15}},
		{"by waiting", TOP_BY_WAITING, {99, 4711, 500, 15}},
		{"by switches", TOP_BY_SWITCHES, {4711, 99, 500, 15}},
		{"by slow requests", TOP_BY_SLOW, {4711, 99, 500, 15}},
		{"by verdict", TOP_BY_VERDICT, {4711, 99, 500, 15}},
	};
	uint32_t service;
	struct model *m = busy_host(&service);
	struct top_view *v = top_view_new(m, NULL);

	cr_assert(v);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_assert_eq(top_view_arrange(v, MODEL_NONE, cases[i].order), 0);
		cr_assert_eq(v->rows_cnt, 4, "the idle one is not listed");
		for (size_t k = 0; k < 4; k++)
			cr_expect_eq(m->processes[v->rows[k]].tgid, cases[i].pids[k], "%s: row %zu",
				     cases[i].name, k);
	}
	top_view_free(v);
	model_free(m);
}

/* Whoever reads the column sees it fall, and what looks equal stands by CPU. */
Test(top_screen, rows_stand_in_the_order_of_the_figures_shown)
{
	static const struct {
		uint32_t pid;
		uint64_t on_cpu_ns, waited_ns;
	} cases[] = {
		/* 0.016: 0.02 */
		{3, 2 * MS, 16 * MS},
		/* 0.014 and 0.0145: 0.01 */
		{1, 300 * MS, 14 * MS},
		{2, 5 * MS, 14500000},
		{4, 700 * MS, 0},
	};
	struct model *m = build_model(2, 99);
	struct top_view *v;

	for (size_t i = 4; i-- > 0;) {
		uint32_t process = build_process(m, cases[i].pid, "worker", 0);
		uint32_t thread =
			build_thread(m, process, cases[i].pid, "worker", cases[i].on_cpu_ns, 'R');

		build_sched(m, thread, &(struct sched_figures){.waited_ns = cases[i].waited_ns});
	}
	build_books(m, 1);
	v = top_view_new(m, NULL);
	cr_assert(v);
	cr_assert_eq(top_view_arrange(v, MODEL_NONE, TOP_BY_WAITING), 0);
	cr_assert_eq(v->rows_cnt, 4);
	for (size_t i = 0; i < 4; i++)
		cr_expect_eq(m->processes[v->rows[i]].tgid, cases[i].pid, "row %zu", i);
	top_view_free(v);
	model_free(m);
}

/* By slow requests: those that hang, then the slow share, then who serves, then the others by
 * CPU. */
Test(top_screen, who_serves_badly_comes_first)
{
	static const struct {
		uint32_t pid, fast, slow, stuck;
	} cases[] = {{5, 100, 0, 2}, {4, 10, 1, 0}, {3, 1000, 1, 0}, {2, 50, 0, 0}, {1, 0, 0, 0}};
	struct model *m = build_model(2, 99);
	struct top_view *v;

	for (size_t i = 5; i-- > 0;) {
		uint32_t process = build_process(m, cases[i].pid, "web", 0), endpoint;
		struct model_service stand = {
			.open = cases[i].stuck, .late = cases[i].stuck, .stuck = cases[i].stuck};

		if (cases[i].pid == 1) {
			build_thread(m, process, 1, "job", 900 * MS, 'R');
			continue;
		}
		stand.endpoint = endpoint = build_endpoint(m, process, "::", 80);
		build_answers(m, 0, endpoint, MS, cases[i].fast);
		build_answers(m, 0, endpoint, 1000 * MS, cases[i].slow);
		build_service(m, &stand);
	}
	build_books(m, 1);
	v = top_view_new(m, NULL);
	cr_assert(v);
	cr_assert_eq(top_view_arrange(v, MODEL_NONE, TOP_BY_SLOW), 0);
	cr_assert_eq(v->rows_cnt, 5, "those that want no CPU are listed when they serve");
	for (size_t i = 0; i < 5; i++)
		cr_expect_eq(m->processes[v->rows[i]].tgid, cases[i].pid, "row %zu", i);
	top_view_free(v);
	model_free(m);
}

/* A hang on an idle host: the service that wants no CPU stands first. */
Test(top_screen, who_is_hurt_most_comes_first_by_verdict)
{
	struct model *m = build_model(2, 99);
	uint32_t busy = build_process(m, 1, "job", 0), web = build_process(m, 2, "web", 0);
	struct model_service stand = {.open = 30, .late = 30, .stuck = 30};
	char line[TOP_LINE_BYTES];
	struct top_view *v;

	build_thread(m, busy, 1, "job", 300 * MS, 'R');
	stand.oldest_ns = 20000 * MS;
	stand.endpoint = build_endpoint(m, web, "::", 80);
	build_service(m, &stand);
	build_books(m, 1);
	v = top_view_new(m, NULL);
	cr_assert(v);
	cr_assert_eq(top_view_arrange(v, MODEL_NONE, TOP_BY_VERDICT), 0);
	cr_assert_eq(v->rows_cnt, 2);
	cr_expect_eq(v->rows[0], web);
	cr_expect_eq(top_view_verdict(v, 0)->verdict, VERDICT_INELASTIC);
	cr_expect_eq(top_view_verdict(v, 1)->verdict, VERDICT_HEALTHY);
	top_text_head(line, v, 130);
	cr_expect(strstr(line, ", 1 hurt, by verdict"), "%s", line);
	top_text_host(line, v, 130);
	cr_expect(strstr(line, "verdict inelastic · "), "%s", line);
	top_view_free(v);
	model_free(m);
}

/* Accounts are read before the books of CPUs; what is more apart withholds the verdicts. */
Test(top_screen, books_of_a_slice_may_be_apart_by_their_reading)
{
	static const struct {
		const char *name;
		uint64_t missing_ns;
		bool judged;
	} cases[] = {
		{"none", 0, true}, {"a late reading", 100 * MS, true}, {"a gap", 140 * MS, false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model *m = build_model(2, 99);
		uint32_t p = build_process(m, 7, "job", 0);
		struct top_view *v;

		build_thread(m, p, 7, "job", 1000 * MS, 'R');
		build_thread(m, p, 8, "job", 1000 * MS, 'R');
		build_books(m, 1);
		m->accounts[0].sched.on_cpu_ns -= cases[i].missing_ns;
		v = top_view_new(m, NULL);
		cr_assert(v);
		cr_expect_eq(top_view_verdict(v, 0) != NULL, cases[i].judged, "%s", cases[i].name);
		cr_expect_eq(v->verdicts->host.result.verdict != VERDICT_NO_EVIDENCE,
			     cases[i].judged, "%s", cases[i].name);
		top_view_free(v);
		model_free(m);
	}
}

Test(top_screen, threads_are_not_ordered_by_requests)
{
	uint32_t service;
	struct model *m = busy_host(&service);
	struct top_view *v = top_view_new(m, NULL);

	cr_assert(v);
	cr_assert_eq(top_view_arrange(v, service, TOP_BY_SLOW), 0);
	cr_expect_eq(v->order, TOP_BY_CPU);
	cr_expect_null(top_view_requests(v, 0));
	cr_expect_null(top_view_verdict(v, 0));
	top_view_free(v);
	model_free(m);
}

/* The view of a slice stays on the screen while the model takes in the next one. */
Test(top_screen, a_view_outlives_its_slice)
{
	uint32_t service;
	struct model *m = busy_host(&service);
	struct top_view *v = top_view_new(m, NULL);

	cr_assert(v);
	model_forget_slice(m);
	m->slices_cnt = 0;
	for (uint32_t i = 0; i < 1000; i++)
		build_thread(m, build_process(m, 10000 + i, "new", 0), 10000 + i, "new", MS, 'R');
	cr_assert_eq(top_view_arrange(v, MODEL_NONE, TOP_BY_CPU), 0);
	expect_view("top_wide.txt", v, 10, 130);
	cr_assert_eq(top_view_arrange(v, service, TOP_BY_CPU), 0);
	cr_expect_eq(v->rows_cnt, 2);
	top_view_free(v);
	model_free(m);
}

Test(top_screen, the_hottest_method_is_named_when_samples_tell_it)
{
	static const struct {
		const char *name;
		uint32_t application, under, leaf;
		const char *hottest; /* NULL = n/a */
	} cases[] = {
		{"the application's method, though it is not the leaf", 0, 30, 0, "App.Work"},
		{"the application's own code", 30, 0, 0, "App.Work"},
		{"without application code the leaf", 0, 0, 30, "memcpy"},
		{"the larger part", 10, 0, 30, "memcpy"},
		{"too few", 9, 0, 0, NULL},
		{"just enough", 10, 0, 0, "App.Work"},
		{"none", 0, 0, 0, NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model *m = build_model(1, 99);
		uint32_t p = build_process(m, 7, "app", 0);
		uint32_t t = build_thread(m, p, 7, "app", 500 * MS, 'R');
		uint32_t work = build_symbol(m, "App.Work", "App", KIND_JIT, true);
		uint32_t copy = build_symbol(m, "memcpy", "libc.so.6", KIND_NATIVE, false);
		char line[TOP_LINE_BYTES];
		struct top_view *v;

		BUILD_SAMPLES(m, t, cases[i].application, work);
		BUILD_SAMPLES(m, t, cases[i].under, work, copy);
		BUILD_SAMPLES(m, t, cases[i].leaf, copy);
		build_books(m, 1);
		v = top_view_new(m, NULL);
		cr_assert(v);
		cr_assert_eq(v->rows_cnt, 1);
		top_text_row(line, v, 0, 130);
		cr_expect(strstr(line, cases[i].hottest ? cases[i].hottest : "  n/a"), "%s: %s",
			  cases[i].name, line);
		top_view_free(v);
		model_free(m);
	}
}

/* Forty methods of equal weight: the first of them is no more than chance. */
Test(top_screen, no_method_is_named_by_chance)
{
	struct model *m = build_model(1, 99);
	uint32_t t = build_thread(m, build_process(m, 7, "app", 0), 7, "app", 500 * MS, 'R');
	char line[TOP_LINE_BYTES], name[32];
	struct top_view *v;

	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "App.M%d", i);
		BUILD_SAMPLES(m, t, 1, build_symbol(m, name, "App", KIND_JIT, true));
	}
	build_books(m, 1);
	v = top_view_new(m, NULL);
	cr_assert(v);
	top_text_row(line, v, 0, 130);
	cr_expect(strstr(line, "  n/a"), "%s", line);
	top_view_free(v);
	model_free(m);
}

Test(top_screen, what_a_kernel_cannot_tell_is_not_available)
{
	static const struct {
		const char *name;
		uint32_t off;
		unsigned int cells;
	} cases[] = {{"all there", 0, 1},
		     {"groups", OFF_GROUPS, 2},
		     {"own", OFF_OWN, 3},
		     {"requests", OFF_REQUESTS, 3}};
	char line[TOP_LINE_BYTES];
	struct model *m = build_model(1, 99);
	struct top_view *v;

	build_thread(m, build_process(m, 7, "app", 0), 7, "app", 500 * MS, 'R');
	build_books(m, 1);
	v = top_view_new(m, NULL);
	cr_assert(v);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned int cells = 0;

		m->host.off = cases[i].off;
		top_text_row(line, v, 0, 160);
		for (const char *s = line; (s = strstr(s, "n/a")); s++)
			cells++;
		cr_expect_eq(cells, cases[i].cells, "%s: %s", cases[i].name, line);
	}
	top_view_free(v);
	model_free(m);
}

Test(top_screen, losses_are_told_where_they_change_a_figure)
{
	static const struct {
		const char *name;
		uint32_t cause;
		uint64_t unaccounted_ns;
		const char *line;
	} cases[] = {
		{"ticks", LOSS_SCRATCH, 0, "lost: 3 ticks without scratch memory"},
		{"samples", LOSS_SAMPLE_RING_FULL, 0, "lost: 3 samples dropped: ring full"},
		{"a stack fault is usual", LOSS_USER_STACK_FAULT, 0, ""},
		{"switches without time", LOSS_SWITCH_UNSEEN, MS, ""},
		{"wakeups where few were seen", LOSS_WAKEUP_UNSEEN, 0,
		 "lost: 3 waits whose beginning was not seen"},
		{"switches with time", LOSS_SWITCH_UNSEEN, 20 * MS,
		 "lost: 3 switches that were not seen"},
	};
	char line[TOP_LINE_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model *m = build_model(1, 99);
		struct top_view *v;

		build_slice(m, 1000 * MS, 500 * MS, cases[i].unaccounted_ns, 50);
		model_loss_add(m, cases[i].cause, 3);
		v = top_view_new(m, NULL);
		cr_assert(v);
		top_text_losses(line, v, 130);
		cr_expect_str_eq(line, cases[i].line, "%s", cases[i].name);
		top_view_free(v);
		model_free(m);
	}
}

/* Whatever the names are, a line has neither control bytes nor more columns than it may. */
Test(top_screen, no_name_breaks_a_line)
{
	static const char *const names[] = {"",
					    "a\nb\rc\td",
					    "\033]0;owned\a",
					    "\xff\xfe\xc3",
					    "\u202e\u2028\xc2\x85",
					    "日本語日本語日本語日本語日本語日本語日本語日本語"};
	char line[TOP_LINE_BYTES], longest[3001];

	memset(longest, 'x', 3000);
	longest[3000] = '\0';
	for (size_t i = 0; i <= sizeof(names) / sizeof(names[0]); i++) {
		const char *name = i < sizeof(names) / sizeof(names[0]) ? names[i] : longest;
		struct model *m = build_model(1, 99);
		uint32_t p = build_process(m, 7, name, 0);
		uint32_t t = build_thread(m, p, 7, name, 500 * MS, '\033');
		uint32_t s = build_symbol(m, name, name, KIND_JIT, true);
		struct top_view *v;

		m->host.name = m->processes[p].unit = model_str(m, name);
		BUILD_SAMPLES(m, t, 30, s);
		build_books(m, 1);
		v = top_view_new(m, NULL);
		cr_assert(v);
		for (size_t columns = 20; columns < 400; columns += 7) {
			for (int what = 0; what < 4; what++) {
				uint32_t of = what == 1 || what == 3 ? p : MODEL_NONE;

				cr_assert_eq(top_view_arrange(v, of, TOP_BY_CPU), 0);
				cr_assert_eq(v->rows_cnt, 1);
				if (what < 2)
					top_text_head(line, v, columns);
				else
					top_text_row(line, v, 0, columns);
				for (const char *c = line; *c; c++)
					cr_assert((unsigned char)*c >= 0x20 && *c != 0x7f,
						  "name %zu: byte %02x", i, (unsigned char)*c);
				cr_assert(text_columns(line) <= columns, "name %zu: %s", i, line);
			}
		}
		top_view_free(v);
		model_free(m);
	}
}

Test(top_screen, a_cpu_that_is_off_line_is_not_counted)
{
	struct model *m = build_model(3, 99);
	char line[TOP_LINE_BYTES];
	struct top_view *v;

	build_slice(m, 1000 * MS, 1000 * MS, 0, 99);
	m->cpus[1].elapsed_ns = m->cpus[1].accounted_ns = 0;
	v = top_view_new(m, NULL);
	cr_assert(v);
	top_text_host(line, v, 80);
	cr_expect(strstr(line, "CPU busy 2.00 of 2 "), "%s", line);
	top_view_free(v);
	model_free(m);
}

Test(top_screen, nothing_measured_is_told)
{
	struct model *m = build_model(1, 99);
	struct top_view *v = top_view_new(m, NULL);
	char line[TOP_LINE_BYTES];

	cr_assert(v);
	top_text_host(line, v, 80);
	cr_expect_str_eq(line, "nothing measured yet");
	cr_expect_eq(v->rows_cnt, 0);
	top_view_free(v);
	model_free(m);
}

Test(top_screen, a_full_disk_is_told)
{
	FILE *out = fopen("/dev/full", "w");
	uint32_t service;
	struct model *m = busy_host(&service);
	struct top_view *v = top_view_new(m, NULL);

	cr_assert(out && v);
	cr_expect_eq(top_text_write(out, v, 10, 80), -EIO);
	fclose(out);
	top_view_free(v);
	model_free(m);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the report that tell of waiting. */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "golden.h"
#include "output/report.h"
#include "output/report_text.h"
#include "report_support.h"

#define CS (BUILD_SECOND / 100)
#define MS (BUILD_SECOND / 1000)
#define US (BUILD_SECOND / 1000000)

enum { NORMAL = 0, FIFO = 1, IDLE = 5, DEADLINE = 6 };

/* Figures of a thread in hundredths of a second. */
struct figures {
	uint64_t ran, waited, own, throttled, blocked;
	uint64_t voluntary, involuntary, migrations;
};

static uint32_t add_thread(struct model *m, uint32_t process, uint32_t tid, const char *comm,
			   struct figures f)
{
	uint32_t t = build_thread(m, process, tid, comm, 0, 'S');
	struct sched_figures sched = {
		.on_cpu_ns = f.ran * CS,
		.waited_ns = f.waited * CS,
		.behind_own_ns = f.own * CS,
		.throttled_ns = f.throttled * CS,
		.uninterruptible_ns = f.blocked * CS,
		.voluntary = f.voluntary,
		.involuntary = f.involuntary,
		.migrations = f.migrations,
	};

	build_sched(m, t, &sched);
	m->threads[t].cpus_allowed = m->host.cpus_online;
	return t;
}

static void set_class(struct model *m, uint32_t thread, uint8_t policy, int8_t nice, uint8_t rt)
{
	m->threads[thread].policy = policy;
	m->threads[thread].nice = nice;
	m->threads[thread].rt_priority = rt;
}

struct host {
	struct model *m;
	uint32_t web, wrk, rt, batch, backup, index, kworker, ctl;
	uint32_t root, docker, limited, deleted;
};

static void add_groups(struct host *h)
{
	struct model *m = h->m;
	uint32_t system;

	h->root = build_cgroup(m, 1, MODEL_NONE, "/", 0, 0);
	system = build_cgroup(m, 10, h->root, "/system.slice", 0, 0);
	build_in_cgroup(m, h->web,
			build_cgroup(m, 11, system, "/system.slice/shop-web.service", 0, 0));
	h->docker = build_cgroup(m, 20, h->root, "/docker", 150 * MS, 100 * MS);
	h->limited = build_cgroup(m, 21, h->docker,
				  "/docker/3f2a91c04d11d41d8cd98f00b204e9800998ecf8427e", 50 * MS,
				  100 * MS);
	h->deleted = build_cgroup(m, 22, h->docker, "", 0, 0);
	build_in_cgroup(m, h->batch, h->limited);
	build_in_cgroup(m, h->backup, h->deleted);
	build_in_cgroup(m, h->wrk, h->root);
	for (uint32_t slice = 0; slice < 10; slice++) {
		build_throttle(m, slice, h->limited, 10, 4, 300 * MS);
		build_throttle(m, slice, h->docker, 10, 0, 0);
	}
}

static void add_web(struct host *h)
{
	struct model *m = h->m;
	uint32_t start = build_symbol(m, "start_thread", "libc.so.6", KIND_NATIVE, false);
	uint32_t get = build_symbol(m, "Shop.Web.OrdersPage.Get", "Shop.Web", KIND_JIT, true);
	uint32_t price =
		build_symbol(m, "Shop.Pricing.PriceEngine.Compute", "Shop.Core", KIND_JIT, true);
	uint32_t json = build_symbol(m, "System.Text.Json.JsonSerializer.Serialize",
				     "System.Text.Json", KIND_JIT, false);
	uint32_t t;

	h->web = build_process(m, 30448, "Shop.Web", PROCESS_DOTNET);
	m->processes[h->web].unit = model_str(m, "shop-web.service");
	m->processes[h->web].perf_map = REASON_NAMED;
	for (uint32_t i = 0; i < 4; i++) {
		t = add_thread(m, h->web, 30450 + i, ".NET TP Worker",
			       (struct figures){150, 300, 60, 0, 0, 800, 2400, 120 + i});
		build_delays(m, 0, t, 40 * US, 700);
		build_delays(m, 1, t, 6 * MS, 400);
		build_delays(m, 2, t, (31 + i) * MS, 20);
		BUILD_SAMPLES(m, t, 90, start, get, price);
		build_waiters(m, 90, 3);
		BUILD_SAMPLES(m, t, 59, start, get, json);
		build_waiters(m, 59, 1);
	}
	t = add_thread(m, h->web, 30448, "Shop.Web", (struct figures){.blocked = 70});
}

static void add_aggressors(struct host *h)
{
	struct model *m = h->m;
	uint32_t loop = build_symbol(m, "aeProcessEvents", "wrk", KIND_NATIVE, true);
	uint32_t lock =
		build_symbol(m, "native_queued_spin_lock_slowpath", "[kernel]", KIND_KERNEL, false);
	uint32_t control = build_symbol(m, "control_loop", "rt-loop", KIND_NATIVE, true);
	uint32_t work = build_symbol(m, "worker_thread", "[kernel]", KIND_KERNEL, false), t;

	h->wrk = build_process(m, 30460, "wrk", 0);
	t = add_thread(m, h->wrk, 30461, "wrk", (struct figures){480, 80, 0, 0, 0, 40, 2000, 3});
	build_delays(m, 0, t, 3 * MS, 200);
	BUILD_SAMPLES(m, t, 77, loop);
	BUILD_SAMPLES(m, t, 398, loop, lock);
	build_waiters(m, 475, 2);
	h->rt = build_process(m, 900, "rt-loop", 0);
	t = add_thread(m, h->rt, 900, "rt-loop", (struct figures){300, 20, 0, 0, 0, 1000, 0, 0});
	set_class(m, t, FIFO, 0, 50);
	build_delays(m, 0, t, 200 * US, 900);
	BUILD_SAMPLES(m, t, 297, control);
	build_waiters(m, 297, 4);
	h->kworker = build_process(m, 40, "kworker/0:1", PROCESS_KERNEL);
	t = add_thread(m, h->kworker, 40, "kworker/0:1",
		       (struct figures){50, 4, 0, 0, 0, 900, 10, 2});
	build_delays(m, 0, t, 90 * US, 400);
	BUILD_SAMPLES(m, t, 49, work);
}

static void add_victims(struct host *h)
{
	struct model *m = h->m;
	uint32_t t;

	h->batch = build_process(m, 5000, "Shop.Batch", PROCESS_DOTNET);
	m->processes[h->batch].container = model_str(m, "3f2a91c04d11");
	m->processes[h->batch].perf_map = REASON_NO_PERF_MAP;
	t = add_thread(m, h->batch, 5001, "batch-1",
		       (struct figures){410, 30, 0, 310, 0, 90, 60, 1});
	build_delays(m, 0, t, 800 * US, 100);
	BUILD_SAMPLES(m, t, 406,
		      build_unnamed(m, "memfd:doublemapper", 0x100, KIND_JIT, REASON_NO_PERF_MAP));
	h->backup = build_process(m, 77, "backup", 0);
	t = add_thread(m, h->backup, 77, "backup", (struct figures){5, 940, 0, 0, 0, 10, 30, 0});
	set_class(m, t, NORMAL, 19, 0);
	build_delays(m, 3, t, 260 * MS, 30);
	h->index = build_process(m, 78, "indexer", 0);
	t = add_thread(m, h->index, 78, "indexer", (struct figures){2, 300, 0, 0, 0, 5, 3, 0});
	set_class(m, t, IDLE, 0, 0);
	h->ctl = build_process(m, 901, "ctl", 0);
	t = add_thread(m, h->ctl, 901, "ctl", (struct figures){30, 2, 0, 15, 0, 100, 100, 0});
	set_class(m, t, DEADLINE, 0, 0);
}

/* Eight more that run a little, so that who starves would not be among the first by CPU. */
static void add_crowd(struct host *h)
{
	uint32_t loop = build_symbol(h->m, "main", "daemon", KIND_NATIVE, true);

	for (uint32_t i = 0; i < 8; i++) {
		char name[16];
		uint32_t p, t;

		snprintf(name, sizeof(name), "daemon-%u", i);
		p = build_process(h->m, 600 + i, name, 0);
		t = add_thread(h->m, p, 600 + i, name,
			       (struct figures){10 + i, 1, 0, 0, 0, 50, 1, 0});
		BUILD_SAMPLES(h->m, t, 10 + i, loop);
	}
	build_thread(h->m, build_process(h->m, 9000, "hotrun", PROCESS_SELF), 9000, "hotrun",
		     2 * CS, 'S');
}

static struct host contended(void)
{
	struct host h = {.m = build_model(2, 99)};

	add_web(&h);
	add_aggressors(&h);
	add_victims(&h);
	add_crowd(&h);
	add_groups(&h);
	build_contention(h.m, 0, h.wrk, h.web, 500000);
	build_contention(h.m, 1, h.rt, h.web, 300000);
	build_contention(h.m, 1, h.kworker, h.web, 30000);
	build_contention(h.m, 1, h.web, h.web, 240000);
	build_contention(h.m, 1, h.web, h.backup, 700000);
	build_contention(h.m, 1, h.wrk, h.backup, 230000);
	build_contention(h.m, 1, h.web, h.index, 100000);
	build_contention(h.m, 1, h.wrk, h.index, 40000);
	build_contention(h.m, 1, h.web, h.wrk, 70000);
	build_contention(h.m, 1, h.web, h.batch, 9000);
	build_contention(h.m, 1, h.rt, MODEL_NONE, 5000);
	build_books(h.m, 10);
	for (size_t i = 0; i < h.m->slices_cnt; i++)
		h.m->slices[i].pressure_ns = 630 * MS;
	return h;
}

Test(report_waits, contended_host)
{
	report_expect("report_contended.txt", contended().m, NULL);
}

Test(report_waits, contended_host_in_80_columns_of_a_window)
{
	report_expect("report_contended_80.txt", contended().m,
		      &(struct report_options){
			      .width = 80,
			      .window = {3 * BUILD_SECOND, 13 * BUILD_SECOND, 30 * BUILD_SECOND}});
}

Test(report_waits, older_capture_says_once_that_it_kept_no_waits)
{
	struct host h = contended();

	h.m->host.off = OFF_ACCOUNTS;
	report_expect("report_older.txt", h.m, &(struct report_options){.process_cnt = 1});
}

Test(report_waits, capture_without_scheduler_accounts_says_so_and_why)
{
	struct host h = contended();

	h.m->host.off = OFF_SWITCHES | OFF_ACCOUNTS | OFF_OWN | OFF_REQUESTS;
	h.m->delays_cnt = 0;
	report_expect("report_no_switches.txt", h.m, NULL);
}

#define EVIL "\033[31mred\033[0m\n;<b>\xff\xe2\x80\xae\x07"

Test(report_waits, hostile_names_stay_on_one_line_and_steer_nothing)
{
	struct host h = contended();

	for (size_t i = 0; i < h.m->processes_cnt; i++)
		h.m->processes[i].name = h.m->processes[i].unit = model_str(h.m, EVIL);
	for (size_t i = 0; i < h.m->threads_cnt; i++)
		h.m->threads[i].comm = model_str(h.m, EVIL);
	for (size_t i = 0; i < h.m->cgroups_cnt; i++)
		h.m->cgroups[i].path = model_str(h.m, "/a/" EVIL "/" EVIL EVIL EVIL EVIL EVIL);
	for (size_t i = 0; i < h.m->symbols_cnt; i++)
		h.m->symbols[i].name = h.m->symbols[i].module = model_str(h.m, EVIL);
	report_expect("report_hostile_waits.txt", h.m, &(struct report_options){.width = 80});
}

Test(report_waits, no_control_byte_but_newline_ever_leaves)
{
	struct host h = contended();
	char *text;

	for (size_t i = 0; i < h.m->processes_cnt; i++)
		h.m->processes[i].name = h.m->processes[i].container = model_str(h.m, EVIL);
	for (size_t i = 0; i < h.m->threads_cnt; i++)
		h.m->threads[i].comm = model_str(h.m, EVIL);
	for (size_t i = 0; i < h.m->cgroups_cnt; i++)
		h.m->cgroups[i].path = model_str(h.m, EVIL);
	text = report_text(h.m, NULL, NULL);
	for (const char *c = text; *c; c++)
		cr_assert((unsigned char)*c >= 0x20 || *c == '\n', "byte %02x at %zu", *c,
			  (size_t)(c - text));
	cr_assert(!strstr(text, "\xe2\x80\xae"), "an override of the text direction");
	free(text);
	model_free(h.m);
}

Test(report_waits, nothing_is_wider_than_the_page)
{
	static const unsigned int widths[] = {80, 99, 100, 110, 132, 200};
	struct host h = contended();

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		char *text = report_text(h.m, &(struct report_options){.width = widths[i]}, NULL);

		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			cr_expect(text_columns(line) <= widths[i], "%zu columns of %u: %s",
				  text_columns(line), widths[i], line);
		free(text);
	}
	model_free(h.m);
}

Test(report_waits, who_starves_has_a_row_though_others_run_more)
{
	struct host h = contended();

	report_says(h.m, &(struct report_options){.summary = true}, "   0.01     0.94   260.0 ms");
	report_says(h.m, &(struct report_options){.summary = true},
		    "backup 77 (nice 19): wanted 0.95 CPUs, got 0.01 (0.5 %); missed 0.94: 100 % "
		    "behind "
		    "others");
	model_free(h.m);
}

Test(report_waits, nobody_is_told_to_wait_where_nobody_does)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 7, "calm", 0);

	/* Waits as long as it runs, but both are next to nothing. */
	add_thread(m, p, 7, "calm", (struct figures){5, 5, 0, 0, 0, 10, 0, 0});
	build_books(m, 10);
	report_says_not(m, NULL, "who waits");
	report_says_not(m, NULL, "throttled");
	report_says_not(m, NULL, "aggressors");
	report_says_not(m, NULL, "cgroup");
	model_free(m);
}

struct off_case {
	uint32_t off;
	const char *expected, *unexpected;
};

static const struct off_case off_cases[] = {
	{OFF_ACCOUNTS, "threads waiting for a CPU: n/a: recorded by a hotrun", "who waits"},
	{OFF_ACCOUNTS, "scheduler\n  n/a: recorded by", "wanted"},
	{OFF_ACCOUNTS | OFF_SWITCHES, "scheduler\n  n/a: nobody looked at switches, to keep",
	 "wanted"},
	{OFF_SWITCHES | OFF_OWN, "mean threads (as the kernel counts it; throttled is",
	 "mean threads (exact)"},
	{OFF_SWITCHES | OFF_OWN, "behind its own threads or others (which is n/a: told apart only",
	 "% behind others"},
	{OFF_ACCOUNTS | OFF_SWITCHES, "% of time", "context switches a second"},
	{OFF_PRESSURE, "CPU pressure n/a: this kernel has no", "of the time"},
	{OFF_QUEUES, "aggressors and victims\n  n/a: this kernel's run queues", "hottest"},
	{OFF_QUEUES, "who they were: this kernel's run queues cannot be read", "hottest"},
	{OFF_OWN, "behind its own threads or others (which is n/a: told apart", "% behind others"},
	{OFF_GROUPS, "cgroups\n  n/a: this kernel has no group scheduling", "with those below"},
	{OFF_LIMITS, "limits n/a: no cgroup file system", "periods: in which"},
};

Test(report_waits, what_is_not_known_is_told_with_its_reason)
{
	for (size_t i = 0; i < sizeof(off_cases) / sizeof(off_cases[0]); i++) {
		struct host h = contended();
		struct report_options wide = {.width = 400};

		h.m->host.off = off_cases[i].off;
		report_says(h.m, &wide, off_cases[i].expected);
		report_says_not(h.m, &wide, off_cases[i].unexpected);
		model_free(h.m);
	}
}

Test(report_waits, others_are_not_named_from_too_few_samples)
{
	struct host h = contended();

	/* Nineteen waiting threads seen, then twenty. */
	h.m->contentions_cnt = 0;
	build_contention(h.m, 1, h.wrk, h.web, 19999);
	report_says(h.m, &(struct report_options){.width = 400}, "who they were: too few samples");
	build_contention(h.m, 1, h.wrk, h.web, 1);
	report_says(h.m, &(struct report_options){.width = 400},
		    "behind others: wrk 30460 100 % (hottest aeProcessEvents (wrk) 100.0 %)");
	model_free(h.m);
}

Test(report_waits, limits_stay_named_when_they_were_lifted)
{
	struct host h = contended();

	h.m->cgroups[h.limited].quota_ns = 0;
	report_says(h.m, &(struct report_options){.width = 400},
		    "limit no longer set of /docker/3f2a");
	model_free(h.m);
}

Test(report_waits, weights_of_methods_are_left_out_where_nobody_waited)
{
	struct host h = contended();

	report_says(h.m, NULL, "others waited");
	build_waiters(h.m, (uint32_t)h.m->samples_cnt, 0);
	report_says_not(h.m, NULL, "others waited");
	report_says_not(h.m, NULL, "while it ran");
	build_waiters(h.m, (uint32_t)h.m->samples_cnt, 2);
	report_says_not(h.m, NULL, "others waited");
	report_says(h.m, NULL, "while it ran, 2.00 threads waited for its CPU; each method");
	build_waiters(h.m, (uint32_t)h.m->samples_cnt, WAITERS_UNKNOWN);
	report_says_not(h.m, NULL, "while it ran");
	model_free(h.m);
}

Test(report_waits, largest_part_of_what_is_missing_comes_first)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 5, "limited", 0);

	add_thread(m, p, 5, "limited", (struct figures){100, 60, 20, 140, 0, 10, 10, 0});
	build_books(m, 10);
	report_says(
		m, &(struct report_options){.width = 200},
		"missed 0.20: 70 % throttled by its own limit, 20 % behind others, 10 % behind its "
		"own "
		"threads");
	model_free(m);
}

Test(report_waits, those_that_missed_less_are_named_on_the_first_screen)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	struct model *m = build_model(2, 99);

	for (uint32_t i = 0; i < 8; i++) {
		uint32_t p = build_process(m, 100 + i, names[i], 0);

		add_thread(m, p, 100 + i, names[i],
			   (struct figures){10, 400 - 20 * i, 0, 0, 0, 10, 10, 0});
	}
	build_books(m, 10);
	report_says(m, &(struct report_options){.summary = true},
		    "  missed less: d 103 0.34, e 104 0.32, f 105 0.30; and 2 more\n");
	model_free(m);
}

Test(report_waits, who_hangs_in_the_kernel_is_named_though_it_wants_no_cpu)
{
	struct model *m = build_model(2, 99);
	uint32_t stuck = build_process(m, 5, "stuck", 0), disk = build_process(m, 6, "disk", 0);

	add_thread(m, stuck, 5, "stuck", (struct figures){0, 0, 0, 0, 1000, 0, 0, 0});
	add_thread(m, disk, 6, "disk", (struct figures){100, 0, 0, 0, 50, 10, 10, 0});
	build_books(m, 10);
	report_says(m, &(struct report_options){.summary = true},
		    "\nasleep and not interruptible (state D: disk, NFS), mean threads\n  stuck 5 "
		    "1.00\n");
	model_free(m);
}

Test(report_waits, processes_of_one_name_tell_their_wait_together)
{
	struct model *m = build_model(2, 99);
	uint32_t p[12];

	for (uint32_t i = 0; i < 12; i++) {
		p[i] = build_process(m, 100 + i, "cc1", 0);
		add_thread(m, p[i], 100 + i, "cc1", (struct figures){8, 50, 0, 0, 0, 10, 10, 0});
	}
	p[0] = build_process(m, 7, "make", 0);
	add_thread(m, p[0], 7, "make", (struct figures){500, 0, 0, 0, 0, 10, 10, 0});
	build_contention(m, 0, p[0], p[1], 20000);
	build_contention(m, 0, p[2], p[1], 20000);
	build_contention(m, 0, p[2], p[3], 40000);
	build_books(m, 10);
	report_says(
		m, NULL,
		"12 x cc1: wanted 0.70 CPUs, got 0.10 (13.8 %); missed 0.60: 100 % behind others");
	report_says(m, &(struct report_options){.force = true},
		    "behind others: others of these 12 x cc1 75 %, make 7 25 %");
	model_free(m);
}

Test(report_waits, deadline_budget_is_not_told_as_a_limit_of_a_cgroup)
{
	struct host h = contended();

	report_says(h.m, &(struct report_options){.processes = &h.ctl, .process_cnt = 1},
		    "throttled by the budget of the deadline class");
	report_says(h.m, &(struct report_options){.processes = &h.ctl, .process_cnt = 1},
		    "ctl (deadline)\n");
	model_free(h.m);
}

Test(report_waits, groups_above_stand_before_those_below_them)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 7, "app", 0);
	uint32_t below = build_cgroup(m, 31, MODEL_NONE, "/a/b", 50 * MS, 100 * MS);
	uint32_t root = build_cgroup(m, 1, MODEL_NONE, "/", 0, 0);
	char *text, *a, *b;

	/* Learnt after the group below it, and with its figures. */
	m->cgroups[below].parent = build_cgroup(m, 30, MODEL_NONE, "/a", 80 * MS, 100 * MS);
	build_in_cgroup(m, p, below);
	add_thread(m, p, 7, "app", (struct figures){500, 100, 0, 400, 0, 10, 10, 0});
	p = build_process(m, 8, "login", 0);
	build_in_cgroup(m, p, root);
	add_thread(m, p, 8, "login", (struct figures){5, 0, 0, 0, 0, 10, 10, 0});
	build_books(m, 10);
	text = report_text(m, NULL, NULL);
	a = strstr(text, "0.80         -  /a\n");
	b = strstr(text, "0.50         -  /a/b\n");
	cr_expect(a && b && a < b, "%s", text);
	cr_expect(strstr(text, "  / itself\n"), "%s", text);
	free(text);
	model_free(m);
}

Test(report_waits, a_gap_in_the_samples_withholds_who_the_others_were)
{
	struct host h = contended();
	struct report_options wide = {.width = 400};

	for (size_t i = 0; i < h.m->cpus_cnt; i++)
		h.m->cpus[i].ticks_taken /= 3;
	report_says(h.m, &wide, "who they were: withheld, samples are missing");
	report_says_not(h.m, &wide, "aggressors and victims");
	/* What is exact is told all the same. */
	report_says(h.m, &wide,
		    "Shop.Web 30448: wanted 1.80 CPUs, got 0.60 (33.3 %); missed 1.20: 80 % behind "
		    "others, 20 % behind its own threads");
	model_free(h.m);
}

/* Three of four seconds in the quiet gear: what is seen at switches alone is of the fourth. */
Test(report_waits, of_both_gears_are_means_of_the_time_in_which_they_were_seen)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 5, "stuck", 0);
	uint32_t t = build_thread(m, p, 5, "stuck", 0, 'D');

	for (uint32_t s = 0; s < 4; s++) {
		struct sched_figures f = {.on_cpu_ns = 10 * CS, .waited_ns = 10 * CS};

		f.uninterruptible_ns = s == 3 ? 80 * CS : 0;
		build_slice(m, BUILD_SECOND, 10 * CS, 0, 10);
		if (s < 3)
			model_slice_gear(m, true, 5);
		build_account(m, s, t, &f);
	}
	for (size_t i = 0; i < m->cpus_cnt; i++)
		m->cpus[i].switches = m->cpus[i].slice == 3 ? 700 : 0;
	report_says(m, NULL, "· 4.0 s at 99 Hz");
	report_says(m, NULL, "1,400 context switches a second");
	report_says(m, NULL, "mean threads\n  stuck 5 0.80\n");
	report_says(m, NULL, "(exact; in the quiet gear");
	model_keep_slices(m, 0, 2);
	report_says(m, NULL, "· 3.0 s at 19.8 Hz");
	model_free(m);
}

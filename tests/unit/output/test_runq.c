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
#include "output/runq.h"

#define MS 1000000ull

static char *runq_text(struct model *m, const struct runq_options *options, size_t *ret_len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_len);

	cr_assert(out);
	cr_assert_eq(runq_write(out, m, options), 0);
	fclose(out);
	return text;
}

static void expect_runq(const char *golden, struct model *m, const struct runq_options *options)
{
	size_t len;
	char *text = runq_text(m, options, &len);

	golden_expect(golden, text, len);
	free(text);
	model_free(m);
}

static void expect_says(struct model *m, const struct runq_options *options, const char *line,
			bool said)
{
	size_t len;
	char *text = runq_text(m, options, &len);

	cr_expect_eq(strstr(text, line) != NULL, said, "'%s' in:\n%s", line, text);
	free(text);
}

/* Two CPUs over two seconds: four spinners share one of them, a service the other. */
static struct model *contended(uint32_t *ret_service)
{
	struct model *m = build_model(2, 100);
	uint32_t api = build_process(m, 4711, "Shop.Api", PROCESS_DOTNET);
	uint32_t spin = build_process(m, 99, "spin\033[31m\n\xff", 0);
	uint32_t kernel = build_process(m, 15, "rcu_preempt", PROCESS_KERNEL);
	uint32_t root = build_cgroup(m, 1, MODEL_NONE, "/", 0, 0);
	uint32_t shop = build_cgroup(m, 20, root, "/system.slice/shop.service", 0, 0);
	uint32_t gone = build_cgroup(m, 21, root, "", 0, 0);
	struct sched_figures behind_own = {.waited_ns = 1500 * MS, .behind_own_ns = 1500 * MS};
	struct sched_figures behind = {.waited_ns = 100 * MS, .voluntary = 3000};
	struct sched_figures brief = {.waited_ns = 1 * MS};
	uint32_t t;

	m->processes[api].unit = model_str(m, "shop.service");
	build_in_cgroup(m, api, shop);
	build_in_cgroup(m, spin, gone);
	build_in_cgroup(m, kernel, root);
	for (uint32_t i = 0; i < 4; i++) {
		t = build_thread(m, spin, 99 + i, "spin", 500 * MS, 'R');
		build_sched(m, t, &behind_own);
		build_delays(m, i % 2, t, 12 * MS, 120);
	}
	t = build_thread(m, api, 4711, ".NET TP Worker", 1000 * MS, 'S');
	build_sched(m, t, &behind);
	build_delays(m, 0, t, 5000, 900);
	build_delays(m, 1, t, 70000, 90);
	build_delays(m, 1, t, 9 * MS, 10);
	t = build_thread(m, kernel, 15, "rcu_preempt", 10 * MS, 'I');
	build_sched(m, t, &brief);
	build_delays(m, 0, t, 0, 10);
	build_books(m, 2);
	build_queue(m, 0, 0, 3, 100);
	build_queue(m, 1, 0, 3, 99);
	build_queue(m, 1, 0, 11, 1);
	build_queue(m, 0, 1, 1, 20);
	/* All of CPU 0 was busy, half of CPU 1. */
	for (size_t i = 0; i < m->cpus_cnt; i++) {
		struct model_cpu *cpu = &m->cpus[i];

		cpu->accounted_ns = cpu->cpu ? 500 * MS : 1000 * MS;
		cpu->idle_ns = cpu->elapsed_ns - cpu->accounted_ns;
		if (cpu->cpu && !cpu->slice)
			cpu->queue[0] += 30;
	}
	*ret_service = api;
	return m;
}

Test(runq, host)
{
	uint32_t service;

	expect_runq("runq_host.txt", contended(&service), NULL);
}

Test(runq, one_process)
{
	uint32_t service;
	struct model *m = contended(&service);
	struct runq_options options = {.processes = &service, .process_cnt = 1, .width = 80};

	expect_runq("runq_process.txt", m, &options);
}

Test(runq, cgroups)
{
	uint32_t service;
	struct runq_options options = {.cgroups = 2};

	expect_runq("runq_cgroups.txt", contended(&service), &options);
}

Test(runq, those_that_waited_most_come_first)
{
	uint32_t service, *rows;
	struct model *m = contended(&service);
	size_t cnt;

	rows = runq_worst(m, 10, &cnt);
	cr_assert_eq(cnt, 3);
	cr_expect_eq(m->processes[rows[0]].tgid, 99);
	cr_expect_eq(m->processes[rows[1]].tgid, 4711);
	cr_expect_eq(m->processes[rows[2]].tgid, 15);
	free(rows);
	rows = runq_worst(m, 1, &cnt);
	cr_expect_eq(cnt, 1);
	free(rows);
	model_free(m);
}

/* One CPU, one second at 100 Hz. */
Test(runq, ticks_of_busy_time_become_shares_of_all_time)
{
	static const struct {
		const char *name;
		uint64_t busy_ms, none, two, ten, unknown;
		const char *line;
	} cases[] = {
		{"idle time has nobody waiting", 500, 25, 25, 0, 0,
		 "\n    0     0.50  75.0     -  25.0     -     -     -     -     -     -     -     "
		 "-\n"},
		{"always busy", 1000, 0, 50, 50, 0,
		 "\n    0     6.00     -     -  50.0     -     -     -     -     -     -     -  "
		 "50.0\n"},
		{"ticks that could not look say nothing", 1000, 50, 50, 0, 100,
		 "\n    0     1.00  50.0     -  50.0     -     -     -     -     -     -     -     "
		 "-\n"},
		{"busy for less than some ticks, and none came", 40, 0, 0, 0, 0,
		 "\n    0     0.00 100.0     -     -     -     -     -     -     -     -     -     "
		 "-\n"},
		{"busy without a tick: not known", 60, 0, 0, 0, 0,
		 "\n    0      n/a  94.0     -     -     -     -     -     -     -     -     -     "
		 "-\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model *m = build_model(1, 100);
		size_t len;
		char *text;

		build_slice(m, 1000 * MS, cases[i].busy_ms * MS, 0, 0);
		m->cpus[0].queue[0] = cases[i].none;
		m->cpus[0].queue[2] = cases[i].two;
		m->cpus[0].queue[QUEUE_MOST] = cases[i].ten;
		m->cpus[0].queue[QUEUE_UNKNOWN] = cases[i].unknown;
		text = runq_text(m, NULL, &len);
		cr_expect(strstr(text, cases[i].line), "%s:\n%s", cases[i].name, text);
		free(text);
		model_free(m);
	}
}

Test(runq, what_a_capture_does_not_have_is_not_available)
{
	static const struct {
		const char *name;
		uint32_t off;
		const char *line;
	} cases[] = {
		{"run queues", OFF_QUEUES,
		 "waiting\n  n/a: this kernel's run queues cannot be read\n"},
		{"no waits", OFF_ACCOUNTS,
		 "run delay of the host\n  n/a: recorded by a hotrun that kept no waits\n"},
		{"switches", OFF_ACCOUNTS | OFF_SWITCHES,
		 "run delay of the host\n  n/a: nobody looked at switches, to keep"},
		{"switches, by the kernel's counts", OFF_SWITCHES,
		 "threads waiting on average\n  n/a: nobody looked at switches, to keep"},
		{"own threads", OFF_OWN, "      n/a "},
	};
	uint32_t service;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model *m = contended(&service);

		expect_says(m, NULL, cases[i].line, false);
		m->host.off = cases[i].off;
		expect_says(m, NULL, cases[i].line, true);
		model_free(m);
	}
}

Test(runq, queues_are_told_without_switches)
{
	uint32_t service;
	struct model *m = contended(&service);

	m->host.off = OFF_ACCOUNTS | OFF_SWITCHES;
	expect_says(m, NULL, "waiting\n  n/a: ", false);
	expect_says(m, NULL, "  CPU  waiting     0", true);
	model_free(m);
}

Test(runq, groups_of_a_kernel_without_them_are_not_available)
{
	struct runq_options options = {.cgroups = 3};
	uint32_t service;
	struct model *m = contended(&service);

	m->host.off = OFF_GROUPS;
	expect_says(m, &options, "cgroups\n  n/a: this kernel has no group scheduling\n", true);
	model_free(m);
}

Test(runq, waiting_in_no_known_group_is_told)
{
	struct runq_options options = {.cgroups = 3};
	uint32_t service;
	struct model *m = contended(&service);

	expect_says(m, &options, "no known cgroup", false);
	for (size_t i = 0; i < m->accounts_cnt; i++)
		if (m->processes[m->threads[m->accounts[i].thread].process].tgid == 99)
			m->accounts[i].cgroup = MODEL_NONE;
	expect_says(m, &options, "in no known cgroup\n  3.00 threads waiting on average\n", true);
	model_free(m);
}

Test(runq, an_empty_capture_is_no_failure)
{
	struct model *m = build_model(2, 99);

	expect_says(m, NULL, "n/a: no second of it is written\n", true);
	expect_says(m, NULL, "no thread waited\n", true);
	model_free(m);
}

Test(runq, of_many_cpus_those_with_most_waiting_threads_are_listed)
{
	struct model *m = build_model(40, 100);
	struct runq_options options = {.cpus = 3};
	size_t len;
	char *text;

	build_slice(m, 1000 * MS, 1000 * MS, 0, 0);
	for (size_t i = 0; i < m->cpus_cnt; i++)
		m->cpus[i].queue[i == 7 || i == 21 || i == 39 ? 9 : 1] = 100;
	text = runq_text(m, &options, &len);
	cr_expect(strstr(text, "\n    7     9.00"));
	cr_expect(strstr(text, "\n   21     9.00"));
	cr_expect(strstr(text, "\n   39     9.00"));
	cr_expect(strstr(text, "… 37 more CPUs"));
	cr_expect_not(strstr(text, "\n    0     1.00"));
	cr_expect(strstr(text, "\n  all    64.00"), "sums over CPUs that are not listed, too");
	free(text);
	model_free(m);
}

Test(runq, a_cpu_of_a_damaged_capture_is_ignored)
{
	struct model *m = build_model(1, 100);

	build_slice(m, 1000 * MS, 500 * MS, 0, 10);
	m->cpus[0].cpu = UINT32_MAX;
	expect_says(m, NULL, "n/a: no second of it is written\n", true);
	model_free(m);
}

Test(runq, a_full_disk_is_told)
{
	FILE *out = fopen("/dev/full", "w");
	uint32_t service;
	struct model *m = contended(&service);

	cr_assert(out);
	cr_expect_eq(runq_write(out, m, NULL), -EIO);
	fclose(out);
	model_free(m);
}

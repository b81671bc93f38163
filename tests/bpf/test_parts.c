/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A collector that gives up parts while it runs: what is left is true, and what is off is told. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collect/collector.h"
#include "drive.h"
#include "drive_group.h"
#include "output/report.h"

#define HZ 200

static struct collector *begin_as(bool no_switches, bool by_fp)
{
	const struct collector_options options = {.sample_hz = HZ,
						  .command = "",
						  .samples = true,
						  .no_switches = no_switches,
						  .stacks.by_fp = by_fp};
	struct collector *c = NULL;
	struct host host;
	char why[512];

	host_describe(&host);
	if (host_check(&host, why, sizeof(why)))
		drive_skip(why);
	cr_assert_eq(collector_new(&options, why, sizeof(why), &c), 0, "%s", why);
	cr_assert_eq(collector_start(c, why, sizeof(why)), 0, "%s", why);
	return c;
}

static struct collector *begin(bool no_switches)
{
	return begin_as(no_switches, false);
}

/* One slice of that length; the next one is begun. */
static void watch(struct collector *c, uint64_t ns)
{
	drive_sleep(ns);
	collector_end_slice(c);
	cr_assert_eq(collector_begin_slice(c), 0);
}

static pid_t start_halted(void)
{
	pid_t pid = drive_fork(drive_spin, NULL, drive_cpu(1), true);

	drive_halt(pid);
	return pid;
}

/* Runs a child that is halted for so much CPU time, and halts it again: the collector's own work
 * may take long on a busy machine. Returns what it got. */
static uint64_t let_run(pid_t pid, uint64_t cpu_ns)
{
	uint64_t before_ns = drive_proc_on_cpu(pid);

	drive_resume(pid);
	drive_await(NULL, pid, before_ns + cpu_ns);
	drive_halt(pid);
	return drive_proc_on_cpu(pid) - before_ns;
}

/* Of the thread whose id is that of the child. */
static const struct model_thread *thread_of(const struct model *m, pid_t pid)
{
	size_t i = m->threads_cnt;

	while (i-- > 0 && m->threads[i].tid != (uint32_t)pid)
		;
	cr_assert_lt(i, m->threads_cnt, "%d is not in the model", pid);
	return &m->threads[i];
}

static uint64_t samples_of(const struct model *m, pid_t pid)
{
	uint64_t cnt = 0;

	for (size_t i = 0; i < m->samples_cnt; i++)
		cnt += m->threads[m->samples[i].thread].tid == (uint32_t)pid;
	return cnt;
}

static void change(struct collector *c, uint32_t hz, bool switches)
{
	const struct collector_parts parts = {.sample_hz = hz, .switches = switches};
	char why[512];

	cr_assert_eq(collector_change(c, &parts, why, sizeof(why)), 0, "%s", why);
	cr_expect_eq(collector_parts(c).sample_hz, hz);
	cr_expect_eq(collector_parts(c).switches, switches);
}

/* What is busy is hit at the model's rate; in a guest both count the time that the host takes
 * away. */
static void expect_rate(const struct model *m)
{
	uint64_t busy_ns = 0, ticks = 0;

	for (size_t i = 0; i < m->cpus_cnt; i++) {
		busy_ns += m->cpus[i].accounted_ns + m->cpus[i].unaccounted_ns;
		ticks += m->cpus[i].ticks_taken;
	}
	cr_expect(drive_near(ticks, busy_ns * m->host.sample_hz / DRIVE_SECOND, 0.15, 10),
		  "%u Hz: %llu ticks in %llu ms", m->host.sample_hz, (unsigned long long)ticks,
		  (unsigned long long)busy_ns / DRIVE_MS);
}

Test(parts, a_new_rate_begins_a_new_model)
{
	static const uint32_t rates[] = {50, HZ, 100};
	pid_t pid = start_halted();
	struct collector *c = begin(false);
	uint64_t cost_ns = 0;

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		uint64_t ran_ns;
		struct model *m;

		change(c, rates[i], true);
		ran_ns = let_run(pid, 2 * DRIVE_SECOND);
		collector_end_slice(c);
		m = collector_model(c);
		cr_expect_eq(m->host.sample_hz, rates[i]);
		cr_expect_eq(m->host.off & (OFF_SWITCHES | OFF_ACCOUNTS), 0u);
		cr_expect_eq(m->slices_cnt, 1u);
		cr_expect_geq(samples_of(m, pid), ran_ns * rates[i] / DRIVE_SECOND * 7 / 10,
			      "%u Hz", rates[i]);
		expect_rate(m);
		cr_expect_gt(collector_bpf_ns(c), cost_ns, "what it cost stays");
		cost_ns = collector_bpf_ns(c);
	}
	collector_free(c);
	drive_kill(pid);
}

Test(parts, a_rate_beyond_the_rings_makes_larger_ones)
{
	/* Without tables, whose maps grow as they are needed. */
	struct collector *c = begin_as(false, true);
	size_t bytes = collector_map_bytes(c);

	change(c, 100, true);
	cr_expect_eq(collector_map_bytes(c), bytes, "rings are made for it");
	change(c, 4000, true);
	cr_expect_gt(collector_map_bytes(c), bytes);
	bytes = collector_map_bytes(c);
	change(c, 100, true);
	cr_expect_eq(collector_map_bytes(c), bytes, "and stay");
	collector_free(c);
}

Test(parts, without_switches_cpu_times_are_those_of_proc)
{
	pid_t pid = start_halted();
	struct collector *c = begin(true);
	uint64_t ran_ns = 0, elapsed_ns = 0, cpu_ns = 0;
	struct model *m = collector_model(c);
	struct sched_figures s;

	for (int i = 0; i < 3; i++) {
		ran_ns += let_run(pid, DRIVE_SECOND);
		watch(c, 0);
	}
	s = thread_of(m, pid)->sched;
	cr_expect(drive_near(s.on_cpu_ns, ran_ns, 0.001, 20 * DRIVE_MS), "%llu of %llu ms",
		  (unsigned long long)s.on_cpu_ns / DRIVE_MS,
		  (unsigned long long)ran_ns / DRIVE_MS);
	cr_expect_eq(s.uninterruptible_ns, 0u);
	cr_expect_eq(m->delays_cnt, 0u);
	cr_expect_eq(m->host.off & (OFF_SWITCHES | OFF_ACCOUNTS | OFF_OWN | OFF_REQUESTS),
		     OFF_SWITCHES | OFF_OWN | OFF_REQUESTS);
	for (size_t i = 0; i < m->cpus_cnt; i++) {
		const struct model_cpu *cpu = &m->cpus[i];

		cr_expect_eq(cpu->idle_ns + cpu->accounted_ns, cpu->elapsed_ns);
		cr_expect_eq(cpu->unaccounted_ns, 0u);
		elapsed_ns += cpu->elapsed_ns;
		cpu_ns += cpu->accounted_ns;
	}
	cr_expect_gt(elapsed_ns, 5 * DRIVE_SECOND / 2 * m->host.cpus_online);
	cr_expect_geq(cpu_ns + 50 * DRIVE_MS, s.on_cpu_ns, "the spinner's is in it");
	expect_rate(m); /* ticks hit what /proc/stat calls busy */
	collector_free(c);
	drive_kill(pid);
}

static int burn_some(void *unused)
{
	(void)unused;
	drive_burn(200 * DRIVE_MS);
	return 0;
}

Test(parts, without_switches_who_ends_within_a_slice_is_not_lost)
{
	struct collector *c = begin(true);
	pid_t pid = drive_fork(burn_some, NULL, drive_cpu(1), true);
	const struct model_thread *t;

	drive_wait(pid);
	watch(c, 50 * DRIVE_MS);
	t = thread_of(collector_model(c), pid);
	cr_expect(drive_near(t->sched.on_cpu_ns, 200 * DRIVE_MS, 0.1, 10 * DRIVE_MS), "%llu ms",
		  (unsigned long long)t->sched.on_cpu_ns / DRIVE_MS);
	cr_expect_eq(t->state, 'X');
	cr_expect_neq(t->exit_ns, 0u);
	collector_free(c);
}

/* The first screen of a capture; owned. */
static char *report_of(struct model *m)
{
	const struct report_options options = {.width = 400};
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	cr_assert(out);
	cr_assert_eq(report_write(out, m, &options), 0);
	fclose(out);
	return text;
}

Test(parts, switches_come_and_go)
{
	static const bool turns[] = {true, false, true};
	pid_t pid = drive_fork(drive_work_and_sleep, NULL, drive_cpu(1), true);
	struct collector *c = begin(false);
	uint64_t cost_ns = 0;

	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
		_cleanup_free_ char *text = NULL;
		const struct model_thread *t;

		change(c, 50, turns[i]);
		watch(c, DRIVE_SECOND);
		t = thread_of(collector_model(c), pid);
		cr_expect_gt(t->sched.on_cpu_ns, 100 * DRIVE_MS);
		cr_expect_gt(t->sched.voluntary, 20u);
		text = report_of(collector_model(c));
		cr_expect_eq(!strstr(text, "as the kernel counts"), turns[i], "%s", text);
		cr_expect(strstr(text, "running,"), "%s", text);
		cr_expect_eq(!strstr(text, "context switches a second"), !turns[i], "%s", text);
		cr_expect(strstr(text, "CPU busy"));
		cr_expect_gt(collector_bpf_ns(c), cost_ns);
		cost_ns = collector_bpf_ns(c);
	}
	collector_free(c);
	drive_kill(pid);
}

#define WAITERS 3

static uint64_t told_waits(const pid_t *pids)
{
	uint64_t ns = 0;

	for (int i = 0; i < WAITERS; i++)
		ns += drive_proc_waited(pids[i]);
	return ns;
}

/* Others may want that CPU, too: schedstat is the truth, of waits that are over. */
Test(parts, without_switches_waits_are_those_of_schedstat)
{
	uint64_t before_ns, after_ns, waited_ns = 0, throttled_ns = 0;
	struct collector *c = begin(true);
	pid_t pids[WAITERS];

	for (int i = 0; i < WAITERS; i++)
		pids[i] = drive_fork(drive_spin, NULL, drive_cpu(1), false);
	for (int i = 0; i < 4; i++)
		watch(c, 500 * DRIVE_MS);
	before_ns = told_waits(pids);
	watch(c, 0);
	after_ns = told_waits(pids);
	for (int i = 0; i < WAITERS; i++) {
		const struct model_thread *t = thread_of(collector_model(c), pids[i]);

		waited_ns += t->sched.waited_ns;
		throttled_ns += t->sched.throttled_ns;
	}
	cr_expect_gt(waited_ns, 3 * DRIVE_SECOND);
	cr_expect_geq(waited_ns + 20 * DRIVE_MS, before_ns, "%llu of %llu ms",
		      (unsigned long long)waited_ns / DRIVE_MS,
		      (unsigned long long)before_ns / DRIVE_MS);
	/* A wait that goes on is not in it: a slice each, longer beside others. */
	cr_expect_leq(waited_ns, after_ns + after_ns / 50 + WAITERS * 100 * DRIVE_MS,
		      "%llu of %llu ms", (unsigned long long)waited_ns / DRIVE_MS,
		      (unsigned long long)after_ns / DRIVE_MS);
	cr_expect_eq(throttled_ns, 0u);
	/* They hold what the collector's helpers wait for to be closed. */
	for (int i = 0; i < WAITERS; i++)
		drive_kill(pids[i]);
	collector_free(c);
}

Test(parts, without_switches_throttled_time_is_that_of_cpu_stat)
{
	pid_t pid = drive_fork(drive_spin, NULL, drive_cpu(1), true);
	struct drive_group group;
	const struct model_thread *t;
	struct collector *c;
	uint64_t told_ns;

	drive_group_new(&group, NULL, "limited");
	drive_group_prefer(&group);
	drive_group_move(&group, pid);
	c = begin(true);
	told_ns = drive_group_throttled_ns(&group);
	drive_group_limit(&group, 20000);
	for (int i = 0; i < 3; i++)
		watch(c, 700 * DRIVE_MS);
	drive_group_limit(&group, 0);
	watch(c, 20 * DRIVE_MS);
	told_ns = drive_group_throttled_ns(&group) - told_ns;
	t = thread_of(collector_model(c), pid);
	cr_expect_gt(told_ns, DRIVE_SECOND);
	cr_expect(drive_near(t->sched.throttled_ns, told_ns, 0.03, 20 * DRIVE_MS),
		  "%llu of %llu ms, waited %llu",
		  (unsigned long long)t->sched.throttled_ns / DRIVE_MS,
		  (unsigned long long)told_ns / DRIVE_MS,
		  (unsigned long long)t->sched.waited_ns / DRIVE_MS);
	cr_expect_lt(t->sched.waited_ns, told_ns / 4);
	collector_free(c);
	drive_kill(pid);
	drive_group_free(&group);
}

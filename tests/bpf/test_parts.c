/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A collector that gives up parts while it runs: what is left is true, and what is off is told. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collect/collector.h"
#include "drive.h"
#include "drive_group.h"
#include "output/report.h"

#define HZ 200

static struct collector *begin_as(bool quiet, bool by_fp)
{
	const struct collector_options options = {.sample_hz = HZ,
						  .command = "",
						  .samples = true,
						  .gear.quiet = quiet,
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

static struct collector *begin(bool quiet)
{
	return begin_as(quiet, false);
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

static void change(struct collector *c, uint32_t hz)
{
	const struct collector_parts parts = {.sample_hz = hz};
	char why[512];

	cr_assert_eq(collector_change(c, &parts, why, sizeof(why)), 0, "%s", why);
	cr_expect_eq(collector_parts(c).sample_hz, hz);
}

/* At the end of a slice, without a new model. */
static void shift(struct collector *c, bool quiet, uint32_t every)
{
	const struct collector_gear gear = {quiet, every};

	collector_end_slice(c);
	collector_set_gear(c, &gear);
	cr_assert_eq(collector_begin_slice(c), 0);
	cr_assert_eq(collector_gear(c).quiet, quiet);
	cr_assert_eq(collector_gear(c).sample_every, every);
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

		change(c, rates[i]);
		ran_ns = let_run(pid, DRIVE_SECOND);
		collector_end_slice(c);
		m = collector_model(c);
		cr_expect_eq(m->host.sample_hz, rates[i]);
		cr_expect_eq(model_off(m) & (OFF_SWITCHES | OFF_ACCOUNTS), 0u);
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

Test(parts, rings_are_as_large_as_the_rate_needs)
{
	/* Without tables, whose maps grow as they are needed. */
	struct collector *c = begin_as(false, true);
	size_t bytes = collector_map_bytes(c);

	change(c, 4000);
	cr_expect_gt(collector_map_bytes(c), bytes);
	change(c, HZ);
	cr_expect_eq(collector_map_bytes(c), bytes);
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
	cr_expect_eq(model_off(m) & (OFF_SWITCHES | OFF_ACCOUNTS | OFF_OWN | OFF_REQUESTS),
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

static uint64_t cpu_of(const struct rusage *u)
{
	return (uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * DRIVE_SECOND +
	       (uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000;
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
	/* It is told of when the kernel frees it, behind a grace period of RCU. */
	for (int i = 0; i < 60; i++) {
		watch(c, 50 * DRIVE_MS);
		t = thread_of(collector_model(c), pid);
		if (t->state == 'X')
			break;
	}
	cr_expect(drive_near(t->sched.on_cpu_ns, 200 * DRIVE_MS, 0.1, 10 * DRIVE_MS), "%llu ms",
		  (unsigned long long)t->sched.on_cpu_ns / DRIVE_MS);
	cr_expect_eq(t->state, 'X');
	cr_expect_neq(t->exit_ns, 0u);
	collector_free(c);
}

/* How often a pass told of a thread, and what; and how many records it had. */
struct told {
	uint32_t tid, times, all;
	struct event_task task;
};

static void take_told(void *ctx, const struct event_task *task)
{
	struct told *told = ctx;

	told->all++;
	if (task->tid != told->tid)
		return;
	told->times++;
	told->task = *task;
}

static struct told pass(const struct drive *d, bool rested, pid_t pid)
{
	struct told told = {.tid = (uint32_t)pid};
	struct session_ops ops = {.ctx = &told, .task = take_told};

	cr_assert_eq(session_read_accounts(d->s, rested, &ops), 0);
	return told;
}

Test(parts, without_switches_who_rests_is_left_out_until_it_runs)
{
	const struct session_options options = {.sample_hz = HZ, .quiet = true};
	pid_t pid = start_halted();
	struct drive d = {0};
	struct told all, told;
	uint64_t ran_ns;

	drive_open(&d, &options);
	all = pass(&d, true, pid);
	cr_assert_eq(all.times, 1u);
	told = pass(&d, false, pid);
	cr_expect_eq(told.times, 0u, "it slept");
	cr_expect_lt(2 * told.all, all.all, "%u of %u threads", told.all, all.all);
	for (int i = 0; i < 3; i++) {
		ran_ns = let_run(pid, 100 * DRIVE_MS);
		told = pass(&d, false, pid);
		cr_assert_eq(told.times, 1u, "it ran");
		told.task.sched.on_cpu_ns -= all.task.sched.on_cpu_ns;
		cr_expect(drive_near(told.task.sched.on_cpu_ns, ran_ns, 0.001, 8 * DRIVE_MS),
			  "%llu of %llu ms",
			  (unsigned long long)told.task.sched.on_cpu_ns / DRIVE_MS,
			  (unsigned long long)ran_ns / DRIVE_MS);
		all = pass(&d, true, pid);
		cr_assert_eq(all.times, 1u);
		cr_expect_eq(pass(&d, false, pid).times, 0u, "it sleeps again");
	}
	drive_kill(pid);
	drive_close(&d);
}

static uint32_t ends_of(struct drive *d, pid_t pid)
{
	uint32_t cnt = 0;

	drive_drain(d);
	for (size_t i = 0; i < d->tasks_cnt; i++)
		cnt += d->tasks[i].header.kind == EVENT_TASK_END &&
		       d->tasks[i].tid == (uint32_t)pid;
	return cnt;
}

/* Of a process that nobody has reaped, the end is not told again when that is done. */
Test(parts, who_ended_before_a_change_of_gear_is_told_once)
{
	const struct session_options options = {.sample_hz = HZ};
	struct drive d = {0};
	pid_t pid, other;

	drive_open(&d, &options);
	pid = drive_fork(burn_some, NULL, drive_cpu(1), true);
	cr_assert_eq(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	drive_sleep(10 * DRIVE_MS);
	cr_assert_eq(ends_of(&d, pid), 1u);
	cr_assert_eq(session_set_gear(d.s, true), 0);
	cr_assert_eq(session_set_gear(d.s, false), 0);
	cr_assert_eq(session_set_gear(d.s, true), 0);
	drive_wait(pid);
	/* Freed after it. */
	other = drive_fork(burn_some, NULL, drive_cpu(1), true);
	drive_wait(other);
	for (int i = 0; i < 100 && !ends_of(&d, other); i++)
		drive_sleep(20 * DRIVE_MS);
	cr_expect_eq(ends_of(&d, other), 1u);
	cr_expect_eq(ends_of(&d, pid), 1u);
	drive_close(&d);
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

#define SHORT_ONES 50

/* Each is gone before the kernel's clock ticks, most of them: what it ran is told when it was taken
 * down altogether. */
static int burn_a_little(void *unused)
{
	(void)unused;
	drive_burn(3 * DRIVE_MS);
	return 0;
}

Test(parts, without_switches_short_processes_lose_nothing)
{
	struct collector *c = begin(true);
	const struct model *m = collector_model(c);
	uint64_t told_ns = 0;
	struct rusage before, after;
	pid_t pids[SHORT_ONES];

	getrusage(RUSAGE_CHILDREN, &before);
	for (int i = 0; i < SHORT_ONES; i++) {
		pids[i] = drive_fork(burn_a_little, NULL, drive_cpu(1), true);
		drive_wait(pids[i]);
	}
	getrusage(RUSAGE_CHILDREN, &after);
	watch(c, 300 * DRIVE_MS);
	for (int i = 0; i < SHORT_ONES; i++)
		told_ns += thread_of(m, pids[i])->sched.on_cpu_ns;
	cr_expect(drive_near(told_ns, cpu_of(&after) - cpu_of(&before), 0.05, 5 * DRIVE_MS),
		  "%llu of %llu us", (unsigned long long)told_ns / 1000,
		  (unsigned long long)(cpu_of(&after) - cpu_of(&before)) / 1000);
	collector_free(c);
}

/* Time of all CPUs that the books cover, and that all threads ran, since a slice. */
struct cover {
	uint64_t elapsed_ns, busy_ns, idle_ns, unaccounted_ns, ran_ns;
};

static struct cover cover_of(const struct model *m, uint32_t from)
{
	struct cover cover = {0};

	for (size_t i = 0; i < m->cpus_cnt; i++) {
		if (m->cpus[i].slice < from)
			continue;
		cover.elapsed_ns += m->cpus[i].elapsed_ns;
		cover.busy_ns += m->cpus[i].accounted_ns;
		cover.idle_ns += m->cpus[i].idle_ns;
		cover.unaccounted_ns += m->cpus[i].unaccounted_ns;
	}
	for (size_t i = 0; i < m->accounts_cnt; i++)
		if (m->accounts[i].slice >= from)
			cover.ran_ns += m->accounts[i].sched.on_cpu_ns;
	return cover;
}

/* Of a thread, by /proc/PID/schedstat. */
struct schedstat {
	uint64_t ran_ns, waited_ns;
};

static struct schedstat schedstat_of(pid_t tid)
{
	return (struct schedstat){drive_proc_on_cpu(tid), drive_proc_waited(tid)};
}

/* A collector takes its first and last figures at some instant of calls that may take seconds. */
static void expect_between(uint64_t ns, uint64_t least, uint64_t most, double share, uint64_t slack)
{
	cr_expect((ns >= least && ns <= most) || drive_near(ns, least, share, slack) ||
			  drive_near(ns, most, share, slack),
		  "%llu ms, not %llu to %llu", (unsigned long long)ns / DRIVE_MS,
		  (unsigned long long)least / DRIVE_MS, (unsigned long long)most / DRIVE_MS);
}

#define SHIFTS 12

/* A spinner runs all the time, whoever looks and how: nothing of it is lost or counts twice, and
 * the books of CPUs cover the time. */
Test(parts, gears_change_without_a_gap)
{
	pid_t spins = drive_fork(drive_spin, NULL, drive_cpu(1), true);
	pid_t sleeps = drive_fork(drive_work_and_sleep, NULL, drive_cpu(0), true);
	struct schedstat spins_before = schedstat_of(spins), sleeps_before = schedstat_of(sleeps);
	struct collector *c = begin(false);
	const struct model *m = collector_model(c);
	struct schedstat spins_begun = schedstat_of(spins), sleeps_begun = schedstat_of(sleeps);
	struct schedstat spins_ends, sleeps_ends, spins_ended, sleeps_ended;
	uint64_t ran_ns, elapsed_ns, ticks, unseen = 0;
	struct cover cover;

	for (int i = 0; i < SHIFTS; i++) {
		drive_sleep(250 * DRIVE_MS);
		shift(c, !(i & 1), i & 1 ? 1 : 4);
	}
	drive_sleep(250 * DRIVE_MS);
	spins_ends = schedstat_of(spins);
	sleeps_ends = schedstat_of(sleeps);
	collector_end_slice(c);
	spins_ended = schedstat_of(spins);
	sleeps_ended = schedstat_of(sleeps);
	ran_ns = thread_of(m, spins)->sched.on_cpu_ns;
	elapsed_ns = m->slices[SHIFTS].end_ns - m->slices[0].start_ns;
	expect_between(ran_ns, spins_ends.ran_ns - spins_begun.ran_ns,
		       spins_ended.ran_ns - spins_before.ran_ns, 0.01, 20 * DRIVE_MS);
	/* Others may want its CPU, too. */
	expect_between(thread_of(m, sleeps)->sched.waited_ns,
		       sleeps_ends.waited_ns - sleeps_begun.waited_ns,
		       sleeps_ended.waited_ns - sleeps_before.waited_ns, 0.05, 100 * DRIVE_MS);
	cr_expect_eq(m->slices_cnt, SHIFTS + 1u);
	cr_expect_eq(m->slices_quiet, SHIFTS / 2u);
	cr_expect_eq(model_off(m) & (OFF_SWITCHES | OFF_OWN), 0u);
	cr_expect_eq(m->cpus_cnt, m->slices_cnt * m->host.cpus_online, "one row a slice and CPU");
	cover = cover_of(m, 0);
	cr_expect(
		drive_near(cover.elapsed_ns, elapsed_ns * m->host.cpus_online, 0.01, 20 * DRIVE_MS),
		"%llu of %llu ms", (unsigned long long)cover.elapsed_ns / DRIVE_MS,
		(unsigned long long)elapsed_ns * m->host.cpus_online / DRIVE_MS);
	cr_expect_eq(cover.busy_ns + cover.idle_ns + cover.unaccounted_ns, cover.elapsed_ns);
	/* Each change of mode costs a tick of /proc/stat; an unseen switch, the time up to the
	 * next sampling tick. */
	for (size_t i = 0; i < m->losses_cnt; i++)
		unseen += m->losses[i].cause == LOSS_SWITCH_UNSEEN ? m->losses[i].count : 0;
	cr_expect_leq(cover.unaccounted_ns,
		      SHIFTS * m->host.cpus_online * 10 * DRIVE_MS + unseen * DRIVE_SECOND / HZ,
		      "%llu ms, %llu switches unseen",
		      (unsigned long long)cover.unaccounted_ns / DRIVE_MS,
		      (unsigned long long)unseen);
	/* /proc/stat has ticks. The kernel counts the unaccounted time of CPUs to threads. */
	cr_expect(drive_near_but(cover.busy_ns, cover.ran_ns, 0.03, SHIFTS * 10 * DRIVE_MS,
				 cover.unaccounted_ns),
		  "%llu ms of threads, %llu of CPUs", (unsigned long long)cover.ran_ns / DRIVE_MS,
		  (unsigned long long)cover.busy_ns / DRIVE_MS);
	/* Samples stand for as many ticks as the model's rate has. */
	ticks = 0;
	for (size_t i = 0; i < m->samples_cnt; i++)
		if (m->threads[m->samples[i].thread].tid == (uint32_t)spins)
			ticks += model_weight(&m->samples[i]);
	cr_expect(drive_near(ticks, ran_ns * HZ / DRIVE_SECOND, 0.15, 10), "%llu ticks in %llu ms",
		  (unsigned long long)ticks, (unsigned long long)ran_ns / DRIVE_MS);
	expect_rate(m);
	collector_free(c);
	drive_kill(spins);
	drive_kill(sleeps);
}

Test(parts, each_gear_tells_what_it_has)
{
	static const bool turns[] = {true, false};
	pid_t pid = drive_fork(drive_work_and_sleep, NULL, drive_cpu(1), true);
	struct collector *c = begin(false);

	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
		_cleanup_free_ char *text = NULL;
		uint64_t cost_ns = collector_bpf_ns(c);
		const struct model_thread *t;

		shift(c, turns[i], 2);
		cr_assert_eq(collector_fresh_slice(c), 0);
		watch(c, DRIVE_SECOND);
		t = thread_of(collector_model(c), pid);
		cr_expect_gt(t->sched.on_cpu_ns, 100 * DRIVE_MS);
		cr_expect_gt(t->sched.voluntary, 20u);
		text = report_of(collector_model(c));
		cr_expect_eq(!strstr(text, "as the kernel counts"), !turns[i], "%s", text);
		cr_expect(strstr(text, "running,"), "%s", text);
		cr_expect_eq(!strstr(text, "context switches a second"), turns[i], "%s", text);
		cr_expect(strstr(text, "CPU busy"));
		cr_expect_gt(collector_bpf_ns(c), cost_ns);
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

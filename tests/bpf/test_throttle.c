/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waiting for one's own limit on the real kernel: cgroup quotas against cpu.stat, deadline
 * budgets. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drive.h"
#include "drive_group.h"

#define MAX_TIDS 8

/* A tick now and then sees what runs after a switch that the kernel does not show. Others may start
 * and end so many processes meanwhile that their last accounts find no room. */
static void begin(struct drive *d, bool wakeups)
{
	const struct session_options seldom = {.sample_hz = 99, .wakeups = wakeups};

	drive_start(d, &seldom);
	d->may_lose = true;
}

struct load {
	size_t cnt;
	pid_t pids[MAX_TIDS];
	struct event_task first[MAX_TIDS], last[MAX_TIDS];
	uint64_t throttled_ns; /* by cpu.stat */
};

/* The groups' limit holds for that time alone, so that all throttling is over at both reads. */
static void run_limited(struct drive *d, struct load *load, const struct drive_group *limited,
			uint64_t quota_us, uint64_t ns)
{
	uint64_t before = drive_group_throttled_ns(limited);

	drive_sleep(100 * DRIVE_MS);
	drive_accounts(d, load->pids, load->cnt, load->first);
	drive_group_limit(limited, quota_us);
	drive_sleep(ns);
	drive_group_limit(limited, 0);
	drive_sleep(20 * DRIVE_MS);
	drive_accounts(d, load->pids, load->cnt, load->last);
	load->throttled_ns = drive_group_throttled_ns(limited) - before;
}

/* Starts spinners on one CPU in a group. */
static void start_spinners(struct load *load, const struct drive_group *g, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		pid_t pid = drive_fork(drive_spin, NULL, drive_cpu(1), true);

		drive_group_move(g, pid);
		load->pids[load->cnt++] = pid;
	}
}

static void end_load(struct load *load)
{
	for (size_t i = 0; i < load->cnt; i++)
		drive_kill(load->pids[i]);
}

Test(throttle, a_quota_is_told_as_cpu_stat_tells_it)
{
	static const struct {
		const char *name;
		size_t spinners;
		bool nested; /* the limit is that of the group above */
		bool beside; /* another group wants the CPU as well */
		uint64_t quota_us;
	} rows[] = {
		{"one spinner", 1, false, false, 50000},
		{"four spinners", 4, false, false, 50000},
		{"limit of the group above", 2, true, false, 50000},
		{"beside another group", 2, false, true, 20000},
	};

	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct drive_group outer, inner, other;
		struct load load = {0}, others = {0};
		struct drive d;

		begin(&d, false);
		drive_group_new(&outer, NULL, "outer");
		drive_group_prefer(&outer);
		if (rows[k].nested)
			drive_group_new(&inner, &outer, "inner");
		start_spinners(&load, rows[k].nested ? &inner : &outer, rows[k].spinners);
		if (rows[k].beside) {
			drive_group_new(&other, NULL, "other");
			drive_group_prefer(&other);
			start_spinners(&others, &other, 1);
		}
		run_limited(&d, &load, &outer, rows[k].quota_us, 900 * DRIVE_MS);
		end_load(&others);
		cr_expect_gt(load.throttled_ns, 300 * DRIVE_MS, "%s", rows[k].name);
		for (size_t i = 0; i < load.cnt; i++) {
			struct event_task rise = drive_rise(&load.first[i], &load.last[i]);
			drive_expect_parts(&load.first[i], &load.last[i], drive_unaccounted(&d),
					   rows[k].name);
			cr_expect(drive_near(rise.sched.throttled_ns, load.throttled_ns, 0.02,
					     2 * DRIVE_MS + drive_stolen(&d)),
				  "%s: throttled %llu us, cpu.stat %llu", rows[k].name,
				  rise.sched.throttled_ns / 1000,
				  (unsigned long long)load.throttled_ns / 1000);
		}
		if (load.cnt == 1)
			cr_expect_lt(drive_rise(&load.first[0], &load.last[0]).sched.waited_ns,
				     load.throttled_ns / 8, "%s: run delay", rows[k].name);
		end_load(&load);
		if (rows[k].nested)
			drive_group_free(&inner);
		if (rows[k].beside)
			drive_group_free(&other);
		drive_group_free(&outer);
		drive_close(&d);
	}
}

static int wake_often(void *unused)
{
	(void)unused;
	prctl(PR_SET_TIMERSLACK, 1);
	for (;;)
		drive_sleep(3 * DRIVE_MS);
	return 0;
}

/* schedstat counts throttled time as run delay: what we tell apart must make up its sum. */
static void expect_wakes(bool wakeups)
{
	struct load load = {0};
	struct event_task rise;
	struct drive_group g;
	uint64_t told;
	struct drive d;

	begin(&d, wakeups);
	drive_group_new(&g, NULL, "wakes");
	drive_group_prefer(&g);
	start_spinners(&load, &g, 1);
	load.pids[load.cnt++] = drive_fork(wake_often, NULL, drive_cpu(1), true);
	drive_group_move(&g, load.pids[1]);
	drive_sleep(100 * DRIVE_MS);
	told = drive_proc_waited(load.pids[1]);
	run_limited(&d, &load, &g, 50000, 1500 * DRIVE_MS);
	told = drive_proc_waited(load.pids[1]) - told;
	rise = drive_rise(&load.first[1], &load.last[1]);
	drive_expect_parts(&load.first[1], &load.last[1], drive_unaccounted(&d), "sleeper");
	cr_expect(drive_near(rise.sched.waited_ns + rise.sched.throttled_ns, told, 0.02,
			     5 * DRIVE_MS),
		  "waited %llu + throttled %llu us, schedstat %llu", rise.sched.waited_ns / 1000,
		  rise.sched.throttled_ns / 1000, (unsigned long long)told / 1000);
	/* It sleeps into each throttled span for 1.5 ms in the mean, and is stopped for the
	 * rest. */
	cr_expect(drive_near(rise.sched.throttled_ns, load.throttled_ns * 96 / 100, 0.06,
			     5 * DRIVE_MS + drive_stolen(&d)),
		  "throttled %llu us, its group %llu", rise.sched.throttled_ns / 1000,
		  (unsigned long long)load.throttled_ns / 1000);
	end_load(&load);
	drive_group_free(&g);
	drive_close(&d);
}

Test(throttle, a_thread_that_wakes_while_its_group_is_throttled_waits_for_the_limit)
{
	expect_wakes(false);
	expect_wakes(true);
}

Test(throttle, a_thread_that_leaves_its_throttled_group_runs_on)
{
	struct event_task moved, rise;
	struct load load = {0};
	struct drive_group g;
	struct drive d;

	begin(&d, false);
	drive_group_new(&g, NULL, "leaves");
	drive_group_prefer(&g);
	start_spinners(&load, &g, 2);
	drive_sleep(50 * DRIVE_MS);
	drive_accounts(&d, load.pids, 2, load.first);
	drive_group_limit(&g, 5000);
	/* 5 ms of each 100: the quota of the first period is gone, whatever phase it is in. */
	drive_sleep(350 * DRIVE_MS);
	drive_group_move(NULL, load.pids[0]);
	moved = drive_account(&d, load.pids[0]);
	drive_sleep(400 * DRIVE_MS);
	drive_accounts(&d, load.pids, 2, load.last);
	drive_expect_parts(&load.first[0], &load.last[0], drive_unaccounted(&d), "who left");
	drive_expect_parts(&load.first[1], &load.last[1], drive_unaccounted(&d), "who stayed");
	rise = drive_rise(&moved, &load.last[0]);
	cr_expect_lt(rise.sched.throttled_ns, 110 * DRIVE_MS, "%llu us",
		     rise.sched.throttled_ns / 1000);
	cr_expect_neq(load.last[0].cgroup_id, load.first[0].cgroup_id);
	rise = drive_rise(&load.first[1], &load.last[1]);
	cr_expect_gt(rise.sched.throttled_ns, 500 * DRIVE_MS, "%llu us",
		     rise.sched.throttled_ns / 1000);
	end_load(&load);
	drive_group_free(&g);
	drive_close(&d);
}

/* --- deadline -------------------------------------------------------------------------------- */

/* include/uapi/linux/sched/types.h, which clashes with the C library's sched.h. */
struct deadline {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static int spin_to_deadlines(void *unused)
{
	struct deadline d = {
		.size = sizeof(d),
		.policy = 6,
		.runtime = 20 * DRIVE_MS,
		.deadline = 100 * DRIVE_MS,
		.period = 100 * DRIVE_MS,
	};

	if (syscall(SYS_sched_setattr, 0, &d, 0))
		return errno;
	return drive_spin(unused);
}

Test(throttle, a_deadline_thread_beyond_its_budget_waits_for_its_limit)
{
	struct event_task first, last, rise;
	struct drive d;
	pid_t pid;

	begin(&d, false);
	/* Admission wants a thread that may run everywhere. */
	pid = drive_fork(spin_to_deadlines, NULL, -1, false);
	drive_sleep(150 * DRIVE_MS);
	if (sched_getscheduler(pid) != 6) {
		drive_kill(pid);
		drive_skip("the kernel refuses a deadline thread");
	}
	first = drive_account(&d, pid);
	drive_sleep(DRIVE_SECOND);
	last = drive_account(&d, pid);
	rise = drive_rise(&first, &last);
	cr_expect_eq(last.policy, 6);
	drive_expect_parts(&first, &last, drive_unaccounted(&d), "deadline");
	cr_expect(drive_near(rise.sched.on_cpu_ns, rise.time_ns / 5, 0.15, drive_stolen(&d)),
		  "ran %llu us", rise.sched.on_cpu_ns / 1000);
	cr_expect(drive_near(rise.sched.throttled_ns, rise.time_ns * 4 / 5, 0.05, drive_stolen(&d)),
		  "throttled %llu us", rise.sched.throttled_ns / 1000);
	cr_expect_lt(rise.sched.waited_ns, 10 * DRIVE_MS);
	drive_kill(pid);
	drive_close(&d);
}

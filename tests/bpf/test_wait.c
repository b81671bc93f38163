/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waiting for a CPU on the real kernel: known loads, and what /proc says of the same. */
#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drive.h"

#define MAX_TIDS 16

/* A tick now and then sees what runs after a switch that the kernel does not show. Others may start
 * and end so many processes meanwhile that their last accounts find no room. */
static void begin(struct drive *d)
{
	static const struct session_options seldom = {.sample_hz = 99};

	drive_start(d, &seldom);
	d->may_lose = true;
}

/* Threads of a load, with what their accounts and /proc say of them. */
struct watched {
	size_t cnt;
	pid_t tids[MAX_TIDS];
	struct event_task tasks[MAX_TIDS];
	uint64_t ran[MAX_TIDS], waited[MAX_TIDS];
};

static void look(struct drive *d, struct watched *w)
{
	drive_accounts(d, w->tids, w->cnt, w->tasks);
	for (size_t i = 0; i < w->cnt; i++) {
		w->ran[i] = drive_proc_on_cpu(w->tids[i]);
		w->waited[i] = drive_proc_waited(w->tids[i]);
	}
}

/* --- spinners -------------------------------------------------------------------------------- */

#define SPINNERS 4

Test(wait, n_spinners_on_one_cpu_wait_n_less_one)
{
	uint64_t waited = 0, told = 0, own = 0, throttled = 0, passed = 0;
	struct watched first = {.cnt = SPINNERS}, last;
	double waiting, waiting_told;
	struct drive d;

	begin(&d);
	for (int i = 0; i < SPINNERS; i++)
		first.tids[i] = drive_fork(drive_spin, NULL, drive_cpu(1), true);
	drive_sleep(200 * DRIVE_MS);
	look(&d, &first);
	drive_sleep(1500 * DRIVE_MS);
	last = first;
	look(&d, &last);
	for (int i = 0; i < SPINNERS; i++) {
		struct event_task rise = drive_rise(&first.tasks[i], &last.tasks[i]);

		drive_expect_parts(&first.tasks[i], &last.tasks[i], drive_unaccounted(&d),
				   "spinner");
		waited += rise.sched.waited_ns;
		own += rise.sched.behind_own_ns;
		throttled += rise.sched.throttled_ns;
		passed += rise.time_ns;
		told += last.waited[i] - first.waited[i];
	}
	waiting = (double)waited * SPINNERS / (double)passed;
	waiting_told = (double)told * SPINNERS / (double)passed;
	cr_expect_eq(own, 0, "they share no process");
	cr_expect_eq(throttled, 0);
	/* schedstat knows of waits that are over: one slice of each is out. */
	cr_expect(waiting > 0.97 * waiting_told && waiting < 1.03 * waiting_told + 0.05,
		  "%.3f waiting, schedstat %.3f", waiting, waiting_told);
	/* Beside others they wait for these as well. */
	if (waiting_told < (SPINNERS - 1) * 1.03)
		cr_expect(waiting > (SPINNERS - 1) * 0.95 && waiting < (SPINNERS - 1) * 1.05,
			  "%.3f waiting", waiting);
	for (int i = 0; i < SPINNERS; i++)
		drive_kill(first.tids[i]);
	drive_close(&d);
}

/* --- loads of all kinds ---------------------------------------------------------------------- */

struct load {
	const char *name;
	drive_work_fn work;
	unsigned int processes, threads;
	bool pinned;
};

/* 200 us of work, 1 to 5 ms of sleep: at random, or sleepers and sampling ticks fall into step. */
static int work_in_bursts(void *unused)
{
	unsigned int random = (unsigned int)getpid();

	(void)unused;
	prctl(PR_SET_TIMERSLACK, 1);
	for (uint64_t ns = DRIVE_MS / 5; ns; ns += DRIVE_MS / 5) {
		drive_burn(ns);
		drive_sleep(DRIVE_MS + (uint64_t)rand_r(&random) % (4 * DRIVE_MS));
	}
	return 0;
}

static void halt_all(const pid_t *pids, unsigned int cnt)
{
	for (unsigned int i = 0; i < cnt; i++)
		drive_halt(pids[i]);
}

static void expect_rise(const struct drive *d, const struct load *load, const struct watched *first,
			const struct watched *last)
{
	uint64_t waited = 0, slack, unaccounted = drive_unaccounted(d);

	for (size_t i = 0; i < first->cnt; i++) {
		struct event_task rise = drive_rise(&first->tasks[i], &last->tasks[i]);
		uint64_t ran_told = last->ran[i] - first->ran[i];
		uint64_t waited_told = last->waited[i] - first->waited[i];

		cr_expect(drive_ran(d, rise.sched.on_cpu_ns, ran_told, 0.01, DRIVE_MS),
			  "%s: ran %llu us, schedstat %llu", load->name,
			  rise.sched.on_cpu_ns / 1000, (unsigned long long)ran_told / 1000);
		/* The two look at the clock a few instructions apart. */
		slack = DRIVE_MS + 5000 * drive_delays(&rise);
		cr_expect(
			drive_near_but(rise.sched.waited_ns, waited_told, 0.01, slack, unaccounted),
			"%s: waited %llu us, schedstat %llu", load->name,
			rise.sched.waited_ns / 1000, (unsigned long long)waited_told / 1000);
		drive_expect_parts(&first->tasks[i], &last->tasks[i], unaccounted, load->name);
		waited += rise.sched.waited_ns;
	}
	cr_expect_gt(waited, 100 * DRIVE_MS, "%s: nobody waited", load->name);
}

Test(wait, run_and_wait_are_those_of_schedstat)
{
	static const struct load loads[] = {
		{"spinners on one CPU", drive_spin, 3, 1, true},
		{"work and sleep on one CPU", drive_work_and_sleep, 3, 1, true},
		{"threads that spin where they like", drive_spin, 1, 5, false},
		{"threads that work and sleep where they like", drive_work_and_sleep, 1, 6, false},
		{"short bursts", work_in_bursts, 5, 2, true},
	};

	for (size_t k = 0; k < sizeof(loads) / sizeof(loads[0]); k++) {
		struct drive_crowd crowd = {loads[k].threads, loads[k].work, NULL};
		int cpu = loads[k].pinned ? drive_cpu(1) : -1;
		struct watched first = {0}, last;
		pid_t pids[MAX_TIDS];
		struct drive d;

		begin(&d);
		for (unsigned int i = 0; i < loads[k].processes; i++) {
			pids[i] = drive_fork(drive_crowd, &crowd, cpu, true);
			drive_tids(pids[i], first.tids + first.cnt, crowd.threads);
			first.cnt += crowd.threads;
		}
		drive_sleep(50 * DRIVE_MS);
		halt_all(pids, loads[k].processes); /* read at rest */
		look(&d, &first);
		for (unsigned int i = 0; i < loads[k].processes; i++)
			drive_resume(pids[i]);
		drive_sleep(800 * DRIVE_MS);
		halt_all(pids, loads[k].processes);
		last = first;
		look(&d, &last);
		expect_rise(&d, &loads[k], &first, &last);
		for (unsigned int i = 0; i < loads[k].processes; i++)
			drive_kill(pids[i]);
		drive_close(&d);
	}
}

/* --- classes and priorities ------------------------------------------------------------------ */

static int spin_nicely(void *unused)
{
	if (setpriority(PRIO_PROCESS, 0, 19))
		return 1;
	return drive_spin(unused);
}

Test(wait, a_nice_thread_waits_longer)
{
	static const struct load load = {"nice 0 beside nice 19", NULL, 2, 1, true};
	struct event_task plain, nice;
	struct watched first = {.cnt = 2}, last;
	struct drive d;

	begin(&d);
	first.tids[0] = drive_fork(drive_spin, NULL, drive_cpu(1), false);
	first.tids[1] = drive_fork(spin_nicely, NULL, drive_cpu(1), false);
	drive_sleep(100 * DRIVE_MS);
	halt_all(first.tids, 2);
	look(&d, &first);
	drive_resume(first.tids[0]);
	drive_resume(first.tids[1]);
	drive_sleep(800 * DRIVE_MS);
	halt_all(first.tids, 2);
	last = first;
	look(&d, &last);
	expect_rise(&d, &load, &first, &last);
	plain = drive_rise(&first.tasks[0], &last.tasks[0]);
	nice = drive_rise(&first.tasks[1], &last.tasks[1]);
	cr_expect_eq(plain.nice, 0);
	cr_expect_eq(nice.nice, 19);
	/* Weights of 1024 and 15. */
	cr_expect_gt(plain.sched.on_cpu_ns, 20 * nice.sched.on_cpu_ns);
	cr_expect_gt(nice.sched.waited_ns, plain.sched.waited_ns);
	drive_kill(first.tids[0]);
	drive_kill(first.tids[1]);
	drive_close(&d);
}

struct class
{
	const char *name;
	int policy, priority, nice;
};

static int rest_in_class(void *arg)
{
	const struct class *c = arg;
	struct sched_param param = {.sched_priority = c->priority};

	if (setpriority(PRIO_PROCESS, 0, c->nice) || sched_setscheduler(0, c->policy, &param))
		return 1;
	for (;;)
		drive_sleep(DRIVE_SECOND);
}

Test(wait, policy_and_priority_are_those_that_were_set)
{
	static struct class classes[] = {
		{"normal", SCHED_OTHER, 0, -7},	  {"batch", SCHED_BATCH, 0, 3},
		{"idle", SCHED_IDLE, 0, 0},	  {"fifo", SCHED_FIFO, 17, 0},
		{"round robin", SCHED_RR, 99, 0},
	};
	struct event_task task;
	struct drive d;

	begin(&d);
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		pid_t pid = drive_fork(rest_in_class, &classes[i], drive_cpu(0), false);

		drive_sleep(20 * DRIVE_MS);
		task = drive_account(&d, pid);
		cr_expect_eq(task.policy, classes[i].policy, "%s", classes[i].name);
		cr_expect_eq(task.rt_priority, classes[i].priority, "%s", classes[i].name);
		cr_expect_eq(task.nice, classes[i].nice, "%s: %d", classes[i].name, task.nice);
		cr_expect_eq(task.cpus_allowed, 1, "%s", classes[i].name);
		cr_expect_eq(task.flags, 0, "%s", classes[i].name);
		drive_kill(pid);
	}
	task = drive_account(&d, 2); /* kthreadd */
	cr_expect_eq(task.flags, ACCOUNT_KERNEL_THREAD);
	drive_close(&d);
}

static int spin_in_real_time(void *unused)
{
	struct sched_param param = {.sched_priority = 40};

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		return 1;
	return drive_spin(unused);
}

/*
 * The kernel decides how long the real-time thread runs: its fair server and the real-time
 * bandwidth leave others a part of each second, not of each interval. So the references are
 * schedstat of both threads, and that one of them is queued while the other runs.
 */
Test(wait, a_thread_behind_a_real_time_one_waits)
{
	static const struct load load = {"behind real time", NULL, 2, 1, true};
	struct event_task ahead, behind;
	struct watched first = {.cnt = 2}, last;
	struct drive d;

	begin(&d);
	first.tids[0] = drive_fork(spin_in_real_time, NULL, drive_cpu(1), true);
	drive_halt(first.tids[0]);
	first.tids[1] = drive_fork(drive_spin, NULL, drive_cpu(1), true);
	drive_halt(first.tids[1]);
	look(&d, &first);
	drive_resume(first.tids[1]);
	drive_resume(first.tids[0]);
	drive_await(NULL, first.tids[0], first.ran[0] + 500 * DRIVE_MS);
	halt_all(first.tids, 2);
	last = first;
	look(&d, &last);
	expect_rise(&d, &load, &first, &last);
	ahead = drive_rise(&first.tasks[0], &last.tasks[0]);
	behind = drive_rise(&first.tasks[1], &last.tasks[1]);
	cr_expect_eq(ahead.policy, SCHED_FIFO);
	/* Except between the signals that stop and resume the two. */
	cr_expect_geq(behind.sched.waited_ns + 5 * DRIVE_MS + drive_unaccounted(&d),
		      ahead.sched.on_cpu_ns, "waited %llu us behind one that ran %llu",
		      behind.sched.waited_ns / 1000, ahead.sched.on_cpu_ns / 1000);
	drive_kill(first.tids[0]);
	drive_kill(first.tids[1]);
	drive_close(&d);
}

Test(wait, who_is_killed_while_it_waits_keeps_its_wait)
{
	struct event_task first, end, rise;
	const struct event_task *task;
	pid_t ahead, behind;
	struct drive d;

	begin(&d);
	behind = drive_fork(drive_spin, NULL, drive_cpu(1), true);
	drive_sleep(20 * DRIVE_MS);
	first = drive_account(&d, behind);
	ahead = drive_fork(spin_in_real_time, NULL, drive_cpu(1), true);
	drive_sleep(100 * DRIVE_MS);
	cr_assert_eq(kill(behind, SIGKILL), 0);
	drive_sleep(200 * DRIVE_MS); /* it cannot die without a CPU */
	drive_kill(ahead);
	cr_assert_eq(waitpid(behind, NULL, 0), behind);
	drive_sleep(20 * DRIVE_MS);
	drive_drain(&d);
	task = drive_task(&d, (uint32_t)behind, EVENT_TASK_END);
	cr_assert(task);
	end = *task;
	rise = drive_rise(&first, &end);
	drive_expect_parts(&first, &end, drive_unaccounted(&d), "killed");
	cr_expect_gt(rise.sched.waited_ns, 250 * DRIVE_MS, "%llu us", rise.sched.waited_ns / 1000);
	cr_expect_geq(end.delay_max_ns, 200 * DRIVE_MS);
	cr_expect_eq(end.waiting_ns, 0);
	drive_close(&d);
}

/* --- state D --------------------------------------------------------------------------------- */

/* A parent is in state D until its vfork child lets go: when it is told to. */
static int vfork_and_wait(void *arg)
{
	const int *ends = arg;
	pid_t pid = vfork();
	char byte;

	if (!pid) {
		if (read(ends[0], &byte, 1) != 1)
			_exit(1);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	for (;;)
		drive_sleep(DRIVE_SECOND);
}

Test(wait, state_d_is_uninterruptible_time)
{
	static int ends[2];

	cr_assert_eq(pipe(ends), 0);
	for (int before = 0; before < 2; before++) {
		const char *name = before ? "since before the session" : "begun in the session";
		struct event_task first, last, end, rise;
		struct drive d;
		pid_t pid = 0;
		int looks = 0;

		if (before) {
			pid = drive_fork(vfork_and_wait, ends, drive_cpu(0), true);
			drive_sleep(20 * DRIVE_MS);
		}
		begin(&d);
		if (!before) {
			pid = drive_fork(vfork_and_wait, ends, drive_cpu(0), true);
			drive_sleep(20 * DRIVE_MS);
		}
		first = drive_account(&d, pid);
		drive_sleep(200 * DRIVE_MS);
		last = drive_account(&d, pid);
		cr_expect_eq(first.state, 'D', "%s: %c", name, first.state);
		cr_expect_eq(last.state, 'D', "%s: %c", name, last.state);
		rise = drive_rise(&first, &last);
		cr_expect(drive_near(rise.sched.uninterruptible_ns, rise.time_ns, 0.02, 0),
			  "%s: %llu us of %llu", name, rise.sched.uninterruptible_ns / 1000,
			  rise.time_ns / 1000);
		cr_assert_eq(write(ends[1], "", 1), 1);
		/* Its child has to run and to end before it. */
		do {
			drive_sleep(100 * DRIVE_MS);
			end = drive_account(&d, pid);
		} while (end.state != 'S' && looks++ < 100);
		cr_expect_eq(end.state, 'S', "%s: %c", name, end.state);
		cr_expect_geq(end.sched.uninterruptible_ns, last.sched.uninterruptible_ns, "%s",
			      name);
		drive_expect_parts(&last, &end, drive_unaccounted(&d), name);
		drive_kill(pid);
		drive_close(&d);
	}
}

/* --- migrations ------------------------------------------------------------------------------ */

static int change_cpus(void *unused)
{
	cpu_set_t set;

	(void)unused;
	for (unsigned int i = 0; i < 200; i++) {
		CPU_ZERO(&set);
		CPU_SET((size_t)(i & 1), &set);
		if (sched_setaffinity(0, sizeof(set), &set))
			return 1;
	}
	for (;;)
		drive_sleep(DRIVE_SECOND);
}

Test(wait, migrations_are_those_of_the_kernel)
{
	static const struct {
		const char *name;
		drive_work_fn work;
		unsigned int threads;
		uint64_t at_least;
	} rows[] = {
		{"threads that go where they like", drive_work_and_sleep, 5, 0},
		{"changes of affinity", change_cpus, 1, 100},
	};

	for (size_t k = 0; k < 2; k++) {
		struct drive_crowd crowd = {rows[k].threads, rows[k].work, NULL};
		struct event_task tasks[MAX_TIDS];
		pid_t pid, tids[MAX_TIDS];
		uint64_t told, all = 0;
		struct drive d;

		begin(&d);
		if (d.host.cpus_online < 2)
			drive_skip("one CPU");
		pid = drive_fork(drive_crowd, &crowd, -1, true);
		drive_tids(pid, tids, crowd.threads);
		drive_sleep(500 * DRIVE_MS);
		drive_halt(pid);
		drive_accounts(&d, tids, crowd.threads, tasks);
		for (unsigned int i = 0; i < crowd.threads; i++) {
			if (!drive_proc_migrations(tids[i], &told))
				drive_skip("no nr_migrations in /proc/PID/sched");
			cr_expect_eq(tasks[i].sched.migrations, told, "%s: %llu, the kernel %llu",
				     rows[k].name, tasks[i].sched.migrations,
				     (unsigned long long)told);
			all += told;
		}
		cr_expect_geq(all, rows[k].at_least, "%s", rows[k].name);
		drive_kill(pid);
		drive_close(&d);
	}
}

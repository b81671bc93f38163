/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waiting for a CPU on the real kernel: known loads, and what /proc says of the same. */
#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drive.h"

#define MAX_TIDS 16

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

	drive_open(&d, NULL);
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
		waited += rise.waited_ns;
		own += rise.behind_own_ns;
		throttled += rise.throttled_ns;
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

static void expect_rise(const struct load *load, const struct watched *first,
			const struct watched *last, uint64_t unaccounted)
{
	uint64_t waited = 0, slack;

	for (size_t i = 0; i < first->cnt; i++) {
		struct event_task rise = drive_rise(&first->tasks[i], &last->tasks[i]);
		uint64_t ran_told = last->ran[i] - first->ran[i];
		uint64_t waited_told = last->waited[i] - first->waited[i];

		cr_expect(drive_near_but(rise.on_cpu_ns, ran_told, 0.01, DRIVE_MS, unaccounted),
			  "%s: ran %llu us, schedstat %llu", load->name, rise.on_cpu_ns / 1000,
			  (unsigned long long)ran_told / 1000);
		/* The two look at the clock a few instructions apart. */
		slack = DRIVE_MS + 5000 * drive_delays(&rise);
		cr_expect(drive_near_but(rise.waited_ns, waited_told, 0.01, slack, unaccounted),
			  "%s: waited %llu us, schedstat %llu", load->name, rise.waited_ns / 1000,
			  (unsigned long long)waited_told / 1000);
		drive_expect_parts(&first->tasks[i], &last->tasks[i], unaccounted, load->name);
		waited += rise.waited_ns;
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

		drive_open(&d, NULL);
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
		expect_rise(&loads[k], &first, &last, drive_unaccounted(&d));
		for (unsigned int i = 0; i < loads[k].processes; i++)
			drive_kill(pids[i]);
		drive_close(&d);
	}
}

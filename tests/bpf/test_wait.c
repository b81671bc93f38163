/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waiting for a CPU on the real kernel: known loads, and what /proc says of the same. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drive.h"

/* An account now: a pass of the iterator, and the newest record of the thread. */
static struct event_task account_of(struct drive *d, pid_t tid)
{
	const struct event_task *task;

	drive_read_accounts(d);
	task = drive_task(d, (uint32_t)tid, EVENT_TASK);
	cr_assert(task, "no account of %d", tid);
	cr_assert_eq(task->flags & (ACCOUNT_ABSENT | ACCOUNT_TORN), 0);
	return *task;
}

static uint64_t all_time(const struct event_task *t)
{
	return t->on_cpu_ns + t->waited_ns + t->throttled_ns + t->blocked_ns +
	       t->uninterruptible_ns;
}

/* 3 ms of work, 1 ms of sleep. */
static int work_and_sleep(void *unused)
{
	(void)unused;
	for (;;) {
		drive_burn(3 * DRIVE_MS);
		drive_sleep(DRIVE_MS);
	}
	return 0;
}

Test(wait, spinners_on_one_cpu_wait_for_each_other)
{
	enum { N = 4 };
	struct event_task first[N], last[N];
	uint64_t waited = 0, own = 0, throttled = 0, ran = 0, elapsed;
	struct drive d;
	pid_t pids[N];

	drive_open(&d, NULL);
	for (int i = 0; i < N; i++)
		pids[i] = drive_fork(drive_spin, NULL, drive_cpu(1), false);
	drive_sleep(200 * DRIVE_MS);
	for (int i = 0; i < N; i++)
		first[i] = account_of(&d, pids[i]);
	drive_sleep(2 * DRIVE_SECOND);
	for (int i = 0; i < N; i++)
		last[i] = account_of(&d, pids[i]);
	elapsed = last[0].time_ns - first[0].time_ns;
	for (int i = 0; i < N; i++) {
		uint64_t passed = last[i].time_ns - first[i].time_ns;

		fprintf(stderr,
			"%d: ran %.3f waited %.3f own %.3f thr %.3f blocked %.3f sum %.6f of %.6f "
			"max %.3f ms mig %llu\n",
			i, (last[i].on_cpu_ns - first[i].on_cpu_ns) / 1e9,
			(last[i].waited_ns - first[i].waited_ns) / 1e9,
			(last[i].behind_own_ns - first[i].behind_own_ns) / 1e9,
			(last[i].throttled_ns - first[i].throttled_ns) / 1e9,
			(last[i].blocked_ns - first[i].blocked_ns) / 1e9,
			(all_time(&last[i]) - all_time(&first[i])) / 1e9, passed / 1e9,
			last[i].delay_max_ns / 1e6, last[i].migrations);
		cr_expect(drive_near(all_time(&last[i]) - all_time(&first[i]), passed, 0.001,
				     DRIVE_MS));
		ran += last[i].on_cpu_ns - first[i].on_cpu_ns;
		waited += last[i].waited_ns - first[i].waited_ns;
		own += last[i].behind_own_ns - first[i].behind_own_ns;
		throttled += last[i].throttled_ns - first[i].throttled_ns;
	}
	cr_expect(drive_near(waited, (N - 1) * elapsed, 0.05, 0), "%.3f", (double)waited / elapsed);
	for (int i = 0; i < N; i++)
		drive_kill(pids[i]);
	drive_close(&d);
	(void)work_and_sleep;
}

#define GROUP "/sys/fs/cgroup/cpu/hotrun-test-wait"

static void put(const char *file, const char *text)
{
	char path[256];
	FILE *out;

	snprintf(path, sizeof(path), GROUP "/%s", file);
	out = fopen(path, "we");
	cr_assert(out, "%s", path);
	cr_assert_geq(fputs(text, out), 0);
	cr_assert_eq(fclose(out), 0, "%s", path);
}

static uint64_t throttled_time(void)
{
	FILE *in = fopen(GROUP "/cpu.stat", "re");
	unsigned long long v = 0;
	char line[128];

	while (fgets(line, sizeof(line), in))
		sscanf(line, "throttled_time %llu", &v);
	fclose(in);
	return v;
}

#include <sys/stat.h>
Test(wait, throttle)
{
	for (int n = 1; n <= 4; n += 3) {
		struct event_task first[4], last[4];
		struct drive d;
		pid_t pids[4];
		uint64_t t0;

		rmdir(GROUP);
		cr_assert_eq(mkdir(GROUP, 0755), 0);
		put("cpu.cfs_period_us", "100000");
		put("cpu.cfs_quota_us", "50000");
		drive_open(&d, NULL);
		for (int i = 0; i < n; i++) {
			char text[16];
			pids[i] = drive_fork(drive_spin, NULL, drive_cpu(1), false);
			snprintf(text, sizeof(text), "%d", pids[i]);
			put("cgroup.procs", text);
		}
		drive_sleep(500 * DRIVE_MS);
		t0 = throttled_time();
		for (int i = 0; i < n; i++)
			first[i] = account_of(&d, pids[i]);
		drive_sleep(2 * DRIVE_SECOND);
		for (int i = 0; i < n; i++)
			last[i] = account_of(&d, pids[i]);
		fprintf(stderr, "cpu.stat %.3f\n", (throttled_time() - t0) / 1e9);
		for (int i = 0; i < n; i++) {
			uint64_t passed = last[i].time_ns - first[i].time_ns;
			fprintf(stderr,
				"%d: ran %.3f waited %.3f own %.3f thr %.3f blocked %.3f sum %.6f "
				"of %.6f max %.3f ms\n",
				i, (last[i].on_cpu_ns - first[i].on_cpu_ns) / 1e9,
				(last[i].waited_ns - first[i].waited_ns) / 1e9,
				(last[i].behind_own_ns - first[i].behind_own_ns) / 1e9,
				(last[i].throttled_ns - first[i].throttled_ns) / 1e9,
				(last[i].blocked_ns - first[i].blocked_ns) / 1e9,
				(all_time(&last[i]) - all_time(&first[i])) / 1e9, passed / 1e9,
				last[i].delay_max_ns / 1e6);
			drive_kill(pids[i]);
		}
		drive_sleep(50 * DRIVE_MS);
		rmdir(GROUP);
		drive_close(&d);
	}
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drive.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- accounts -------------------------------------------------------------------------------- */

void drive_accounts(struct drive *d, const pid_t *tids, size_t cnt, struct event_task *ret_tasks)
{
	drive_read_accounts(d);
	for (size_t i = 0; i < cnt; i++) {
		const struct event_task *task = drive_task(d, (uint32_t)tids[i], EVENT_TASK);

		cr_assert(task, "no account of %d", tids[i]);
		cr_assert_eq(task->flags & (ACCOUNT_ABSENT | ACCOUNT_TORN), 0);
		ret_tasks[i] = *task;
	}
}

struct event_task drive_account(struct drive *d, pid_t tid)
{
	struct event_task task;

	drive_accounts(d, &tid, 1, &task);
	return task;
}

struct event_task drive_rise(const struct event_task *first, const struct event_task *last)
{
	struct event_task rise = *last;

	rise.time_ns -= first->time_ns;
	rise.blocked_ns -= first->blocked_ns;
	for (size_t i = 0; i < SCHED_FIGURES; i++)
		((__u64 *)&rise.sched)[i] -= ((const __u64 *)&first->sched)[i];
	for (int i = 0; i < DELAY_SLOTS; i++)
		rise.delays[i] -= first->delays[i];
	return rise;
}

uint64_t drive_parts(const struct event_task *task)
{
	return task->sched.on_cpu_ns + task->sched.waited_ns + task->sched.throttled_ns +
	       task->blocked_ns + task->sched.uninterruptible_ns;
}

uint64_t drive_delays(const struct event_task *task)
{
	uint64_t sum = 0;

	for (int i = 0; i < DELAY_SLOTS; i++)
		sum += task->delays[i];
	return sum;
}

void drive_expect_parts(const struct event_task *first, const struct event_task *last,
			uint64_t unaccounted, const char *who)
{
	struct event_task rise = drive_rise(first, last);

	cr_expect(drive_near_but(drive_parts(&rise), rise.time_ns, 0.001, 50000, unaccounted),
		  "%s: ran %llu + waited %llu + throttled %llu + blocked %llu + uninterruptible "
		  "%llu us are not the %llu us that passed",
		  who, rise.sched.on_cpu_ns / 1000, rise.sched.waited_ns / 1000,
		  rise.sched.throttled_ns / 1000, rise.blocked_ns / 1000,
		  rise.sched.uninterruptible_ns / 1000, rise.time_ns / 1000);
	cr_expect_leq(rise.sched.behind_own_ns, rise.sched.waited_ns, "%s", who);
}

/* --- load ------------------------------------------------------------------------------------ */

int drive_work_and_sleep(void *unused)
{
	(void)unused;
	for (uint64_t ns = 3 * DRIVE_MS; ns; ns += 3 * DRIVE_MS) {
		drive_burn(ns);
		drive_sleep(DRIVE_MS);
	}
	return 0;
}

static void *work_of(void *arg)
{
	const struct drive_crowd *crowd = arg;

	crowd->work(crowd->arg);
	return NULL;
}

int drive_crowd(void *arg)
{
	struct drive_crowd *crowd = arg;
	pthread_t thread;

	for (unsigned int i = 1; i < crowd->threads; i++)
		if (pthread_create(&thread, NULL, work_of, crowd))
			return 1;
	work_of(crowd);
	return 0;
}

static size_t list_tids(pid_t pid, pid_t *ret_tids, size_t cnt)
{
	struct dirent *entry;
	char path[64];
	size_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	cr_assert(dir, "%s", path);
	while (n < cnt && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			ret_tids[n++] = atoi(entry->d_name);
	closedir(dir);
	return n;
}

void drive_tids(pid_t pid, pid_t *ret_tids, size_t cnt)
{
	for (int i = 0; i < 1000; i++) {
		if (list_tids(pid, ret_tids, cnt) == cnt)
			return;
		drive_sleep(5 * DRIVE_MS);
	}
	cr_assert_fail("%d does not have its %zu threads after 5 s", pid, cnt);
}

/* --- /proc ----------------------------------------------------------------------------------- */

uint64_t drive_threads_on_cpu(pid_t pid)
{
	pid_t tids[64];
	size_t cnt = list_tids(pid, tids, sizeof(tids) / sizeof(tids[0]));
	uint64_t sum = 0;

	for (size_t i = 0; i < cnt; i++)
		sum += drive_proc_on_cpu(tids[i]);
	return sum;
}

uint64_t drive_proc_waited(pid_t tid)
{
	char text[256], *at;

	drive_proc_text(tid, "schedstat", text, sizeof(text));
	at = strchr(text, ' ');
	cr_assert(at);
	return strtoull(at, NULL, 10);
}

bool drive_proc_migrations(pid_t tid, uint64_t *ret_migrations)
{
	char text[8192], path[64], *at;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/sched", tid);
	in = fopen(path, "re");
	if (!in)
		return false;
	fclose(in);
	drive_proc_text(tid, "sched", text, sizeof(text));
	at = strstr(text, "nr_migrations");
	at = at ? strchr(at, ':') : NULL;
	if (at)
		*ret_migrations = strtoull(at + 1, NULL, 10);
	return at;
}

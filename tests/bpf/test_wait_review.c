/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose time it is, on the real kernel: the cgroup of threads, the part behind own threads. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drive.h"
#include "kernel/cgroup_tree.h"

/* The first thread of a session of its own: the kernel gives it a group that is no cgroup where
 * kernel.sched_autogroup_enabled says so. */
static int spin_in_a_session(void *unused)
{
	setsid();
	return drive_spin(unused);
}

Test(wait_review, a_session_of_its_own_leaves_a_thread_in_its_cgroup)
{
	struct cgroup_mounts mounts;
	const struct event_task *task;
	char path[4200], own[256] = "";
	struct stat group;
	struct drive d;
	FILE *file;
	pid_t pid;

	if (cgroup_mounts_find(&mounts) || !mounts.v1)
		cr_skip_test("the path of the cpu controller is known on v1 alone");
	drive_open(&d, NULL);
	pid = drive_fork(spin_in_a_session, NULL, -1, false);
	drive_await(&d, pid, 10 * DRIVE_MS);
	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	file = fopen(path, "re");
	cr_assert(file);
	while (fgets(path, sizeof(path), file))
		if (strstr(path, ":cpu:") && sscanf(strstr(path, ":cpu:"), ":cpu:%255s", own) == 1)
			break;
	fclose(file);
	snprintf(path, sizeof(path), "%s%s", mounts.cpu, own);
	cr_assert_eq(stat(path, &group), 0, "%s", path);
	drive_read_accounts(&d);
	task = drive_task(&d, (uint32_t)pid, EVENT_TASK);
	cr_assert(task);
	cr_expect_eq(task->cgroup_id, group.st_ino, "%lu, not that of %s",
		     (unsigned long)task->cgroup_id, path);
	drive_kill(pid);
	drive_close(&d);
}

/* Of 39 threads: a second each. */
#define WAITED_MOST_NS (39 * 1000 * DRIVE_MS)

static void *spin(void *unused)
{
	drive_spin(unused);
	return NULL;
}

static int spin_in_threads(void *unused)
{
	pthread_t thread;

	for (int i = 0; i < 39; i++)
		if (pthread_create(&thread, NULL, spin, NULL))
			return 1;
	return drive_spin(unused);
}

/* Of those threads of a process that have not run yet: how long they waited, and of that behind own
 * threads. */
static void first_waits(struct drive *d, pid_t pid, uint64_t *ret_waited, uint64_t *ret_own)
{
	*ret_waited = *ret_own = 0;
	drive_read_accounts(d);
	for (size_t i = 0; i < d->tasks_cnt; i++) {
		const struct event_task *task = &d->tasks[i];

		if (task->tgid != (uint32_t)pid || task->sched.on_cpu_ns)
			continue;
		*ret_waited += task->sched.waited_ns;
		*ret_own += task->sched.behind_own_ns;
		cr_expect_leq(task->sched.behind_own_ns, task->sched.waited_ns);
	}
}

/* As at its end, or the part behind own threads jumps beyond the wait of that slice. A stranger may
 * have the CPU until the first of them runs. */
Test(wait_review, a_wait_from_before_the_start_tells_own_threads_while_it_goes_on)
{
	uint64_t before = 0, waited, own;
	struct drive d;
	pid_t pid = drive_fork(spin_in_threads, NULL, drive_cpu(1), false);

	drive_sleep(100 * DRIVE_MS);
	drive_open(&d, NULL);
	drive_sleep(10 * DRIVE_MS);
	first_waits(&d, pid, &waited, &own);
	if (!waited)
		cr_skip_test("all of them ran already");
	while (waited && !own && waited < WAITED_MOST_NS) {
		before = waited;
		drive_sleep(10 * DRIVE_MS);
		first_waits(&d, pid, &waited, &own);
	}
	cr_expect_gt(own, 0, "0 of %lu ns, before that of %lu", (unsigned long)waited,
		     (unsigned long)before);
	drive_kill(pid);
	drive_close(&d);
}

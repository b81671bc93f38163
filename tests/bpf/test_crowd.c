/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accounts of very many threads, and of threads whose CPU goes away. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drive.h"

/* Ring buffers and maps of a session on a small machine, however many threads there are. */
#define MAPS_MOST_BYTES (24ull << 20)

static uint64_t lost(const struct drive *d, unsigned int cause)
{
	uint64_t losses[LOSS_KERNEL_CNT];

	session_read_losses(d->s, losses);
	return losses[cause];
}

/* Drains until a child has ended. */
static int drain_until_end(struct drive *d, pid_t pid)
{
	int status = -1;

	while (!waitpid(pid, &status, WNOHANG)) {
		drive_drain(d);
		drive_sleep(5 * DRIVE_MS);
	}
	drive_sleep(50 * DRIVE_MS);
	drive_drain(d);
	return status;
}

/* --- many threads ---------------------------------------------------------------------------- */

#define THREADS 10001

static size_t threads_of(pid_t pid)
{
	char text[8192], *at;

	drive_proc_text(pid, "status", text, sizeof(text));
	at = strstr(text, "\nThreads:");
	return at ? strtoul(at + 9, NULL, 10) : 0;
}

Test(crowd, each_of_ten_thousand_threads_has_its_account_to_the_end)
{
	char *args[] = {(char *)"10000", (char *)"2.5", NULL};
	size_t cnt = 0, absent = 0, ends = 0;
	struct drive d;
	size_t bytes;
	pid_t pid;

	drive_open(&d, NULL);
	d.may_lose = true;
	bytes = session_map_bytes(d.s);
	pid = drive_exec("threads10k", args, -1, false);
	for (int i = 0; i < 4000 && threads_of(pid) < THREADS; i++)
		drive_sleep(5 * DRIVE_MS);
	cr_assert_eq(threads_of(pid), THREADS);
	drive_read_accounts(&d);
	for (size_t i = 0; i < d.tasks_cnt; i++)
		if (d.tasks[i].tgid == (uint32_t)pid && d.tasks[i].header.kind == EVENT_TASK) {
			cnt++;
			absent += d.tasks[i].flags & ACCOUNT_ABSENT;
		}
	cr_expect_eq(cnt, THREADS, "%zu in one pass", cnt);
	cr_expect_leq(absent, lost(&d, LOSS_ACCOUNT_ALLOC));
	cr_expect_eq(drain_until_end(&d, pid), 0);
	for (size_t i = 0; i < d.tasks_cnt; i++)
		ends += d.tasks[i].tgid == (uint32_t)pid &&
			d.tasks[i].header.kind == EVENT_TASK_END;
	cr_expect_leq(ends, THREADS);
	cr_expect_geq(ends + lost(&d, LOSS_TASK_RING_FULL) + absent, THREADS,
		      "%zu last accounts, %llu lost", ends,
		      (unsigned long long)lost(&d, LOSS_TASK_RING_FULL));
	cr_expect_gt(ends, THREADS / 4, "%zu last accounts: the drain is of no use", ends);
	cr_expect_eq(session_map_bytes(d.s), bytes);
	cr_expect_lt(bytes, MAPS_MOST_BYTES, "%zu bytes", bytes);
	drive_close(&d);
}

/* --- many processes -------------------------------------------------------------------------- */

static int said[2];

static int storm(void *path)
{
	if (dup2(said[1], STDOUT_FILENO) < 0)
		return 1;
	close(said[0]);
	close(said[1]);
	execl(path, "storm", "4", "2000", NULL);
	return 127;
}

Test(crowd, two_thousand_processes_a_second_leave_their_accounts)
{
	const char *build = getenv("BUILD");
	unsigned long long told = 0;
	char path[4096], text[256];
	uint64_t ends = 0, lost_cnt;
	struct drive d;
	ssize_t n;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/workloads/storm", build ? build : "build");
	cr_assert_eq(access(path, X_OK), 0, "%s: make workloads", path);
	cr_assert_eq(pipe(said), 0);
	drive_open(&d, NULL);
	d.may_lose = true;
	pid = drive_fork(storm, path, -1, false);
	cr_expect_eq(drain_until_end(&d, pid), 0);
	n = read(said[0], text, sizeof(text) - 1);
	cr_assert_gt(n, 0);
	text[n] = '\0';
	cr_assert_eq(sscanf(text, "storm: %llu processes, 0 failed", &told), 1, "%s", text);
	for (size_t i = 0; i < d.tasks_cnt; i++)
		ends += d.tasks[i].header.kind == EVENT_TASK_END &&
			d.tasks[i].parent_tgid == (uint32_t)pid;
	lost_cnt = lost(&d, LOSS_TASK_RING_FULL) + lost(&d, LOSS_ACCOUNT_ALLOC);
	/* Of 8,000; how many depends on the machine, and each is accounted for. */
	cr_expect_gt(told, 0);
	cr_expect_leq(ends, told);
	cr_expect_geq(ends + lost_cnt, told, "%llu last accounts and %llu lost of %llu",
		      (unsigned long long)ends, (unsigned long long)lost_cnt, told);
	cr_expect_leq(
		lost_cnt * 100, told, "%llu lost (%llu without memory), though they were drained",
		(unsigned long long)lost_cnt, (unsigned long long)lost(&d, LOSS_ACCOUNT_ALLOC));
	drive_close(&d);
}

/* --- a CPU goes away ------------------------------------------------------------------------- */

#define ONLINE "/sys/devices/system/cpu/cpu1/online"

static bool write_switch(const char *value)
{
	int fd = open(ONLINE, O_WRONLY | O_CLOEXEC);
	bool written = fd >= 0 && write(fd, value, 1) == 1;

	if (fd >= 0)
		close(fd);
	return written;
}

/* cgroup v1 takes the CPU from every inner cpuset and does not give it back. */
static bool has_cpusets(void)
{
	DIR *dir = opendir("/sys/fs/cgroup/cpuset");
	struct dirent *entry;
	bool inner = false;

	while (dir && (entry = readdir(dir)))
		inner |= entry->d_type == DT_DIR && entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return inner;
}

/* Puts the CPU back when the test closes the pipe or ends in whatever way, and at the latest after
 * 2 s. Ahead of everybody: the load must not keep it from that. */
static pid_t start_guard(int *ret_end)
{
	struct sched_param param = {.sched_priority = 60};
	struct pollfd closed;
	int ends[2];
	pid_t pid;

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		close(ends[1]);
		sched_setscheduler(0, SCHED_FIFO, &param);
		closed = (struct pollfd){ends[0], POLLIN, 0};
		poll(&closed, 1, 2000);
		_exit(!write_switch("1"));
	}
	close(ends[0]);
	*ret_end = ends[1];
	return pid;
}

/* Lighter than the test, which has to share the CPU that is left. */
static int spin_lightly(void *unused)
{
	if (setpriority(PRIO_PROCESS, 0, 15))
		return 1;
	return drive_spin(unused);
}

#define SPINNERS 4

Test(crowd, waits_go_on_when_a_cpu_goes_away)
{
	struct event_task first[SPINNERS], last[SPINNERS];
	uint64_t told[SPINNERS], ran[SPINNERS], waited = 0;
	pid_t pids[SPINNERS], guard;
	struct drive d;
	int end, status;

	if (access(ONLINE, W_OK) || has_cpusets())
		drive_skip("CPU 1 cannot be taken off line here");
	drive_open(&d, NULL);
	guard = start_guard(&end);
	for (int i = 0; i < SPINNERS; i++)
		pids[i] = drive_fork(spin_lightly, NULL, i ? -1 : 1, false);
	drive_sleep(100 * DRIVE_MS);
	for (int i = 0; i < SPINNERS; i++)
		drive_halt(pids[i]);
	drive_accounts(&d, pids, SPINNERS, first);
	for (int i = 0; i < SPINNERS; i++) {
		told[i] = drive_proc_waited(pids[i]);
		ran[i] = drive_proc_on_cpu(pids[i]);
		drive_resume(pids[i]);
	}
	drive_sleep(100 * DRIVE_MS);
	if (!write_switch("0"))
		drive_skip("the kernel does not let CPU 1 go");
	drive_sleep(500 * DRIVE_MS);
	close(end);
	cr_assert_eq(waitpid(guard, &status, 0), guard);
	cr_assert_eq(status, 0, "CPU 1 does not come back");
	drive_sleep(200 * DRIVE_MS);
	for (int i = 0; i < SPINNERS; i++)
		drive_halt(pids[i]);
	drive_accounts(&d, pids, SPINNERS, last);
	for (int i = 0; i < SPINNERS; i++) {
		struct event_task rise = drive_rise(&first[i], &last[i]);
		uint64_t unaccounted = drive_unaccounted(&d);

		drive_expect_parts(&first[i], &last[i], unaccounted, "spinner");
		told[i] = drive_proc_waited(pids[i]) - told[i];
		ran[i] = drive_proc_on_cpu(pids[i]) - ran[i];
		cr_expect(
			drive_near_but(rise.sched.waited_ns, told[i], 0.01, DRIVE_MS, unaccounted),
			"%d: waited %llu us, schedstat %llu", i, rise.sched.waited_ns / 1000,
			(unsigned long long)told[i] / 1000);
		cr_expect(drive_ran(&d, rise.sched.on_cpu_ns, ran[i], 0.03, DRIVE_MS),
			  "%d: ran %llu us, schedstat %llu", i, rise.sched.on_cpu_ns / 1000,
			  (unsigned long long)ran[i] / 1000);
		waited += rise.sched.waited_ns;
	}
	/* Four on one CPU for 500 ms. */
	cr_expect_gt(waited, 1400 * DRIVE_MS);
	for (int i = 0; i < SPINNERS; i++)
		drive_kill(pids[i]);
	drive_close(&d);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* on_tick on the real kernel. */
#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drive.h"
#include "kernel/cgroup_tree.h"

#define HZ 499

static size_t samples_of(const struct drive *d, pid_t tgid)
{
	size_t n = 0;

	for (size_t i = 0; i < d->samples_cnt; i++)
		n += d->samples[i].tgid == (uint32_t)tgid;
	return n;
}

/* The newest record of a stack, NULL = never sent. */
static const struct drive_stack *stack_of(const struct drive *d, uint64_t id)
{
	for (size_t i = d->stacks_cnt; i-- > 0;)
		if (d->stacks[i].event.id == id)
			return &d->stacks[i];
	return NULL;
}

Test(sample, a_spinner_is_hit_in_proportion_to_its_cpu_time)
{
	struct drive d;
	pid_t pid;
	uint64_t ran, ticks, expected;

	drive_start(&d, NULL);
	pid = drive_fork(drive_spin, NULL, drive_cpu(0), true);
	drive_await(&d, pid, 1500 * DRIVE_MS);
	drive_halt(pid);
	ran = drive_proc_on_cpu(pid);
	ticks = drive_proc_start_ticks(pid);
	drive_drain(&d);
	expected = ran * HZ / DRIVE_SECOND;
	cr_expect(drive_near(samples_of(&d, pid), expected, 0.10, 5), "%zu samples, expected %llu",
		  samples_of(&d, pid), (unsigned long long)expected);
	for (size_t i = 0; i < d.samples_cnt; i++) {
		const struct event_sample *s = &d.samples[i];

		if (s->tgid != (uint32_t)pid)
			continue;
		cr_assert_eq(drive_ticks(s->process_start_ns), ticks);
		cr_assert_eq(s->thread_start_ns, s->process_start_ns);
		cr_assert_eq(s->tid, s->tgid);
		cr_assert_eq(s->header.cpu, drive_cpu(0));
		cr_assert_eq(s->sample_kind, SAMPLE_ON_CPU);
		cr_assert_eq(s->flags, 0);
		cr_assert_neq(s->user_stack, 0);
	}
	drive_kill(pid);
	drive_close(&d);
}

/* A thread of io_uring that asks for work without end: in the kernel, with its process's memory. */
static int poll_ring(void *unused)
{
	struct io_uring_params params = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 60000};
	int fd = (int)syscall(SYS_io_uring_setup, 8, &params);

	(void)unused;
	if (fd < 0)
		return 1;
	/* It sleeps until it is woken. */
	for (;;) {
		syscall(SYS_io_uring_enter, fd, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
		usleep(10000);
	}
}

Test(sample, threads_that_run_in_the_kernel_alone_have_no_user_stack)
{
	siginfo_t ended = {0};
	struct drive d;
	size_t cnt = 0;
	pid_t pid;

	drive_start(&d, NULL);
	pid = drive_fork(poll_ring, NULL, drive_cpu(0), false);
	drive_sleep(1500 * DRIVE_MS);
	drive_drain(&d);
	for (size_t i = 0; i < d.samples_cnt; i++) {
		const struct event_sample *s = &d.samples[i];

		if (s->tgid != (uint32_t)pid || s->tid == s->tgid)
			continue;
		cr_expect_eq(s->user_stack, 0);
		cr_expect_neq(s->kernel_stack, 0);
		cr_expect_eq(s->flags & SAMPLE_KERNEL_THREAD, 0, "its time is the process's");
		cnt++;
	}
	waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT);
	if (ended.si_pid == pid)
		printf("skipped: this kernel allows no io_uring\n");
	else
		cr_expect_geq(cnt, HZ / 10, "%zu samples", cnt);
	drive_kill(pid);
	drive_close(&d);
}

#define CROWD 4

Test(sample, counts_who_waits_for_its_cpu)
{
	struct drive d;
	pid_t pids[CROWD];
	size_t samples = 0, enough = 0, too_many = 0;
	uint32_t most_running = 0;
	uint64_t ran_ns = 0;

	drive_start(&d, NULL);
	for (int i = 0; i < CROWD; i++)
		pids[i] = drive_fork(drive_spin, NULL, drive_cpu(0), true);
	drive_sleep(100 * DRIVE_MS); /* the kernel's own threads that moved them have run */
	drive_drain(&d);
	d.samples_cnt = 0;
	for (int i = 0; i < CROWD; i++)
		ran_ns -= drive_proc_on_cpu(pids[i]);
	for (int i = 0; i < 150; i++) {
		uint32_t running = drive_proc_running();

		most_running = running > most_running ? running : most_running;
		drive_sleep(10 * DRIVE_MS);
		drive_drain(&d);
	}
	for (int i = 0; i < CROWD; i++)
		ran_ns += drive_proc_on_cpu(pids[i]);
	for (int i = 0; i < CROWD; i++)
		drive_kill(pids[i]);
	for (size_t i = 0; i < d.samples_cnt; i++)
		for (int k = 0; k < CROWD; k++) {
			if (d.samples[i].tgid != (uint32_t)pids[k])
				continue;
			samples++;
			enough += d.samples[i].waiters >= CROWD - 1;
			/* Others of this machine may wait there too, but no more than run at all,
			 * and few come and go between two looks. */
			too_many += d.samples[i].waiters > most_running + 2;
		}
	cr_assert(drive_near(samples, ran_ns * 499 / DRIVE_SECOND, 0.2, 10),
		  "%zu samples in %llu ms", samples, (unsigned long long)ran_ns / DRIVE_MS);
	cr_expect_geq(enough * 10, samples * 9, "%zu of %zu", enough, samples);
	cr_expect_leq(too_many * 20, samples, "%zu of %zu above %u", too_many, samples,
		      most_running);
	drive_close(&d);
}

static int read_zeros(void *unused)
{
	static char buffer[1 << 20];
	int fd = open("/dev/zero", O_RDONLY);

	(void)unused;
	while (read(fd, buffer, sizeof(buffer)) > 0)
		;
	return 1;
}

Test(sample, stacks_are_sent_once_and_before_the_samples_that_use_them)
{
	struct drive d;
	pid_t a, b;
	size_t in_kernel = 0;

	drive_start(&d, NULL);
	a = drive_fork(drive_spin, NULL, drive_cpu(0), true);
	b = drive_fork(read_zeros, NULL, drive_cpu(1), true);
	drive_await(&d, a, 800 * DRIVE_MS);
	drive_await(&d, b, 800 * DRIVE_MS);
	drive_kill(a);
	drive_kill(b);
	drive_drain(&d);
	cr_assert_gt(samples_of(&d, a), 100);
	cr_assert_gt(samples_of(&d, b), 100);
	for (size_t i = 0; i < d.stacks_cnt; i++) {
		const struct event_stack *s = &d.stacks[i].event;
		bool again = false, pushed_out = false;

		cr_assert_neq(s->id, 0);
		cr_assert_neq(s->frame_cnt, 0);
		cr_assert_eq(!s->tgid, !!(s->flags & STACK_KERNEL));
		for (size_t k = 0; k < i; k++) {
			again |= d.stacks[k].event.id == s->id;
			pushed_out |= d.stacks[k].event.id != s->id &&
				      (d.stacks[k].event.id & 0xffff) == (s->id & 0xffff);
		}
		cr_expect(!again || pushed_out, "stack %llx sent twice", s->id);
	}
	for (size_t i = 0; i < d.samples_cnt; i++) {
		const uint64_t ids[] = {d.samples[i].kernel_stack, d.samples[i].user_stack};

		in_kernel += ids[0] && d.samples[i].tgid == (uint32_t)b;
		for (size_t k = 0; k < 2; k++) {
			bool there = !ids[k];

			for (size_t j = 0; j < d.stacks_cnt && !there; j++)
				there = d.stacks[j].event.id == ids[k] &&
					d.stacks[j].samples_before <= i;
			cr_expect(there, "stack %llx of sample %zu is not there yet",
				  (unsigned long long)ids[k], i);
		}
	}
	cr_expect_gt(in_kernel * 2, samples_of(&d, b), "a reader is in the kernel mostly");
	drive_close(&d);
}

Test(sample, marks_stacks_deeper_than_the_kernel_walks)
{
	static const struct {
		char *depth;
		bool truncated;
	} rows[] = {{"40", false}, {"500", true}};

	for (size_t row = 0; row < 2; row++) {
		char *args[] = {rows[row].depth, NULL};
		size_t stacks = 0, seen = 0, all;
		struct drive d;
		pid_t pid;

		drive_start(&d, NULL);
		pid = drive_exec("drive_deep", args, drive_cpu(0), true);
		drive_await(&d, pid, 400 * DRIVE_MS);
		drive_kill(pid);
		drive_drain(&d);
		all = samples_of(&d, pid);
		for (size_t i = 0; i < d.samples_cnt; i++) {
			const struct drive_stack *stack;

			/* The last ones only: before, it starts and descends. Without a user stack
			 * it is being killed. */
			if (d.samples[i].tgid != (uint32_t)pid || seen++ < all / 2 ||
			    !d.samples[i].user_stack)
				continue;
			stack = stack_of(&d, d.samples[i].user_stack);
			cr_assert(stack);
			cr_assert_eq(!!(stack->event.flags & STACK_TRUNCATED), rows[row].truncated,
				     "depth %s: %u frames", rows[row].depth,
				     stack->event.frame_cnt);
			if (rows[row].truncated)
				cr_assert_eq(stack->event.frame_cnt, d.host.max_stack);
			else
				cr_assert(stack->event.frame_cnt > 40 &&
						  stack->event.frame_cnt < 60,
					  "%u frames", stack->event.frame_cnt);
			stacks++;
		}
		cr_expect_gt(stacks, 20, "depth %s", rows[row].depth);
		drive_close(&d);
	}
}

static uint64_t ticks_filtered(struct drive *d)
{
	uint64_t sum = 0, now_ns;
	struct cpu_clock clock;

	for (uint32_t cpu = 0; cpu < d->host.cpus_possible; cpu++)
		if (!session_read_cpu(d->s, cpu, &clock, &now_ns))
			sum += clock.ticks_filtered;
	return sum;
}

/* Those outside of the filter are sent only where threads waited behind them, and marked. */
static void expect_filtered(const struct event_sample *sample, bool wanted)
{
	cr_assert_eq(sample->flags & SAMPLE_FILTERED, wanted ? 0 : SAMPLE_FILTERED);
	if (wanted)
		return;
	cr_assert_gt(sample->waiters, 0);
	cr_assert_eq(sample->user_stack | sample->kernel_stack, 0);
}

Test(sample, a_filter_of_processes_sends_these_alone_and_counts_the_rest)
{
	pid_t wanted = drive_fork(drive_spin, NULL, drive_cpu(0), true);
	pid_t other = drive_fork(drive_spin, NULL, drive_cpu(1), true);
	const uint32_t tgid = (uint32_t)wanted;
	struct session_options options = {.sample_hz = HZ, .tgids = &tgid, .tgid_cnt = 1};
	uint64_t ran[2];
	struct drive d;

	drive_halt(wanted);
	drive_halt(other);
	ran[0] = drive_proc_on_cpu(wanted);
	ran[1] = drive_proc_on_cpu(other);
	drive_start(&d, &options);
	drive_resume(wanted);
	drive_resume(other);
	drive_await(&d, wanted, ran[0] + 300 * DRIVE_MS);
	drive_await(&d, other, ran[1] + 300 * DRIVE_MS);
	drive_drain(&d);
	drive_read_accounts(&d);
	drive_kill(wanted);
	drive_kill(other);
	cr_expect_gt(samples_of(&d, wanted), 50);
	for (size_t i = 0; i < d.samples_cnt; i++)
		expect_filtered(&d.samples[i], d.samples[i].tgid == tgid);
	cr_expect_gt(ticks_filtered(&d), 50);
	cr_assert(drive_task(&d, (uint32_t)other, EVENT_TASK));
	cr_expect_gt(drive_task(&d, (uint32_t)other, EVENT_TASK)->sched.on_cpu_ns, 200 * DRIVE_MS,
		     "accounts are never filtered");
	drive_close(&d);
}

/* Makes a group below that of this process, in the hierarchy of the cpu controller. */
static void make_group(char *path, size_t bytes, uint64_t *ret_id)
{
	char *folder = NULL;
	struct stat st;

	cr_assert_eq(cgroup_tree_find("/", &folder), 0, "no cgroup file system");
	snprintf(path, bytes, "%s/hotrun-drive-%d", folder, getpid());
	free(folder);
	cr_assert_eq(mkdir(path, 0755), 0, "%s", path);
	cr_assert_eq(stat(path, &st), 0);
	*ret_id = st.st_ino;
}

static bool move_to(const char *group, pid_t pid)
{
	char path[4200], text[32];
	int fd, n = snprintf(text, sizeof(text), "%d", pid);
	bool done;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	done = fd >= 0 && write(fd, text, (size_t)n) == n;
	close(fd);
	return done;
}

Test(sample, a_filter_of_groups_sends_their_processes_alone)
{
	struct session_options options = {.sample_hz = HZ, .cgroups = true};
	struct drive d;
	pid_t wanted, other;
	char group[4096];
	uint64_t id;
	bool moved;

	drive_start(&d, &options);
	make_group(group, sizeof(group), &id);
	wanted = drive_fork(drive_spin, NULL, drive_cpu(0), true);
	other = drive_fork(drive_spin, NULL, drive_cpu(1), true);
	cr_expect_eq(session_select_cgroup(d.s, id), 0);
	moved = move_to(group, wanted);
	cr_expect(moved, "%s", group);
	drive_await(&d, wanted, 300 * DRIVE_MS);
	drive_await(&d, other, 300 * DRIVE_MS);
	drive_read_accounts(&d);
	drive_kill(wanted);
	drive_kill(other);
	drive_drain(&d);
	for (int i = 0; i < 100 && rmdir(group); i++)
		drive_sleep(10 * DRIVE_MS);
	cr_expect_neq(access(group, F_OK), 0, "%s is left", group);
	cr_expect_gt(samples_of(&d, wanted), 50);
	for (size_t i = 0; i < d.samples_cnt; i++)
		expect_filtered(&d.samples[i], d.samples[i].cgroup_id == id);
	cr_expect_gt(ticks_filtered(&d), 50);
	cr_assert(drive_task(&d, (uint32_t)wanted, EVENT_TASK));
	cr_expect_eq(drive_task(&d, (uint32_t)wanted, EVENT_TASK)->cgroup_id, id);
	drive_close(&d);
}

/* --- promise 1 ------------------------------------------------------------------------------- */

static int hold_session(void *unused)
{
	struct drive d;

	(void)unused;
	drive_start(&d, NULL);
	while (pause())
		;
	return 0;
}

#define PROGRAMS_MAX 64

/* Ids of the BPF programs that a process holds, of its file descriptors and links. */
static size_t programs_of(pid_t pid, uint32_t ids[PROGRAMS_MAX])
{
	char folder[64], path[512], line[256];
	struct dirent *entry;
	size_t n = 0;
	DIR *dir;

	snprintf(folder, sizeof(folder), "/proc/%d/fdinfo", pid);
	dir = opendir(folder);
	cr_assert(dir);
	while ((entry = readdir(dir))) {
		FILE *in;

		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		in = fopen(path, "re");
		while (in && fgets(line, sizeof(line), in))
			if (n < PROGRAMS_MAX && sscanf(line, "prog_id: %u", &ids[n]) == 1)
				n++;
		if (in)
			fclose(in);
	}
	closedir(dir);
	return n;
}

static size_t programs_alive(const uint32_t *ids, size_t cnt)
{
	size_t n = 0;

	for (size_t i = 0; i < cnt; i++) {
		int fd = bpf_prog_get_fd_by_id(ids[i]);

		n += fd >= 0;
		if (fd >= 0)
			close(fd);
	}
	return n;
}

Test(sample, a_killed_holder_leaves_no_program_behind)
{
	uint32_t ids[PROGRAMS_MAX];
	size_t cnt = 0;
	struct drive d;
	pid_t pid;

	drive_open(&d, NULL); /* skips where it must */
	drive_close(&d);
	pid = drive_fork(hold_session, NULL, -1, false);
	for (int i = 0; i < 500 && cnt < 8; i++) {
		drive_sleep(10 * DRIVE_MS);
		cnt = programs_of(pid, ids);
	}
	drive_sleep(100 * DRIVE_MS);
	cnt = programs_of(pid, ids);
	cr_assert_geq(cnt, 5, "%zu programs", cnt);
	cr_assert_eq(programs_alive(ids, cnt), cnt);
	drive_kill(pid);
	for (int i = 0; i < 100 && programs_alive(ids, cnt); i++)
		drive_sleep(10 * DRIVE_MS);
	cr_expect_eq(programs_alive(ids, cnt), 0);
}

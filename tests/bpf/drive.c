/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drive.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"

/* --- session --------------------------------------------------------------------------------- */

void drive_skip(const char *why)
{
	const char *ci = getenv("CI");

	if (ci && !strcmp(ci, "true"))
		cr_assert_fail("cannot run here: %s", why);
	fprintf(stderr, "skipped: %s\n", why);
	cr_skip_test("%s", why);
}

static uint64_t steal_ticks(void)
{
	_cleanup_fclose_ FILE *in = fopen("/proc/stat", "re");
	unsigned long long ticks = 0;

	cr_assert(in && fscanf(in, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &ticks) == 1);
	return ticks;
}

void drive_open(struct drive *d, const struct session_options *options)
{
	struct session_options wanted = {.sample_hz = 499};
	char why[512] = "";

	*d = (struct drive){.steal_ticks = steal_ticks()};
	host_describe(&d->host);
	if (host_check(&d->host, why, sizeof(why)))
		drive_skip(why);
	if (options)
		wanted = *options;
	wanted.cpus_possible = d->host.cpus_possible;
	wanted.max_stack = d->host.max_stack;
	cr_assert_eq(session_new(&wanted, why, sizeof(why), &d->s), 0, "%s", why);
	/* Behind urgent children its sleeps would take ten times as long as asked for. */
	cr_assert_eq(setpriority(PRIO_PROCESS, 0, -20), 0);
}

void drive_start(struct drive *d, const struct session_options *options)
{
	char why[512] = "";

	drive_open(d, options);
	cr_assert_eq(session_start(d->s, why, sizeof(why)), 0, "%s", why);
}

static void take_sample(void *ctx, const struct event_sample *sample)
{
	struct drive *d = ctx;

	cr_assert_eq(GROW(d->samples, d->samples_cnt, d->samples_cap), 0);
	d->samples[d->samples_cnt++] = *sample;
	for (uint32_t i = 0; i < sample->waiting_cnt; i++) {
		cr_assert_eq(GROW(d->waiting, d->waiting_cnt, d->waiting_cap), 0);
		d->waiting[d->waiting_cnt++] = sample->waiting[i];
	}
}

static void take_stack(void *ctx, const struct event_stack *stack)
{
	struct drive *d = ctx;

	cr_assert_eq(GROW(d->stacks, d->stacks_cnt, d->stacks_cap), 0);
	memcpy(&d->stacks[d->stacks_cnt].event, stack, sizeof(*stack));
	d->stacks[d->stacks_cnt++].samples_before = d->samples_cnt;
}

static void take_task(void *ctx, const struct event_task *task)
{
	struct drive *d = ctx;

	cr_assert_eq(GROW(d->tasks, d->tasks_cnt, d->tasks_cap), 0);
	d->tasks[d->tasks_cnt++] = *task;
}

static void take_program(void *ctx, const struct event_exec *exec)
{
	struct drive *d = ctx;

	cr_assert_eq(GROW(d->execs, d->execs_cnt, d->execs_cap), 0);
	d->execs[d->execs_cnt++] = *exec;
}

static void take_waker(void *ctx, const struct event_waker *waker)
{
	struct drive *d = ctx;

	cr_assert_eq(GROW(d->wakers, d->wakers_cnt, d->wakers_cap), 0);
	d->wakers[d->wakers_cnt++] = *waker;
}

static struct drive_record *add_record(struct drive *d, struct drive_record record,
				       const char *text, size_t len)
{
	cr_assert_eq(GROW(d->records, d->records_cnt, d->records_cap), 0);
	snprintf(record.text, sizeof(record.text), "%.*s", (int)len, text);
	d->records[d->records_cnt] = record;
	return &d->records[d->records_cnt++];
}

static void take_fork(void *ctx, uint32_t tgid, uint32_t tid, uint32_t parent, uint64_t time_ns)
{
	add_record(ctx, (struct drive_record){DRIVE_FORK, tgid, tid, parent, time_ns, 0, {0}, ""},
		   "", 0);
}

static void take_exit(void *ctx, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	add_record(ctx, (struct drive_record){DRIVE_EXIT, tgid, tid, 0, time_ns, 0, {0}, ""}, "",
		   0);
}

static void take_comm(void *ctx, uint32_t tgid, uint32_t tid, const char *comm, size_t len,
		      bool exec, uint64_t time_ns)
{
	add_record(ctx,
		   (struct drive_record){
			   exec ? DRIVE_EXEC : DRIVE_COMM, tgid, tid, 0, time_ns, 0, {0}, ""},
		   comm, len);
}

static void take_mapping(void *ctx, const struct sideband_mapping *map)
{
	struct drive_record *record = add_record(
		ctx, (struct drive_record){DRIVE_MAP, map->tgid, 0, 0, map->time_ns, 0, {0}, ""},
		map->path, map->path_len);

	cr_assert_leq(map->build_id_len, sizeof(record->build_id));
	record->build_id_len = map->build_id_len;
	if (map->build_id_len)
		memcpy(record->build_id, map->build_id, map->build_id_len);
}

static void take_lost(void *ctx, uint64_t records)
{
	((struct drive *)ctx)->sideband_lost += records;
}

void drive_drain(struct drive *d)
{
	struct session_ops ops = {
		.ctx = d,
		.sample = take_sample,
		.stack = take_stack,
		.task = take_task,
		.waker = take_waker,
		.exec = take_program,
	};

	d->bad += session_drain(d->s, &ops);
}

void drive_drain_sideband(struct drive *d, uint64_t until_ns)
{
	struct sideband_ops ops = {d,	      take_fork, take_exit, take_comm, take_mapping,
				   take_lost, NULL};

	d->bad += session_drain_sideband(d->s, &ops, until_ns);
}

static bool passes(void *ctx, uint32_t tgid)
{
	struct drive *d = ctx;

	d->passed += tgid == d->passing;
	return tgid == d->passing;
}

uint64_t drive_drain_passing(struct drive *d, pid_t pid)
{
	struct sideband_ops ops = {d,	      take_fork, take_exit, take_comm, take_mapping,
				   take_lost, passes};

	d->passing = (uint32_t)pid;
	d->passed = 0;
	d->bad += session_drain_sideband(d->s, &ops, UINT64_MAX);
	return d->passed;
}

static void read_accounts(struct drive *d, bool all)
{
	struct session_ops ops = {
		.ctx = d, .sample = take_sample, .stack = take_stack, .task = take_task};

	cr_assert_eq(session_read_accounts(d->s, all, &ops), 0);
}

void drive_read_accounts(struct drive *d)
{
	read_accounts(d, true);
}

void drive_read_moved(struct drive *d)
{
	read_accounts(d, false);
}

uint64_t drive_unaccounted(const struct drive *d)
{
	uint64_t sum = 0, passed = 0, now_ns;
	struct cpu_clock clock;

	for (uint32_t i = 0; i < d->host.cpus_online; i++) {
		cr_assert_eq(session_read_cpu(d->s, (uint32_t)drive_cpu(i), &clock, &now_ns), 0);
		sum += clock.unaccounted_ns;
		passed += clock.unaccounted_ns + clock.accounted_ns + clock.idle_ns;
	}
	/* Of each CPU also up to its first switch: some slices where spinners run. */
	cr_assert_leq(sum, passed / 10 + d->host.cpus_online * 20 * DRIVE_MS,
		      "%llu us unaccounted of %llu", (unsigned long long)sum / 1000,
		      (unsigned long long)passed / 1000);
	return sum;
}

void drive_close(struct drive *d)
{
	uint64_t losses[LOSS_KERNEL_CNT];

	drive_drain(d);
	drive_drain_sideband(d, UINT64_MAX);
	session_read_losses(d->s, losses);
	cr_expect_eq(d->bad, 0, "malformed records");
	cr_expect_eq(losses[LOSS_CLOCK_BACKWARDS], 0, "backward clocks");
	cr_expect_eq(losses[LOSS_SCRATCH], 0, "no scratch");
	if (!d->may_lose) {
		cr_expect_eq(losses[LOSS_ACCOUNT_ALLOC], 0, "accounts without memory");
		cr_expect_eq(losses[LOSS_STACK_RING_FULL] + losses[LOSS_SAMPLE_RING_FULL] +
				     losses[LOSS_TASK_RING_FULL],
			     0, "full rings");
	}
	session_free(d->s);
	free(d->samples);
	free(d->waiting);
	free(d->stacks);
	free(d->tasks);
	free(d->wakers);
	free(d->execs);
	free(d->records);
}

const struct event_task *drive_task(const struct drive *d, uint32_t tid, uint16_t kind)
{
	for (size_t i = d->tasks_cnt; i-- > 0;)
		if (d->tasks[i].tid == tid && d->tasks[i].header.kind == kind)
			return &d->tasks[i];
	return NULL;
}

/* --- load ------------------------------------------------------------------------------------ */

int drive_cpu(unsigned int n)
{
	cpu_set_t set;

	cr_assert_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	n %= (unsigned int)CPU_COUNT(&set);
	for (int cpu = 0;; cpu++)
		if (CPU_ISSET(cpu, &set) && !n--)
			return cpu;
}

/* Pins the caller, so that a child is where it is to be from its first instruction on. */
static void pin(int cpu, cpu_set_t *ret_before)
{
	cpu_set_t set;

	cr_assert_eq(sched_getaffinity(0, sizeof(*ret_before), ret_before), 0);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	cr_assert_eq(sched_setaffinity(0, sizeof(set), &set), 0);
}

/* In the child, before its work. */
static void settle(bool urgent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setpriority(PRIO_PROCESS, 0, urgent ? -20 : 0))
		_exit(121);
}

static pid_t start(drive_work_fn work, void *arg, int cpu, bool urgent)
{
	char ready = 1;
	cpu_set_t before;
	int ends[2];
	pid_t pid;

	cr_assert_eq(pipe(ends), 0);
	/* The test is on the child's CPU for a moment, and would stay there for seconds. */
	if (urgent)
		cr_assert_eq(setpriority(PRIO_PROCESS, 0, -20), 0);
	if (cpu >= 0)
		pin(cpu, &before);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		close(ends[0]);
		settle(urgent);
		if (write(ends[1], &ready, 1) != 1)
			_exit(122);
		close(ends[1]);
		_exit(work(arg));
	}
	if (cpu >= 0)
		sched_setaffinity(0, sizeof(before), &before);
	close(ends[1]);
	cr_assert_eq(read(ends[0], &ready, 1), 1, "child did not start");
	close(ends[0]);
	return pid;
}

pid_t drive_fork(drive_work_fn work, void *arg, int cpu, bool urgent)
{
	return start(work, arg, cpu, urgent);
}

static int run_program(void *arg)
{
	char *const *argv = arg;

	execv(argv[0], argv);
	return 127;
}

pid_t drive_exec(const char *program, char *const *args, int cpu, bool urgent)
{
	const char *build = getenv("BUILD");
	char path[4096], *argv[8] = {path};

	snprintf(path, sizeof(path), "%s/workloads/%s", build ? build : "build", program);
	cr_assert_eq(access(path, X_OK), 0, "%s: make workloads", path);
	for (size_t i = 0; args[i] && i < 6; i++)
		argv[i + 1] = args[i];
	return start(run_program, argv, cpu, urgent);
}

int drive_spin(void *unused)
{
	(void)unused;
	for (volatile uint64_t i = 0;; i++)
		;
}

void drive_burn(uint64_t cpu_ns)
{
	struct timespec now;

	do {
		for (volatile int i = 0; i < 10000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((uint64_t)now.tv_sec * DRIVE_SECOND + (uint64_t)now.tv_nsec < cpu_ns);
}

void drive_halt(pid_t pid)
{
	uint64_t ran_ns = 0, before_ns;
	int status;

	cr_assert_eq(kill(pid, SIGSTOP), 0);
	cr_assert_eq(waitpid(pid, &status, WUNTRACED), pid);
	cr_assert(WIFSTOPPED(status));
	/* The last switch comes after the report of the stop, later where others have the CPU.
	 * Until then its time grows with each tick of the scheduler. */
	for (int i = 0; i < 100; i++) {
		before_ns = ran_ns;
		ran_ns = drive_threads_on_cpu(pid);
		if (ran_ns == before_ns)
			return;
		drive_sleep(15 * DRIVE_MS);
	}
	cr_assert_fail("%d runs on 1.5 s after it was stopped", pid);
}

void drive_resume(pid_t pid)
{
	cr_assert_eq(kill(pid, SIGCONT), 0);
}

void drive_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

void drive_wait(pid_t pid)
{
	int status = -1;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status), "%d: status %d", pid, status);
}

void drive_await(struct drive *d, pid_t pid, uint64_t cpu_ns)
{
	for (int i = 0; i < 3000; i++) {
		if (drive_proc_on_cpu(pid) >= cpu_ns)
			return;
		if (d)
			drive_drain(d);
		drive_sleep(10 * DRIVE_MS);
	}
	cr_assert_fail("%d did not get its time in 30 s", pid);
}

void drive_sleep(uint64_t ns)
{
	struct timespec left = {(time_t)(ns / DRIVE_SECOND), (long)(ns % DRIVE_SECOND)};

	while (nanosleep(&left, &left))
		;
}

/* --- /proc ----------------------------------------------------------------------------------- */

void drive_proc_text(pid_t pid, const char *file, char *text, size_t bytes)
{
	_cleanup_fclose_ FILE *in = NULL;
	char path[64];
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	in = fopen(path, "re");
	cr_assert(in, "%s", path);
	n = fread(text, 1, bytes - 1, in);
	text[n] = '\0';
}

uint64_t drive_proc_on_cpu(pid_t tid)
{
	char text[256];

	drive_proc_text(tid, "schedstat", text, sizeof(text));
	return strtoull(text, NULL, 10);
}

uint64_t drive_proc_start_ticks(pid_t pid)
{
	char text[2048], *at;

	drive_proc_text(pid, "stat", text, sizeof(text));
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	cr_assert(at);
	return strtoull(at + 1, NULL, 10);
}

void drive_proc_switches(pid_t tid, uint64_t *ret_voluntary, uint64_t *ret_involuntary)
{
	static const char voluntary[] = "\nvoluntary_ctxt_switches:",
			  involuntary[] = "\nnonvoluntary_ctxt_switches:";
	char text[8192], *at;

	drive_proc_text(tid, "status", text, sizeof(text));
	at = strstr(text, voluntary);
	cr_assert(at);
	*ret_voluntary = strtoull(at + strlen(voluntary), NULL, 10);
	at = strstr(text, involuntary);
	cr_assert(at);
	*ret_involuntary = strtoull(at + strlen(involuntary), NULL, 10);
}

uint64_t drive_ticks(uint64_t start_ns)
{
	return start_ns / (DRIVE_SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
}

uint32_t drive_proc_running(void)
{
	_cleanup_fclose_ FILE *in = fopen("/proc/loadavg", "re");
	unsigned int running = 0;

	cr_assert(in && fscanf(in, "%*s %*s %*s %u/", &running) == 1);
	return running;
}

bool drive_near(uint64_t a, uint64_t b, double share, uint64_t slack)
{
	uint64_t off = a > b ? a - b : b - a;

	return (double)off <= share * (double)b + (double)slack;
}

uint64_t drive_stolen(const struct drive *d)
{
	uint64_t tick_ns = DRIVE_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);

	return (steal_ticks() - d->steal_ticks + d->host.cpus_online) * tick_ns;
}

bool drive_ran(const struct drive *d, uint64_t account_ns, uint64_t told_ns, double share,
	       uint64_t slack_ns)
{
	if (drive_near_but(account_ns, told_ns, share, slack_ns, drive_unaccounted(d)))
		return true;
	return account_ns > told_ns &&
	       drive_near(account_ns, told_ns, share, slack_ns + drive_stolen(d));
}

bool drive_near_but(uint64_t a, uint64_t b, double share, uint64_t slack, uint64_t unaccounted)
{
	return drive_near(a, b, share, slack) ||
	       (a < b && drive_near(a, b, share, slack + unaccounted));
}

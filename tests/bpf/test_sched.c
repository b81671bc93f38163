/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scheduler accounts and CPU books on the real kernel. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "drive.h"

/* Time in the newest account of a thread, as a pass reads it now. */
static uint64_t account_of(struct drive *d, pid_t tid)
{
	const struct event_task *task;

	drive_read_accounts(d);
	task = drive_task(d, (uint32_t)tid, EVENT_TASK);
	cr_assert(task, "no account of %d", tid);
	cr_assert_eq(task->flags & (ACCOUNT_ABSENT | ACCOUNT_TORN), 0);
	return task->sched.on_cpu_ns;
}

/* 3 ms of work, 1 ms of sleep. */
static int work_and_sleep(void *unused)
{
	(void)unused;
	for (uint64_t ns = 3 * DRIVE_MS; ns; ns += 3 * DRIVE_MS) {
		drive_burn(ns);
		drive_sleep(DRIVE_MS);
	}
	return 0;
}

Test(sched, on_cpu_time_is_that_of_schedstat)
{
	static const struct {
		const char *name;
		drive_work_fn work;
	} rows[] = {{"spinner", drive_spin}, {"sleeper", work_and_sleep}};

	for (size_t i = 0; i < 2; i++) {
		uint64_t account, proc;
		struct drive d;
		pid_t pid;

		drive_open(&d, NULL);
		pid = drive_fork(rows[i].work, NULL, drive_cpu(0), true);
		drive_sleep(50 * DRIVE_MS);
		drive_halt(pid); /* both read at rest */
		account = account_of(&d, pid);
		proc = drive_proc_on_cpu(pid);
		drive_resume(pid);
		drive_await(&d, pid, proc + 500 * DRIVE_MS);
		drive_halt(pid);
		account = account_of(&d, pid) - account;
		proc = drive_proc_on_cpu(pid) - proc;
		cr_expect_gt(proc, 200 * DRIVE_MS, "%s ran too little", rows[i].name);
		cr_expect(drive_ran(&d, account, proc, 0.01, DRIVE_MS),
			  "%s: %llu us, schedstat %llu", rows[i].name,
			  (unsigned long long)account / 1000, (unsigned long long)proc / 1000);
		drive_kill(pid);
		drive_close(&d);
	}
}

static int spin_in_real_time(void *unused)
{
	struct sched_param param = {.sched_priority = 50};

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		return 1;
	return drive_spin(unused);
}

Test(sched, a_thread_that_runs_without_a_switch_is_accounted)
{
	/* Ahead of everybody on its CPU, from before the session to its end. */
	pid_t pid = drive_fork(spin_in_real_time, NULL, drive_cpu(1), false);
	uint64_t before, opened, account, after, since, now;
	struct drive d;

	drive_sleep(50 * DRIVE_MS);
	before = drive_proc_on_cpu(pid);
	drive_open(&d, NULL);
	opened = drive_proc_on_cpu(pid);
	since = clock_now_ns();
	drive_sleep(300 * DRIVE_MS);
	account = account_of(&d, pid);
	now = clock_now_ns();
	after = drive_proc_on_cpu(pid);
	drive_kill(pid);
	/* schedstat of a running thread is up to two scheduler ticks old. */
	cr_expect(account < after - before ||
		  drive_ran(&d, account, after - before, 0, 10 * DRIVE_MS));
	cr_expect_geq(account + 10 * DRIVE_MS + drive_unaccounted(&d), after - opened);
	cr_expect_geq(account, (now - since) / 2, "it should have had the CPU nearly alone");
	drive_close(&d);
}

/* --- switches -------------------------------------------------------------------------------- */

#define ROUNDS 2000

struct table {
	int go[2], there[2], back[2], done[2];
};

static int strike_first(void *arg)
{
	struct table *t = arg;
	char ball = 1;

	if (read(t->go[0], &ball, 1) != 1)
		return 1;
	for (int i = 0; i < ROUNDS; i++)
		if (write(t->there[1], &ball, 1) != 1 || read(t->back[0], &ball, 1) != 1)
			return 1;
	if (write(t->done[1], &ball, 1) != 1)
		return 1;
	return read(t->go[0], &ball, 1) == 1; /* rests until it is killed */
}

static int strike_back(void *arg)
{
	struct table *t = arg;
	char ball;

	while (read(t->there[0], &ball, 1) == 1)
		if (write(t->back[1], &ball, 1) != 1)
			return 1;
	return 0;
}

/* Switches since the account and /proc were first read. */
static void expect_switches(struct drive *d, pid_t pid, const struct event_task *first,
			    uint64_t proc_voluntary, uint64_t proc_involuntary, const char *who)
{
	const struct event_task *last = drive_task(d, (uint32_t)pid, EVENT_TASK);
	uint64_t voluntary, involuntary;

	drive_proc_switches(pid, &voluntary, &involuntary);
	voluntary -= proc_voluntary;
	involuntary -= proc_involuntary;
	cr_expect(drive_near(last->sched.voluntary - first->sched.voluntary, voluntary, 0, 1),
		  "%s: %llu voluntary, /proc %llu", who,
		  last->sched.voluntary - first->sched.voluntary, (unsigned long long)voluntary);
	cr_expect(drive_near(last->sched.involuntary - first->sched.involuntary, involuntary, 0, 1),
		  "%s: %llu involuntary, /proc %llu", who,
		  last->sched.involuntary - first->sched.involuntary,
		  (unsigned long long)involuntary);
}

Test(sched, a_ping_pong_switches_of_its_own_will)
{
	struct event_task first[2], last;
	uint64_t voluntary[2], involuntary[2], switches;
	struct table table;
	char done;
	pid_t pids[2];
	struct drive d;

	drive_open(&d, NULL);
	cr_assert(!pipe(table.go) && !pipe(table.there) && !pipe(table.back) && !pipe(table.done));
	pids[0] = drive_fork(strike_first, &table, drive_cpu(0), true);
	pids[1] = drive_fork(strike_back, &table, drive_cpu(0), true);
	drive_sleep(50 * DRIVE_MS);
	drive_read_accounts(&d);
	for (int i = 0; i < 2; i++) {
		first[i] = *drive_task(&d, (uint32_t)pids[i], EVENT_TASK);
		drive_proc_switches(pids[i], &voluntary[i], &involuntary[i]);
	}
	cr_assert_eq(write(table.go[1], "", 1), 1);
	cr_assert_eq(read(table.done[0], &done, 1), 1);
	drive_sleep(20 * DRIVE_MS);
	drive_read_accounts(&d);
	for (int i = 0; i < 2; i++) {
		expect_switches(&d, pids[i], &first[i], voluntary[i], involuntary[i],
				i ? "back" : "first");
		last = *drive_task(&d, (uint32_t)pids[i], EVENT_TASK);
		/* Whoever is pushed aside by the one that it wakes finds the ball there already. */
		switches = last.sched.voluntary - first[i].sched.voluntary +
			   last.sched.involuntary - first[i].sched.involuntary;
		cr_expect(switches >= ROUNDS && switches < ROUNDS * 3, "%llu switches in %d rounds",
			  (unsigned long long)switches, ROUNDS);
		cr_expect_gt(last.sched.voluntary - first[i].sched.voluntary, ROUNDS / 4);
		cr_expect_eq(last.state, 'S');
	}
	drive_kill(pids[0]);
	drive_kill(pids[1]);
	drive_close(&d);
}

Test(sched, spinners_on_one_cpu_are_switched_against_their_will)
{
	struct event_task first[2];
	uint64_t voluntary[2], involuntary[2];
	pid_t pids[2];
	struct drive d;

	drive_open(&d, NULL);
	for (int i = 0; i < 2; i++)
		pids[i] = drive_fork(drive_spin, NULL, drive_cpu(0), true);
	drive_sleep(50 * DRIVE_MS);
	for (int i = 0; i < 2; i++)
		drive_halt(pids[i]);
	drive_read_accounts(&d);
	for (int i = 0; i < 2; i++) {
		first[i] = *drive_task(&d, (uint32_t)pids[i], EVENT_TASK);
		cr_expect_eq(first[i].state, 'T');
		drive_proc_switches(pids[i], &voluntary[i], &involuntary[i]);
	}
	for (int i = 0; i < 2; i++)
		drive_resume(pids[i]);
	drive_sleep(800 * DRIVE_MS);
	for (int i = 0; i < 2; i++)
		drive_halt(pids[i]);
	drive_read_accounts(&d);
	for (int i = 0; i < 2; i++) {
		const struct event_task *last = drive_task(&d, (uint32_t)pids[i], EVENT_TASK);

		expect_switches(&d, pids[i], &first[i], voluntary[i], involuntary[i], "spinner");
		cr_expect_gt(last->sched.involuntary - first[i].sched.involuntary, 20);
		/* To the stop itself. */
		cr_expect_leq(last->sched.voluntary - first[i].sched.voluntary, 2);
		drive_kill(pids[i]);
	}
	drive_close(&d);
}

/* --- last accounts --------------------------------------------------------------------------- */

static int burn_300_ms(void *unused)
{
	(void)unused;
	drive_burn(300 * DRIVE_MS);
	return 0;
}

static uint64_t usage_ns(const struct rusage *usage)
{
	return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * DRIVE_SECOND +
	       (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000;
}

Test(sched, a_process_that_died_between_two_reads_has_its_whole_time)
{
	const struct event_task *end;
	struct rusage usage;
	struct drive d;
	uint64_t started;
	pid_t pid;

	drive_open(&d, NULL);
	drive_read_accounts(&d);
	started = clock_now_ns();
	pid = drive_fork(burn_300_ms, NULL, -1, true);
	cr_assert_eq(wait4(pid, NULL, 0, &usage), pid);
	drive_sleep(20 * DRIVE_MS);
	drive_drain(&d);
	drive_read_accounts(&d);
	cr_expect_null(drive_task(&d, (uint32_t)pid, EVENT_TASK));
	end = drive_task(&d, (uint32_t)pid, EVENT_TASK_END);
	cr_assert(end);
	cr_expect(drive_ran(&d, end->sched.on_cpu_ns, usage_ns(&usage), 0.01, DRIVE_MS),
		  "%llu us, rusage %llu", end->sched.on_cpu_ns / 1000,
		  (unsigned long long)usage_ns(&usage) / 1000);
	cr_expect_eq(end->state, 'X');
	cr_expect_eq(end->parent_tgid, (uint32_t)getpid());
	cr_expect(end->time_ns > started && end->time_ns < clock_now_ns());
	drive_close(&d);
}

#define STORM 2000

static int compare_tids(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

Test(sched, a_storm_of_short_processes_loses_no_last_account)
{
	uint64_t losses[LOSS_KERNEL_CNT], sum = 0;
	static pid_t pids[STORM], ends[STORM * 2];
	struct rusage before, after;
	size_t cnt = 0, empty = 0;
	struct drive d;

	drive_open(&d, NULL);
	getrusage(RUSAGE_CHILDREN, &before);
	for (int i = 0; i < STORM; i++) {
		pids[i] = fork();
		cr_assert_geq(pids[i], 0);
		if (!pids[i])
			_exit(0);
		cr_assert_eq(waitpid(pids[i], NULL, 0), pids[i]);
	}
	getrusage(RUSAGE_CHILDREN, &after);
	drive_sleep(50 * DRIVE_MS);
	drive_drain(&d);
	session_read_losses(d.s, losses);
	cr_expect_eq(losses[LOSS_TASK_RING_FULL], 0);
	qsort(pids, STORM, sizeof(pids[0]), compare_tids);
	for (size_t i = 0; i < d.tasks_cnt; i++) {
		pid_t tid = (pid_t)d.tasks[i].tid;

		if (!bsearch(&tid, pids, STORM, sizeof(tid), compare_tids) ||
		    d.tasks[i].parent_tgid != (uint32_t)getpid())
			continue;
		cr_assert_lt(cnt, (size_t)STORM * 2);
		ends[cnt++] = tid;
		sum += d.tasks[i].sched.on_cpu_ns;
		empty += !d.tasks[i].sched.on_cpu_ns;
	}
	qsort(ends, cnt, sizeof(ends[0]), compare_tids);
	cr_assert_eq(cnt, STORM, "%zu of %d last accounts", cnt, STORM);
	cr_expect_eq(memcmp(ends, pids, sizeof(pids)), 0, "one for each");
	cr_expect_leq(empty, losses[LOSS_SWITCH_UNSEEN], "%zu ran nothing", empty);
	/* A parent may take the child's figures before its last steps. */
	cr_expect(drive_ran(&d, sum, usage_ns(&after) - usage_ns(&before), 0.20, 10 * DRIVE_MS),
		  "%llu us, rusage %llu", (unsigned long long)sum / 1000,
		  (unsigned long long)(usage_ns(&after) - usage_ns(&before)) / 1000);
	drive_close(&d);
}

#define THREADS 50

static void *burn_2_ms(void *unused)
{
	(void)unused;
	drive_burn(2 * DRIVE_MS);
	return NULL;
}

static int run_threads(void *unused)
{
	pthread_t threads[THREADS];

	(void)unused;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, burn_2_ms, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

Test(sched, every_thread_of_a_process_leaves_its_account)
{
	uint64_t losses[LOSS_KERNEL_CNT], sum = 0, process_start = 0;
	size_t cnt = 0, leaders = 0, short_of = 0;
	struct rusage usage;
	struct drive d;
	int status;
	pid_t pid;

	drive_open(&d, NULL);
	pid = drive_fork(run_threads, NULL, -1, false);
	cr_assert_eq(wait4(pid, &status, 0, &usage), pid);
	cr_assert_eq(status, 0);
	drive_sleep(20 * DRIVE_MS);
	drive_drain(&d);
	for (size_t i = 0; i < d.tasks_cnt; i++) {
		const struct event_task *t = &d.tasks[i];

		if (t->tgid != (uint32_t)pid)
			continue;
		cnt++;
		sum += t->sched.on_cpu_ns;
		leaders += t->tid == t->tgid;
		if (!process_start)
			process_start = t->process_start_ns;
		cr_expect_eq(t->process_start_ns, process_start);
		cr_expect_geq(t->thread_start_ns, process_start);
		short_of += t->tid != t->tgid && t->sched.on_cpu_ns < 19 * DRIVE_MS / 10;
	}
	session_read_losses(d.s, losses);
	cr_expect_leq(short_of, losses[LOSS_SWITCH_UNSEEN]);
	cr_expect_eq(cnt, THREADS + 1);
	cr_expect_eq(leaders, 1);
	cr_expect(drive_ran(&d, sum, usage_ns(&usage), 0.02, 3 * DRIVE_MS), "%llu us, rusage %llu",
		  (unsigned long long)sum / 1000, (unsigned long long)usage_ns(&usage) / 1000);
	drive_close(&d);
}

/* --- books ----------------------------------------------------------------------------------- */

struct book {
	uint64_t idle, accounted, unaccounted, running, now;
	bool busy;
};

static struct book read_book(struct drive *d, uint32_t cpu)
{
	struct cpu_clock clock;
	struct book book = {0};

	cr_assert_eq(session_read_cpu(d->s, cpu, &clock, &book.now), 0);
	cr_assert_neq(clock.last_switch_ns, 0);
	book.idle = clock.idle_ns;
	book.accounted = clock.accounted_ns;
	book.unaccounted = clock.unaccounted_ns;
	book.running = book.now > clock.last_switch_ns ? book.now - clock.last_switch_ns : 0;
	book.busy = clock.running_tid;
	return book;
}

Test(sched, the_books_of_every_cpu_add_up_to_the_time_that_passed)
{
	pid_t pid = drive_fork(work_and_sleep, NULL, drive_cpu(0), false);
	uint64_t accounted = 0, passed = 0;
	struct book *first;
	struct drive d;

	drive_open(&d, NULL);
	first = calloc(d.host.cpus_online, sizeof(*first));
	drive_sleep(300 * DRIVE_MS);
	for (uint32_t i = 0; i < d.host.cpus_online; i++)
		first[i] = read_book(&d, (uint32_t)drive_cpu(i));
	drive_sleep(DRIVE_SECOND);
	for (uint32_t i = 0; i < d.host.cpus_online; i++) {
		struct book last = read_book(&d, (uint32_t)drive_cpu(i));
		uint64_t sum = last.idle + last.accounted + last.unaccounted + last.running -
			       first[i].idle - first[i].accounted - first[i].unaccounted -
			       first[i].running;

		cr_expect(drive_near(sum, last.now - first[i].now, 0.01, 0), "CPU %u: %llu of %llu",
			  i, (unsigned long long)sum,
			  (unsigned long long)(last.now - first[i].now));
		passed += last.now - first[i].now;
		accounted += last.accounted - first[i].accounted;
	}
	cr_expect_gt(accounted, passed / d.host.cpus_online / 10);
	free(first);
	drive_kill(pid);
	drive_close(&d);
}

/* Sum of what all threads ran from the first pass (index of its first record) on: the newest record
 * of each less its record in the first pass; threads born later count whole. */
static uint64_t sum_of_threads(const struct drive *d, size_t first_end)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < d->tasks_cnt; i++) {
		const struct event_task *t = &d->tasks[i];
		bool newer = false;

		for (size_t k = i + 1; k < d->tasks_cnt && !newer; k++)
			newer = d->tasks[k].tid == t->tid &&
				d->tasks[k].thread_start_ns == t->thread_start_ns;
		if (i < first_end)
			sum -= t->sched.on_cpu_ns;
		if (!newer)
			sum += t->sched.on_cpu_ns;
	}
	return sum;
}

Test(sched, what_the_cpus_accounted_is_what_the_threads_ran)
{
	pid_t pids[2] = {drive_fork(work_and_sleep, NULL, drive_cpu(0), false),
			 drive_fork(drive_spin, NULL, drive_cpu(1), false)};
	uint64_t accounted = 0, threads, running = 0, since, reading;
	struct drive d;
	size_t first_end;

	drive_open(&d, NULL);
	drive_sleep(100 * DRIVE_MS);
	drive_drain(&d); /* who died before the first pass counts nowhere */
	since = clock_now_ns();
	drive_read_accounts(&d);
	first_end = d.tasks_cnt;
	for (uint32_t i = 0; i < d.host.cpus_online; i++) {
		struct book book = read_book(&d, (uint32_t)drive_cpu(i));

		accounted -= book.accounted + (book.busy ? book.running : 0);
	}
	reading = clock_now_ns() - since;
	drive_sleep(DRIVE_SECOND);
	drive_drain(&d);
	since = clock_now_ns();
	drive_read_accounts(&d);
	for (uint32_t i = 0; i < d.host.cpus_online; i++) {
		struct book book = read_book(&d, (uint32_t)drive_cpu(i));

		accounted += book.accounted + (book.busy ? book.running : 0);
		running += book.running;
	}
	reading += clock_now_ns() - since;
	drive_kill(pids[0]);
	drive_kill(pids[1]);
	/* Threads are read first and CPUs then, each twice: between them some milliseconds pass,
	 * and on a full host more. And running ones without account. */
	threads = sum_of_threads(&d, first_end);
	cr_expect(drive_near(threads, accounted, 0.02, reading * d.host.cpus_online + running),
		  "threads %llu us, CPUs %llu us", (unsigned long long)threads / 1000,
		  (unsigned long long)accounted / 1000);
	drive_close(&d);
}

/* --- who sleeps is passed over --------------------------------------------------------------- */

static size_t records_of(const struct drive *d, pid_t tid)
{
	size_t cnt = 0;

	for (size_t i = 0; i < d->tasks_cnt; i++)
		cnt += d->tasks[i].tid == (uint32_t)tid && d->tasks[i].header.kind == EVENT_TASK;
	return cnt;
}

/* Sleeps, works for a while when it is woken, and sleeps again. */
static int work_when_woken(void *unused)
{
	sigset_t woken;
	int number;

	(void)unused;
	sigemptyset(&woken);
	sigaddset(&woken, SIGUSR1);
	sigprocmask(SIG_BLOCK, &woken, NULL);
	for (uint64_t ns = 30 * DRIVE_MS; !sigwait(&woken, &number); ns += 30 * DRIVE_MS)
		drive_burn(ns); /* in all */
	return 0;
}

static void sleepers_are_passed_over(bool quiet)
{
	struct session_options options = {.sample_hz = 99, .quiet = quiet};
	size_t worker_cnt, sleeper_cnt;
	pid_t worker, sleeper;
	struct drive d;

	worker = drive_fork(drive_work_and_sleep, NULL, drive_cpu(1), true);
	sleeper = drive_fork(work_when_woken, NULL, drive_cpu(0), true);
	drive_open(&d, &options);
	drive_sleep(50 * DRIVE_MS);
	drive_read_accounts(&d);
	drive_sleep(20 * DRIVE_MS);
	drive_read_moved(&d); /* it may have slept since the session began alone */
	sleeper_cnt = records_of(&d, sleeper);
	worker_cnt = records_of(&d, worker);
	for (int i = 0; i < 5; i++) {
		drive_sleep(20 * DRIVE_MS);
		drive_read_moved(&d);
	}
	cr_expect_eq(records_of(&d, sleeper), sleeper_cnt);
	cr_expect_eq(records_of(&d, worker), worker_cnt + 5);
	cr_assert_eq(kill(sleeper, SIGUSR1), 0);
	drive_await(NULL, sleeper, 30 * DRIVE_MS);
	drive_sleep(100 * DRIVE_MS); /* until it sleeps again */
	drive_read_moved(&d);
	cr_expect_eq(records_of(&d, sleeper), sleeper_cnt + 1);
	cr_expect_geq(drive_task(&d, (uint32_t)sleeper, EVENT_TASK)->sched.on_cpu_ns,
		      25 * DRIVE_MS);
	drive_sleep(20 * DRIVE_MS);
	drive_read_moved(&d);
	drive_read_moved(&d);
	cr_expect_eq(records_of(&d, sleeper), sleeper_cnt + 1);
	drive_read_accounts(&d);
	cr_expect_eq(records_of(&d, sleeper), sleeper_cnt + 2, "all are asked for");
	drive_kill(worker);
	drive_kill(sleeper);
	drive_close(&d);
}

Test(sched, sleepers_are_passed_over)
{
	sleepers_are_passed_over(false);
}

Test(sched, sleepers_are_passed_over_in_the_quiet_gear)
{
	sleepers_are_passed_over(true);
}

/* What a thread did before its gear changed is told in the first pass of the other one. */
Test(sched, no_sleeper_is_passed_over_after_a_change_of_gear)
{
	struct session_options options = {.sample_hz = 99};
	size_t cnt;
	pid_t pid;
	struct drive d;

	pid = drive_fork(work_when_woken, NULL, drive_cpu(0), true);
	drive_open(&d, &options);
	if (!session_can_be_quiet(d.s)) {
		drive_close(&d);
		drive_kill(pid);
		return;
	}
	for (int i = 0; i < 3; i++) {
		drive_read_moved(&d);
		cr_assert_eq(kill(pid, SIGUSR1), 0);
		drive_await(NULL, pid, (uint64_t)(i + 1) * 30 * DRIVE_MS);
		drive_sleep(100 * DRIVE_MS); /* until it sleeps again */
		cnt = records_of(&d, pid);
		cr_assert_eq(session_set_gear(d.s, i % 2 == 0), 0);
		drive_read_moved(&d);
		cr_expect_eq(records_of(&d, pid), cnt + 1);
		cr_expect_geq(drive_task(&d, (uint32_t)pid, EVENT_TASK)->sched.on_cpu_ns,
			      (uint64_t)(i + 1) * 30 * DRIVE_MS - 5 * DRIVE_MS);
	}
	drive_kill(pid);
	drive_close(&d);
}

/* Forks children all the time; each lives for 20 ms. */
static int bear(void *unused)
{
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (!pid) {
			drive_sleep(20 * DRIVE_MS);
			_exit(0);
		}
		drive_sleep(DRIVE_MS / 5);
	}
	return !unused;
}

static uint64_t slept_since_boot(void)
{
	struct timespec boot, monotonic;

	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	return (uint64_t)(boot.tv_sec - monotonic.tv_sec) * DRIVE_SECOND +
	       (uint64_t)(boot.tv_nsec - monotonic.tv_nsec);
}

/* No BPF program sees a birth while the mode changes, nor before the session is attached. */
Test(sched, a_thread_born_in_a_change_of_mode_has_only_its_own_time)
{
	struct session_options options = {.sample_hz = 99};
	uint64_t offset_ns = slept_since_boot();
	size_t born = 0;
	struct drive d;
	pid_t pid;

	pid = drive_fork(bear, NULL, drive_cpu(0), true);
	drive_open(&d, &options);
	d.may_lose = true;
	drive_sleep(200 * DRIVE_MS); /* longer than a child lives */
	for (int i = 0; i < 60 && session_can_be_quiet(d.s); i++) {
		cr_assert_eq(session_set_gear(d.s, i % 2 == 0), 0);
		drive_read_accounts(&d);
		drive_drain(&d);
	}
	for (size_t i = 0; i < d.tasks_cnt; i++) {
		const struct event_task *t = &d.tasks[i];
		uint64_t lived_ns = t->time_ns + offset_ns - t->thread_start_ns;

		if (t->parent_tgid != (uint32_t)pid)
			continue;
		born++;
		/* What it ran since the scheduler's last tick counts in both modes. */
		cr_expect_leq(drive_parts(t), lived_ns + t->sched.on_cpu_ns + DRIVE_MS,
			      "%u: %llu us in a life of %llu", t->tid, drive_parts(t) / 1000,
			      (unsigned long long)lived_ns / 1000);
	}
	cr_expect(born || !session_can_be_quiet(d.s));
	drive_kill(pid);
	drive_close(&d);
}

/* More threads than one part of a pass looks at, and more of them awake than it hands over. */
enum { CROWD = 9000, CROWD_AWAKE = CROWD / 8 };

static void *crowd_sleeps(void *unused)
{
	pause();
	return unused;
}

static void *crowd_wakes(void *unused)
{
	for (;;)
		drive_sleep(100 * DRIVE_MS);
	return unused;
}

/* In state D, until its child ends. */
static void *crowd_is_in_d(void *unused)
{
	if (!vfork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	return unused;
}

static int crowd(void *unused)
{
	pthread_attr_t small;
	pthread_t thread;

	(void)unused;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	for (int i = 0; i < CROWD; i++)
		if (pthread_create(&thread, &small, i % 8 == 7 ? crowd_wakes : crowd_sleeps, NULL))
			_exit(1);
	if (pthread_create(&thread, &small, crowd_is_in_d, NULL))
		_exit(1);
	pause();
	return 0;
}

/* Records of that process since the first one, no thread twice. */
static size_t told_once(const struct drive *d, pid_t pid, size_t first)
{
	static uint32_t tids[2 * CROWD];
	size_t cnt = 0;

	for (size_t i = first; i < d->tasks_cnt && cnt < sizeof(tids) / sizeof(*tids); i++)
		if (d->tasks[i].tgid == (uint32_t)pid)
			tids[cnt++] = d->tasks[i].tid;
	qsort(tids, cnt, sizeof(*tids), compare_tids);
	for (size_t i = 1; i < cnt; i++)
		cr_expect_neq(tids[i], tids[i - 1], "a thread is told twice");
	return cnt;
}

static void each_is_told_once(bool quiet)
{
	struct session_options options = {.sample_hz = 99, .quiet = quiet};
	/* How long a thread is in D is told on and on. */
	size_t first, awake = CROWD_AWAKE + !quiet;
	struct drive d;
	pid_t pid;

	pid = drive_fork(crowd, NULL, drive_cpu(0), true);
	drive_sleep(1500 * DRIVE_MS);
	drive_open(&d, &options);
	for (int i = 0; i < 6; i++) {
		bool all = i == 0 || i == 4;

		drive_sleep(400 * DRIVE_MS);
		first = d.tasks_cnt;
		if (all)
			drive_read_accounts(&d);
		else
			drive_read_moved(&d);
		cr_expect_eq(told_once(&d, pid, first), all ? CROWD + 2 : awake, "pass %d", i);
	}
	drive_kill(pid);
	drive_close(&d);
}

Test(sched, each_of_very_many_threads_is_told_once_in_a_pass)
{
	each_is_told_once(false);
}

Test(sched, each_of_very_many_threads_is_told_once_in_a_quiet_pass)
{
	each_is_told_once(true);
}

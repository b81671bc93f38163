/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_DRIVE_H
#define HOTRUN_TESTS_DRIVE_H
/*
 * Drives a session with the real kernel and keeps all that it hands over, for tests that compare it
 * with what /proc tells. Needs root and BPF: without them a test is skipped, and fails where
 * CI=true. Failures end the test. The machine may be busy: what /proc says is the truth, not the
 * wall clock.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "kernel/host.h"
#include "kernel/session.h"

#define DRIVE_MS     1000000ull
#define DRIVE_SECOND 1000000000ull

struct drive_stack {
	struct event_stack event;
	size_t samples_before; /* samples that had come when it came */
};

enum drive_record_kind { DRIVE_FORK, DRIVE_EXIT, DRIVE_COMM, DRIVE_EXEC, DRIVE_MAP };

/* A side-band record; text = comm or path. */
struct drive_record {
	enum drive_record_kind kind;
	uint32_t tgid, tid, parent;
	uint64_t time_ns;
	uint8_t build_id_len;
	uint8_t build_id[20];
	char text[256];
};

struct drive {
	struct host host;
	struct session *s;
	struct event_sample *samples;
	size_t samples_cnt, samples_cap;
	uint32_t *waiting; /* waiting[] of all samples, one after the other */
	size_t waiting_cnt, waiting_cap;
	struct drive_stack *stacks; /* without their frames */
	size_t stacks_cnt, stacks_cap;
	struct event_task *tasks; /* in the order they came: the newest of a thread is its last */
	size_t tasks_cnt, tasks_cap;
	struct event_waker *wakers;
	size_t wakers_cnt, wakers_cap;
	struct event_exec *execs;
	size_t execs_cnt, execs_cap;
	struct drive_record *records;
	size_t records_cnt, records_cap;
	uint64_t bad, sideband_lost;
	uint32_t passing; /* whose mappings are passed over, and how many they were */
	uint64_t passed;
	uint64_t steal_ticks; /* of the host when it was opened */
	/* Rings may run full, and accounts of threads that others start find no memory: what is
	 * lost is counted, and the test counts as well. */
	bool may_lose;
};

/* Opens a session that counts; NULL options: 499 Hz, no filter. Skips or fails as said above. */
void drive_open(struct drive *d, const struct session_options *options);
/* The same with sampling. */
void drive_start(struct drive *d, const struct session_options *options);
/* Takes everything that is there. */
void drive_drain(struct drive *d);
void drive_drain_sideband(struct drive *d, uint64_t until_ns);
/* The same without mappings of one process: returns how many they were. */
uint64_t drive_drain_passing(struct drive *d, pid_t pid);
/* One pass of the iterator, appended to tasks. */
void drive_read_accounts(struct drive *d);
/* The same without those that have slept since the last one. */
void drive_read_moved(struct drive *d);
/* Time that the session has given to nobody so far: switches that the kernel did not show (some
 * kernels hide those of pid 1, and what runs next suffers). Fails where it is more than a tenth. */
uint64_t drive_unaccounted(const struct drive *d);
/*
 * A pass over stands as of session_open_stands(), read in this process: its targets make nobody
 * hang. take gets each record. Returns what that function does, 0 when all is read.
 */
int drive_read_stands(struct drive *d, const struct stand_look *look, const uint32_t *tgids,
		      size_t cnt, stands_take_fn take, void *ctx);
/* Drains, checks that nothing broke (malformed records, backward clocks, no memory), frees. */
void drive_close(struct drive *d);

/* The newest record of a thread, of EVENT_TASK or EVENT_TASK_END, or NULL. */
const struct event_task *drive_task(const struct drive *d, uint32_t tid, uint16_t kind);

/* --- accounts (drive_wait.c) ----------------------------------------------------------------- */

/* The account of a thread now: a pass of the iterator. Fails where it has none. */
struct event_task drive_account(struct drive *d, pid_t tid);
/* The same for several in one pass. */
void drive_accounts(struct drive *d, const pid_t *tids, size_t cnt, struct event_task *ret_tasks);
/* What the counters of an account rose by; identity, state and delay_max_ns are those of last. */
struct event_task drive_rise(const struct event_task *first, const struct event_task *last);
/* Sum of all parts of the time: on CPU, waited, throttled, blocked, uninterruptible. */
uint64_t drive_parts(const struct event_task *task);
/* Run delays that ended: sum of the histogram. */
uint64_t drive_delays(const struct event_task *task);
/* Checks that the parts make up the time between two reads, within 0.1 % (and 50 us); unaccounted
 * of it may be missing. */
void drive_expect_parts(const struct event_task *first, const struct event_task *last,
			uint64_t unaccounted, const char *who);

/* --- load ------------------------------------------------------------------------------------ */

/* What a child of the test does; its return value is the exit status. */
typedef int (*drive_work_fn)(void *arg);
/* Forks a child that runs work on one CPU (-1: any), ahead of everybody else where urgent. It runs
 * when this returns. It dies with the test. */
pid_t drive_fork(drive_work_fn work, void *arg, int cpu, bool urgent);
/* The same with a program of $BUILD/workloads; args ends with NULL. */
pid_t drive_exec(const char *program, char *const *args, int cpu, bool urgent);
/* Burns until it is killed. */
int drive_spin(void *unused);
/* 3 ms of work, 1 ms of sleep, for ever. */
int drive_work_and_sleep(void *unused);
/* A process of so many threads that do the same; argument of drive_crowd(). */
struct drive_crowd {
	unsigned int threads;
	drive_work_fn work;
	void *arg;
};
int drive_crowd(void *crowd);
/* Its threads, as soon as all have started. */
void drive_tids(pid_t pid, pid_t *ret_tids, size_t cnt);
/* Burns so many ns of its own CPU time. */
void drive_burn(uint64_t cpu_ns);
/* Stops a child, and returns when none of its threads runs any more; continues it. */
void drive_halt(pid_t pid);
void drive_resume(pid_t pid);
void drive_kill(pid_t pid);
/* Waits until a child has ended by itself, with status 0. */
void drive_wait(pid_t pid);
/* Waits until a child has had so much CPU time, however busy the machine is, at most 30 s; drains
 * d meanwhile (NULL: nothing), since rings are made for two seconds. */
void drive_await(struct drive *d, pid_t pid, uint64_t cpu_ns);
void drive_sleep(uint64_t ns);

/* --- what /proc says ------------------------------------------------------------------------- */

/* Time on a CPU in ns: first figure of schedstat. Up to a scheduler tick late while it runs. */
uint64_t drive_proc_on_cpu(pid_t tid);
/* The same of all threads of a process. */
uint64_t drive_threads_on_cpu(pid_t pid);
/* Run delay in ns, waits that are over: second figure of schedstat. */
uint64_t drive_proc_waited(pid_t tid);
/* CPUs that it was moved to. False where the kernel does not tell. */
bool drive_proc_migrations(pid_t tid, uint64_t *ret_migrations);
/* Text of /proc/PID/FILE. */
void drive_proc_text(pid_t pid, const char *file, char *text, size_t bytes);
/* Start time in clock ticks since boot: field 22 of stat. */
uint64_t drive_proc_start_ticks(pid_t pid);
void drive_proc_switches(pid_t tid, uint64_t *ret_voluntary, uint64_t *ret_involuntary);
/* A start time of a record in the same ticks. */
uint64_t drive_ticks(uint64_t start_ns);
/* Runnable threads of the host now. */
uint32_t drive_proc_running(void);
/* A CPU that this process may use; the n-th, around. */
int drive_cpu(unsigned int n);

/* What cannot be tried on this machine: says so, and skips the rest of the test. */
void drive_skip(const char *why);
/* What the hypervisor took since the drive was opened, at the most: the last tick of each CPU may
 * not be full yet. */
uint64_t drive_stolen(const struct drive *d);
/* |a - b| <= share of b + slack */
bool drive_near(uint64_t a, uint64_t b, double share, uint64_t slack);
/* CPU time of an account against what the kernel tells of it: unaccounted time (above) may be
 * missing, and what the hypervisor took may be more, since the kernel's figure leaves that out
 * (CONFIG_PARAVIRT_TIME_ACCOUNTING). */
bool drive_ran(const struct drive *d, uint64_t account_ns, uint64_t told_ns, double share,
	       uint64_t slack_ns);
/* The same for time that accounts tell; unaccounted of it may be missing. */
bool drive_near_but(uint64_t a, uint64_t b, double share, uint64_t slack, uint64_t unaccounted);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The deadline and the guarded door. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/patience.h"
#include "names_support.h"
#include "opener/file_requests.h"
#include "opener/guard.h"
#include "opener/loader.h"

#define DEADLINE_NS	 20000000u
#define BUSY_DEADLINE_NS 100000000ull
#define ARRAY_SIZE(a)	 (sizeof(a) / sizeof((a)[0]))

struct job {
	struct loader_job base;
	sem_t *gate;		/* waits for it, as on a file system that hangs */
	atomic_int *busy_until; /* uses the CPU until it is set, instead */
	atomic_int *released;
	int ran;
};

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void job_run(struct loader_job *base)
{
	struct job *job = (struct job *)base;

	if (job->gate)
		sem_wait(job->gate);
	while (job->busy_until && !atomic_load(job->busy_until))
		;
	job->ran = 1;
}

static void job_release(struct loader_job *base)
{
	struct job *job = (struct job *)base;

	atomic_fetch_add(job->released, 1);
	free(job);
}

static struct job *job_new(sem_t *gate, atomic_int *released)
{
	struct job *job = calloc(1, sizeof(*job));

	job->base.run = job_run;
	job->base.release = job_release;
	job->gate = gate;
	job->released = released;
	return job;
}

/* Jobs are released by other threads: waits until it is so, the test's own time limit bounds it. */
static void wait_for(atomic_int *value, int wanted)
{
	while (atomic_load(value) != wanted)
		sched_yield();
}

Test(loader, a_job_runs_and_comes_back)
{
	struct loader *l = loader_new(10 * 1000000000ull);
	atomic_int released = 0;
	struct job *job = job_new(NULL, &released);

	for (int i = 0; i < 100; i++) {
		job->ran = 0;
		cr_assert_eq(loader_run(l, &job->base), 0);
		cr_assert(job->ran);
	}
	cr_assert_eq(loader_timeouts(l), 0);
	job_release(&job->base);
	loader_free(l);
	loader_free(NULL);
}

Test(loader, a_job_that_hangs_is_left_behind_and_released_when_it_returns)
{
	struct loader *l = loader_new(DEADLINE_NS);
	static atomic_int released; /* touched by a thread that outlives this function's frame */
	static sem_t gate;

	sem_init(&gate, 0, 0);
	cr_assert_eq(loader_run(l, &job_new(&gate, &released)->base), -ETIMEDOUT);
	cr_assert_eq(loader_timeouts(l), 1);
	sem_post(&gate);
	wait_for(&released, 1);
	loader_free(l);
}

Test(loader, a_job_that_works_at_its_deadline_gets_more_time)
{
	struct loader *l = loader_new(BUSY_DEADLINE_NS);
	static atomic_int released; /* touched by a thread that outlives this function's frame */
	static atomic_int stop;
	struct job *job = job_new(NULL, &released);
	uint64_t start = monotonic_ns();

	job->busy_until = &stop;
	cr_assert_eq(loader_run(l, &job->base), -ETIMEDOUT);
	cr_assert_geq(monotonic_ns() - start, PATIENCE_DEADLINES * BUSY_DEADLINE_NS);
	atomic_store(&stop, 1);
	wait_for(&released, 1);
	loader_free(l);
}

Test(loader, too_many_hanging_jobs_are_refused_until_one_returns)
{
	struct loader *l = loader_new(DEADLINE_NS);
	static atomic_int released;
	static sem_t gate;
	struct job *job;
	int err = -ETIMEDOUT, hung = 0;

	sem_init(&gate, 0, 0);
	/* On a busy machine a thread may be given up before it starts; such a one is no burden. */
	while (err == -ETIMEDOUT) {
		job = job_new(&gate, &released);
		err = loader_run(l, &job->base);
		hung += err == -ETIMEDOUT;
	}
	cr_assert_eq(err, -EBUSY);
	cr_assert_geq(hung, LOADER_MAX_ABANDONED);
	cr_assert_eq(hung - atomic_load(&released), LOADER_MAX_ABANDONED);
	job->gate = NULL;
	sem_post(&gate);
	while ((err = loader_run(l, &job->base)) == -EBUSY)
		sched_yield();
	if (!err)
		job_release(&job->base);
	for (int i = 1; i < LOADER_MAX_ABANDONED; i++)
		sem_post(&gate);
	wait_for(&released, hung + 1);
	loader_free(l);
}

Test(loader, a_job_may_outlive_the_loader)
{
	struct loader *l = loader_new(DEADLINE_NS);
	static atomic_int released; /* touched by a thread that outlives this function's frame */
	static sem_t gate;

	sem_init(&gate, 0, 0);
	cr_assert_eq(loader_run(l, &job_new(&gate, &released)->base), -ETIMEDOUT);
	loader_free(l);
	sem_post(&gate);
	wait_for(&released, 1);
}

Test(requests, a_process_that_hangs_is_not_asked_again)
{
	static atomic_int released; /* touched by a thread that outlives this function's frame */
	static sem_t gate;
	struct loader_job *left;
	struct file_requests a;
	struct job *job;

	sem_init(&gate, 0, 0);
	/* Long enough for a thread to get a CPU on a busy machine. */
	cr_assert_eq(file_requests_init(&a, NULL, "/nowhere", 10 * BUSY_DEADLINE_NS), 0);
	cr_assert_eq(file_requests_run(&a, 5, &job_new(&gate, &released)->base, &left),
		     REASON_FILE_TIMEOUT);
	cr_assert_null(left);
	job = job_new(NULL, &released);
	cr_assert_eq(file_requests_run(&a, 5, &job->base, &left), REASON_FILE_TIMEOUT);
	cr_assert_eq(left, &job->base);
	cr_assert_eq(job->ran, 0);
	cr_assert_eq(file_requests_timeouts(&a), 1);
	file_requests_forget(&a, 5); /* it runs another program now */
	file_requests_slice(&a);
	cr_assert_eq(file_requests_run(&a, 5, &job->base, &left), REASON_NAMED);
	job_release(&job->base);
	sem_post(&gate);
	wait_for(&released, 2);
	file_requests_clear(&a);
}

/* On a full host it may have been late for no fault of its own. */
Test(requests, a_process_that_hung_is_asked_again_later_but_not_for_ever)
{
	static atomic_int released; /* touched by a thread that outlives this function's frame */
	static sem_t gate;
	struct loader_job *left;
	uint64_t deferred;
	struct file_requests a;
	struct job *job;

	sem_init(&gate, 0, 0);
	cr_assert_eq(file_requests_init(&a, NULL, "/nowhere", 10 * BUSY_DEADLINE_NS), 0);
	for (unsigned i = 0; i < FILE_REQUESTS_HUNG_MOST; i++) {
		job = job_new(&gate, &released);
		cr_assert_eq(file_requests_run(&a, 5, &job->base, &left), REASON_FILE_TIMEOUT);
		cr_assert_null(left, "it was asked");
		file_requests_slice(&a);
		job = job_new(NULL, &released);
		deferred = a.deferred;
		cr_assert_eq(file_requests_run(&a, 5, &job->base, &left), REASON_FILE_TIMEOUT);
		cr_assert_eq(left, &job->base, "it was not");
		cr_assert_eq(a.deferred - deferred, i + 1 < FILE_REQUESTS_HUNG_MOST, "and will be");
		job_release(&job->base);
		a.hung[0].again_ns = 0; /* time has passed */
	}
	cr_assert_eq(file_requests_timeouts(&a), FILE_REQUESTS_HUNG_MOST);
	for (unsigned i = 0; i < FILE_REQUESTS_HUNG_MOST; i++)
		sem_post(&gate);
	wait_for(&released, 2 * FILE_REQUESTS_HUNG_MOST);
	file_requests_clear(&a);
}

static void job_dawdle(struct loader_job *base)
{
	struct timespec ts = {.tv_nsec = 90000000};

	nanosleep(&ts, NULL);
	((struct job *)base)->ran++;
}

Test(requests, waiting_is_bounded_for_a_process_and_in_sum)
{
	static atomic_int released;
	uint64_t start = monotonic_ns();
	struct loader_job *left;
	struct file_requests a;
	struct job *job = job_new(NULL, &released);

	job->base.run = job_dawdle;
	cr_assert_eq(file_requests_init(&a, NULL, "/nowhere", FILE_REQUESTS_PROCESS_NS), 0);
	for (int i = 0; i < 100; i++)
		file_requests_run(&a, 5, &job->base, &left);
	cr_expect_leq(job->ran, 5, "%d jobs of one process", job->ran);
	cr_expect_geq(job->ran, 1);
	cr_expect_eq(a.deferred, 100u - (unsigned)job->ran);
	for (uint32_t i = 0; i < 100; i++)
		file_requests_run(&a, i, &job->base, &left);
	cr_expect_leq(monotonic_ns() - start, FILE_REQUESTS_SLICE_NS * 3 / 2);
	cr_expect_eq(file_requests_run(&a, 200, &job->base, &left), REASON_LIMIT);
	file_requests_slice(&a);
	cr_expect_eq(file_requests_run(&a, 200, &job->base, &left), REASON_NAMED);
	job_release(&job->base);
	file_requests_clear(&a);
}

Test(requests, one_look_up_may_take_its_deadline)
{
	struct file_requests a;

	cr_assert_eq(file_requests_init(&a, NULL, "/nowhere", 2 * FILE_REQUESTS_SLICE_NS), 0);
	a.spent_ns = FILE_REQUESTS_SLICE_NS;
	cr_expect(!file_requests_is_spent(&a));
	a.spent_ns = 2 * FILE_REQUESTS_SLICE_NS;
	cr_expect(file_requests_is_spent(&a));
	file_requests_clear(&a);
}

Test(requests, start_times_tell_incarnations_apart)
{
	static const struct {
		const char *name;
		uint64_t start_ns, ticks;
		bool exact, same;
	} rows[] = {
		{"within the tick", 509999999, 50, true, true},
		{"next tick", 510000000, 50, true, false},
		{"earlier process", 500000000, 49, true, false},
		{"guess a little late", 519000000, 50, false, true},
		{"guess far too late", 2000000000, 50, false, false},
		{"later process", 500000000, 60, false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct target_process t = {.start_ns = rows[i].start_ns,
					   .start_exact = rows[i].exact};

		cr_expect_eq(target_process_same_start(&t, rows[i].ticks), rows[i].same, "%s",
			     rows[i].name);
	}
}

Test(guard, only_regular_files_inside_the_root_of_bounded_size)
{
	static const struct {
		const char *name, *path;
		enum model_reason reason;
	} rows[] = {
		{"file", "/lib/file", REASON_NAMED},
		{"link inside", "/lib/inside", REASON_NAMED},
		{"absolute link stays inside the root", "/lib/absolute", REASON_NAMED},
		{"dots do not climb out", "/../../../../lib/file", REASON_NAMED},
		{"missing", "/lib/none", REASON_FILE_GONE},
		{"link out", "/lib/out", REASON_FILE_GONE},
		{"link to itself", "/lib/loop", REASON_FILE_UNSAFE},
		{"FIFO", "/lib/fifo", REASON_FILE_UNSAFE},
		{"folder", "/lib", REASON_FILE_UNSAFE},
		{"below a file", "/lib/file/x", REASON_FILE_GONE},
		{"ten gigabytes", "/lib/huge", REASON_FILE_UNSAFE},
		{"empty path", "", REASON_FILE_GONE},
	};
	struct fake_proc proc;
	int process_fd, root_fd, fd;
	struct stat st;

	fake_proc_make(&proc);
	fake_text(&proc, "outside", "secret");
	fake_text(&proc, "5/root/lib/file", "content");
	cr_assert_eq(symlink("file", fake_path(&proc, "5/root/lib/inside")), 0);
	cr_assert_eq(symlink("/lib/file", fake_path(&proc, "5/root/lib/absolute")), 0);
	cr_assert_eq(symlink("../../../outside", fake_path(&proc, "5/root/lib/out")), 0);
	cr_assert_eq(symlink("loop", fake_path(&proc, "5/root/lib/loop")), 0);
	cr_assert_eq(mkfifo(fake_path(&proc, "5/root/lib/fifo"), 0644), 0);
	fake_text(&proc, "5/root/lib/huge", "");
	cr_assert_eq(truncate(fake_path(&proc, "5/root/lib/huge"), 10ll << 30), 0);
	process_fd = guard_process(proc.path, 5);
	root_fd = guard_root(process_fd);
	cr_assert_geq(root_fd, 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum model_reason reason = guard_open(root_fd, rows[i].path, 1 << 20, &fd, &st);

		cr_expect_eq(reason, rows[i].reason, "%s: %d", rows[i].name, reason);
		if (!reason) {
			cr_expect_eq(st.st_size, 7, "%s", rows[i].name);
			close(fd);
		}
	}
	cr_assert_eq(guard_process(proc.path, 6), -ENOENT);
	close(root_fd);
	close(process_fd);
	fake_proc_remove(&proc);
}

Test(guard, small_files_are_cut_at_the_buffer)
{
	struct fake_proc proc;
	char buf[5];
	int process_fd;

	fake_proc_make(&proc);
	fake_text(&proc, "5/stat", "abcdefgh");
	process_fd = guard_process(proc.path, 5);
	cr_assert_eq(guard_read(process_fd, "stat", buf, sizeof(buf)), 4);
	cr_assert_str_eq(buf, "abcd");
	cr_assert_eq(guard_read(process_fd, "none", buf, sizeof(buf)), -ENOENT);
	close(process_fd);
	fake_proc_remove(&proc);
}

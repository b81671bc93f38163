/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where threads stand, read by a process of its own: what comes, and what does not. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/urgent.h"
#include "collect/stand_stream.h"
#include "drive.h"
#include "isolate/nursery.h"
#include "kernel/looker.h"

struct seen {
	uint32_t tid; /* 0: any */
	struct event_stand stand;
	size_t cnt;
};

static void take(void *ctx, const struct event_stand *stand, const uint8_t *stack)
{
	struct seen *seen = ctx;

	(void)stack;
	if (seen->tid && stand->tid != seen->tid)
		return;
	seen->stand = *stand;
	seen->cnt++;
}

static int pause_here(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return 0;
}

struct looking {
	struct nursery *nursery;
	struct stand_stream *stream;
	struct looker *looker;
};

static void open_looking(struct looking *k, const volatile sig_atomic_t *stop)
{
	const struct looker_options options = {0};
	char why[512] = "";

	k->nursery = nursery_new(0);
	cr_assert(k->nursery);
	k->stream = stand_stream_new(k->nursery, stop);
	cr_assert(k->stream);
	if (looker_new(&options, why, sizeof(why), &k->looker))
		drive_skip(why);
	if (feature_why(looker_features(k->looker), FEATURE_THREAD_STACKS))
		drive_skip(feature_why(looker_features(k->looker), FEATURE_THREAD_STACKS));
}

static void close_looking(struct looking *k)
{
	looker_free(k->looker);
	stand_stream_free(k->stream);
	nursery_free(k->nursery);
}

static int read_one(struct looking *k, pid_t pid, struct seen *seen)
{
	uint32_t tgid = (uint32_t)pid;
	const struct stands_ask ask = {.tgids = &tgid, .tgid_cnt = 1, .tid = tgid};
	int fd = looker_open_stands(k->looker, &ask), err;

	cr_assert_geq(fd, 0);
	*seen = (struct seen){.tid = tgid};
	err = stand_stream_read(k->stream, fd, clock_now_ns() + 5 * DRIVE_SECOND, take, seen);
	close(fd);
	return err;
}

Test(stand_stream, one_that_hangs_is_left_at_the_deadline_and_the_next_one_is_read, .timeout = 60)
{
	struct looking k;
	struct seen seen;
	uint64_t begin_ns, past_ns;
	int tube[2], err = -EBUSY;
	pid_t pid;

	open_looking(&k, NULL);
	pid = drive_fork(pause_here, NULL, -1, false);
	cr_expect_eq(read_one(&k, pid, &seen), 0);
	cr_expect_eq(seen.cnt, 1);
	/* A pipe that nobody writes to stands for a stack that does not answer. */
	cr_assert_eq(pipe(tube), 0);
	begin_ns = clock_now_ns();
	cr_expect_eq(stand_stream_read(k.stream, tube[0], begin_ns + 200 * DRIVE_MS, take, &seen),
		     -ETIMEDOUT);
	past_ns = clock_now_ns() - begin_ns;
	cr_expect(past_ns >= 200 * DRIVE_MS && past_ns < 5 * DRIVE_SECOND, "%llu ns",
		  (unsigned long long)past_ns);
	for (int i = 0; i < 500 && err == -EBUSY; i++) {
		err = read_one(&k, pid, &seen);
		drive_sleep(10 * DRIVE_MS);
	}
	cr_expect_eq(err, 0);
	cr_expect_eq(seen.cnt, 1);
	cr_expect_gt(stand_stream_cpu_ns(k.stream), 0);
	close(tube[0]);
	close(tube[1]);
	drive_kill(pid);
	close_looking(&k);
}

static volatile sig_atomic_t stop;

static void set_stop(int signal)
{
	(void)signal;
	stop = 1;
}

Test(stand_stream, who_is_to_stop_does, .timeout = 60)
{
	struct sigaction action = {.sa_handler = set_stop};
	struct looking k;
	struct seen seen = {0};
	uint64_t begin_ns = clock_now_ns();
	int tube[2];

	open_looking(&k, &stop);
	cr_assert(!pipe(tube) && !sigaction(SIGALRM, &action, NULL));
	alarm(1);
	cr_expect_eq(
		stand_stream_read(k.stream, tube[0], begin_ns + 50 * DRIVE_SECOND, take, &seen),
		-ETIMEDOUT);
	cr_expect_lt(clock_now_ns() - begin_ns, 20 * DRIVE_SECOND);
	close_looking(&k);
}

Test(stand_stream, who_never_leaves_its_cpu_is_read_by_a_visit, .timeout = 60)
{
	struct urgent urgent;
	struct looking k;
	struct seen seen = {0};
	int cpu = sched_getcpu();
	unsigned int read = 0;
	pid_t pid = drive_fork(drive_spin, NULL, cpu, false), reader;

	urgent_begin(&urgent);
	if (!urgent.realtime)
		drive_skip("SCHED_RR is refused");
	urgent_pause(&urgent);
	cr_expect_eq(sched_getscheduler(0), SCHED_OTHER);
	cr_expect_eq(getpriority(PRIO_PROCESS, 0), urgent.nice);
	open_looking(&k, NULL);
	urgent_resume(&urgent);
	cr_expect_eq(sched_getscheduler(0), SCHED_RR);
	cr_assert_eq(read_one(&k, pid, &seen), 0);
	reader = stand_stream_pid(k.stream);
	cr_assert_gt(reader, 0);
	cr_expect_eq(sched_getscheduler(reader), SCHED_OTHER, "made in a pause");
	cr_assert(urgent_visit(&urgent, reader, (uint32_t)cpu));
	cr_expect_eq(sched_getscheduler(reader), SCHED_RR);
	for (int i = 0; i < 20; i++) {
		cr_assert_eq(read_one(&k, pid, &seen), 0);
		read += seen.cnt && !(seen.stand.flags & (STAND_RUNS | STAND_MOVED)) &&
			seen.stand.stack_bytes;
	}
	cr_expect_eq(read, 20);
	urgent_return(&urgent, reader);
	cr_expect_eq(sched_getscheduler(reader), SCHED_OTHER);
	drive_kill(pid);
	close_looking(&k);
}

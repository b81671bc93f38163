/* SPDX-License-Identifier: GPL-2.0-or-later */
/* on_waking on the real kernel: whose wakeups are kept, and who is told. */
#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drive.h"

struct looked {
	struct event_stand last;
	size_t cnt;
};

static void take(void *ctx, const struct event_stand *stand, const uint8_t *stack)
{
	struct looked *looked = ctx;

	(void)stack;
	looked->last = *stand;
	looked->cnt++;
}

static void open_wakers(struct drive *d, bool wakers)
{
	const struct session_options options = {.sample_hz = 99, .stands = true, .wakers = wakers};

	drive_open(d, &options);
	if (feature_why(session_features(d->s), FEATURE_THREAD_STACKS))
		drive_skip(feature_why(session_features(d->s), FEATURE_THREAD_STACKS));
	cr_assert_null(feature_why(session_features(d->s), FEATURE_WAKERS), "%s",
		       feature_why(session_features(d->s), FEATURE_WAKERS));
}

/* Looks at a child until cnt of its threads are found in that system call. */
static struct event_stand look(struct drive *d, uint32_t tgid, uint64_t call, size_t cnt)
{
	struct stand_look look = {.pass = 0, .since = 1, .share = LOOK_ALL};
	struct looked looked = {0};

	for (int i = 0; i < 1000; i++) {
		look.pass++;
		look.since = look.pass; /* all are read again */
		looked = (struct looked){0};
		cr_assert_eq(drive_read_stands(d, &look, &tgid, 1, take, &looked), 0);
		if (looked.cnt == cnt && looked.last.call == call &&
		    !(looked.last.flags & STAND_MOVED))
			return looked.last;
		drive_sleep(10 * DRIVE_MS);
	}
	cr_assert_fail("%zu of %zu are found asleep", looked.cnt, cnt);
	return looked.last;
}

/* Wakeups of that process. */
static size_t woken(struct drive *d, uint32_t tgid, struct event_waker *ret_last)
{
	size_t cnt = 0;

	drive_drain(d);
	for (size_t i = 0; i < d->wakers_cnt; i++) {
		if (d->wakers[i].tgid != tgid)
			continue;
		*ret_last = d->wakers[i];
		cnt++;
	}
	return cnt;
}

static bool has_stack(const struct drive *d, uint64_t id, bool user)
{
	for (size_t i = 0; i < d->stacks_cnt; i++)
		if (d->stacks[i].event.id == id)
			return !(d->stacks[i].event.flags & STACK_KERNEL) == user;
	return false;
}

static int read_for_ever(void *pipe)
{
	char byte;

	while (read(*(int *)pipe, &byte, 1) == 1)
		;
	return 0;
}

Test(wakers, who_writes_to_a_pipe_ended_the_wait_that_was_found)
{
	struct event_waker waker = {0};
	struct event_stand stand;
	uint32_t tgid;
	int ends[2];
	struct drive d;
	pid_t pid;

	cr_assert_eq(pipe(ends), 0);
	open_wakers(&d, true);
	pid = drive_fork(read_for_ever, &ends[0], -1, false);
	tgid = (uint32_t)pid;
	stand = look(&d, tgid, SYS_read, 1);
	cr_assert_eq(write(ends[1], "", 1), 1);
	cr_assert_eq(woken(&d, tgid, &waker), 1);
	cr_expect_eq(waker.switches, stand.switches);
	cr_expect_eq(waker.tid, tgid);
	cr_expect_eq(waker.thread_start_ns, stand.thread_start_ns);
	cr_expect_eq(waker.by_tgid, (uint32_t)getpid());
	cr_expect_eq(waker.by_tid, (uint32_t)syscall(SYS_gettid));
	cr_expect_eq(drive_ticks(waker.by_process_start_ns), drive_proc_start_ticks(getpid()));
	cr_expect_eq(waker.flags, 0);
	cr_expect(has_stack(&d, waker.kernel_stack, false));
	cr_expect(has_stack(&d, waker.user_stack, true));
	/* It has run since, and waits again: nobody has found that. */
	for (int i = 0; i < 20; i++) {
		drive_sleep(5 * DRIVE_MS);
		cr_assert_eq(write(ends[1], "", 1), 1);
	}
	cr_expect_eq(woken(&d, tgid, &waker), 1);
	cr_expect_eq(session_wakers_lost(d.s), 0);
	/* Of runs those in one clock tick of many are counted, for all: some come soon. */
	for (int i = 0; i < 5000 && !session_program_cost(d.s, COST_WAKER).runs; i++) {
		drive_sleep(DRIVE_MS);
		cr_assert_eq(write(ends[1], "", 1), 1);
	}
	cr_expect_gt(session_program_cost(d.s, COST_WAKER).runs, 0);
	drive_kill(pid);
	close(ends[0]);
	close(ends[1]);
	drive_close(&d);
}

static uint32_t *word; /* that all wait for */

static void *wait_for_word(void *unused)
{
	(void)unused;
	for (;;)
		syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL, NULL, 0);
	return NULL;
}

#define MANY 400

static int wait_many(void *unused)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (int i = 1; i < MANY; i++)
		if (pthread_create(&thread, &attr, wait_for_word, NULL))
			return 1;
	wait_for_word(unused);
	return 0;
}

Test(wakers, of_very_many_at_once_some_are_kept_and_the_others_are_counted)
{
	struct event_waker waker = {0};
	size_t kept = 0;
	uint64_t lost;
	uint32_t tgid;
	struct drive d;
	pid_t pid;

	word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(word, MAP_FAILED);
	open_wakers(&d, true);
	pid = drive_fork(wait_many, NULL, -1, false);
	tgid = (uint32_t)pid;
	look(&d, tgid, SYS_futex, MANY);
	cr_assert_eq(syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0), MANY);
	kept = woken(&d, tgid, &waker);
	lost = session_wakers_lost(d.s);
	cr_expect_eq(waker.by_tgid, (uint32_t)getpid());
	cr_expect_eq(kept + lost, MANY, "%zu kept, %llu lost", kept, (unsigned long long)lost);
	/* However long it takes on a busy machine, it is less than a span for each part of them. */
	cr_expect_geq(kept, WAKER_SPAN_MOST);
	drive_kill(pid);
	munmap(word, 4096);
	drive_close(&d);
}

Test(wakers, who_did_not_ask_has_no_program_at_wakeups)
{
	struct event_waker waker;
	uint32_t tgid;
	int ends[2];
	struct drive d;
	pid_t pid;

	cr_assert_eq(pipe(ends), 0);
	open_wakers(&d, false);
	pid = drive_fork(read_for_ever, &ends[0], -1, false);
	tgid = (uint32_t)pid;
	look(&d, tgid, SYS_read, 1);
	cr_assert_eq(write(ends[1], "", 1), 1);
	cr_expect_eq(woken(&d, tgid, &waker), 0);
	cr_expect_eq(session_program_cost(d.s, COST_WAKER).runs, 0);
	drive_kill(pid);
	close(ends[0]);
	close(ends[1]);
	drive_close(&d);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* read_stands on the real kernel: threads whose place is known, and stacks that lie. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drive.h"

#define STACK_BYTES (64u << 10)

struct seen {
	struct event_stand *rows;
	size_t cnt;
	uint64_t top; /* a word of the newest piece, at its begin */
};

static void take(void *ctx, const struct event_stand *stand, const uint8_t *stack)
{
	struct seen *seen = ctx;

	seen->rows = realloc(seen->rows, (seen->cnt + 1) * sizeof(*seen->rows));
	cr_assert(seen->rows);
	seen->rows[seen->cnt++] = *stand;
	if (stand->stack_bytes >= sizeof(seen->top))
		memcpy(&seen->top, stack, sizeof(seen->top));
}

static void open_stands(struct drive *d)
{
	const struct session_options options = {.sample_hz = 99,
						.quiet = true,
						.tables = true,
						.unwind_bytes = 16u << 20,
						.stands = true};

	drive_open(d, &options);
	if (session_stands_why(d->s))
		drive_skip(session_stands_why(d->s));
}

/* The one record of a child. */
static struct event_stand look(struct drive *d, pid_t pid, struct seen *seen)
{
	uint32_t tgid = (uint32_t)pid;

	free(seen->rows);
	*seen = (struct seen){0};
	cr_assert_eq(session_read_stands(d->s, &tgid, 1, take, seen), 0);
	cr_assert_eq(seen->cnt, 1);
	cr_assert_eq(seen->rows[0].tgid, tgid);
	return seen->rows[0];
}

/* Until it sleeps. */
static struct event_stand look_asleep(struct drive *d, pid_t pid, struct seen *seen)
{
	struct event_stand stand;

	for (int i = 0; i < 500; i++) {
		stand = look(d, pid, seen);
		if (stand.state == 'S' && stand.call == SYS_pause && !(stand.flags & STAND_MOVED))
			return stand;
		drive_sleep(10 * DRIVE_MS);
	}
	cr_assert_fail("it does not sleep");
	return stand;
}

static int pause_here(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return 0;
}

Test(stands, a_thread_that_sleeps_is_read_without_being_switched)
{
	uint64_t before[2], after[2];
	struct seen seen = {0};
	struct event_stand stand;
	struct drive d;
	pid_t pid;

	open_stands(&d);
	pid = drive_fork(pause_here, NULL, -1, false);
	look_asleep(&d, pid, &seen);
	drive_sleep(400 * DRIVE_MS);
	drive_proc_switches(pid, &before[0], &before[1]);
	for (int i = 0; i < 100; i++)
		stand = look(&d, pid, &seen);
	drive_proc_switches(pid, &after[0], &after[1]);
	cr_expect_eq(before[0], after[0]);
	cr_expect_eq(before[1], after[1]);
	cr_expect_eq(stand.switches, after[0] + after[1]);
	cr_expect_eq(stand.flags & ~(uint32_t)STAND_DEEP, 0);
	cr_expect_eq(drive_ticks(stand.process_start_ns), drive_proc_start_ticks(pid));
	/* Up to a tick less, and whatever the machine was late. */
	cr_expect(stand.age_ns >= 390 * DRIVE_MS && stand.age_ns < 60 * DRIVE_SECOND, "%llu ns",
		  (unsigned long long)stand.age_ns);
	cr_expect_gt(stand.kernel_cnt, 1);
	cr_expect_gt(stand.stack_bytes, 64);
	drive_kill(pid);
	free(seen.rows);
	drive_close(&d);
}

#ifdef __x86_64__
/* Sleeps for ever with that stack pointer. */
static int pause_on(void *top)
{
	__asm__ volatile("mov %0, %%rsp\n"
			 "1: mov $34, %%eax\n" /* pause */
			 "syscall\n"
			 "jmp 1b"
			 :
			 : "r"(top)
			 : "rax", "rcx", "r11", "memory");
	return 0;
}

static void *map_stack(int fd)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	char *at = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);

	cr_assert_neq(at, MAP_FAILED);
	*(uint64_t *)(at + STACK_BYTES / 2) = 0x1234567812345678ull;
	return at;
}

Test(stands, the_piece_begins_at_the_stack_pointer_and_ends_with_the_memory)
{
	char *stack = map_stack(-1), *at = stack + STACK_BYTES / 2;
	struct seen seen = {0};
	struct event_stand stand;
	struct drive d;
	pid_t pid;

	open_stands(&d);
	pid = drive_fork(pause_on, at, -1, false);
	stand = look_asleep(&d, pid, &seen);
	cr_expect_eq(stand.sp, (uint64_t)at);
	cr_expect_eq(seen.top, 0x1234567812345678ull);
	cr_expect_leq(stand.stack_bytes, STAND_STACK_BYTES);
	cr_expect(stand.flags & STAND_DEEP);
	drive_kill(pid);
	/* 16 bytes are left. */
	pid = drive_fork(pause_on, stack + STACK_BYTES - 16, -1, false);
	stand = look_asleep(&d, pid, &seen);
	cr_expect(stand.stack_bytes >= 16, "%u", stand.stack_bytes);
	cr_expect_not(stand.flags & STAND_UNREADABLE);
	drive_kill(pid);
	free(seen.rows);
	munmap(stack, STACK_BYTES);
	drive_close(&d);
}

struct lie {
	const char *what;
	uint64_t sp;
};

Test(stands, a_stack_pointer_that_lies_is_told_as_unreadable)
{
	int fd = memfd_create("stack", MFD_CLOEXEC);
	struct seen seen = {0};
	struct lie lies[] = {
		{"nowhere", 16},
		{"in the kernel", 0xffffffff81000000ull},
		{"not canonical", 0x8000000000000000ull},
		{"at the end of all addresses", UINT64_MAX - 7},
		{"in memory of a file", 0},
	};
	struct drive d;

	/* A terabyte of it. */
	cr_assert(fd >= 0 && !ftruncate(fd, 1ll << 40));
	lies[4].sp = (uint64_t)map_stack(fd) + STACK_BYTES / 2;
	open_stands(&d);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		pid_t pid = drive_fork(pause_on, (void *)lies[i].sp, -1, false);
		struct event_stand stand = look_asleep(&d, pid, &seen);

		cr_expect_eq(stand.sp, lies[i].sp, "%s", lies[i].what);
		cr_expect(stand.flags & STAND_UNREADABLE, "%s", lies[i].what);
		cr_expect_eq(stand.stack_bytes, 0, "%s", lies[i].what);
		cr_expect_gt(stand.kernel_cnt, 0, "%s", lies[i].what);
		drive_kill(pid);
	}
	free(seen.rows);
	close(fd);
	drive_close(&d);
}
#endif

Test(stands, of_a_thread_that_runs_nothing_is_believed)
{
	struct seen seen = {0};
	struct drive d;
	pid_t pid;
	size_t ran = 0;

	open_stands(&d);
	pid = drive_fork(drive_spin, NULL, drive_cpu(1), true);
	for (int i = 0; i < 2000 && !ran; i++) {
		struct event_stand stand;

		/* Who looks may be on the same CPU, or others are. */
		drive_sleep(DRIVE_MS);
		stand = look(&d, pid, &seen);
		cr_expect_eq(stand.state, 'R');
		if (!(stand.flags & (STAND_RUNS | STAND_MOVED)))
			continue; /* it waits for a CPU */
		ran += (stand.flags & STAND_RUNS) != 0;
		cr_expect(!(stand.flags & STAND_RUNS) || !stand.stack_bytes);
	}
	cr_expect_gt(ran, 0);
	drive_kill(pid);
	free(seen.rows);
	drive_close(&d);
}

Test(stands, all_threads_of_the_host_are_told_once)
{
	size_t kernel = 0, own = 0;
	struct seen seen = {0};
	struct drive d;

	open_stands(&d);
	cr_assert_eq(session_read_stands(d.s, NULL, 0, take, &seen), 0);
	for (size_t i = 0; i < seen.cnt; i++) {
		const struct event_stand *s = &seen.rows[i];

		kernel += (s->flags & STAND_KERNEL_THREAD) != 0;
		own += s->tid == (uint32_t)getpid();
		cr_expect(!(s->flags & STAND_KERNEL_THREAD) || !s->stack_bytes);
		for (size_t k = 0; k < i; k++)
			cr_expect_neq(seen.rows[k].tid, s->tid);
	}
	cr_expect_eq(own, 1);
	cr_expect_gt(seen.cnt, kernel);
	free(seen.rows);
	drive_close(&d);
}

Test(stands, who_did_not_ask_for_it_has_not_the_program)
{
	struct seen seen = {0};
	struct drive d;

	drive_open(&d, NULL);
	cr_expect_eq(session_read_stands(d.s, NULL, 0, take, &seen), -ENOTSUP);
	cr_expect_not_null(session_stands_why(d.s));
	drive_close(&d);
}

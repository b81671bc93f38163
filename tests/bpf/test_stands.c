/* SPDX-License-Identifier: GPL-2.0-or-later */
/* read_stands on the real kernel: threads whose place is known, and stacks that lie. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
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

static void open_in_gear(struct drive *d, bool quiet)
{
	const struct session_options options = {.sample_hz = 99,
						.quiet = quiet,
						.tables = true,
						.unwind_bytes = 16u << 20,
						.stands = true};

	drive_open(d, &options);
	if (feature_why(session_features(d->s), FEATURE_THREAD_STACKS))
		drive_skip(feature_why(session_features(d->s), FEATURE_THREAD_STACKS));
}

static void open_stands(struct drive *d)
{
	open_in_gear(d, true);
}

static int read_stands(struct drive *d, const struct stand_look *look, const uint32_t *tgids,
		       size_t cnt, struct seen *seen)
{
	return drive_read_stands(d, look, tgids, cnt, take, seen);
}

/* The one record of a child. */
static struct event_stand look(struct drive *d, pid_t pid, struct seen *seen)
{
	uint32_t tgid = (uint32_t)pid;

	free(seen->rows);
	*seen = (struct seen){0};
	cr_assert_eq(read_stands(d, NULL, &tgid, 1, seen), 0);
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
	memset(at + STACK_BYTES / 2, 1, STACK_BYTES / 2);
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

/* Of a process, from /proc/PID/status. */
static uint64_t page_table_kb(pid_t pid)
{
	char path[64], text[4096], *at;
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	cr_assert(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	at = strstr(text, "VmPTE:");
	cr_assert(at);
	return strtoull(at + 6, NULL, 10);
}

Test(stands, a_page_that_is_absent_is_not_made_present)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 1ull << 40;
	char *sparse = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *at = (char *)(((uint64_t)sparse + (bytes >> 1)) & ~(page - 1));
	struct seen seen = {0};
	struct drive d;

	cr_assert_neq(sparse, MAP_FAILED);
	open_stands(&d);
	for (int there = 0; there < 3; there++) {
		uint64_t before, switches[2] = {0};
		struct event_stand stand;
		pid_t pid;

		/* Of no page, one, two before the first that is absent. */
		if (there)
			memset(at + (size_t)(there - 1) * page, there, page);
		pid = drive_fork(pause_on, at + page / 2, -1, false);
		/* It makes some of its own until it sleeps. */
		for (int i = 0; i < 500 && !switches[0]; i++) {
			drive_sleep(10 * DRIVE_MS);
			drive_proc_switches(pid, &switches[0], &switches[1]);
		}
		before = page_table_kb(pid);
		stand = look_asleep(&d, pid, &seen);
		cr_expect_eq(stand.stack_bytes, there ? (size_t)there * page - page / 2 : 0,
			     "%d: %u bytes", there, stand.stack_bytes);
		cr_expect_eq(!!(stand.flags & STAND_UNREADABLE), !there);
		if (!there)
			cr_expect_leq(page_table_kb(pid), before, "the look made page tables");
		drive_kill(pid);
	}
	free(seen.rows);
	munmap(sparse, bytes);
	drive_close(&d);
}
#endif

Test(stands, of_a_thread_that_runs_nothing_is_believed)
{
	struct seen seen = {0};
	struct drive d;
	cpu_set_t away;
	pid_t pid;
	size_t ran = 0;

	open_stands(&d);
	pid = drive_fork(drive_spin, NULL, drive_cpu(1), true);
	/* On the same CPU it would never run during a look. */
	CPU_ZERO(&away);
	CPU_SET(drive_cpu(0), &away);
	cr_assert_eq(sched_setaffinity(0, sizeof(away), &away), 0);
	for (int i = 0; i < 2000 && !ran; i++) {
		struct event_stand stand;

		/* Others may be on its CPU. */
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
	cr_assert_eq(read_stands(&d, NULL, NULL, 0, &seen), 0);
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

Test(stands, a_pass_that_hangs_keeps_its_room_and_its_process_is_left_out_of_the_next)
{
	static char buffer[1u << 18];
	struct seen first = {0}, next = {0};
	size_t have = 0, read_of = 0;
	uint32_t tgids[2];
	pid_t hangs, other;
	struct drive d;
	ssize_t n;
	int fd;

	open_stands(&d);
	hangs = drive_fork(pause_here, NULL, -1, false);
	other = drive_fork(pause_here, NULL, -1, false);
	tgids[0] = (uint32_t)hangs;
	tgids[1] = (uint32_t)other;
	look_asleep(&d, hangs, &first);
	look_asleep(&d, other, &first);
	free(first.rows);
	first = (struct seen){0};
	/* It has read of the one process, and goes on later. */
	fd = session_open_stands(d.s, NULL, tgids, 1);
	cr_assert_geq(fd, 0);
	n = read(fd, buffer, sizeof(struct event_stand));
	cr_assert_eq(n, (ssize_t)sizeof(struct event_stand));
	have = (size_t)n;
	session_set_stand_reader(d.s, 1, 1 << 0);
	cr_assert_eq(read_stands(&d, NULL, tgids, 2, &next), 0);
	cr_assert_eq(next.cnt, 2);
	for (size_t i = 0; i < next.cnt; i++) {
		bool left = next.rows[i].tgid == tgids[0];

		cr_expect_eq(!!(next.rows[i].flags & STAND_UNREADABLE), left);
		cr_expect_eq(next.rows[i].stack_bytes > 0, !left);
		cr_expect_gt(next.rows[i].kernel_cnt, 0);
		read_of++;
	}
	cr_expect_eq(read_of, 2);
	while ((n = read(fd, buffer + have, sizeof(buffer) - have)) > 0)
		have += (size_t)n;
	cr_assert_eq(session_take_stands(buffer, have, take, &first), (ssize_t)have);
	cr_expect_geq(first.cnt, 1);
	cr_expect_eq(first.rows[0].tgid, tgids[0]);
	cr_expect_gt(first.rows[0].stack_bytes, 0);
	close(fd);
	/* It has ended: all are read again. */
	session_set_stand_reader(d.s, 0, 0);
	look_asleep(&d, hangs, &next);
	cr_expect_not(next.rows[0].flags & STAND_UNREADABLE);
	drive_kill(hangs);
	drive_kill(other);
	free(first.rows);
	free(next.rows);
	drive_close(&d);
}

Test(stands, who_did_not_ask_for_it_has_not_the_program)
{
	struct seen seen = {0};
	struct drive d;

	drive_open(&d, NULL);
	cr_expect_eq(read_stands(&d, NULL, NULL, 0, &seen), -ENOTSUP);
	cr_expect_not(feature_is_on(session_features(d.s), FEATURE_THREAD_STACKS));
	drive_close(&d);
}

/* What a look tells of a child; cnt records. */
static struct event_stand look_at(struct drive *d, const struct stand_look *look, pid_t pid,
				  struct seen *seen, size_t cnt)
{
	uint32_t tgid = (uint32_t)pid;

	free(seen->rows);
	*seen = (struct seen){0};
	cr_assert_eq(read_stands(d, look, &tgid, 1, seen), 0);
	cr_assert_eq(seen->cnt, cnt);
	return cnt ? seen->rows[0] : (struct event_stand){0};
}

Test(stands, a_look_reads_a_stack_once_a_wait_and_again_when_it_is_told_to)
{
	struct look_share share = {LOOK_ALL, LOOK_ALL, 1};
	struct stand_look look = {.pass = 7, .since = 7, .share = LOOK_ALL};
	struct event_stand first, stand;
	struct seen seen = {0};
	struct drive d;
	pid_t pid;

	open_in_gear(&d, false); /* where births have accounts */
	pid = drive_fork(pause_here, NULL, -1, false);
	look_asleep(&d, pid, &seen);
	first = look_at(&d, &look, pid, &seen, 1);
	cr_expect_not(first.flags & STAND_SAME);
	cr_expect_gt(first.stack_bytes, 0);
	cr_expect_eq(first.share, LOOK_ALL);
	cr_expect_eq(first.ns_tid, (uint32_t)pid);
	/* A step that is run again is of the same pass. */
	cr_expect_not(look_at(&d, &look, pid, &seen, 1).flags & STAND_SAME);
	look.pass = 8;
	stand = look_at(&d, &look, pid, &seen, 1);
	cr_expect(stand.flags & STAND_SAME);
	cr_expect_eq(stand.stack_bytes, 0);
	cr_expect_eq(stand.switches, first.switches);
	cr_expect_geq(stand.age_ns, first.age_ns);
	/* By the process, or since nothing from before is remembered. */
	look.pass = 9;
	cr_assert_eq(session_set_look_share(d.s, (uint32_t)pid, &share), 0);
	cr_expect_not(look_at(&d, &look, pid, &seen, 1).flags & STAND_SAME);
	cr_assert_eq(session_set_look_share(d.s, (uint32_t)pid, NULL), 0);
	look.pass = look.since = 10;
	cr_expect_not(look_at(&d, &look, pid, &seen, 1).flags & STAND_SAME);
	/* One that ran since. */
	look.pass = 11;
	cr_expect(look_at(&d, &look, pid, &seen, 1).flags & STAND_SAME);
	cr_assert_eq(kill(pid, SIGSTOP), 0);
	drive_sleep(100 * DRIVE_MS);
	cr_assert_eq(kill(pid, SIGCONT), 0);
	drive_sleep(100 * DRIVE_MS);
	look.pass = 12;
	stand = look_at(&d, &look, pid, &seen, 1);
	cr_expect_not(stand.flags & STAND_SAME);
	cr_expect_gt(stand.switches, first.switches);
	drive_kill(pid);
	free(seen.rows);
	drive_close(&d);
}

static int spin(void *unused)
{
	(void)unused;
	for (;;)
		__asm__ volatile("");
	return 0;
}

static void *pause_thread(void *unused)
{
	pause_here(unused);
	return NULL;
}

#define MANY 400

static int pause_many(void *unused)
{
	pthread_attr_t attr;
	pthread_t thread;

	(void)unused;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (int i = 0; i < MANY; i++)
		if (pthread_create(&thread, &attr, pause_thread, NULL))
			return 1;
	return pause_here(NULL);
}

static void look_anew(struct drive *d, struct stand_look *look, uint32_t tgid, struct seen *seen)
{
	free(seen->rows);
	*seen = (struct seen){0};
	look->pass++;
	cr_assert_eq(read_stands(d, look, &tgid, 1, seen), 0);
}

/* Two passes over a process of many threads, of whose brief waits a quarter is wanted. Returns
 * whether both came while all waits were brief, which takes a second on a busy machine. */
static bool choose_brief(struct drive *d, struct stand_look *look, pid_t *ret_pid)
{
	const struct look_share share = {LOOK_ALL / 4, LOOK_ALL, 0};
	uint64_t forked_ns = clock_now_ns();
	struct seen first = {0}, again = {0};
	pid_t pid = drive_fork(pause_many, NULL, -1, true);
	bool brief;

	for (int i = 0; i < 100 && first.cnt < MANY + 1; i++) {
		drive_sleep(10 * DRIVE_MS);
		look_anew(d, look, (uint32_t)pid, &first);
	}
	cr_assert_eq(first.cnt, MANY + 1);
	cr_assert_eq(session_set_look_share(d->s, (uint32_t)pid, &share), 0);
	look_anew(d, look, (uint32_t)pid, &first);
	look_anew(d, look, (uint32_t)pid, &again);
	brief = clock_now_ns() - forked_ns < STAND_LASTING_NS;
	if (brief) {
		cr_expect(first.cnt > MANY / 4 - 60 && first.cnt < MANY / 4 + 60, "%zu", first.cnt);
		cr_expect_eq(first.rows[0].share, LOOK_ALL / 4);
		/* The same as long as the seed is. */
		cr_expect_eq(again.cnt, first.cnt);
		cr_expect_eq(again.rows[0].tid, first.rows[0].tid);
	} else {
		drive_kill(pid);
	}
	free(first.rows);
	free(again.rows);
	*ret_pid = pid;
	return brief;
}

Test(stands, a_look_chooses_threads_that_do_not_run_by_their_share)
{
	struct stand_look look = {.pass = 1, .since = 1, .share = LOOK_ALL};
	struct seen seen = {0};
	struct drive d;
	pid_t many, spinner;
	int tries = 0;

	open_stands(&d);
	spinner = drive_fork(spin, NULL, -1, false);
	drive_sleep(50 * DRIVE_MS);
	look_at(&d, &look, spinner, &seen, 0);
	drive_kill(spinner);
	while (!choose_brief(&d, &look, &many))
		cr_assert_lt(++tries, 20, "a second is not enough for any of them");
	/* Later they are lasting ones, of which all are chosen. */
	drive_sleep(1200 * DRIVE_MS);
	look_anew(&d, &look, (uint32_t)many, &seen);
	cr_expect_eq(seen.cnt, MANY + 1);
	drive_kill(many);
	free(seen.rows);
	drive_close(&d);
}

#define MARKS	  64
#define MARK_ODD  0x0dd0dd0dd0dd0dd1ull
#define MARK_EVEN 0xe7e4e7e4e7e4e7e4ull

__attribute__((noinline)) static void nap_with(uint64_t mark)
{
	volatile uint64_t marks[MARKS];
	struct timespec pause = {0, 20000};

	for (size_t i = 0; i < MARKS; i++)
		marks[i] = mark;
	nanosleep(&pause, NULL);
	__asm__ volatile("" : : "r"(marks) : "memory");
}

/* Naps with the one stack and with the other, at the same place. */
static int flip(void *unused)
{
	(void)unused;
	for (;;) {
		nap_with(MARK_ODD);
		nap_with(MARK_EVEN);
	}
	return 0;
}

struct flips {
	size_t whole, moved, torn;
};

static void take_flip(void *ctx, const struct event_stand *stand, const uint8_t *stack)
{
	struct flips *flips = ctx;
	size_t odd = 0, even = 0;

	if (stand->flags & STAND_MOVED)
		flips->moved++;
	if (stand->state != 'S' || stand->flags & (STAND_MOVED | STAND_RUNS) ||
	    stand->call != SYS_clock_nanosleep)
		return;
	for (size_t at = 0; at + 8 <= stand->stack_bytes; at += 8) {
		uint64_t word;

		memcpy(&word, stack + at, sizeof(word));
		odd += word == MARK_ODD;
		even += word == MARK_EVEN;
	}
	/* A register that was saved may hold the other one. */
	if ((odd >= MARKS && even < 3) || (even >= MARKS && odd < 3))
		flips->whole++;
	else
		flips->torn++;
}

Test(stands, what_ran_while_it_was_read_is_never_told_as_whole)
{
	static char buffer[1u << 17];
	uint64_t begin_ns = clock_now_ns();
	struct flips flips = {0};
	struct drive d;
	uint32_t tgid;
	pid_t pid;

	open_stands(&d);
	/* Else it is mostly queued on a busy machine. */
	pid = drive_fork(flip, NULL, -1, true);
	tgid = (uint32_t)pid;
	for (int i = 0; i < 4000 || ((!flips.moved || flips.whole <= 100) &&
				     clock_now_ns() - begin_ns < 60 * DRIVE_SECOND);
	     i++) {
		int fd = session_open_stands(d.s, NULL, &tgid, 1);
		ssize_t n, have = 0;

		cr_assert_geq(fd, 0);
		while ((n = read(fd, buffer + have, sizeof(buffer) - (size_t)have)) > 0)
			have += n;
		close(fd);
		session_take_stands(buffer, (size_t)have, take_flip, &flips);
	}
	cr_expect_eq(flips.torn, 0, "%zu of %zu", flips.torn, flips.torn + flips.whole);
	cr_expect_gt(flips.whole, 100);
	cr_expect_gt(flips.moved, 0, "nothing ran meanwhile: this proves nothing");
	drive_kill(pid);
	drive_close(&d);
}

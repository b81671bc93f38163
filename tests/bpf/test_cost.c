/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the programs say of their own cost, against known numbers of runs and the kernel's
 * statistics. */
#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

#include "drive.h"
#include "kernel/session_private.h"

#define ROUNDS 20000

/* Wakes who waits at the other end of the pipe, and waits for it: two switches a round on one
 * CPU. */
static int play(int in, int out)
{
	char ball = 0;

	for (int i = 0; i < ROUNDS; i++)
		if (write(out, &ball, 1) != 1 || read(in, &ball, 1) != 1)
			return 1;
	return 0;
}

struct players {
	int there[2], back[2];
};

static int play_first(void *arg)
{
	struct players *p = arg;

	return play(p->back[0], p->there[1]);
}

static int play_second(void *arg)
{
	struct players *p = arg;
	char ball;

	for (int i = 0; i < ROUNDS; i++)
		if (read(p->there[0], &ball, 1) != 1 || write(p->back[1], &ball, 1) != 1)
			return 1;
	return 0;
}

static void ping_pong(void)
{
	struct players players;
	pid_t first, second;

	cr_assert(!pipe(players.there) && !pipe(players.back));
	second = drive_fork(play_second, &players, drive_cpu(1), true);
	first = drive_fork(play_first, &players, drive_cpu(1), true);
	drive_wait(first);
	drive_wait(second);
	close(players.there[0]);
	close(players.there[1]);
	close(players.back[0]);
	close(players.back[1]);
}

static struct cost_counters rise(const struct cost_counters *was, const struct cost_counters *is)
{
	return (struct cost_counters){is->runs - was->runs, is->timed - was->timed,
				      is->timed_ns - was->timed_ns};
}

/* One of 256 by chance: within five standard deviations. */
static bool is_one_of_256(uint64_t timed, uint64_t runs)
{
	uint64_t expected = runs / 256,
		 off = timed > expected ? timed - expected : expected - timed;

	return off * off <= 25 * (expected + 1);
}

Test(cost, runs_are_counted_and_some_of_them_measured)
{
	const struct session_options options = {.sample_hz = 499, .wakeups = true};
	struct cost_counters was[COST_CNT], now, rose;
	struct drive d;

	drive_open(&d, &options);
	d.may_lose = true;
	for (int i = 0; i < COST_CNT; i++)
		was[i] = session_program_cost(d.s, (enum cost_program)i);
	ping_pong();
	for (enum cost_program i = COST_SWITCH; i <= COST_WAKEUP; i++) {
		now = session_program_cost(d.s, i);
		rose = rise(&was[i], &now);
		/* The CPU changes hands twice a round. Who is woken may take the CPU before the
		 * other has begun to wait, which then is not woken: one wakeup a round at least,
		 * told by some 80. */
		cr_expect_geq(rose.runs, i == COST_SWITCH ? ROUNDS * 18 / 10 : ROUNDS * 6 / 10,
			      "%d: %llu runs", i, (unsigned long long)rose.runs);
		cr_expect(is_one_of_256(rose.timed, rose.runs), "%d: %llu of %llu timed", i,
			  (unsigned long long)rose.timed, (unsigned long long)rose.runs);
		/* A look at the clock alone takes more than 5 ns. */
		cr_expect_gt(rose.timed_ns, rose.timed * 5);
		cr_expect_lt(rose.timed_ns, rose.timed * 20000);
	}
	now = session_program_cost(d.s, COST_TASK);
	rose = rise(&was[COST_TASK], &now);
	cr_expect_geq(rose.runs, 2u, "two processes were born");
	cr_expect_leq(rose.timed, rose.runs);
	now = session_program_cost(d.s, COST_TICK);
	cr_expect_eq(now.runs, 0u, "nothing is sampled");
	drive_close(&d);
}

Test(cost, nothing_runs_at_wakeups_where_the_kernel_counts_waits)
{
	struct drive d;

	drive_open(&d, NULL);
	d.may_lose = true;
	ping_pong();
	cr_expect_geq(session_program_cost(d.s, COST_SWITCH).runs, ROUNDS * 18 / 10u);
	cr_expect_eq(session_program_cost(d.s, COST_WAKEUP).runs, 0u);
	drive_close(&d);
}

Test(cost, ticks_are_measured_each)
{
	struct cost_counters now;
	struct drive d;
	pid_t pid;

	drive_start(&d, NULL);
	d.may_lose = true;
	pid = drive_fork(drive_spin, NULL, drive_cpu(1), true);
	drive_await(&d, pid, 300 * DRIVE_MS);
	drive_kill(pid);
	now = session_program_cost(d.s, COST_TICK);
	cr_expect_geq(now.runs, 100u);
	cr_expect_leq(now.timed, now.runs);
	cr_expect_gt(now.timed * 2, now.runs, "%llu of %llu", (unsigned long long)now.timed,
		     (unsigned long long)now.runs);
	drive_close(&d);
}

/* By the kernel's own statistics. */
static uint64_t kernel_ns(const struct session *s)
{
	struct bpf_program *program;
	uint64_t ns = 0;

	bpf_object__for_each_program(program, s->bpf->obj)
	{
		struct bpf_prog_info info = {0};
		__u32 bytes = sizeof(info);

		/* Iterators run in hotrun's own time. */
		if (bpf_program__expected_attach_type(program) != BPF_TRACE_ITER &&
		    !bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &bytes))
			ns += info.run_time_ns;
	}
	return ns;
}

Test(cost, sum_is_what_the_kernel_says)
{
	struct drive d;
	uint64_t kernel, ours;
	int stats;

	drive_start(&d, NULL);
	d.may_lose = true;
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (stats < 0)
		drive_skip("the kernel's statistics cannot be switched on");
	kernel = kernel_ns(d.s);
	ours = session_cost_ns(d.s);
	for (int i = 0; i < 10; i++) {
		ping_pong();
		session_cost_ns(d.s);
		drive_drain(&d);
	}
	kernel = kernel_ns(d.s) - kernel;
	ours = session_cost_ns(d.s) - ours;
	close(stats);
	/* Aimed at are 15 %; a guest whose clock is dear to read is further off. */
	cr_expect(drive_near(ours, kernel, 0.35, 0), "%.3f ms, the kernel says %.3f",
		  (double)ours / 1e6, (double)kernel / 1e6);
	drive_close(&d);
}

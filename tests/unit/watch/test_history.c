/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recorder's memory: what goes in is in the file, in its own time, whatever the folder is. */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "build_model.h"
#include "store/history.h"
#include "store_folder.h"
#include "watch/history.h"
#include "watched.h"

#define OFFSET_NS ((1795392000ll - 1000) * 1000000000ll)

static const struct history_setup setup = {64 << 20, 90};
static int dir_fd = -1;

static void enter(void)
{
	enter_memory_folder();
	dir_fd = open(".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	cr_assert(dir_fd >= 0);
}

static void leave(void)
{
	close(dir_fd);
	leave_folder();
}

TestSuite(watch_history, .init = enter, .fini = leave);

static int sum_cpu(void *ctx, int64_t time_s, uint32_t kind, const struct history_figures *f)
{
	(void)time_s;
	if (kind == HISTORY_HOST)
		((uint64_t *)ctx)[0]++;
	else
		((uint64_t *)ctx)[1] += f->cpu_ms;
	return 0;
}

static int count_decision(void *ctx, const struct history_decision *d)
{
	(void)d;
	++*(int *)ctx;
	return 0;
}

static int count_trunk(void *ctx, const struct history_trunk *t)
{
	cr_expect_str_eq(t->capture, "vm-20261123T000000Z-trigger.hotrun");
	*(double *)ctx += t->share;
	return 0;
}

static void feed(struct history *h, struct watched *w, int seconds)
{
	for (int i = 0; i < seconds; i++) {
		uint32_t slice = (uint32_t)w->m->slices_cnt;

		watched_slice(w);
		w->m->slices[slice].wall_offset_ns = OFFSET_NS;
		history_slice(h, w->m, slice);
	}
}

static struct history_file *reader(void)
{
	struct history_file *f = NULL;
	int err = history_file_read("history", &f);

	cr_assert_eq(err, 0, "%s", strerror(-err));
	return f;
}

Test(watch_history, minutes_decisions_and_trunks_are_in_the_file)
{
	struct watched w = watched_host();
	struct history *h = history_new(dir_fd, &setup);
	uint64_t sums[2] = {0};
	double shares = 0;
	int decided = 0, fd;
	struct history_file *f;

	cr_assert(h);
	feed(h, &w, 150);
	history_add_decision(h, &(struct history_decision){.time_s = 1795392000,
							   .taken = true,
							   .reason = "somebody asked for it"});
	put_file("trunks",
		 "1.5\t12\t0.5\tShop.Web\tA > B\nnonsense\n\n1\t1\t2\tp\tq\n0.0\t0\t0.25\tx\ty\n");
	fd = open("trunks", O_RDONLY | O_CLOEXEC);
	history_add_trunks(h, "vm-20261123T000000Z-trigger.hotrun", 1795392000, fd);
	close(fd);
	/* The minute that goes on is written, too. */
	history_free(h);
	f = reader();
	cr_assert_eq(
		history_file_rows(f, HISTORY_MINUTES, 0, INT64_MAX, HISTORY_ANY, sum_cpu, sums), 0);
	cr_expect_eq(sums[0], 3);
	cr_expect_eq(sums[1], 150 * 950);
	cr_assert_eq(history_file_decisions(f, 0, INT64_MAX, count_decision, &decided), 0);
	cr_expect_eq(decided, 1);
	cr_assert_eq(history_file_taken_trunks(f, 0, INT64_MAX, count_trunk, &shares), 0);
	cr_expect_float_eq(shares, 0.75, 1e-9);
	history_file_close(f);
	model_free(w.m);
}

Test(watch_history, off_makes_no_row)
{
	const struct history_setup off = {0, 90};
	struct watched w = watched_host();
	struct history *h = history_new(dir_fd, &off);
	struct past_usual u;
	uint64_t sums[2] = {0};
	struct history_file *f;

	feed(h, &w, 100);
	history_add_decision(h, &(struct history_decision){.time_s = 1, .reason = "x"});
	cr_expect_neq(access("history", F_OK), 0);
	/* Switched on by a reload of the settings. */
	history_set(h, &setup);
	feed(h, &w, 10);
	cr_expect_not(history_usual(h, "Shop.Api", NULL, &u));
	history_free(h);
	f = reader();
	cr_assert_eq(
		history_file_rows(f, HISTORY_MINUTES, 0, INT64_MAX, HISTORY_ANY, sum_cpu, sums), 0);
	cr_expect_eq(sums[1], 10 * 950);
	history_file_close(f);
	model_free(w.m);
	/* Without memory for it there is none, and nothing minds. */
	history_slice(NULL, NULL, 0);
	history_add_decision(NULL, NULL);
	history_judged(NULL);
	history_set(NULL, &setup);
	cr_expect_not(history_usual(NULL, "x", NULL, &u));
	history_free(NULL);
}

/* What cannot be written is bounded, delays nobody, and what is left in the way is left alone. */
Test(watch_history, a_folder_that_refuses_delays_nobody)
{
	struct watched w = watched_host();
	struct history *h;
	uint64_t start_ns;

	cr_assert_eq(mkdir("history", 0700), 0);
	h = history_new(dir_fd, &setup);
	start_ns = clock_now_ns();
	for (int i = 0; i < 5000; i++)
		history_add_decision(h, &(struct history_decision){.time_s = i, .reason = "no"});
	feed(h, &w, 200);
	cr_expect_lt(clock_now_ns() - start_ns, 2000000000ull);
	history_free(h);
	cr_expect_lt(clock_now_ns() - start_ns, 9000000000ull);
	cr_expect_eq(rmdir("history"), 0);
	model_free(w.m);
}

Test(watch_history, what_is_usual_is_read_from_the_file)
{
	const struct history_options options = {64 << 20, 90, NULL};
	int64_t now_s = (int64_t)time(NULL);
	struct history_file *f;
	struct history *h;
	struct past_usual u;
	struct past_speed s;
	bool aside, known = false;

	cr_assert_eq(history_file_open(dir_fd, &options, &aside, &f), 0);
	for (int week = 1; week <= 12; week++) {
		struct history_row rows[2] = {{NULL, NULL, {.observed_ms = 3600000}},
					      {"Shop.Web",
					       "shop.service",
					       {.observed_ms = 3600000,
						.cpu_ms = 1800000,
						.requests = 36000,
						.slow = 360,
						.median_us = 3000}}};

		cr_assert_eq(
			history_file_write(
				f, &(struct history_minute){now_s - week * HISTORY_WEEK_S, rows, 2},
				1),
			0);
	}
	history_file_close(f);
	h = history_new(dir_fd, &setup);
	for (int i = 0; i < 500 && !known; i++) {
		nanosleep(&(struct timespec){0, 10000000}, NULL);
		known = history_usual(h, "Shop.Web", "shop.service", &u);
	}
	cr_assert(known);
	cr_expect_eq(u.weeks, 12);
	cr_expect_float_eq(u.cpus.median, 0.5, 1e-6);
	cr_expect_float_eq(u.slow.high, 0.01, 1e-6);
	cr_expect(history_speed(h, "Shop.Web", NULL, 10, &s));
	cr_expect_eq(s.hours, 12);
	cr_expect_not(history_usual(h, "Shop.Mail", NULL, &u));
	history_free(h);
}

Test(watch_history, lines_of_trunks)
{
	static const char *const bad[] = {"",
					  "1",
					  "1\t2\t0.5",
					  "1\t2\t0.5\tp",
					  "1\t2\t0.5\t\tq",
					  "1\t2\t0.5\tp\t",
					  "x\t2\t0.5\tp\tq",
					  "-1\t2\t0.5\tp\tq",
					  "1\t2\t1.5\tp\tq",
					  "1e99\t2\t0.5\tp\tq",
					  "nan\t2\t0.5\tp\tq"};
	char line[64] = "31.0\t1204\t0.610\tShop.Web\tA > B\tC";
	struct history_trunk t;

	cr_assert_eq(history_parse_trunk(line, &t), 0);
	cr_expect_str_eq(t.process, "Shop.Web");
	cr_expect_str_eq(t.path, "A > B\tC");
	cr_expect_float_eq(history_harm(&t), 0.61 * 31 * 1204, 1e-6);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line), "%s", bad[i]);
		cr_expect_neq(history_parse_trunk(line, &t), 0, "%s", bad[i]);
	}
}

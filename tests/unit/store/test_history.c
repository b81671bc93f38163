/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The history's file: what goes in comes out, within its bounds, whatever lies there. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/history.h"
#include "store_folder.h"

TestSuite(history, .init = enter_memory_folder, .fini = leave_folder);

/* 2026-11-23 00:00 UTC, a Monday. */
#define DAY0 1795392000ll
#define DAY  HISTORY_DAY_S
#define EVER INT64_MAX

static int worse(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static const struct history_options plenty = {64 << 20, 90, worse};

static struct history_file *open_with(const struct history_options *options, bool aside)
{
	_cleanup_close_ int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct history_file *f = NULL;
	bool was_aside;
	int err = history_file_open(dir, options, &was_aside, &f);

	cr_assert_eq(err, 0, "%s", strerror(-err));
	cr_expect_eq(was_aside, aside);
	return f;
}

static int open_error(void)
{
	_cleanup_close_ int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct history_file *f = NULL;
	bool aside;
	int err = history_file_open(dir, &plenty, &aside, &f);

	history_file_close(f);
	return err;
}

static struct history_figures busy(uint64_t cpu_ms)
{
	return (struct history_figures){.observed_ms = 60000,
					.judged_ms = 60000,
					.cpu_ms = cpu_ms,
					.waited_ms = 1234,
					.available_mcpu = 2000,
					.requests = 6000,
					.slow = 12,
					.median_us = 2100,
					.p99_us = 350000,
					.verdict = 1};
}

static int write_rows(struct history_file *f, int64_t time_s, struct history_row *rows, size_t cnt)
{
	return history_file_write(f, &(struct history_minute){time_s, rows, cnt}, 1);
}

static void write_one(struct history_file *f, int64_t time_s, const char *name, const char *place,
		      struct history_figures figures)
{
	struct history_row row = {name, place, figures};
	int err = write_rows(f, time_s, &row, 1);

	cr_assert_eq(err, 0, "%s", strerror(-err));
}

struct seen {
	size_t cnt;
	int64_t first_s, last_s;
	uint32_t kind;
	struct history_figures sum, last;
};

static int see(void *ctx, int64_t time_s, uint32_t kind, const struct history_figures *figures)
{
	struct seen *s = ctx;

	if (!s->cnt++)
		s->first_s = time_s;
	s->last_s = time_s;
	s->kind = kind;
	s->last = *figures;
	history_add(&s->sum, figures, worse);
	return 0;
}

static struct seen rows_of(struct history_file *f, enum history_length length, int64_t from_s,
			   int64_t to_s, uint32_t kind)
{
	struct seen s = {0};
	int err = history_file_rows(f, length, from_s, to_s, kind, see, &s);

	cr_assert_eq(err, 0, "%s", strerror(-err));
	return s;
}

static struct history_file *reader(void)
{
	struct history_file *f = NULL;
	int err = history_file_read("history", &f);

	cr_assert_eq(err, 0, "%s", strerror(-err));
	return f;
}

static size_t kinds_of(struct history_file *f, struct history_kind **ret_kinds)
{
	size_t cnt = 0;

	cr_assert_eq(history_file_kinds(f, ret_kinds, &cnt), 0);
	return cnt;
}

static uint64_t file_bytes(void)
{
	struct stat st;

	cr_assert_eq(stat("history", &st), 0);
	return (uint64_t)st.st_size;
}

/* --- what goes in comes out ------------------------------------------------------------------ */

Test(history, minutes_and_hours_are_kept)
{
	struct history_file *f = open_with(&plenty, false);
	struct history_kind *kinds;
	struct stat st;
	struct seen s;

	for (int i = 0; i < 90; i++)
		write_one(f, DAY0 + i * 60, "Shop.Web", "prod/shop/api", busy(1000));
	write_one(f, DAY0, NULL, NULL, busy(5000));
	history_file_close(f);
	cr_assert_eq(stat("history", &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0600);

	f = reader();
	cr_assert_eq(kinds_of(f, &kinds), 1);
	cr_expect_str_eq(kinds[0].name, "Shop.Web");
	cr_expect_str_eq(kinds[0].place, "prod/shop/api");
	cr_expect_eq(kinds[0].minutes, 90);
	cr_expect_eq(kinds[0].first_s, DAY0);
	cr_expect_eq(kinds[0].last_s, DAY0 + 89 * 60);
	s = rows_of(f, HISTORY_MINUTES, 0, EVER, kinds[0].id);
	cr_expect_eq(s.cnt, 90);
	cr_expect_eq(memcmp(&s.last, &(struct history_figures){0}, sizeof(s.last)) != 0, 1);
	cr_expect_eq(s.last.cpu_ms, 1000);
	cr_expect_eq(s.last.p99_us, 350000);
	cr_expect_eq(s.last.verdict, 1);
	s = rows_of(f, HISTORY_HOURS, 0, EVER, kinds[0].id);
	cr_expect_eq(s.cnt, 2);
	cr_expect_eq(s.sum.cpu_ms, 90000);
	cr_expect_eq(s.sum.requests, 90 * 6000);
	cr_expect_eq(s.last.cpu_ms, 30000);
	cr_expect_eq(s.last.median_us, 2100);
	s = rows_of(f, HISTORY_MINUTES, DAY0 + 60, DAY0 + 180, HISTORY_ANY);
	cr_expect_eq(s.cnt, 2);
	cr_expect_eq(s.first_s, DAY0 + 60);
	s = rows_of(f, HISTORY_MINUTES, 0, EVER, HISTORY_HOST);
	cr_expect_eq(s.cnt, 1);
	cr_expect_eq(s.last.cpu_ms, 5000);
	free(kinds);
	history_file_close(f);
}

/* A recorder that is started again within a minute; a clock that was set back. */
Test(history, what_is_known_of_a_minute_is_added_to)
{
	struct history_figures bad = busy(100);
	struct history_file *f;
	struct seen s;

	bad.hurt_ms = 2000;
	bad.verdict = 5;
	bad.median_us = 8100;
	bad.requests = 2000;
	for (int i = 0; i < 2; i++) {
		f = open_with(&plenty, false);
		write_one(f, DAY0, "Shop.Web", "", i ? bad : busy(50));
		history_file_close(f);
	}
	f = open_with(&plenty, false);
	/* 2 s and 2 s make a bad minute, once. */
	write_one(f, DAY0, "Shop.Web", "", bad);
	write_one(f, DAY0, "Shop.Web", "", bad);
	s = rows_of(f, HISTORY_MINUTES, 0, EVER, HISTORY_ANY);
	cr_expect_eq(s.cnt, 1);
	cr_expect_eq(s.last.cpu_ms, 350);
	cr_expect_eq(s.last.hurt_ms, 6000);
	cr_expect_eq(s.last.bad_minutes, 1);
	cr_expect_eq(s.last.verdict, 5);
	cr_expect_eq(s.last.median_us, 5100);
	s = rows_of(f, HISTORY_HOURS, 0, EVER, HISTORY_ANY);
	cr_expect_eq(s.last.bad_minutes, 1);
	cr_expect_eq(s.last.cpu_ms, 350);
	history_file_close(f);
}

Test(history, hostile_names_come_out_as_they_went_in_and_bounded)
{
	struct history_file *f = open_with(&plenty, false);
	char long_name[4096], other[4096];
	struct history_kind *kinds;
	size_t cnt;

	memset(long_name, 'a', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	strcpy(other, long_name);
	memcpy(other + 126, "\xc3\xa4", 2); /* where it is cut */
	write_one(f, DAY0, "'; DROP TABLE minute; --", "\x1b[31m\"\xff\n", busy(1));
	write_one(f, DAY0, long_name, long_name, busy(2));
	write_one(f, DAY0, other, "", busy(4));
	/* The others; not a name. */
	write_one(f, DAY0, "", "", busy(8));
	cnt = kinds_of(f, &kinds);
	cr_assert_eq(cnt, 3);
	cr_expect_str_eq(kinds[0].name, "'; DROP TABLE minute; --");
	cr_expect_str_eq(kinds[0].place, "\x1b[31m\"\xff\n");
	cr_expect_eq(strlen(kinds[1].name), HISTORY_NAME_BYTES - 1);
	cr_expect_eq(strlen(kinds[1].place), HISTORY_PLACE_BYTES - 1);
	cr_expect_eq(strlen(kinds[2].name), 126);
	/* The same again is the same. */
	write_one(f, DAY0 + 60, long_name, long_name, busy(2));
	cr_expect_eq(rows_of(f, HISTORY_MINUTES, 0, EVER, kinds[1].id).cnt, 2);
	cr_expect_eq(rows_of(f, HISTORY_MINUTES, 0, EVER, HISTORY_OTHER).sum.cpu_ms, 8);
	free(kinds);
	history_file_close(f);
}

Test(history, absurd_figures_stay_in_bounds)
{
	struct history_file *f = open_with(&plenty, false);
	struct history_figures all;
	struct seen s;

	memset(&all, 0xff, sizeof(all));
	for (int i = 0; i < 3; i++)
		write_one(f, DAY0, "x", "", all);
	s = rows_of(f, HISTORY_HOURS, 0, EVER, HISTORY_ANY);
	cr_expect_eq(s.cnt, 1);
	cr_expect_eq(s.last.cpu_ms, INT64_MAX);
	history_file_close(f);
}

Test(history, an_unset_clock_is_not_taken_down)
{
	struct history_file *f = open_with(&plenty, false);

	write_one(f, 0, "x", "", busy(1));
	write_one(f, HISTORY_EPOCH_S - 60, "x", "", busy(1));
	cr_expect_eq(rows_of(f, HISTORY_MINUTES, 0, EVER, HISTORY_ANY).cnt, 0);
	history_file_close(f);
}

/* --- bounds ---------------------------------------------------------------------------------- */

/* So that 90 days take seconds: one minute of so many. */
#define EVERY	120
#define PER_DAY (24 * 60 / EVERY)

static void live(struct history_file *f, int64_t from_s, int64_t to_s, int kinds)
{
	struct history_row *rows = calloc((size_t)kinds + 1, sizeof(*rows));
	char(*names)[32] = calloc((size_t)kinds, sizeof(*names));

	for (int i = 0; i < kinds; i++) {
		snprintf(names[i], sizeof(names[i]), "Shop.Service.%d", i);
		rows[i + 1] = (struct history_row){names[i], "prod/shop/api", busy(1000 + i)};
	}
	rows[0].figures = busy(60000);
	for (int64_t t = from_s; t < to_s; t += 60 * EVERY)
		cr_assert_eq(write_rows(f, t, rows, (size_t)kinds + 1), 0);
	free(rows);
	free(names);
}

Test(history, ninety_days_of_200_kinds_keep_to_the_bound)
{
	static const struct history_options options = {12 << 20, 90, worse};
	struct history_file *f = open_with(&options, false);
	uint64_t most = 0;
	struct seen s;

	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	for (int day = 0; day < 95; day++) {
		live(f, DAY0 + day * DAY, DAY0 + (day + 1) * DAY, 200);
		if (file_bytes() > most)
			most = file_bytes();
	}
	cr_expect_leq(most, 12 << 20, "%lu bytes", (unsigned long)most);
	/* Not far below: what there is room for is kept. */
	cr_expect_geq(most, 10 << 20, "%lu bytes", (unsigned long)most);
	s = rows_of(f, HISTORY_HOURS, 0, EVER, HISTORY_HOST);
	cr_expect_leq(s.cnt, 90 * PER_DAY);
	cr_expect_geq(s.cnt, 60 * PER_DAY, "%zu hours", s.cnt);
	cr_expect_eq(s.last_s, DAY0 + 95 * DAY - 60 * EVERY);
	s = rows_of(f, HISTORY_MINUTES, 0, EVER, HISTORY_HOST);
	cr_expect_eq(s.last_s, DAY0 + 95 * DAY - 60 * EVERY);
	cr_expect_geq(s.last_s - s.first_s, DAY - 7200, "minutes of the last day stay");
	cr_expect_lt(s.cnt, 60 * PER_DAY, "older ones made room");
	history_file_close(f);
}

Test(history, days_are_counted_as_they_are_known)
{
	static const struct history_options options = {64 << 20, 5, worse};
	struct history_file *f = open_with(&options, false);
	struct history_kind *kinds;
	struct seen s;

	write_one(f, DAY0 - DAY, "gone.service", "", busy(1));
	for (int day = 0; day < 7; day++)
		live(f, DAY0 + day * DAY, DAY0 + (day + 1) * DAY, 2);
	s = rows_of(f, HISTORY_HOURS, 0, EVER, HISTORY_HOST);
	cr_expect_eq(s.cnt, 5 * PER_DAY);
	cr_expect_eq(s.first_s, DAY0 + 2 * DAY);
	/* Who was not seen since is forgotten, too. */
	cr_expect_eq(kinds_of(f, &kinds), 2);
	free(kinds);

	/* For an hour the clock is twelve years ahead: a day is lost by it, not everything. */
	write_one(f, DAY0 + 12 * 365 * DAY, NULL, NULL, busy(1));
	live(f, DAY0 + 7 * DAY, DAY0 + 7 * DAY + 7200, 2);
	s = rows_of(f, HISTORY_HOURS, 0, DAY0 + 100 * DAY, HISTORY_HOST);
	cr_expect_eq(s.first_s, DAY0 + 4 * DAY, "%ld", (long)(s.first_s - DAY0) / DAY);
	/* And years back: those days go first. */
	write_one(f, DAY0 - 500 * DAY, NULL, NULL, busy(1));
	write_one(f, DAY0 + 7 * DAY + 7200, NULL, NULL, busy(1));
	s = rows_of(f, HISTORY_HOURS, 0, DAY0 + 100 * DAY, HISTORY_HOST);
	cr_expect_eq(s.first_s, DAY0 + 4 * DAY);
	history_file_close(f);
}

Test(history, a_bound_that_is_lowered_is_kept_after_a_while)
{
	static const struct history_options less = {3 << 19, 90, worse};
	struct history_file *f = open_with(&plenty, false);
	uint64_t before;

	for (int day = 0; day < 20; day++)
		live(f, DAY0 + day * DAY, DAY0 + (day + 1) * DAY, 120);
	before = file_bytes();
	cr_assert_gt(before, 5 << 19, "%lu bytes", (unsigned long)before);
	history_file_set(f, &less);
	/* Until it fits, minutes may not: that is told, and they come again. */
	for (int i = 0; i < 600; i++) {
		struct history_row row = {"Shop.Service.1", "prod/shop/api", busy(1)};
		int err = write_rows(f, DAY0 + 20 * DAY + i * 60, &row, 1);

		cr_assert(!err || err == -ENOSPC, "%s", strerror(-err));
	}
	cr_expect_leq(file_bytes(), 3 << 19, "%lu bytes", (unsigned long)file_bytes());
	cr_expect_eq(rows_of(f, HISTORY_MINUTES, 0, EVER, HISTORY_ANY).last_s,
		     DAY0 + 20 * DAY + 599 * 60);
	history_file_close(f);
}

/* Ever new names push each other out, not those that are known for long; what is theirs goes to
 * nobody else. */
Test(history, kinds_are_bounded)
{
	struct history_file *f = open_with(&plenty, false);
	struct history_kind *kinds;
	size_t cnt, found = 0;
	char name[32];

	for (int i = 0; i < 30; i++)
		write_one(f, DAY0 + i * 60, "weekly.service", "", busy(7));
	for (int m = 0; m < 15; m++) {
		struct history_row rows[100];
		char names[100][32];

		for (int i = 0; i < 100; i++) {
			snprintf(names[i], sizeof(names[i]), "evil-%d-%d", m, i);
			rows[i] = (struct history_row){names[i], "", busy(1)};
		}
		cr_assert_eq(write_rows(f, DAY0 + 7200 + m * 3600, rows, 100), 0);
	}
	cnt = kinds_of(f, &kinds);
	cr_expect_eq(cnt, HISTORY_KINDS);
	for (size_t i = 0; i < cnt; i++) {
		found += !strcmp(kinds[i].name, "weekly.service");
		if (!strncmp(kinds[i].name, "evil", 4))
			cr_expect_eq(rows_of(f, HISTORY_HOURS, 0, EVER, kinds[i].id).cnt, 1);
	}
	cr_expect_eq(found, 1);
	free(kinds);
	/* All at once: who comes when all were seen lately counts with the others. */
	for (int m = 0; m < 12; m++) {
		struct history_row rows[100];
		char names[100][32];

		for (int i = 0; i < 100; i++) {
			snprintf(names[i], sizeof(names[i]), "crowd-%d-%d", m, i);
			rows[i] = (struct history_row){names[i], "", busy(1)};
		}
		cr_assert_eq(write_rows(f, DAY0 + 2 * DAY, rows, 100), 0);
	}
	cr_expect_geq(rows_of(f, HISTORY_MINUTES, 0, EVER, HISTORY_OTHER).sum.cpu_ms, 200);
	snprintf(name, sizeof(name), "crowd-0-0");
	cnt = kinds_of(f, &kinds);
	cr_expect_eq(cnt, HISTORY_KINDS);
	free(kinds);
	history_file_close(f);
	/* After a restart ids go on. */
	f = open_with(&plenty, false);
	write_one(f, DAY0 + 3 * DAY, "late", "", busy(3));
	cnt = kinds_of(f, &kinds);
	for (size_t i = 0; i < cnt; i++)
		if (!strcmp(kinds[i].name, "late"))
			cr_expect_eq(rows_of(f, HISTORY_HOURS, 0, EVER, kinds[i].id).cnt, 1);
	free(kinds);
	history_file_close(f);
}

/* --- decisions, trunks ----------------------------------------------------------------------- */

struct decided {
	size_t cnt;
	uint64_t times;
	int64_t last_s;
	bool taken;
	char text[1024];
};

static int see_decision(void *ctx, const struct history_decision *d)
{
	struct decided *s = ctx;

	s->cnt++;
	s->times = d->times;
	s->last_s = d->last_s;
	s->taken = d->taken;
	snprintf(s->text, sizeof(s->text), "%s|%u|%s|%s|%s", d->process, d->verdict, d->reason,
		 d->trunk, d->capture);
	return 0;
}

static struct decided decisions(struct history_file *f, int64_t from_s, int64_t to_s)
{
	struct decided s = {0};

	cr_assert_eq(history_file_decisions(f, from_s, to_s, see_decision, &s), 0);
	return s;
}

Test(history, decisions_are_kept_and_the_same_again_is_counted)
{
	struct history_file *f = open_with(&plenty, false);
	struct history_decision d = {.time_s = DAY0,
				     .process = "Shop.Web",
				     .verdict = 4,
				     .reason = "cooldown",
				     .trunk = "A > B",
				     .capture = ""};
	struct decided s;

	for (int i = 0; i < 100; i++) {
		d.time_s = DAY0 + i;
		cr_assert_eq(history_file_decide(f, &d), 0);
	}
	s = decisions(f, 0, EVER);
	cr_expect_eq(s.cnt, 1);
	cr_expect_eq(s.times, 100);
	cr_expect_eq(s.last_s, DAY0 + 99);
	cr_expect_str_eq(s.text, "Shop.Web|4|cooldown|A > B|");
	d.taken = true;
	d.capture = "vm-20261123T000000Z-trigger.hotrun";
	cr_assert_eq(history_file_decide(f, &d), 0);
	cr_assert_eq(history_file_decide(f, &d), 0);
	s = decisions(f, 0, EVER);
	cr_expect_eq(s.cnt, 3, "captures are one each");
	cr_expect(s.taken);
	/* Not the last one of that process any more: a new row. */
	d.taken = false;
	cr_assert_eq(history_file_decide(f, &d), 0);
	cr_expect_eq(decisions(f, 0, EVER).cnt, 4);
	cr_expect_eq(decisions(f, DAY0 + 200, EVER).cnt, 0);
	history_file_close(f);
}

static int count_trunk(void *ctx, const struct history_trunk *t)
{
	double *sum = ctx;

	*sum += history_harm(t);
	return 0;
}

Test(history, trunks_are_kept_and_notes_bounded)
{
	struct history_file *f = open_with(&plenty, false);
	struct history_trunk *many = calloc(HISTORY_NOTES + 50, sizeof(*many));
	double sum = 0;

	for (int i = 0; i < HISTORY_NOTES + 50; i++)
		many[i] = (struct history_trunk){DAY0 + i, "c.hotrun", "Shop.Web", "A > B",
						 0.5,	   10,	       4};
	cr_assert_eq(history_file_trunks(f, many, HISTORY_NOTES + 50), 0);
	cr_assert_eq(history_file_taken_trunks(f, 0, EVER, count_trunk, &sum), 0);
	cr_expect_float_eq(sum, 20.0 * HISTORY_NOTES, 1e-6);
	free(many);
	history_file_close(f);
}

/* --- kills, disks, what lies there ------------------------------------------------------------ */

static int write_minutes(void *minutes)
{
	struct history_file *f = open_with(&plenty, false);

	live(f, DAY0, DAY0 + *(int *)minutes * 60 * EVERY, 150);
	history_file_close(f);
	return 0;
}

Test(history, killed_at_any_change_it_holds_whole_minutes)
{
	int three = 3, journals = 0;
	bool killed = true;
	size_t before = 0;

	for (unsigned int n = 1; killed; n += 7) {
		struct history_file *f;
		struct seen s;

		unlink("history");
		killed = killed_at_change(n, n % 2, write_minutes, &three);
		journals += !access("history-journal", F_OK);
		f = open_with(&plenty, false);
		s = rows_of(f, HISTORY_MINUTES, 0, EVER, HISTORY_ANY);
		cr_expect_eq(s.cnt % 151, 0, "half a minute: %zu", s.cnt);
		cr_expect_geq(s.cnt, before);
		before = s.cnt;
		history_file_close(f);
	}
	cr_assert(journals > 0, "the kill never met a transaction");
	cr_assert_eq(before, 3 * 151);
}

/* A reader finds the same in a file whose writer was killed, and leaves it as it is. */
Test(history, a_reader_of_a_killed_file)
{
	int one = 1, three = 3;
	struct history_file *f;

	write_minutes(&one);
	/* The first changes make the journal, later ones are of the file as well. */
	cr_assert(killed_at_change(20, false, write_minutes, &three));
	cr_assert_eq(access("history-journal", F_OK), 0);
	cr_assert_eq(chmod(".", 0555), 0);
	f = reader();
	cr_expect_eq(rows_of(f, HISTORY_MINUTES, 0, EVER, HISTORY_ANY).cnt % 151, 0);
	history_file_close(f);
	cr_assert_eq(chmod(".", 0755), 0);
}

Test(history, a_full_disk_loses_no_minute_that_was_written)
{
	struct history_file *f = open_with(&plenty, false);
	struct rlimit limit, was;
	int err = 0, written = 0;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	limit = was;
	limit.rlim_cur = 100000;
	setrlimit(RLIMIT_FSIZE, &limit);
	for (int i = 0; i < 3000 && !err; i++) {
		char name[32];
		struct history_row row = {name, "", busy(1)};

		snprintf(name, sizeof(name), "service-%d", i % 50);
		err = write_rows(f, DAY0 + i * 60, &row, 1);
		written += !err;
	}
	/* Of this limit SQLite does not always tell errno; of a full disk it does. */
	cr_expect(err == -ENOSPC || err == -EIO, "%s", strerror(-err));
	cr_expect_gt(written, 100);
	setrlimit(RLIMIT_FSIZE, &was);
	/* Mended, it goes on. */
	write_one(f, DAY0 + 4000 * 60, "service-1", "", busy(1));
	cr_expect_eq(rows_of(f, HISTORY_MINUTES, 0, EVER, HISTORY_ANY).cnt, (size_t)written + 1);
	history_file_close(f);
}

Test(history, what_is_damaged_is_moved_aside)
{
	static const char *const contents[] = {
		"garbage", "SQLite format 3",
		"\x7f"
		"ELF and so on, longer than a header of a hundred "
		"bytes, so that all of it is there to be looked at, and then some more of it"};
	struct history_file *f;

	for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
		unlink("history");
		put_file("history", contents[i]);
		f = open_with(&plenty, true);
		write_one(f, DAY0, "x", "", busy(1));
		history_file_close(f);
		cr_expect_eq(access("history.damaged", F_OK), 0);
	}
	/* Ours by its header, with holes behind it. */
	{
		int fd = open("history", O_RDWR);
		char zero[8192] = {0};

		cr_assert_eq(pwrite(fd, zero, sizeof(zero), 4096), (ssize_t)sizeof(zero));
		close(fd);
	}
	f = open_with(&plenty, true);
	history_file_close(f);
}

Test(history, damage_that_shows_later_is_told)
{
	struct history_file *f = open_with(&plenty, false);
	int fd, err = 0;

	for (int i = 0; i < 3000; i++)
		write_one(f, DAY0 + i * 60, "Shop.Service.1", "prod/shop/api", busy(1));
	history_file_close(f);
	/* Not what is read when it is opened. */
	fd = open("history", O_RDWR);
	for (off_t at = 10 * 4096; at < (off_t)file_bytes(); at += 4096)
		cr_assert_eq(pwrite(fd, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, at), 8);
	close(fd);
	f = open_with(&plenty, false);
	for (int i = 0; i < 10 && !err; i++) {
		struct history_row row = {"Shop.Service.1", "prod/shop/api", busy(1)};

		err = write_rows(f, DAY0 + (3000 + i) * 60, &row, 1);
	}
	cr_expect_eq(err, -EBADMSG, "%s", strerror(-err));
	history_file_close(f);
}

static void set_version(int version)
{
	char sql[64];
	sqlite3 *db;

	snprintf(sql, sizeof(sql), "PRAGMA user_version=%d", version);
	cr_assert_eq(sqlite3_open("history", &db), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

Test(history, a_later_version_is_left_alone)
{
	struct history_file *f = open_with(&plenty, false);
	struct stat before, after;

	history_file_close(f);
	set_version(2);
	cr_assert_eq(stat("history", &before), 0);
	cr_expect_eq(open_error(), -EPROTO);
	cr_expect_eq(history_file_read("history", &f), -EPROTO);
	cr_assert_eq(stat("history", &after), 0);
	cr_expect_eq(before.st_ino, after.st_ino);
	cr_expect_eq(before.st_mtime, after.st_mtime);
	cr_expect_neq(access("history.damaged", F_OK), 0);
}

Test(history, what_is_no_file_of_ours_is_left_alone)
{
	cr_assert_eq(mkdir("history", 0700), 0);
	cr_expect_eq(open_error(), -EPERM);
	cr_assert_eq(rmdir("history"), 0);
	put_file("target", "precious");
	cr_assert_eq(symlink("target", "history"), 0);
	cr_expect_eq(open_error(), -EPERM);
	cr_assert_eq(unlink("history"), 0);
	cr_assert_eq(mkfifo("history", 0600), 0);
	cr_expect_eq(open_error(), -EPERM);
	cr_assert_eq(unlink("history"), 0);
	cr_assert_eq(link("target", "history"), 0);
	cr_expect_eq(open_error(), -EPERM);
	cr_expect_neq(access("history.damaged", F_OK), 0);
}

static int open_there(const char *path)
{
	return chdir(path) ? -errno : open_error();
}

Test(history, a_folder_that_is_read_only_is_told)
{
	cr_assert_eq(mkdir("closed", 0555), 0);
	cr_expect_eq(as_nobody(open_there, "closed"), -EACCES);
}

Test(history, a_strangers_file_is_read_with_care)
{
	static const char *const wrongs[] = {
		"UPDATE minute SET cpu_ms = -1",
		"UPDATE minute SET cpu_ms = 'many'",
		"UPDATE minute SET verdict = 1.5",
		"UPDATE minute SET minute = 1 << 50",
		"UPDATE kind SET name = x'00'",
		"UPDATE kind SET id = id + 5000000000",
		"DROP TABLE hour",
		"DROP TABLE hour; CREATE VIEW hour AS SELECT * FROM minute",
	};

	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		struct history_file *f;
		struct history_kind *kinds = NULL;
		struct seen s = {0};
		size_t cnt = 0;
		sqlite3 *db;
		int err;

		unlink("history");
		f = open_with(&plenty, false);
		write_one(f, DAY0, "x", "", busy(1));
		history_file_close(f);
		cr_assert_eq(sqlite3_open("history", &db), SQLITE_OK);
		cr_assert_eq(sqlite3_exec(db, wrongs[i], NULL, NULL, NULL), SQLITE_OK, "%s",
			     sqlite3_errmsg(db));
		sqlite3_close(db);
		err = history_file_read("history", &f);
		if (!err) {
			err = history_file_kinds(f, &kinds, &cnt);
			if (!err)
				err = history_file_rows(f, HISTORY_MINUTES, 0, EVER, HISTORY_ANY,
							see, &s);
			free(kinds);
			history_file_close(f);
		}
		/* A kind beyond all ids is passed over; a minute that cannot be, likewise. */
		if (i == 3 || i == 5)
			cr_expect_eq(cnt + s.cnt, 1, "%s", wrongs[i]);
		else
			cr_expect_eq(err, -EBADMSG, "%s: %s", wrongs[i], strerror(-err));
	}
}

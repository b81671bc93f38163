/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Captures out of the ring: killed, locked, on a full disk, several at a time, across renewals. */
#include <criterion/criterion.h>

#include <errno.h>
#include <linux/types.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/events.h"
#include "store/store.h"
#include "store_folder.h"
#include "watch/capture_writer.h"
#include "watched_host.h"

TestSuite(capture_writer, .init = enter_folder, .fini = leave_folder);

/* A recorder without a kernel: host, ring and what the loop does each second. */
struct watch {
	struct watched_host host;
	struct ring *ring;
};

static struct watch watch_new(void)
{
	const struct ring_options options = {60 * WATCHED_SECOND, 1u << 30};
	struct watch w = {watched_host_new(3, 3, 0), ring_new(&options)};

	cr_assert(w.ring);
	return w;
}

static void watch_free(struct watch *w)
{
	ring_free(w->ring);
	model_free(w->host.m);
}

/* Seconds without a capture. */
static void watch_seconds(struct watch *w, int cnt)
{
	for (int i = 0; i < cnt; i++) {
		watched_host_slice(&w->host);
		ring_slice(w->ring, w->host.m);
	}
}

static int watch_shot(struct watch *w, struct capture_writer *s)
{
	int err;

	watched_host_slice(&w->host);
	err = capture_writer_slice(s, w->host.m);
	ring_slice(w->ring, w->host.m);
	return err;
}

static uint64_t now_ns(const struct watch *w)
{
	return w->host.m->host.end_ns;
}

static struct capture_writer *begin(struct watch *w, const char *path, uint64_t before_s,
				    uint64_t after_s)
{
	const struct capture_writer_options options = {
		.path = path,
		.from_ns =
			before_s == UINT64_MAX ? UINT64_MAX : now_ns(w) - before_s * WATCHED_SECOND,
		.until_ns =
			after_s == UINT64_MAX ? UINT64_MAX : now_ns(w) + after_s * WATCHED_SECOND,
	};
	struct capture_writer *s = NULL;

	cr_assert_eq(capture_writer_new(&options, w->ring, w->host.m, &s), 0);
	return s;
}

static struct model *read_capture(const char *path)
{
	struct model *m = NULL;
	int err = store_read(path, &m);

	cr_assert_eq(err, 0, "%s: %s", path, store_error_text(err));
	return m;
}

static void expect_slices(const char *path, size_t cnt, bool complete)
{
	struct model *m = read_capture(path);

	cr_expect_eq(m->slices_cnt, cnt, "%s: %zu slices, not %zu", path, m->slices_cnt, cnt);
	cr_expect_eq(m->cpus_cnt, 2 * cnt);
	cr_expect_eq(m->host.complete, complete);
	cr_expect_str_eq(m->host.name, "node-7");
	model_free(m);
}

Test(capture_writer, holds_what_was_and_what_follows)
{
	struct watch w = watch_new();
	struct capture_writer *s;
	int slices = 0;

	watch_seconds(&w, 100);
	s = begin(&w, "a.hotrun", 15, 10);
	while (!capture_writer_is_over(s)) {
		cr_assert_eq(watch_shot(&w, s), 0);
		slices++;
	}
	cr_expect_eq(slices, 10);
	/* Over is over. */
	cr_assert_eq(watch_shot(&w, s), 0);
	cr_assert_eq(capture_writer_finish(s), 0);
	expect_slices("a.hotrun", 25, true);
	cr_expect_eq(count_files(), 1);
	watch_free(&w);
}

Test(capture_writer, of_the_past_alone_is_over_at_once)
{
	struct watch w = watch_new();
	struct capture_writer *s;

	watch_seconds(&w, 30);
	s = begin(&w, "a.hotrun", 5, 0);
	cr_expect(capture_writer_is_over(s));
	cr_assert_eq(capture_writer_finish(s), 0);
	expect_slices("a.hotrun", 5, true);
	watch_free(&w);
}

Test(capture_writer, of_the_future_alone_begins_empty)
{
	struct watch w = watch_new();
	struct capture_writer *s;

	watch_seconds(&w, 30);
	s = begin(&w, "a.hotrun", UINT64_MAX, UINT64_MAX);
	expect_slices("a.hotrun", 0, false);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(watch_shot(&w, s), 0);
	cr_expect(!capture_writer_is_over(s));
	expect_slices("a.hotrun", 3, false);
	cr_assert_eq(capture_writer_finish(s), 0);
	expect_slices("a.hotrun", 3, true);
	watch_free(&w);
}

Test(capture_writer, begun_before_anything_has_closed)
{
	struct watch w = watch_new();
	struct capture_writer *s = begin(&w, "a.hotrun", 15, 2);

	while (!capture_writer_is_over(s))
		cr_assert_eq(watch_shot(&w, s), 0);
	cr_assert_eq(capture_writer_finish(s), 0);
	expect_slices("a.hotrun", 2, true);
	watch_free(&w);
}

Test(capture_writer, a_slice_is_written_once_and_none_is_forgotten)
{
	struct watch w = watch_new();
	struct capture_writer *s;

	watch_seconds(&w, 5);
	s = begin(&w, "a.hotrun", 2, UINT64_MAX);
	cr_assert_eq(capture_writer_slice(s, w.host.m), 0, "nothing has closed since");
	watched_host_slice(&w.host);
	watched_host_slice(&w.host); /* two at once: the loop was late */
	watched_host_begin(&w.host);
	cr_assert_eq(capture_writer_slice(s, w.host.m), 0);
	cr_assert_eq(capture_writer_slice(s, w.host.m), 0);
	cr_assert_eq(capture_writer_finish(s), 0);
	expect_slices("a.hotrun", 4, true);
	watch_free(&w);
}

Test(capture_writer, two_at_once_do_not_disturb_each_other)
{
	struct watch w = watch_new();
	struct capture_writer *a, *b;

	watch_seconds(&w, 20);
	a = begin(&w, "a.hotrun", 10, 20);
	for (int i = 0; i < 5; i++)
		cr_assert_eq(watch_shot(&w, a), 0);
	b = begin(&w, "b.hotrun", 3, 4);
	while (!capture_writer_is_over(a)) {
		watched_host_slice(&w.host);
		cr_assert_eq(capture_writer_slice(a, w.host.m), 0);
		cr_assert_eq(capture_writer_slice(b, w.host.m), 0);
		ring_slice(w.ring, w.host.m);
	}
	cr_assert_eq(capture_writer_finish(b), 0);
	cr_assert_eq(capture_writer_finish(a), 0);
	expect_slices("a.hotrun", 30, true);
	expect_slices("b.hotrun", 7, true);
	watch_free(&w);
}

Test(capture_writer, goes_on_when_the_model_is_renewed)
{
	struct watch w = watch_new();
	struct capture_writer *s;
	struct model *m;

	watch_seconds(&w, 20);
	s = begin(&w, "a.hotrun", 10, UINT64_MAX);
	for (int i = 1; i <= 30; i++) {
		cr_assert_eq(watch_shot(&w, s), 0);
		if (i % 8)
			continue;
		cr_assert_eq(ring_retire(w.ring, w.host.m), 0);
		capture_writer_leave(s);
		model_free(w.host.m);
		w.host = watched_host_new(3, 3, w.host.second);
	}
	cr_assert_eq(capture_writer_finish(s), 0);
	m = read_capture("a.hotrun");
	cr_expect_eq(m->slices_cnt, 40);
	cr_expect_eq(m->processes_cnt, 3 + 40, "services once");
	for (size_t i = 0; i < m->samples_cnt; i++)
		cr_expect_neq(model_stack_find(m, m->samples[i].user_stack), MODEL_NONE);
	model_free(m);
	watch_free(&w);
}

Test(capture_writer, who_is_not_selected_is_counted_alone)
{
	static struct selection selection = {
		.exclude = {{SELECT_NAME, "service-1"}},
		.exclude_cnt = 1,
	};
	struct watch w = watch_new();
	const struct capture_writer_options options = {
		.path = "a.hotrun", .until_ns = UINT64_MAX, .selection = &selection};
	size_t filtered = 0;
	struct capture_writer *s;
	struct model *m;

	watch_seconds(&w, 3);
	cr_assert_eq(capture_writer_new(&options, w.ring, w.host.m, &s), 0);
	cr_assert_eq(watch_shot(&w, s), 0);
	cr_assert_eq(capture_writer_finish(s), 0);
	m = read_capture("a.hotrun");
	for (size_t i = 0; i < m->samples_cnt; i++) {
		bool out = m->processes[m->threads[m->samples[i].thread].process].tgid == 1001;

		filtered += out;
		cr_expect_eq(!m->samples[i].user_stack, out);
		cr_expect_eq(!!(m->samples[i].flags & SAMPLE_FILTERED), out);
	}
	cr_expect_gt(filtered, 0);
	model_free(m);
	watch_free(&w);
}

/* --- failure --------------------------------------------------------------------------------- */

static void sleep_us(long us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&t, NULL);
}

static void shoot_for_ever(void)
{
	struct watch w = watch_new();
	struct capture_writer *s = NULL;

	watch_seconds(&w, 20);
	s = begin(&w, "a.hotrun", 10, UINT64_MAX);
	for (;;)
		if (watch_shot(&w, s))
			_exit(2);
}

Test(capture_writer, killed_at_any_instant_it_can_be_read)
{
	for (int i = 0; i < 25; i++) {
		struct model *m;
		pid_t pid = fork();

		cr_assert(pid >= 0);
		if (!pid)
			shoot_for_ever();
		while (access("a.hotrun", F_OK))
			sleep_us(500);
		sleep_us(i * 3931 % 60000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		m = read_capture("a.hotrun");
		/* 6 samples a slice of 3 services; the late one comes with the next. */
		cr_assert_eq(m->cpus_cnt, 2 * m->slices_cnt);
		cr_assert(!m->slices_cnt || m->samples_cnt == 7 * m->slices_cnt - 1,
			  "half a slice: %zu samples in %zu", m->samples_cnt, m->slices_cnt);
		cr_assert(!m->host.complete);
		model_free(m);
		cr_assert_eq(unlink("a.hotrun"), 0);
		unlink("a.hotrun-journal");
	}
}

Test(capture_writer, a_file_that_a_reader_holds_gets_its_slices_later)
{
	struct watch w = watch_new();
	struct capture_writer *s;
	int ready[2];
	pid_t pid;

	watch_seconds(&w, 3);
	s = begin(&w, "a.hotrun", 3, UINT64_MAX);
	cr_assert_eq(pipe(ready), 0);
	pid = fork();
	cr_assert(pid >= 0);
	if (!pid) {
		sqlite3 *db;

		_exit(sqlite3_open("a.hotrun", &db) ||
		      sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) ||
		      write(ready[1], "x", 1) != 1 || pause());
	}
	cr_assert_eq(read(ready[0], &(char){0}, 1), 1);
	cr_expect_eq(watch_shot(&w, s), 0);
	cr_expect_eq(watch_shot(&w, s), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cr_expect_eq(watch_shot(&w, s), 0);
	cr_assert_eq(capture_writer_finish(s), 0);
	expect_slices("a.hotrun", 6, true);
	watch_free(&w);
}

Test(capture_writer, a_reader_that_never_lets_go_ends_it_without_the_mark)
{
	struct watch w = watch_new();
	struct capture_writer *s;
	sqlite3 *db;

	watch_seconds(&w, 3);
	s = begin(&w, "a.hotrun", 3, UINT64_MAX);
	cr_assert_eq(sqlite3_open("a.hotrun", &db), 0);
	cr_assert_eq(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), 0);
	cr_expect_eq(watch_shot(&w, s), 0);
	cr_expect_eq(capture_writer_finish(s), -EBUSY);
	sqlite3_close(db);
	expect_slices("a.hotrun", 3, false);
	watch_free(&w);
}

Test(capture_writer, a_full_disk_leaves_what_was_written)
{
	struct rlimit limit = {300000, RLIM_INFINITY};
	struct watch w = watch_new();
	struct capture_writer *s;
	size_t good = 10;
	struct model *m;
	int err;

	/* The file size limit is the full disk that a test needs no rights for. */
	signal(SIGXFSZ, SIG_IGN);
	watch_seconds(&w, 10);
	s = begin(&w, "a.hotrun", 10, UINT64_MAX);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (; !(err = watch_shot(&w, s)); good++)
		cr_assert_lt(good, 2000, "the limit was never met");
	cr_assert_eq(err, -ENOSPC);
	cr_assert_eq(watch_shot(&w, s), -ENOSPC, "and again");
	capture_writer_free(s);
	m = read_capture("a.hotrun");
	cr_expect_eq(m->slices_cnt, good);
	cr_expect(!m->host.complete);
	model_free(m);
	watch_free(&w);
}

Test(capture_writer, no_room_for_the_first_leaves_no_file)
{
	struct rlimit limit = {150000, RLIM_INFINITY};
	struct watch w = watch_new();
	struct capture_writer_options options = {.path = "a.hotrun", .until_ns = UINT64_MAX};
	struct capture_writer *s = NULL;

	signal(SIGXFSZ, SIG_IGN);
	watch_seconds(&w, 60);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_expect_eq(capture_writer_new(&options, w.ring, w.host.m, &s), -ENOSPC);
	cr_expect(!s);
	cr_expect_eq(count_files(), 0);
	options.path = "nowhere/a.hotrun";
	cr_expect_eq(capture_writer_new(&options, w.ring, w.host.m, &s), -ENOENT);
	capture_writer_free(NULL);
	watch_free(&w);
}

Test(capture_writer, called_off_before_its_first_slice_leaves_no_file)
{
	struct watch w = watch_new();
	struct capture_writer *s;

	watch_seconds(&w, 5);
	s = begin(&w, "a.hotrun", UINT64_MAX, UINT64_MAX);
	cr_expect(capture_writer_is_empty(s));
	cr_assert_eq(access("a.hotrun", F_OK), 0);
	capture_writer_withdraw(s);
	cr_expect_neq(access("a.hotrun", F_OK), 0);
	cr_expect_neq(access("a.hotrun-journal", F_OK), 0);

	s = begin(&w, "b.hotrun", UINT64_MAX, UINT64_MAX);
	cr_assert_eq(watch_shot(&w, s), 0);
	cr_expect_not(capture_writer_is_empty(s));
	cr_assert_eq(capture_writer_finish(s), 0);
	expect_slices("b.hotrun", 1, true);
	watch_free(&w);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The capture file under kills, readers in between, locks, hot journals, full disks. */
#include <criterion/criterion.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "store/store.h"
#include "store_folder.h"

TestSuite(store_kill, .init = enter_folder, .fini = leave_folder);

#define SAMPLES 100

/* Writes so many slices; the next one is cut short by that change of the file, if it is not 0. */
struct recording {
	unsigned int slices, last_change;
};

static int record(void *arg)
{
	const struct recording *r = arg;
	struct model *m = capture_model();
	struct store *store = NULL;
	int err = store_create("a.hotrun", m, &store);

	for (unsigned int i = 0; !err && i < r->slices + !!r->last_change; i++) {
		capture_add_samples(m, SAMPLES);
		if (i == r->slices)
			die_at_change(r->last_change, false);
		/* A slow reader may have the file for longer than it waits. */
		do
			err = store_write_slice(store, m);
		while (err == -EBUSY);
		capture_next_slice(m);
	}
	store_free(store);
	model_free(m);
	return !!err;
}

static void expect_whole_slices(const char *path)
{
	struct model *read = NULL;
	int err = store_read(path, &read);

	cr_assert_eq(err, 0, "%s", store_error_text(err));
	cr_assert_eq(read->samples_cnt, read->slices_cnt * (SAMPLES + 2),
		     "half a slice: %zu in %zu", read->samples_cnt, read->slices_cnt);
	cr_assert_eq(read->cpus_cnt, read->slices_cnt);
	model_free(read);
}

static int whole_slices(const char *path)
{
	expect_whole_slices(path);
	return 0;
}

static void sleep_us(long us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&t, NULL);
}

/* A page takes three changes of the journal (number, bytes, checksum) and one of the file: by steps
 * of seven, each kind is met often. test_store_update.c tries all changes of a transaction. */
Test(store_kill, killed_at_any_change_the_file_holds_whole_slices)
{
	struct recording two = {.slices = 2};
	unsigned int n, journals = 0;
	bool killed = true;

	for (n = 1; killed; n += 7) {
		killed = killed_at_change(n, false, record, &two);
		journals += !access("a.hotrun-journal", F_OK);
		cr_assert_eq(chmod(".", 0555), 0);
		expect_whole_slices("a.hotrun");
		cr_assert_eq(chmod(".", 0755), 0);
		cr_assert_eq(unlink("a.hotrun"), 0);
		unlink("a.hotrun-journal");
	}
	cr_assert_gt(journals, 0, "the kill never met a transaction");
}

/* Makes a.hotrun with a hot journal beside it: two slices, and a part of the third. */
static void make_hot(void)
{
	struct recording cut = {2, 20};
	struct stat st;

	cr_assert(killed_at_change(0, false, record, &cut));
	cr_assert_eq(stat("a.hotrun-journal", &st), 0);
	cr_assert_geq(st.st_size, 512);
}

Test(store_kill, a_hot_journal_is_rolled_back_in_a_private_copy)
{
	struct stat before, after;

	make_hot();
	cr_assert_eq(stat("a.hotrun", &before), 0);
	cr_assert_eq(mkdir("private", 0700), 0);
	setenv("TMPDIR", folder, 1);
	expect_whole_slices("a.hotrun");
	cr_assert_eq(stat("a.hotrun", &after), 0);
	cr_assert(before.st_mtim.tv_nsec == after.st_mtim.tv_nsec &&
			  before.st_size == after.st_size,
		  "the original was touched");
	cr_assert_eq(access("a.hotrun-journal", F_OK), 0, "the journal was removed");
	cr_assert_eq(count_files(), 3, "the copy was left behind");
	unsetenv("TMPDIR");
	cr_assert_eq(chmod("a.hotrun", 0444), 0);
	cr_assert_eq(chmod("a.hotrun-journal", 0444), 0);
	cr_assert_eq(chmod(".", 0555), 0);
	cr_assert_eq(as_nobody(whole_slices, "a.hotrun"), 0);
	cr_assert_eq(chmod(".", 0755), 0);
}

Test(store_kill, a_recording_in_progress_is_read_without_disturbing_it)
{
	struct recording endless = {.slices = UINT_MAX};
	pid_t pid = fork();
	size_t slices = 0;
	int status;

	cr_assert(pid >= 0);
	if (!pid)
		_exit(record(&endless));
	while (access("a.hotrun", F_OK))
		sleep_us(500);
	for (int i = 0; i < 20; i++) {
		struct model *read = NULL;
		int err = store_read("a.hotrun", &read);

		cr_assert_eq(err, 0, "%s", store_error_text(err));
		cr_assert_eq(read->samples_cnt, read->slices_cnt * (SAMPLES + 2));
		cr_assert_geq(read->slices_cnt, slices);
		slices = read->slices_cnt;
		model_free(read);
	}
	cr_assert_gt(slices, 1);
	cr_assert_eq(waitpid(pid, &status, WNOHANG), 0, "the recorder gave up");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

Test(store_kill, a_file_that_others_keep_locked_costs_no_slice)
{
	struct model *m = capture_model();
	struct store *store = NULL;
	int ready[2];
	pid_t pid;

	cr_assert_eq(store_create("a.hotrun", m, &store), 0);
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
	cr_assert_eq(store_write_slice(store, m), -EBUSY);
	cr_assert(m->processes[0].dirty);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cr_assert_eq(store_write_slice(store, m), 0);
	cr_assert_eq(store_finish(store, m), 0);
	m->host.complete = true;
	expect_equal("a.hotrun", m);
	model_free(m);
}

Test(store_kill, a_journal_that_names_another_file_is_refused)
{
	/* A name, its length, its checksum and the magic, as the end of a journal has them. */
	static const char end[] =
		"\0\0\0\1victim\0\0\0\6\0\0\2\205\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
	FILE *journal;

	make_hot();
	put_file("victim", "precious");
	journal = fopen("a.hotrun-journal", "a");
	cr_assert(journal);
	fwrite(end, 1, sizeof(end) - 1, journal);
	fclose(journal);
	setenv("TMPDIR", folder, 1);
	cr_assert_eq(read_error("a.hotrun"), -EBADMSG);
	cr_assert_eq(access("victim", F_OK), 0, "the reader deleted a file");
	cr_assert_eq(count_files(), 3, "the copy was left behind");
}

Test(store_kill, a_full_disk_costs_the_slice_and_nothing_else)
{
	struct model *m = capture_model(), *read = NULL;
	struct rlimit limit = {300000, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
	struct store *store = NULL;
	int good = 0, err;

	/* The file size limit is the full disk that a test needs no rights for. */
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(store_create("a.hotrun", m, &store), 0);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (;; good++) {
		capture_add_samples(m, 1000);
		err = store_write_slice(store, m);
		if (err)
			break;
		capture_next_slice(m);
		cr_assert_lt(good, 100, "the limit was never met");
	}
	cr_assert_eq(err, -ENOSPC, "%d after %d", err, good);
	cr_assert_eq(store_write_slice(store, m), -ENOSPC, "and again");
	cr_assert(m->processes[0].dirty && m->threads[0].dirty, "marks of an unwritten slice");
	cr_assert_eq(store_read("a.hotrun", &read), 0);
	cr_assert_eq(read->slices_cnt, (size_t)good);
	cr_assert_eq(read->samples_cnt, (size_t)good * 1002);
	model_free(read);
	/* With room again, the same slice goes in. */
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	cr_assert_eq(store_write_slice(store, m), 0);
	cr_assert_eq(store_finish(store, m), 0);
	cr_assert_eq(store_read("a.hotrun", &read), 0);
	cr_assert_eq(read->samples_cnt, ((size_t)good + 1) * 1002);
	cr_assert(read->host.complete);
	model_free(read);
	model_free(m);
}

Test(store_kill, no_room_for_the_empty_capture_leaves_nothing)
{
	struct rlimit limit = {5000, RLIM_INFINITY};

	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_assert_eq(create_error("a.hotrun"), -ENOSPC);
	cr_assert_eq(count_files(), 0);
}

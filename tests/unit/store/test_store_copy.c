/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Captures that are listed and handed out: also while they are written, and after a kill. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture.h"
#include "store/store.h"
#include "store_folder.h"

TestSuite(store_copy, .init = enter_folder, .fini = leave_folder);

static struct model *record(const char *path, struct store **ret_store)
{
	struct model *m = capture_model();

	cr_assert_eq(store_create(path, m, ret_store), 0);
	cr_assert_eq(store_write_slice(*ret_store, m), 0);
	return m;
}

static int copy_to(const char *path, const char *copy)
{
	_cleanup_close_ int fd = open(copy, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	cr_assert(fd >= 0);
	return store_copy(path, fd);
}

/* In a process of its own: who looks at a file and closes it gives up the locks of its process. */
static int in_child(int (*f)(const char *), const char *path)
{
	pid_t pid = fork();
	int status;

	cr_assert(pid >= 0);
	if (!pid)
		_exit(-f(path) & 0xff);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status), "the child crashed");
	return -WEXITSTATUS(status);
}

/* 0 complete, -1 being written, -2 cut short, -3 not known how long. */
static int look(const char *path)
{
	struct store_look look;
	int err = store_look(path, &look);

	if (err)
		return -100;
	if (!look.length_ns)
		return -3;
	return look.writing ? -1 : look.complete ? 0 : -2;
}

static int copy(const char *path)
{
	return copy_to(path, "copy.hotrun");
}

Test(store_copy, a_complete_one_is_the_same)
{
	struct store *store;
	struct model *m = record("a.hotrun", &store);
	struct store_look seen = {0};

	cr_assert_eq(store_finish(store, m), 0);
	cr_assert_eq(store_look("a.hotrun", &seen), 0);
	cr_expect(seen.complete && !seen.writing);
	cr_expect_eq(seen.length_ns, m->host.end_ns - m->host.start_ns);
	cr_expect_eq(copy_to("a.hotrun", "b.hotrun"), 0);
	cr_expect_eq(system("cmp a.hotrun b.hotrun"), 0);
	cr_expect_eq(count_files(), 2);
	model_free(m);
}

Test(store_copy, one_that_is_written_meanwhile)
{
	struct store *store;
	struct model *m = record("a.hotrun", &store);

	cr_expect_eq(in_child(look, "a.hotrun"), -1);
	cr_assert_eq(in_child(copy, "a.hotrun"), 0);
	cr_expect_eq(look("copy.hotrun"), -2, "the copy is nobody's, and not complete");
	expect_equal("copy.hotrun", m);
	/* The recorder goes on. */
	capture_next_slice(m);
	cr_expect_eq(store_write_slice(store, m), 0);
	cr_expect_eq(store_finish(store, m), 0);
	cr_expect_eq(look("a.hotrun"), 0);
	model_free(m);
}

/* What the bounds of a model have room for. */
#define WRITES 1000

/* A writer that hardly rests, until it is killed. */
static pid_t write_without_end(const char *path)
{
	int pipe_fd[2];
	char byte = 'x';
	pid_t pid;

	cr_assert_eq(pipe(pipe_fd), 0);
	pid = fork();
	cr_assert(pid >= 0);
	if (!pid) {
		struct store *store;
		struct model *m = record(path, &store);

		for (int i = 0; i < WRITES; i++) {
			capture_next_slice(m);
			capture_add_samples(m, 500);
			/* Held locked by a copy: the next one brings both. */
			(void)!store_write_slice(store, m);
			if (i == 3 && write(pipe_fd[1], &byte, 1) != 1)
				_exit(1);
			usleep(500);
		}
		for (;;)
			pause();
	}
	cr_assert_eq(read(pipe_fd[0], &byte, 1), 1);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	return pid;
}

Test(store_copy, no_copy_is_torn, .timeout = 120)
{
	pid_t pid = write_without_end("a.hotrun");
	char name[32];
	int copies = 0;

	for (int i = 0; i < 10; i++) {
		int err;

		snprintf(name, sizeof(name), "copy%d.hotrun", i);
		err = copy_to("a.hotrun", name);
		cr_assert(!err || err == -EBUSY, "%s", store_error_text(err));
		if (!err)
			cr_assert_eq(read_error(name), 0, "copy %d", i);
		if (!err)
			cr_assert_eq(look(name), -2);
		copies += !err;
		unlink(name);
	}
	cr_expect_gt(copies, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* With the journal that a kill in the middle of a transaction leaves. */
Test(store_copy, after_a_kill_it_is_rolled_back)
{
	struct store *store;
	struct model *m = record("a.hotrun", &store);
	struct store_look seen = {.complete = true};

	store_free(store);
	cr_assert_eq(in_child(look, "a.hotrun"), -2);
	cr_assert_eq(system("sqlite3 a.hotrun \"PRAGMA synchronous=OFF; PRAGMA cache_size=1; "
			    "PRAGMA cache_spill=1; BEGIN; "
			    "CREATE TABLE big (x); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
			    "SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO big SELECT "
			    "randomblob(1000) FROM n; UPDATE host SET complete = 1; "
			    "\" \".shell cp a.hotrun b.hotrun; cp a.hotrun-journal "
			    "b.hotrun-journal\" 2>/dev/null"),
		     0);
	if (access("b.hotrun-journal", F_OK)) {
		printf("skipped: needs sqlite3 (Debian package sqlite3)\n");
		return;
	}
	cr_assert_eq(store_look("b.hotrun", &seen), 0);
	cr_expect(!seen.complete && !seen.writing && !seen.length_ns);
	cr_assert_eq(copy_to("b.hotrun", "c.hotrun"), 0);
	expect_equal("c.hotrun", m);
	cr_expect_eq(access("b.hotrun-journal", F_OK), 0, "the original is left as it was");
	model_free(m);
}

Test(store_copy, what_is_no_capture)
{
	struct store_look seen;

	put_file("text.hotrun", "not a capture");
	mkfifo("fifo.hotrun", 0600);
	cr_expect_eq(store_look("text.hotrun", &seen), -EINVAL);
	cr_expect_eq(store_look("none.hotrun", &seen), -ENOENT);
	cr_expect_eq(store_look("fifo.hotrun", &seen), -EINVAL);
	cr_expect_eq(copy_to("text.hotrun", "copy"), -EINVAL);
	cr_expect_eq(copy_to("fifo.hotrun", "copy2"), -EINVAL);
	cr_expect_eq(copy_to("none.hotrun", "copy3"), -ENOENT);
}

Test(store_copy, to_a_full_disk_or_a_closed_pipe)
{
	struct store *store;
	struct model *m = record("a.hotrun", &store);
	int full = open("/dev/full", O_WRONLY), pipe_fd[2];

	cr_assert_eq(store_finish(store, m), 0);
	cr_expect_eq(store_copy("a.hotrun", full), -ENOSPC);
	signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(pipe(pipe_fd), 0);
	close(pipe_fd[0]);
	cr_expect_eq(store_copy("a.hotrun", pipe_fd[1]), -EPIPE);
	model_free(m);
}

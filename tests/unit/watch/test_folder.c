/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recorder's folder: whose it may be, who holds it, what is listed, handed out and removed. */
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
#include "store_folder.h"
#include "watch/folder.h"

TestSuite(folder, .init = enter_folder, .fini = leave_folder);

#define NOW   1795288322ll /* 2026-11-21 19:12:02 UTC */
#define STAMP "20261121T191202Z"

static char why[512];

static int open_at(const char *path, bool create)
{
	int fd = -1, err = folder_open(path, create, why, sizeof(why), &fd);

	if (err) {
		cr_expect_eq(fd, -1, "touched on failure");
		cr_expect(strstr(why, path), "names the folder: %s", why);
		return err;
	}
	return fd;
}

static int reader_of(const char *path)
{
	int fd = -1, err = folder_open(path, false, why, sizeof(why), &fd);

	return err;
}

static int recorder_of(const char *path)
{
	int fd = -1, err = folder_open(path, true, why, sizeof(why), &fd);

	return err;
}

/* --- open ------------------------------------------------------------------------------------- */

Test(folder, is_made_for_us_alone)
{
	struct stat st;
	int fd = open_at("new", true);

	cr_assert(fd >= 0, "%s", why);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0700);
	cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	fd = open_at("new", true);
	cr_expect(fd >= 0, "again: %s", why);
	close(fd);
	fd = open_at("new///", true);
	cr_expect(fd >= 0, "with slashes: %s", why);
	close(fd);
}

Test(folder, what_is_none_is_refused_and_said)
{
	put_file("file", "");
	mkdir("real", 0700);
	symlink("real", "link");
	symlink("nowhere", "dangling");
	mkfifo("fifo", 0600);
	cr_expect_eq(open_at("missing", false), -ENOENT);
	cr_expect(strstr(why, "hotrun watch"));
	cr_expect_eq(open_at("missing/deeper", true), -ENOENT);
	for (int create = 0; create < 2; create++) {
		cr_expect_eq(open_at("file", create), -ENOTDIR);
		cr_expect_eq(open_at("fifo", create), -ENOTDIR);
		cr_expect_eq(open_at("link", create), -ELOOP);
		cr_expect_eq(open_at("link/", create), -ELOOP);
		cr_expect_eq(open_at("dangling", create), -ELOOP);
	}
	cr_expect_eq(access("nowhere", F_OK), -1);
	cr_expect_eq(open_at("", false), -ENOENT);
}

Test(folder, others_must_not_write_to_it)
{
	static const mode_t bad[] = {0777, 01777, 0770, 0702, 0720};

	mkdir("d", 0700);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_assert_eq(chmod("d", bad[i]), 0);
		cr_expect_eq(open_at("d", true), -EPERM, "%o", bad[i]);
		cr_expect(strstr(why, "chmod go-w"));
		cr_expect_eq(open_at("d", false), -EPERM, "%o", bad[i]);
	}
	chmod("d", 0755);
	cr_expect_geq(open_at("d", true), 0, "%s", why);
}

Test(folder, of_somebody_else)
{
	if (geteuid() != 0) {
		printf("skipped: folders of others need root\n");
		return;
	}
	chmod(folder, 0755);
	mkdir("theirs", 0700);
	mkdir("ours", 0700);
	cr_assert_eq(chown("theirs", 65534, 65534), 0);
	cr_expect_eq(open_at("theirs", true), -EPERM);
	cr_expect(strstr(why, "65534"), "%s", why);
	cr_expect_geq(open_at("theirs", false), 0, "root may look: %s", why);
	cr_expect_eq(as_nobody(reader_of, "ours"), -EACCES);
	cr_expect_eq(as_nobody(recorder_of, "ours"), -EACCES);
	cr_expect_eq(as_nobody(recorder_of, "theirs"), 0);
	cr_expect_eq(as_nobody(recorder_of, "new"), -EACCES, "the folder above is not theirs");
}

Test(folder, is_missed_when_it_goes)
{
	int fd = open_at("d", true);

	cr_assert(fd >= 0);
	cr_expect(folder_stays(fd, "d"));
	cr_expect(folder_stays(fd, "d/"));
	rename("d", "e");
	cr_expect_not(folder_stays(fd, "d"));
	cr_expect(folder_stays(fd, "e"));
	symlink("e", "d");
	cr_expect_not(folder_stays(fd, "d"));
	unlink("d");
	mkdir("d", 0700);
	cr_expect_not(folder_stays(fd, "d"), "another of that name");
	rmdir("e");
	cr_expect_not(folder_stays(fd, "e"));
	close(fd);
}

/* --- lock ------------------------------------------------------------------------------------- */

/* A second instance, killed when told. */
static pid_t hold_lock(int dir)
{
	int pipe_fd[2], fd;
	char byte;
	pid_t pid;

	cr_assert_eq(pipe(pipe_fd), 0);
	pid = fork();
	cr_assert(pid >= 0);
	if (!pid) {
		byte = folder_lock(dir, why, sizeof(why), &fd) ? 'n' : 'y';
		if (write(pipe_fd[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	cr_assert_eq(read(pipe_fd[0], &byte, 1), 1);
	cr_assert_eq(byte, 'y');
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	return pid;
}

Test(folder, is_held_by_one_until_it_is_killed)
{
	int dir = open_at("d", true), fd = -1;
	pid_t pid = hold_lock(dir);
	char text[32];

	cr_expect_eq(folder_lock(dir, why, sizeof(why), &fd), -EBUSY);
	snprintf(text, sizeof(text), "hotrun %d ", (int)pid);
	cr_expect(strstr(why, text), "%s", why);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cr_assert_eq(folder_lock(dir, why, sizeof(why), &fd), 0, "%s", why);
	cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	cr_expect_eq(folder_lock(dir, why, sizeof(why), &fd), 0);
}

Test(folder, lock_of_a_strange_holder)
{
	static const char *const texts[] = {"",	     "5",	   "-5\n", "99999999999999\n",
					    "5 6\n", "\x1b[31m\n", "0\n"};
	int dir = open_at("d", true), fd = -1;
	pid_t pid = hold_lock(dir);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		put_file("d/lock", texts[i]);
		cr_expect_eq(folder_lock(dir, why, sizeof(why), &fd), -EBUSY);
		cr_expect_str_eq(why, "another hotrun already records into this folder");
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink("d/lock");
	mkfifo("d/lock", 0600);
	cr_expect_eq(folder_lock(dir, why, sizeof(why), &fd), -EPERM, "a FIFO");
	unlink("d/lock");
	put_file("precious", "precious");
	symlink("../precious", "d/lock");
	cr_expect_eq(folder_lock(dir, why, sizeof(why), &fd), -ELOOP);
	unlink("d/lock");
	cr_assert_eq(link("precious", "d/lock"), 0);
	cr_expect_eq(folder_lock(dir, why, sizeof(why), &fd), -EPERM, "another file's second name");
	unlink("d/lock");
	mkdir("d/lock", 0700);
	cr_expect_lt(folder_lock(dir, why, sizeof(why), &fd), 0);
	cr_expect_eq(fd, -1);
}

/* --- names ------------------------------------------------------------------------------------ */

struct name_case {
	const char *name;
	bool is;
};

static const struct name_case names[] = {
	{"web1-" STAMP "-trigger.hotrun", true},
	{"web1-" STAMP "-rotate.hotrun", true},
	{"web1-" STAMP "-rotate.txt", true},
	{"web1-" STAMP "-rotate.html", true},
	{"web1-" STAMP "-trigger-2.hotrun", true},
	{"web1-" STAMP "-trigger-1000.html", true},
	{"a.b_c-d-" STAMP "-trigger.hotrun", true},
	{"x-99999999T999999Z-rotate.hotrun", true},
	{"", false},
	{".", false},
	{"..", false},
	{"lock", false},
	{"state", false},
	{"control", false},
	{"web1-" STAMP ".hotrun", false},
	{"web1-" STAMP "-manual.hotrun", false},
	{"-" STAMP "-trigger.hotrun", false},
	{STAMP "-trigger.hotrun", false},
	{"web1" STAMP "-trigger.hotrun", false},
	{"web1-" STAMP "-trigger.hotrun-journal", false},
	{"web1-" STAMP "-trigger.hotrun.new", false},
	{"web1-" STAMP "-trigger.HOTRUN", false},
	{"web1-" STAMP "-trigger", false},
	{"web1-" STAMP "-trigger-0.hotrun", false},
	{"web1-" STAMP "-trigger-02.hotrun", false},
	{"web1-" STAMP "-trigger-12345.hotrun", false},
	{"web1-" STAMP "-trigger-.hotrun", false},
	{"web1-20261121T191202-trigger.hotrun", false},
	{"web1-2026112aT191202Z-trigger.hotrun", false},
	{".web1-" STAMP "-trigger.hotrun", false},
	{"../web1-" STAMP "-trigger.hotrun", false},
	{"/web1-" STAMP "-trigger.hotrun", false},
	{"d/web1-" STAMP "-trigger.hotrun", false},
	{"web\n1-" STAMP "-trigger.hotrun", false},
	{"web\x1b[31m-" STAMP "-trigger.hotrun", false},
	{"w\xc3\xa9"
	 "b-" STAMP "-trigger.hotrun",
	 false},
	{"web 1-" STAMP "-trigger.hotrun", false},
	{"we%s-" STAMP "-trigger.hotrun", false},
};

Test(folder, names)
{
	char longest[300], name[FOLDER_NAME_BYTES];
	static const char tail[] = "-" STAMP "-rotate.hotrun";
	int dir = open_at("d", true), fd = -1;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		cr_expect_eq(folder_is_name(names[i].name), names[i].is, "%s", names[i].name);
		cr_expect_eq(folder_get(dir, names[i].name, &fd), names[i].is ? -ENOENT : -EINVAL,
			     "%s", names[i].name);
		if (!names[i].is)
			cr_expect_eq(folder_remove(dir, names[i].name), -EINVAL, "%s",
				     names[i].name);
	}
	/* As long as a file and its journal may be, and one byte more. */
	for (size_t len = 247; len <= 299; len++) {
		memset(longest, 'h', sizeof(longest));
		memcpy(longest + len - (sizeof(tail) - 1), tail, sizeof(tail));
		cr_expect_eq(folder_is_name(longest), len <= 247, "%zu", len);
	}
	cr_expect_eq(folder_name(dir, "web1", NOW, FOLDER_TRIGGER, name), 0);
	cr_expect_str_eq(name, "web1-" STAMP "-trigger.hotrun");
	put_file("d/web1-" STAMP "-trigger.hotrun", "");
	put_file("d/web1-" STAMP "-trigger-2.html", "");
	symlink("nowhere", "d/web1-" STAMP "-trigger-3.txt");
	cr_expect_eq(folder_name(dir, "web1", NOW, FOLDER_TRIGGER, name), 0);
	cr_expect_str_eq(name, "web1-" STAMP "-trigger-4.hotrun");
	cr_expect_eq(folder_name(dir, "web1", NOW, FOLDER_AUTO, name), 0);
	cr_expect_str_eq(name, "web1-" STAMP "-auto.hotrun");
	cr_expect_eq(folder_name(dir, "web1", NOW, FOLDER_ROTATE, name), 0);
	cr_expect_str_eq(name, "web1-" STAMP "-rotate.hotrun");
	cr_expect_eq(folder_name(dir, "../\x1b/-x", 0, FOLDER_ROTATE, name), 0);
	cr_expect_str_eq(name, "_.___-x-19700101T000000Z-rotate.hotrun");
	cr_expect_eq(folder_name(dir, "web1", 253402300800, FOLDER_ROTATE, name), -EINVAL,
		     "the year 10000");
	memset(longest, 'h', sizeof(longest));
	longest[299] = '\0';
	cr_expect_eq(folder_name(dir, longest, NOW, FOLDER_TRIGGER, name), 0);
	cr_expect(folder_is_name(name));
}

/* --- lists ------------------------------------------------------------------------------------ */

static void put_bytes(const char *path, size_t bytes)
{
	put_file(path, "");
	cr_assert_eq(truncate(path, (off_t)bytes), 0);
}

Test(folder, lists_captures_with_their_artifacts_newest_first)
{
	int dir = open_at("d", true);
	_cleanup_free_ struct folder_capture *rows = NULL;
	_cleanup_free_ struct folder_file *files = NULL;
	size_t cnt = 99, files_cnt = 99;

	cr_assert_eq(folder_captures(dir, &rows, &cnt), 0);
	cr_expect_eq(cnt, 0);
	free(take_ptr(&rows));
	put_bytes("d/web1-20261121T190000Z-rotate.hotrun", 1000);
	put_bytes("d/web1-20261121T190500Z-rotate.hotrun", 2000);
	put_bytes("d/web1-20261121T190212Z-trigger.hotrun", 100);
	put_bytes("d/web1-20261121T190212Z-trigger.txt", 20);
	put_bytes("d/web1-20261121T190212Z-trigger.html", 3);
	put_bytes("d/web1-20261121T190212Z-trigger-2.hotrun", 7);
	put_bytes("d/web1-20251121T000000Z-trigger.txt", 5);
	put_bytes("d/lock", 5);
	put_bytes("d/state", 5);
	put_bytes("d/.web1-20261121T190212Z-trigger.txt.new", 5);
	put_bytes("d/web1-20261121T190212Z-trigger.hotrun-journal", 5);
	put_bytes("d/notes.txt", 5);
	put_bytes("d/new\nline.hotrun", 5);
	mkdir("d/web2-20261121T190000Z-rotate.hotrun", 0700);
	mkfifo("d/web3-20261121T190000Z-rotate.hotrun", 0600);
	symlink("/etc/passwd", "d/web4-20261121T190000Z-rotate.txt");
	cr_assert_eq(folder_list(dir, &files, &files_cnt), 0);
	cr_expect_eq(files_cnt, 7);
	cr_assert_eq(folder_captures(dir, &rows, &cnt), 0);
	cr_assert_eq(cnt, 5);
	cr_expect_str_eq(rows[0].name, "web1-20261121T190500Z-rotate.hotrun");
	cr_expect_eq(rows[0].time_s, 1795287900);
	cr_expect(rows[0].capture && !rows[0].text && !rows[0].page && rows[0].by == FOLDER_ROTATE);
	cr_expect_str_eq(rows[1].name, "web1-20261121T190212Z-trigger.hotrun");
	cr_expect(rows[1].capture && rows[1].text && rows[1].page && rows[1].by == FOLDER_TRIGGER);
	cr_expect_eq(rows[1].bytes, 123);
	cr_expect_eq(rows[1].capture_bytes, 100);
	cr_expect_str_eq(rows[2].name, "web1-20261121T190212Z-trigger-2.hotrun");
	cr_expect_eq(rows[2].bytes, 7);
	cr_expect_str_eq(rows[3].name, "web1-20261121T190000Z-rotate.hotrun");
	cr_expect_str_eq(rows[4].name, "web1-20251121T000000Z-trigger.hotrun");
	cr_expect(!rows[4].capture && rows[4].text && rows[4].bytes == 5);
}

Test(folder, a_name_without_a_date_has_the_time_of_its_last_change)
{
	struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	int dir = open_at("d", true);
	_cleanup_free_ struct folder_file *files = NULL;
	size_t cnt;

	put_file("d/x-20260230T000000Z-rotate.hotrun", "");
	cr_assert_eq(utimensat(dir, "x-20260230T000000Z-rotate.hotrun", times, 0), 0);
	cr_assert_eq(folder_list(dir, &files, &cnt), 0);
	cr_assert_eq(cnt, 1);
	cr_expect_eq(files[0].time_s, 1000);
}

Test(folder, of_a_hundred_thousand_files)
{
	int dir = open_at("d", true);
	_cleanup_free_ struct folder_capture *rows = NULL;
	char name[64];
	size_t cnt = 0;
	int fd;

	for (int i = 0; i < 100010; i++) {
		snprintf(name, sizeof(name), "d/h-20%02d0101T%02d%02d%02dZ-rotate.hotrun",
			 i / 86400, i / 3600 % 24, i / 60 % 60, i % 60);
		fd = open(name, O_WRONLY | O_CREAT, 0600);
		cr_assert(fd >= 0);
		close(fd);
	}
	cr_assert_eq(folder_captures(dir, &rows, &cnt), 0);
	/* "." and ".." are looked at as well. */
	cr_expect(cnt <= FOLDER_FILES && cnt >= FOLDER_FILES - 2, "%zu", cnt);
	for (size_t i = 1; i < cnt; i++)
		cr_assert(rows[i].time_s < rows[i - 1].time_s);
}

Test(folder, that_was_removed_has_nothing)
{
	int dir = open_at("d", true);
	struct folder_capture *rows = NULL;
	size_t cnt = 5;
	char name[FOLDER_NAME_BYTES];
	int fd;

	rmdir("d");
	if (!folder_captures(dir, &rows, &cnt))
		cr_expect_eq(cnt, 0);
	free(rows);
	cr_expect_eq(folder_lock(dir, why, sizeof(why), &fd), -ENOENT);
	cr_expect_eq(folder_clean(dir), 0);
	cr_expect_eq(folder_name(dir, "h", NOW, FOLDER_TRIGGER, name), 0);
	cr_expect_eq(folder_get(dir, name, &fd), -ENOENT);
	cr_expect_eq(folder_remove(dir, name), -ENOENT);
}

/* --- get, remove, clean ----------------------------------------------------------------------- */

#define NAME "web1-" STAMP "-trigger"

Test(folder, hands_out_its_owners_files_alone)
{
	int dir = open_at("d", true), fd = -1;
	char byte;

	put_file("d/" NAME ".hotrun", "x");
	cr_assert_eq(folder_get(dir, NAME ".hotrun", &fd), 0);
	cr_expect_eq(read(fd, &byte, 1), 1);
	close(fd);
	fd = -1;
	symlink("/etc/passwd", "d/" NAME ".txt");
	cr_expect_eq(folder_get(dir, NAME ".txt", &fd), -EPERM);
	mkfifo("d/" NAME ".html", 0600);
	cr_expect_eq(folder_get(dir, NAME ".html", &fd), -EPERM, "a FIFO is not waited for");
	if (geteuid() == 0) {
		cr_assert_eq(chown("d/" NAME ".hotrun", 65534, 65534), 0);
		cr_expect_eq(folder_get(dir, NAME ".hotrun", &fd), -EPERM);
		cr_expect_eq(folder_remove(dir, NAME ".hotrun"), -EPERM);
	}
	cr_expect_eq(fd, -1);
}

Test(folder, removes_a_capture_with_all_that_is_its_own)
{
	int dir = open_at("d", true);

	put_file("d/" NAME ".hotrun", "");
	put_file("d/" NAME ".hotrun-journal", "");
	put_file("d/" NAME ".txt", "");
	put_file("d/" NAME ".html", "");
	put_file("d/" NAME "-2.hotrun", "");
	cr_expect_eq(folder_remove(dir, NAME ".txt"), -EINVAL, "an artifact is not a capture");
	cr_expect_eq(folder_remove(dir, NAME ".hotrun"), 0);
	cr_expect_eq(folder_remove(dir, NAME ".hotrun"), -ENOENT);
	cr_assert_eq(chdir("d"), 0);
	cr_expect_eq(count_files(), 1);
	cr_expect_eq(access(NAME "-2.hotrun", F_OK), 0);
	put_file(NAME ".txt", "");
	cr_expect_eq(folder_remove(dir, NAME ".hotrun"), 0, "artifacts without their capture");
	cr_assert_eq(mkdir(NAME ".html", 0700), 0);
	put_file(NAME ".hotrun", "");
	cr_expect_eq(folder_remove(dir, NAME ".hotrun"), -EPERM);
	cr_expect_eq(access(NAME ".hotrun", F_OK), 0, "not in part");
	cr_assert_eq(chdir(folder), 0);
}

Test(folder, cleans_what_a_killed_run_left)
{
	static const char *const gone[] = {".state.new", "." NAME ".txt.new",
					   ".hotrun-0123456789abcdef.tmp",
					   NAME "-3.hotrun-journal"};
	static const char *const stay[] = {
		"lock", "state",    NAME ".hotrun",	NAME ".hotrun-journal", "notes.new",
		".new", ".profile", "other.db-journal", "other.hotrun-journal"};
	int dir = open_at("d", true);
	char path[128];

	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		snprintf(path, sizeof(path), "d/%s", gone[i]);
		put_file(path, "");
	}
	for (size_t i = 0; i < sizeof(stay) / sizeof(stay[0]); i++) {
		snprintf(path, sizeof(path), "d/%s", stay[i]);
		put_file(path, "");
	}
	mkdir("d/.folder.new", 0700);
	symlink("/etc/passwd", "d/.link.new");
	cr_expect_eq(folder_clean(dir), sizeof(gone) / sizeof(gone[0]));
	for (size_t i = 0; i < sizeof(stay) / sizeof(stay[0]); i++)
		cr_expect_eq(faccessat(dir, stay[i], F_OK, 0), 0, "%s", stay[i]);
	cr_expect_eq(folder_clean(dir), 0);
}

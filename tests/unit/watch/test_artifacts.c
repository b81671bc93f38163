/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Report and page by a process of their own: whole or not there, whatever that process does. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "store_folder.h"
#include "watch/artifacts.h"

#define MS     1000000ull
#define SECOND (1000 * MS)

static int dir_fd = -1;

static void enter(void)
{
	enter_folder();
	cr_assert_eq(mkdir("d", 0700), 0);
	dir_fd = open("d", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	cr_assert(dir_fd >= 0);
}

static void leave(void)
{
	close(dir_fd);
	leave_folder();
}

TestSuite(artifacts, .init = enter, .fini = leave);

/* A program in place of hotrun: $1 the command, $2 the capture; its folder is the working
 * directory. */
static struct artifacts *artifacts_with(const char *script, uint64_t limit_ns)
{
	struct artifacts *p;
	char path[128], text[1024];

	snprintf(path, sizeof(path), "%s/program", folder);
	snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", script);
	put_file(path, text);
	cr_assert_eq(chmod(path, 0700), 0);
	p = artifacts_new_with(dir_fd, path, limit_ns);
	cr_assert(p);
	return p;
}

static void sleep_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

/* Looks until a capture is done. Returns what became of its artifacts. */
static int done(struct artifacts *p, const char *expected)
{
	uint64_t end_ns = clock_now_ns() + 30 * SECOND;
	const char *name = NULL;
	int err = 1;

	while (clock_now_ns() < end_ns) {
		if (artifacts_look(p, clock_now_ns(), &name, &err)) {
			cr_assert_str_eq(name, expected);
			return err;
		}
		sleep_ms(2);
	}
	cr_assert(false, "%s was never done", expected);
	return -1;
}

static char *content_of(const char *path)
{
	static char text[4096];
	FILE *f = fopen(path, "r");
	size_t len = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[len] = '\0';
	if (f)
		fclose(f);
	return f ? text : NULL;
}

static void expect_file(const char *path, const char *content)
{
	const char *text = content_of(path);
	struct stat st;

	cr_assert(text, "%s is not there", path);
	cr_expect_str_eq(text, content, "%s: %s", path, text);
	cr_assert_eq(stat(path, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0600, "%s: %o", path, st.st_mode);
}

static void expect_nothing_else(int files)
{
	cr_assert_eq(chdir("d"), 0);
	cr_expect_eq(count_files(), files);
	cr_assert_eq(chdir(".."), 0);
}

/* What it reads was chosen by watched processes. */
Test(artifacts, are_written_without_any_capability)
{
	struct artifacts *p =
		artifacts_with("grep -E '^(Cap|NoNewPrivs)' /proc/self/status | tr -d '\\t' | "
			       "grep -vx '[A-Za-z]*:0*'; ls /proc/self/fd | wc -l",
			       60 * SECOND);

	cr_assert_eq(artifacts_add(p, "a.hotrun"), 0);
	cr_expect_eq(done(p, "a.hotrun"), 0);
	/* The bounding set is only root's to empty. 0, 1, 2 and that of ls. */
	if (!geteuid())
		expect_file("d/a.txt", "NoNewPrivs:1\n4\n");
	else
		cr_expect(strstr(content_of("d/a.txt"), "NoNewPrivs:1\n"));
	artifacts_free(p);
}

static void expect_trunks(struct artifacts *p, const char *expected)
{
	char text[128] = "";
	int fd = artifacts_take_trunks(p);

	cr_assert(fd >= 0, "%s", strerror(-fd));
	cr_expect(read(fd, text, sizeof(text) - 1) >= 0);
	cr_expect_str_eq(text, expected);
	close(fd);
}

Test(artifacts, are_written_one_after_the_other_in_the_order_of_captures)
{
	struct artifacts *p = artifacts_with("echo \"$1 $2 $#\"", 60 * SECOND);
	const char *name;
	int err;

	cr_expect_eq(artifacts_look(p, clock_now_ns(), &name, &err), 0, "nothing to do");
	umask(077);
	cr_assert_eq(artifacts_add(p, "a.hotrun"), 0);
	umask(0);
	cr_assert_eq(artifacts_add(p, "-b.hotrun"), 0);
	cr_expect_eq(artifacts_pending(p), 2);
	cr_expect_eq(done(p, "a.hotrun"), 0);
	cr_expect_eq(artifacts_pending(p), 1);
	expect_trunks(p, "export --format=trunks 3\n");
	cr_expect_eq(artifacts_take_trunks(p), -ENOENT, "taken once");
	cr_expect_eq(done(p, "-b.hotrun"), 0);
	cr_expect_eq(artifacts_pending(p), 0);
	expect_file("d/a.txt", "report ./a.hotrun 2\n");
	expect_file("d/a.html", "flame ./a.hotrun 2\n");
	expect_file("d/-b.txt", "report ./-b.hotrun 2\n");
	expect_nothing_else(4);
	artifacts_free(p);
}

Test(artifacts, that_fail_leave_nothing_and_do_not_stop_the_others)
{
	struct artifacts *p = artifacts_with(
		"[ \"$1\" = flame ] || { echo half; exit 1; }; echo page", 60 * SECOND);

	cr_assert_eq(artifacts_add(p, "a.hotrun"), 0);
	cr_expect_eq(done(p, "a.hotrun"), -EIO);
	expect_file("d/a.html", "page\n");
	expect_nothing_else(1);
	cr_expect_lt(artifacts_take_trunks(p), 0);
	artifacts_free(p);
	/* Without its trunks a capture has what it needs. */
	p = artifacts_with("[ \"$1\" != export ] && echo whole", 60 * SECOND);
	cr_assert_eq(artifacts_add(p, "a.hotrun"), 0);
	cr_expect_eq(done(p, "a.hotrun"), 0);
	cr_expect_lt(artifacts_take_trunks(p), 0);
	expect_nothing_else(2);
	cr_assert_eq(unlink("d/a.txt"), 0);
	artifacts_free(p);
	p = artifacts_with("kill -SEGV $$", 60 * SECOND);
	cr_assert_eq(artifacts_add(p, "b.hotrun"), 0);
	cr_expect_eq(done(p, "b.hotrun"), -EIO);
	expect_nothing_else(1);
	artifacts_free(p);
	p = artifacts_new_with(dir_fd, "/nowhere/hotrun", 60 * SECOND);
	cr_assert_eq(artifacts_add(p, "c.hotrun"), 0);
	cr_expect_eq(done(p, "c.hotrun"), -EIO);
	expect_nothing_else(1);
	artifacts_free(p);
}

Test(artifacts, that_hang_are_killed)
{
	struct artifacts *p = artifacts_with("echo $$ > pid; exec sleep 1000", 100 * MS);
	uint64_t start_ns = clock_now_ns();

	cr_assert_eq(artifacts_add(p, "a.hotrun"), 0);
	cr_expect_eq(done(p, "a.hotrun"), -ETIMEDOUT);
	cr_expect_geq(clock_now_ns() - start_ns, 200 * MS, "both had their time");
	cr_expect(kill(atoi(content_of("d/pid")), 0) < 0 && errno == ESRCH);
	expect_nothing_else(1);
	artifacts_free(p);
}

Test(artifacts, a_look_never_waits)
{
	struct artifacts *p = artifacts_with("exec sleep 1000", 60 * SECOND);
	uint64_t start_ns;
	const char *name;
	int err;

	cr_assert_eq(artifacts_add(p, "a.hotrun"), 0);
	start_ns = clock_now_ns();
	for (int i = 0; i < 20; i++)
		cr_assert_eq(artifacts_look(p, clock_now_ns(), &name, &err), 0);
	cr_expect_lt(clock_now_ns() - start_ns, 5 * SECOND);
	cr_expect_eq(artifacts_pending(p), 1);
	artifacts_free(p);
	expect_nothing_else(0);
}

Test(artifacts, end_with_the_recorder)
{
	struct artifacts *p =
		artifacts_with("echo $$ > pid.new; mv pid.new pid; exec sleep 1000", 60 * SECOND);
	uint64_t end_ns = clock_now_ns() + 30 * SECOND;
	pid_t recorder = fork(), pid;
	const char *name;
	int err;

	cr_assert(recorder >= 0);
	if (!recorder) {
		artifacts_add(p, "a.hotrun");
		artifacts_look(p, clock_now_ns(), &name, &err);
		pause();
	}
	while (access("d/pid", F_OK) && clock_now_ns() < end_ns)
		sleep_ms(2);
	pid = atoi(content_of("d/pid"));
	cr_assert(pid > 0 && !kill(pid, 0));
	kill(recorder, SIGKILL);
	/* It may wait as a zombie for whoever adopts it: what counts is that it does not run. */
	for (;;) {
		char path[64], *text;

		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		text = content_of(path);
		if (!text || strstr(text, ") Z"))
			break;
		cr_assert_lt(clock_now_ns(), end_ns, "it runs on");
		sleep_ms(2);
	}
	artifacts_free(p);
}

Test(artifacts, run_as_the_least_important)
{
	struct artifacts *p =
		artifacts_with("nice; cat /proc/self/oom_score_adj; ulimit -c", 60 * SECOND);

	cr_assert_eq(artifacts_add(p, "a.hotrun"), 0);
	cr_expect_eq(done(p, "a.hotrun"), 0);
	expect_file("d/a.txt", "19\n1000\n0\n");
	artifacts_free(p);
}

Test(artifacts, leftovers_and_traps_at_the_temporary_name_are_replaced)
{
	struct artifacts *p = artifacts_with("echo new", 60 * SECOND);

	put_file("victim", "precious");
	put_file("d/a.txt", "old");
	put_file("d/.a.txt.new", "half of an earlier run");
	cr_assert_eq(symlink("../victim", "d/.a.html.new"), 0);
	cr_assert_eq(artifacts_add(p, "a.hotrun"), 0);
	cr_expect_eq(done(p, "a.hotrun"), 0);
	expect_file("d/a.txt", "new\n");
	expect_file("d/a.html", "new\n");
	cr_expect_str_eq(content_of("victim"), "precious");
	expect_nothing_else(2);
	artifacts_free(p);
}

Test(artifacts, names_that_could_leave_the_folder_are_refused)
{
	static const char *const names[] = {
		"",	      ".hotrun",   "a",		"a.txt",	 "../a.hotrun",
		"d/a.hotrun", "/a.hotrun", ".a.hotrun", "a.hotrun.html", "a.hotrun/..",
		"..hotrun",   "a.hotru",
	};
	struct artifacts *p = artifacts_with("echo no", 60 * SECOND);
	char longest[300];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_expect_eq(artifacts_add(p, names[i]), -EINVAL, "%s", names[i]);
	memset(longest, 'a', sizeof(longest));
	memcpy(longest + 246, ".hotrun", 8);
	cr_expect_eq(artifacts_add(p, longest), -EINVAL);
	memcpy(longest + 245, ".hotrun", 8);
	cr_assert_eq(artifacts_add(p, longest), 0);
	cr_expect_eq(done(p, longest), 0);
	expect_nothing_else(2);
	artifacts_free(p);
}

Test(artifacts, the_queue_is_bounded)
{
	struct artifacts *p = artifacts_with("echo x", 60 * SECOND);

	for (int i = 0; i < ARTIFACTS_QUEUE; i++)
		cr_assert_eq(artifacts_add(p, "a.hotrun"), 0);
	cr_expect_eq(artifacts_add(p, "a.hotrun"), -E2BIG);
	cr_expect_eq(artifacts_pending(p), ARTIFACTS_QUEUE);
	artifacts_free(p);
	artifacts_free(NULL);
}

Test(artifacts, without_the_folder_they_fail_and_go_on)
{
	struct artifacts *p = artifacts_with("echo x", 60 * SECOND);

	cr_assert_eq(rmdir("d"), 0);
	cr_assert_eq(artifacts_add(p, "a.hotrun"), 0);
	cr_expect_eq(done(p, "a.hotrun"), -ENOENT);
	cr_expect_eq(artifacts_pending(p), 0);
	artifacts_free(p);
}

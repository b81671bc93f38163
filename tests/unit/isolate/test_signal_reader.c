/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files and commands of --service-signal, read by a process of their own. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "isolate/signal_reader.h"

static char folder[] = "/tmp/hotrun-signal.XXXXXX";

static void enter(void)
{
	cr_assert(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
}

static void leave(void)
{
	static const char *const names[] = {"file", "fifo", "link", "long", "script", "pids"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(names[i]);
	cr_assert_eq(rmdir(folder), 0);
}

TestSuite(signal_reader, .init = enter, .fini = leave, .timeout = 30);

static void put_file(const char *name, const char *text, mode_t mode)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, mode);

	cr_assert(fd >= 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* The first reading that ended after after_ns. */
static struct signal_text *reading(const struct signal_reader *r, uint64_t after_ns)
{
	static struct signal_text text;

	bool read = false;

	for (int i = 0; i < 1000 && !read; i++) {
		read = !signal_reader_get(r, &text) && text.time_ns > after_ns;
		if (!read)
			poll(NULL, 0, 10);
	}
	cr_assert(read, "no reading within 10 s");
	return &text;
}

static void expect(const char *name, const char *what, bool is_command, int err, const char *said)
{
	struct signal_reader *r = signal_reader_new(what, is_command, NULL);
	struct signal_text *t;

	cr_assert(r, "%s", name);
	t = reading(r, 0);
	cr_expect_eq(t->err, err, "%s: %d", name, t->err);
	if (said) {
		cr_expect_eq(t->len, strlen(said), "%s: %u bytes", name, t->len);
		cr_expect_eq(memcmp(t->text, said, t->len), 0, "%s", name);
	}
	signal_reader_free(r);
}

Test(signal_reader, files)
{
	char *longest = calloc(1, SIGNAL_TEXT_BYTES + 2);
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};

	cr_assert(longest);
	put_file("file", "0.25\n", 0600);
	expect("a file", "file", false, 0, "0.25\n");
	cr_assert_eq(symlink("file", "link"), 0);
	expect("through a link", "link", false, 0, "0.25\n");
	expect("none", "nothing-there", false, -ENOENT, NULL);
	expect("a folder", ".", false, -ENOTSUP, NULL);
	expect("a device", "/dev/zero", false, -ENOTSUP, NULL);
	cr_assert_eq(mkfifo("fifo", 0600), 0);
	expect("a FIFO that nobody writes to", "fifo", false, -ENOTSUP, NULL);
	memset(longest, '1', SIGNAL_TEXT_BYTES);
	put_file("long", longest, 0600);
	expect("as long as may be", "long", false, 0, longest);
	longest[SIGNAL_TEXT_BYTES] = '1';
	put_file("long", longest, 0600);
	expect("longer", "long", false, -EFBIG, NULL);
	times[1].tv_sec = time(NULL) - SIGNAL_FILE_AGE_S - 5;
	cr_assert_eq(utimensat(AT_FDCWD, "file", times, 0), 0);
	expect("of long ago", "file", false, -ESTALE, NULL);
	free(longest);
}

Test(signal_reader, a_file_is_read_again)
{
	struct signal_reader *r;
	struct signal_text *t;

	put_file("file", "0.1", 0600);
	r = signal_reader_new("file", false, NULL);
	t = reading(r, 0);
	cr_expect_eq(memcmp(t->text, "0.1", 3), 0);
	put_file("file", "0.22", 0600);
	t = reading(r, t->time_ns);
	cr_expect_eq(t->len, 4);
	cr_expect_eq(memcmp(t->text, "0.22", 4), 0);
	unlink("file");
	cr_expect_eq(reading(r, t->time_ns)->err, -ENOENT);
	signal_reader_free(r);
}

Test(signal_reader, commands)
{
	expect("words", "echo a  b\tc", true, 0, "a b c\n");
	expect("no shell looks at them", "echo $HOME * ; true | false 'x y' `id` > file", true, 0,
	       "$HOME * ; true | false 'x y' `id` > file\n");
	cr_expect_eq(access("file", F_OK), -1);
	expect("no output", "true", true, 0, "");
	expect("a failure", "false", true, -ECHILD, NULL);
	expect("no such command", "no-such-command-here", true, -ECHILD, NULL);
	expect("no input", "cat", true, 0, "");
	expect("output without end", "yes", true, -EFBIG, NULL);
	put_file("script", "#!/bin/sh\nkill -9 $$\n", 0700);
	expect("killed", "./script", true, -ECHILD, NULL);
	/* 0, 1, 2 and that of the folder. */
	put_file("script", "#!/bin/sh\nls /proc/self/fd | wc -l\n", 0700);
	expect("none of hotrun's files", "./script", true, 0, "4\n");
}

Test(signal_reader, words_are_bounded)
{
	char many[2 * SIGNAL_WORDS_MAX + 3] = "";

	for (int i = 0; i <= SIGNAL_WORDS_MAX; i++)
		strcat(many, "x ");
	cr_expect_null(signal_reader_new(many, true, NULL));
	cr_expect_eq(errno, EINVAL);
	cr_expect_null(signal_reader_new(" \t", true, NULL));
	cr_expect_eq(errno, EINVAL);
}

/* Both pids of the script: its own, and that of what it waits for. */
static bool script_lives(void)
{
	FILE *pids = fopen("pids", "r");
	bool lives = false;
	int pid;

	cr_assert(pids);
	while (fscanf(pids, "%d", &pid) == 1)
		lives |= !kill(pid, 0);
	fclose(pids);
	return lives;
}

static void expect_gone(const char *name)
{
	for (int i = 0; i < 300 && script_lives(); i++)
		poll(NULL, 0, 10);
	cr_expect_not(script_lives(), "%s", name);
}

#define ENDLESS "#!/bin/sh\nsleep 1000 &\necho $$ $! > pids\nwait\n"

Test(signal_reader, a_command_that_does_not_end_is_killed_with_what_it_started)
{
	struct signal_reader *r;

	put_file("script", ENDLESS, 0700);
	r = signal_reader_new("./script", true, NULL);
	cr_expect_eq(reading(r, 0)->err, -ETIMEDOUT);
	put_file("script", "#!/bin/sh\n", 0700);
	expect_gone("after its deadline");
	signal_reader_free(r);
}

Test(signal_reader, the_end_of_the_reader_is_that_of_its_command)
{
	struct signal_reader *r;

	put_file("script", ENDLESS, 0700);
	r = signal_reader_new("./script", true, NULL);
	for (int i = 0; i < 300; i++) {
		struct stat st;

		if (!stat("pids", &st) && st.st_size)
			break;
		poll(NULL, 0, 10);
	}
	cr_expect(script_lives());
	signal_reader_free(r);
	expect_gone("with the reader");
}

/* Killed, hotrun leaves nothing behind. */
Test(signal_reader, the_end_of_hotrun_is_that_of_its_command)
{
	pid_t pid;

	put_file("script", ENDLESS, 0700);
	pid = fork();
	if (!pid) {
		signal_reader_new("./script", true, NULL);
		for (;;)
			pause();
	}
	for (int i = 0; i < 300; i++) {
		struct stat st;

		if (!stat("pids", &st) && st.st_size)
			break;
		poll(NULL, 0, 10);
	}
	cr_expect(script_lives());
	kill(pid, SIGKILL);
	expect_gone("with hotrun");
}

/* Of its own /proc/self/status: what it could do. */
#define RIGHTS                                                                                     \
	"#!/bin/sh\ngrep -E '^(Uid|Groups|Cap|NoNewPrivs)' /proc/self/status | tr -d '\\t ' | tr " \
	"'\\n' ' '\n"

/* The bounding set cannot be emptied by who may not do anything anyhow. */
#define NO_RIGHTS "CapInh:0000000000000000 CapPrm:0000000000000000 CapEff:0000000000000000 "

Test(signal_reader, a_command_has_no_capability_and_gains_none)
{
	struct signal_reader *r;
	struct signal_text *t;

	put_file("script", RIGHTS, 0755);
	r = signal_reader_new("./script", true, NULL);
	t = reading(r, 0);
	t->text[t->len] = '\0';
	cr_expect(strstr(t->text, NO_RIGHTS), "%s", t->text);
	cr_expect(strstr(t->text, "CapAmb:0000000000000000 NoNewPrivs:1 "), "%s", t->text);
	cr_expect(geteuid() || strstr(t->text, "CapBnd:0000000000000000 "), "%s", t->text);
	signal_reader_free(r);
}

/* As root: the group of the command is the user's, it can be killed all the same, and cannot go
 * back. */
Test(signal_reader, a_command_is_run_by_the_user_that_was_said)
{
	const struct account nobody = {
		.uid = 65534, .gid = 65534, .groups = {65534, 7}, .groups_cnt = 2};
	struct signal_reader *r;
	struct signal_text *t;

	if (geteuid())
		return;
	cr_assert_eq(chmod(".", 0777), 0);
	put_file("script", RIGHTS, 0755);
	r = signal_reader_new("./script", true, &nobody);
	t = reading(r, 0);
	t->text[t->len] = '\0';
	cr_expect(strstr(t->text, "Uid:65534655346553465534 Groups:765534 "), "%s", t->text);
	cr_expect(strstr(t->text, NO_RIGHTS), "%s", t->text);
	signal_reader_free(r);

	put_file("script", ENDLESS, 0755);
	r = signal_reader_new("./script", true, &nobody);
	cr_expect_eq(reading(r, 0)->err, -ETIMEDOUT);
	put_file("script", "#!/bin/sh\n", 0755);
	expect_gone("after its deadline");
	signal_reader_free(r);

	unlink("pids");
	put_file("script", ENDLESS, 0755);
	r = signal_reader_new("./script", true, &nobody);
	for (int i = 0; i < 300 && access("pids", F_OK); i++)
		poll(NULL, 0, 10);
	signal_reader_free(r);
	expect_gone("with the reader");
}

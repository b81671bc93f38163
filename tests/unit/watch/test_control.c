/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control socket over real sockets in a folder of the test: callers that behave, and others. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_control.h"
#include "store_folder.h"
#include "watch/control.h"

TestSuite(control, .init = enter_folder, .fini = leave_folder);

#define SECOND 1000000000ull
#define NAME   FAKE_CONTROL_NAME

/* --- a caller without manners ----------------------------------------------------------------- */

static void put(int fd, const char *text)
{
	cr_assert_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* What came by now; *ret_over: and the connection has ended. */
static const char *heard(int fd, bool *ret_over)
{
	static char text[16384];
	size_t len = 0;
	ssize_t n;

	while ((n = recv(fd, text + len, sizeof(text) - 1 - len, MSG_DONTWAIT)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	*ret_over = n == 0 || errno == ECONNRESET;
	return text;
}

static void expect(int fd, const char *text, bool over)
{
	bool is_over;
	const char *got = heard(fd, &is_over);

	cr_expect_str_eq(got, text, "'%s', not '%s'", got, text);
	cr_expect_eq(is_over, over, "after '%s'", text);
}

/* As the recorder's loop: for as long as there is something to do. */
static void turn(struct control *c, uint64_t now_ns)
{
	struct pollfd p = {.fd = control_fd(c), .events = POLLIN};
	int turns = 0;

	do {
		control_look(c, now_ns);
		cr_assert_lt(turns++, 1000, "the loop turns for ever");
	} while (poll(&p, 1, 0) > 0);
}

static unsigned int count_fds(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* --- the line --------------------------------------------------------------------------------- */

struct line_case {
	const char *line;
	enum control_request request;
	uint64_t before_ns, after_ns;
};

static const struct line_case lines[] = {
	{"trigger 15000000000 30000000000", CONTROL_TRIGGER, 15 * SECOND, 30 * SECOND},
	{"trigger 0 0", CONTROL_TRIGGER, 0, 0},
	{"trigger 86400000000000 1", CONTROL_TRIGGER, CONTROL_DAY_NS, 1},
	{"trigger 007 00", CONTROL_TRIGGER, 7, 0},
	{"status", CONTROL_STATUS, 0, 0},
	{"", CONTROL_NOTHING, 0, 0},
	{"trigger", CONTROL_BAD, 0, 0},
	{"trigger ", CONTROL_BAD, 0, 0},
	{"trigger 1", CONTROL_BAD, 0, 0},
	{"trigger 1 ", CONTROL_BAD, 0, 0},
	{"trigger  1 2", CONTROL_BAD, 0, 0},
	{"trigger 1  2", CONTROL_BAD, 0, 0},
	{"trigger 1 2 ", CONTROL_BAD, 0, 0},
	{"trigger 1 2 3", CONTROL_BAD, 0, 0},
	{"trigger 1 2\r", CONTROL_BAD, 0, 0},
	{"trigger -1 2", CONTROL_BAD, 0, 0},
	{"trigger 15s 30s", CONTROL_BAD, 0, 0},
	{"trigger 86400000000001 0", CONTROL_BAD, 0, 0},
	{"trigger 1 18446744073709551617", CONTROL_BAD, 0, 0},
	{"TRIGGER 1 2", CONTROL_BAD, 0, 0},
	{"status ", CONTROL_BAD, 0, 0},
	{"stat", CONTROL_BAD, 0, 0},
	{"GET /metrics HTTP/1.1", CONTROL_BAD, 0, 0},
};

Test(control, lines)
{
	uint64_t before_ns, after_ns;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		bool trigger = lines[i].request == CONTROL_TRIGGER;

		before_ns = after_ns = 77;
		cr_expect_eq(
			control_parse(lines[i].line, strlen(lines[i].line), &before_ns, &after_ns),
			lines[i].request, "%s", lines[i].line);
		cr_expect_eq(before_ns, trigger ? lines[i].before_ns : 77, "%s", lines[i].line);
		cr_expect_eq(after_ns, trigger ? lines[i].after_ns : 77, "%s", lines[i].line);
	}
	cr_expect_eq(control_parse("trigger 1 2\0", 12, &before_ns, &after_ns), CONTROL_BAD);
	/* Cut at every byte it is another request or none. */
	for (size_t len = 0; len < strlen(lines[0].line) - 10; len++)
		cr_expect_neq(control_parse(lines[0].line, len, &before_ns, &after_ns),
			      CONTROL_TRIGGER, "%zu", len);
}

/* --- callers that behave ---------------------------------------------------------------------- */

Test(control, a_trigger_from_begun_to_done)
{
	struct fake_control f = {0};
	int dir = fake_control_dir(), fd;
	struct control *c = fake_control_serve(dir, &f);

	fd = fake_control_call();
	cr_assert(fd >= 0);
	put(fd, "trigger 15000000000 30000000000\n");
	turn(c, 0);
	expect(fd, "begun " NAME "\n", false);
	cr_expect_eq(f.before_ns, 15 * SECOND);
	cr_expect_eq(f.after_ns, 30 * SECOND);
	turn(c, 3600 * SECOND);
	expect(fd, "", false);
	control_done(c, "another.hotrun", 0);
	expect(fd, "", false);
	control_done(c, NAME, 0);
	expect(fd, "done " NAME "\n", true);
	close(fd);
	turn(c, 3601 * SECOND);
	cr_expect_eq(f.triggers, 1);
	control_free(c);
	cr_expect_eq(count_files(), 0, "the socket is gone");
	close(dir);
}

Test(control, all_who_wait_for_a_capture_are_told)
{
	struct fake_control f = {0};
	int dir = fake_control_dir(), fd[3];
	struct control *c = fake_control_serve(dir, &f);

	for (int i = 0; i < 3; i++) {
		fd[i] = fake_control_call();
		put(fd[i], i < 2 ? "trigger 1 2\n" : "status\n");
	}
	turn(c, 0);
	expect(fd[2], "level all\ncaptures 3\n", true);
	expect(fd[0], "begun " NAME "\n", false);
	control_done(c, NAME, -ENOSPC);
	expect(fd[0], "failed No space left on device\n", true);
	expect(fd[1], "begun " NAME "\nfailed No space left on device\n", true);
	control_free(c);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
	close(dir);
}

Test(control, what_the_recorder_refuses_is_said_on_one_line)
{
	struct fake_control f = {.err = -EAGAIN, .why = "not ready:\nno \x1b[31mslice\n"};
	int dir = fake_control_dir(), fd;
	struct control *c = fake_control_serve(dir, &f);

	fd = fake_control_call();
	put(fd, "trigger 1 2\n");
	turn(c, 0);
	expect(fd, "failed not ready:\\x0ano \\x1b[31mslice\\x0a\n", true);
	close(fd);
	f.why = NULL;
	fd = fake_control_call();
	put(fd, "trigger 1 2\n");
	turn(c, 0);
	expect(fd, "failed Resource temporarily unavailable\n", true);
	close(fd);
	control_free(c);
	close(dir);
}

Test(control, a_line_in_pieces_and_a_half_closed_caller)
{
	struct fake_control f = {0};
	int dir = fake_control_dir(), fd;
	struct control *c = fake_control_serve(dir, &f);

	fd = fake_control_call();
	for (const char *s = "trigger 1 2\n"; *s; s++) {
		cr_assert_eq(send(fd, s, 1, MSG_NOSIGNAL), 1);
		turn(c, 0);
	}
	shutdown(fd, SHUT_WR);
	turn(c, 0);
	expect(fd, "begun " NAME "\n", false);
	control_done(c, NAME, 0);
	expect(fd, "done " NAME "\n", true);
	close(fd);
	control_free(c);
	close(dir);
}

/* --- callers that do not ---------------------------------------------------------------------- */

Test(control, silent_slow_and_talkative_callers_lose_their_connection)
{
	struct fake_control f = {0};
	int dir = fake_control_dir(), silent, slow, loud, binary, early;
	struct control *c = fake_control_serve(dir, &f);
	char flood[CONTROL_LINE_BYTES];
	bool over;

	memset(flood, 'x', sizeof(flood));
	silent = fake_control_call();
	slow = fake_control_call();
	loud = fake_control_call();
	binary = fake_control_call();
	early = fake_control_call();
	cr_assert_eq(send(loud, flood, sizeof(flood), MSG_NOSIGNAL), (ssize_t)sizeof(flood));
	cr_assert_eq(send(binary, "trigger 1 2\0\n", 13, MSG_NOSIGNAL), 13);
	put(early, "trigger 1 2");
	shutdown(early, SHUT_WR);
	turn(c, SECOND);
	expect(loud, "failed the line is too long\n", true);
	cr_expect(strstr(heard(binary, &over), "failed no such request"));
	cr_expect(over);
	expect(early, "", true);
	/* A byte a second does not keep the place. */
	for (uint64_t t = 1; t < 6; t++) {
		put(slow, "t");
		turn(c, t * SECOND);
		expect(slow, "", false);
	}
	turn(c, SECOND + CONTROL_IDLE_NS);
	expect(slow, "failed no request came\n", true);
	expect(silent, "failed no request came\n", true);
	cr_expect_eq(f.triggers, 0);
	control_free(c);
	close(dir);
}

Test(control, who_goes_on_talking_after_the_request_is_not_read)
{
	struct fake_control f = {0};
	int dir = fake_control_dir(), fd;
	struct control *c = fake_control_serve(dir, &f);
	char flood[65536];

	memset(flood, '\n', sizeof(flood));
	fd = fake_control_call();
	put(fd, "trigger 1 2\ntrigger 3 4\n");
	turn(c, 0);
	while (send(fd, flood, sizeof(flood), MSG_NOSIGNAL) > 0)
		;
	turn(c, 0);
	cr_expect_eq(f.triggers, 1);
	expect(fd, "begun " NAME "\n", false);
	control_done(c, NAME, 0);
	expect(fd, "done " NAME "\n", true);
	close(fd);
	control_free(c);
	close(dir);
}

Test(control, many_callers)
{
	struct fake_control f = {0};
	int dir = fake_control_dir(), fd[CONTROL_CLIENTS + 4];
	unsigned int fds_before, fds;
	struct control *c = fake_control_serve(dir, &f);

	fds_before = count_fds();
	for (int i = 0; i < CONTROL_CLIENTS + 4; i++) {
		fd[i] = fake_control_call();
		cr_assert(fd[i] >= 0);
	}
	turn(c, 0);
	for (int i = CONTROL_CLIENTS; i < CONTROL_CLIENTS + 4; i++)
		expect(fd[i], "failed too many callers at a time; try again\n", true);
	expect(fd[0], "", false);
	for (int i = 0; i < CONTROL_CLIENTS + 4; i++)
		close(fd[i]);
	turn(c, 0);
	/* Their places are free again, a thousand times. */
	for (int i = 0; i < 1000; i++) {
		int one = fake_control_call();

		put(one, i % 2 ? "status\n" : "trigger 1 2\n");
		if (i % 3)
			turn(c, 0);
		close(one);
		turn(c, 0);
	}
	fds = count_fds();
	cr_expect_eq(fds, fds_before, "%u of %u", fds, fds_before);
	fd[0] = fake_control_call();
	put(fd[0], "status\n");
	turn(c, 0);
	expect(fd[0], "level all\ncaptures 3\n", true);
	close(fd[0]);
	control_free(c);
	close(dir);
}

Test(control, callers_that_vanish)
{
	struct fake_control f = {0};
	int dir = fake_control_dir(), fd, other;
	struct control *c = fake_control_serve(dir, &f);

	signal(SIGPIPE, SIG_DFL);
	fd = fake_control_call();
	put(fd, "trigger 1 2\n");
	close(fd);
	turn(c, 0);
	cr_expect_eq(f.triggers, 1, "the capture is taken all the same");
	fd = fake_control_call();
	put(fd, "trigger 1 2\n");
	turn(c, 0);
	close(fd);
	control_done(c, NAME, 0);
	/* The place of who left goes to another, who hears nothing of it. */
	fd = fake_control_call();
	put(fd, "trigger 1 2\n");
	turn(c, 0);
	close(fd);
	turn(c, 0);
	other = fake_control_call();
	turn(c, 0);
	control_done(c, NAME, 0);
	expect(other, "", false);
	close(other);
	control_free(c);
	close(dir);
}

Test(control, without_descriptors_it_does_not_turn_for_ever)
{
	struct fake_control f = {0};
	int dir = fake_control_dir(), fd = fake_control_call(), late;
	struct control *c = fake_control_serve(dir, &f);
	struct rlimit was, none;
	struct pollfd p = {.fd = control_fd(c), .events = POLLIN};
	int turns = 0;

	cr_expect_lt(fd, 0, "nobody listens yet");
	late = fake_control_call();
	cr_assert(late >= 0);
	getrlimit(RLIMIT_NOFILE, &was);
	none = was;
	none.rlim_cur = (rlim_t)late + 1;
	setrlimit(RLIMIT_NOFILE, &none);
	while (poll(&p, 1, 0) > 0 && turns++ < 10)
		control_look(c, 0);
	cr_expect_leq(turns, 2);
	setrlimit(RLIMIT_NOFILE, &was);
	/* With the next slice there are some again. */
	put(late, "status\n");
	control_look(c, SECOND);
	turn(c, SECOND);
	expect(late, "level all\ncaptures 3\n", true);
	close(late);
	control_free(c);
	close(dir);
}

static int ask_as_other(const char *line)
{
	char text[256] = "";
	int fd = fake_control_call();

	if (fd < 0)
		return fd;
	/* The answer may be there, and the connection over, before the line is. */
	if (send(fd, line, strlen(line), MSG_NOSIGNAL) < 0 && errno != EPIPE)
		return -errno;
	fcntl(fd, F_SETFL, 0);
	if (recv(fd, text, sizeof(text) - 1, 0) <= 0)
		return -ENODATA;
	return strncmp(text, "failed not permitted", 20) ? -EBADMSG : 0;
}

static void *serve_for_a_while(void *arg)
{
	struct control *c = arg;
	struct pollfd p = {.fd = control_fd(c), .events = POLLIN};

	if (poll(&p, 1, 20000) > 0)
		control_look(c, 0);
	return NULL;
}

Test(control, other_users_are_sent_away)
{
	struct fake_control f = {0};
	int dir = fake_control_dir();
	struct control *c = fake_control_serve(dir, &f);
	struct stat st;
	pthread_t thread;

	cr_assert_eq(stat(CONTROL_NAME, &st), 0);
	cr_expect(S_ISSOCK(st.st_mode));
	cr_expect_eq(st.st_mode & 0777, 0600);
	if (geteuid() != 0) {
		printf("skipped: other users need root\n");
		control_free(c);
		return;
	}
	cr_assert_eq(chmod(".", 0755), 0);
	cr_expect_eq(as_nobody(ask_as_other, "trigger 1 2\n"), -EACCES, "by the mode");
	cr_assert_eq(chmod(CONTROL_NAME, 0666), 0);
	cr_assert_eq(pthread_create(&thread, NULL, serve_for_a_while, c), 0);
	cr_expect_eq(as_nobody(ask_as_other, "trigger 1 2\n"), 0, "and by who they are");
	pthread_join(thread, NULL);
	turn(c, 0);
	cr_expect_eq(f.triggers, 0);
	control_free(c);
	close(dir);
}

/* --- the place -------------------------------------------------------------------------------- */

Test(control, takes_the_place_of_what_an_earlier_run_left)
{
	struct fake_control f = {0};
	int dir = fake_control_dir(), fd;
	struct control *c = fake_control_serve(dir, &f), *next;
	const struct control_ops never_called = {0};

	/* A recorder that was killed leaves its socket. */
	next = fake_control_serve(dir, &f);
	fd = fake_control_call();
	cr_assert(fd >= 0);
	put(fd, "status\n");
	turn(c, 0);
	expect(fd, "", false);
	turn(next, 0);
	expect(fd, "level all\ncaptures 3\n", true);
	control_free(c);
	cr_expect_eq(access(CONTROL_NAME, F_OK), 0, "the socket of another one stays");
	control_free(next);
	cr_expect_eq(access(CONTROL_NAME, F_OK), -1);
	put_file("precious", "precious");
	symlink("precious", CONTROL_NAME);
	symlink("precious", ".control.new");
	c = fake_control_serve(dir, &f);
	control_free(c);
	cr_expect_eq(access("precious", F_OK), 0);
	mkfifo(CONTROL_NAME, 0600);
	c = fake_control_serve(dir, &f);
	unlink(CONTROL_NAME);
	put_file(CONTROL_NAME, "another file by now");
	control_free(c);
	cr_expect_eq(access(CONTROL_NAME, F_OK), 0, "is left alone");
	unlink(CONTROL_NAME);
	mkdir(CONTROL_NAME, 0700);
	c = NULL;
	cr_expect_eq(control_new(dir, &never_called, &c), -EISDIR);
	cr_expect_null(c);
	cr_expect_eq(count_files(), 2, "precious and the folder");
	close(fd);
	close(dir);
}

Test(control, in_a_folder_of_a_very_long_path)
{
	struct fake_control f = {0};
	char name[200];
	struct control *c;
	int dir;

	memset(name, 'd', sizeof(name));
	name[199] = '\0';
	cr_assert_eq(mkdir(name, 0700), 0);
	cr_assert_eq(chdir(name), 0);
	dir = fake_control_dir();
	c = fake_control_serve(dir, &f);
	control_free(c);
	close(dir);
	cr_assert_eq(chdir(folder), 0);
}

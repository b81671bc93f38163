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

#include "store_folder.h"
#include "watch/control.h"

TestSuite(control, .init = enter_folder, .fini = leave_folder);

#define SECOND 1000000000ull
#define NAME   "web1-20261121T191202Z-trigger.hotrun"

/* --- a recorder that notes what it is asked ---------------------------------------------------- */

struct fake {
	unsigned int triggers;
	uint64_t before_ns, after_ns;
	int err;
	const char *why;
};

static int on_trigger(void *ctx, uint64_t before_ns, uint64_t after_ns,
		      char ret_name[static FOLDER_NAME_BYTES], char *why, size_t why_bytes)
{
	struct fake *f = ctx;

	f->triggers++;
	f->before_ns = before_ns;
	f->after_ns = after_ns;
	if (f->err)
		snprintf(why, why_bytes, "%s", f->why ? f->why : "");
	else
		snprintf(ret_name, FOLDER_NAME_BYTES, NAME);
	return f->err;
}

static void on_status(void *ctx, char *text, size_t bytes)
{
	(void)ctx;
	snprintf(text, bytes, "level all\ncaptures 3\n");
}

static struct control *serve(int dir, struct fake *f)
{
	const struct control_ops ops = {f, on_trigger, on_status};
	struct control *c = NULL;
	int err = control_new(dir, &ops, &c);

	cr_assert_eq(err, 0, "%s", strerror(-err));
	return c;
}

static int open_dir(void)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert(dir >= 0);
	return dir;
}

/* --- a caller without manners ------------------------------------------------------------------ */

static int call(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = CONTROL_NAME};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	cr_assert(fd >= 0);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		return -errno;
	}
	return fd;
}

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

/* --- the line ---------------------------------------------------------------------------------- */

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

/* --- callers that behave ----------------------------------------------------------------------- */

Test(control, a_trigger_from_begun_to_done)
{
	struct fake f = {0};
	int dir = open_dir(), fd;
	struct control *c = serve(dir, &f);

	fd = call();
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
	struct fake f = {0};
	int dir = open_dir(), fd[3];
	struct control *c = serve(dir, &f);

	for (int i = 0; i < 3; i++) {
		fd[i] = call();
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
	struct fake f = {.err = -EAGAIN, .why = "not ready:\nno \x1b[31mslice\n"};
	int dir = open_dir(), fd;
	struct control *c = serve(dir, &f);

	fd = call();
	put(fd, "trigger 1 2\n");
	turn(c, 0);
	expect(fd, "failed not ready:\\x0ano \\x1b[31mslice\\x0a\n", true);
	close(fd);
	f.why = NULL;
	fd = call();
	put(fd, "trigger 1 2\n");
	turn(c, 0);
	expect(fd, "failed Resource temporarily unavailable\n", true);
	close(fd);
	control_free(c);
	close(dir);
}

Test(control, a_line_in_pieces_and_a_half_closed_caller)
{
	struct fake f = {0};
	int dir = open_dir(), fd;
	struct control *c = serve(dir, &f);

	fd = call();
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

/* --- callers that do not ----------------------------------------------------------------------- */

Test(control, silent_slow_and_talkative_callers_lose_their_connection)
{
	struct fake f = {0};
	int dir = open_dir(), silent, slow, loud, binary, early;
	struct control *c = serve(dir, &f);
	char flood[CONTROL_LINE_BYTES];
	bool over;

	memset(flood, 'x', sizeof(flood));
	silent = call();
	slow = call();
	loud = call();
	binary = call();
	early = call();
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
	struct fake f = {0};
	int dir = open_dir(), fd;
	struct control *c = serve(dir, &f);
	char flood[65536];

	memset(flood, '\n', sizeof(flood));
	fd = call();
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
	struct fake f = {0};
	int dir = open_dir(), fd[CONTROL_CLIENTS + 4];
	unsigned int fds_before, fds;
	struct control *c = serve(dir, &f);

	fds_before = count_fds();
	for (int i = 0; i < CONTROL_CLIENTS + 4; i++) {
		fd[i] = call();
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
		int one = call();

		put(one, i % 2 ? "status\n" : "trigger 1 2\n");
		if (i % 3)
			turn(c, 0);
		close(one);
		turn(c, 0);
	}
	fds = count_fds();
	cr_expect_eq(fds, fds_before, "%u of %u", fds, fds_before);
	fd[0] = call();
	put(fd[0], "status\n");
	turn(c, 0);
	expect(fd[0], "level all\ncaptures 3\n", true);
	close(fd[0]);
	control_free(c);
	close(dir);
}

Test(control, callers_that_vanish)
{
	struct fake f = {0};
	int dir = open_dir(), fd, other;
	struct control *c = serve(dir, &f);

	signal(SIGPIPE, SIG_DFL);
	fd = call();
	put(fd, "trigger 1 2\n");
	close(fd);
	turn(c, 0);
	cr_expect_eq(f.triggers, 1, "the capture is taken all the same");
	fd = call();
	put(fd, "trigger 1 2\n");
	turn(c, 0);
	close(fd);
	control_done(c, NAME, 0);
	/* The place of who left goes to another, who hears nothing of it. */
	fd = call();
	put(fd, "trigger 1 2\n");
	turn(c, 0);
	close(fd);
	turn(c, 0);
	other = call();
	turn(c, 0);
	control_done(c, NAME, 0);
	expect(other, "", false);
	close(other);
	control_free(c);
	close(dir);
}

Test(control, without_descriptors_it_does_not_turn_for_ever)
{
	struct fake f = {0};
	int dir = open_dir(), fd = call(), late;
	struct control *c = serve(dir, &f);
	struct rlimit was, none;
	struct pollfd p = {.fd = control_fd(c), .events = POLLIN};
	int turns = 0;

	cr_expect_lt(fd, 0, "nobody listens yet");
	late = call();
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
	int fd = call();

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
	struct fake f = {0};
	int dir = open_dir();
	struct control *c = serve(dir, &f);
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

/* --- the place --------------------------------------------------------------------------------- */

Test(control, takes_the_place_of_what_an_earlier_run_left)
{
	struct fake f = {0};
	int dir = open_dir(), fd;
	struct control *c = serve(dir, &f), *next;
	const struct control_ops ops = {&f, on_trigger, on_status};

	/* A recorder that was killed leaves its socket. */
	next = serve(dir, &f);
	fd = call();
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
	c = serve(dir, &f);
	control_free(c);
	cr_expect_eq(access("precious", F_OK), 0);
	mkfifo(CONTROL_NAME, 0600);
	c = serve(dir, &f);
	unlink(CONTROL_NAME);
	put_file(CONTROL_NAME, "another file by now");
	control_free(c);
	cr_expect_eq(access(CONTROL_NAME, F_OK), 0, "is left alone");
	unlink(CONTROL_NAME);
	mkdir(CONTROL_NAME, 0700);
	c = NULL;
	cr_expect_eq(control_new(dir, &ops, &c), -EISDIR);
	cr_expect_null(c);
	cr_expect_eq(count_files(), 2, "precious and the folder");
	close(fd);
	close(dir);
}

Test(control, in_a_folder_of_a_very_long_path)
{
	struct fake f = {0};
	char name[200];
	struct control *c;
	int dir;

	memset(name, 'd', sizeof(name));
	name[199] = '\0';
	cr_assert_eq(mkdir(name, 0700), 0);
	cr_assert_eq(chdir(name), 0);
	dir = open_dir();
	c = serve(dir, &f);
	control_free(c);
	close(dir);
	cr_assert_eq(chdir(folder), 0);
}

/* --- the caller's side ------------------------------------------------------------------------- */

struct asked {
	int dir, rc;
	const char *line;
	uint64_t first_ns, next_ns;
	int stop_at; /* lines after which it has heard enough */
	char text[4096];
	int lines;
};

static int on_line(void *ctx, const char *line)
{
	struct asked *a = ctx;

	snprintf(a->text + strlen(a->text), sizeof(a->text) - strlen(a->text), "%s|", line);
	return ++a->lines == a->stop_at ? 42 : 0;
}

static void *ask(void *arg)
{
	struct asked *a = arg;

	a->rc = control_ask(a->dir, a->line, a->first_ns, a->next_ns, on_line, a);
	return NULL;
}

/* Serves until that caller has been let in and has its answer. */
static void serve_caller(struct control *c)
{
	struct pollfd p = {.fd = control_fd(c), .events = POLLIN};

	for (int i = 0; i < 2; i++) {
		cr_assert_eq(poll(&p, 1, 20000), 1);
		control_look(c, 0);
	}
}

Test(control, asking)
{
	struct fake f = {0};
	struct asked status = {.line = "status"}, wait = {.line = "trigger 1 2"},
		     enough = {.line = "trigger 1 2", .stop_at = 1};
	struct asked *const all[] = {&status, &wait, &enough};
	int dir = open_dir();
	struct control *c = serve(dir, &f);
	pthread_t threads[3];

	for (int i = 0; i < 3; i++) {
		all[i]->dir = dir;
		all[i]->first_ns = all[i]->next_ns = 20 * SECOND;
		cr_assert_eq(pthread_create(&threads[i], NULL, ask, all[i]), 0);
		serve_caller(c);
	}
	pthread_join(threads[0], NULL);
	pthread_join(threads[2], NULL);
	control_done(c, NAME, 0);
	pthread_join(threads[1], NULL);
	cr_expect_eq(status.rc, 0);
	cr_expect_str_eq(status.text, "level all|captures 3|");
	cr_expect_eq(wait.rc, 0);
	cr_expect_str_eq(wait.text, "begun " NAME "|done " NAME "|");
	cr_expect_eq(enough.rc, 42);
	cr_expect_str_eq(enough.text, "begun " NAME "|");
	control_free(c);
	close(dir);
}

Test(control, asking_where_nobody_is)
{
	struct asked a = {0};
	struct fake f = {0};
	int dir = open_dir();
	struct control *c;

	cr_expect_eq(control_ask(dir, "status", SECOND, SECOND, on_line, &a), -ENOENT);
	put_file(CONTROL_NAME, "");
	cr_expect_eq(control_ask(dir, "status", SECOND, SECOND, on_line, &a), -ENOTSOCK);
	unlink(CONTROL_NAME);
	mkfifo(CONTROL_NAME, 0600);
	cr_expect_eq(control_ask(dir, "status", SECOND, SECOND, on_line, &a), -ENOTSOCK);
	unlink(CONTROL_NAME);
	/* A link to a socket is not followed. */
	c = serve(dir, &f);
	rename(CONTROL_NAME, "real");
	symlink("real", CONTROL_NAME);
	cr_expect_eq(control_ask(dir, "status", SECOND, SECOND, on_line, &a), -ENOTSOCK);
	unlink(CONTROL_NAME);
	rename("real", CONTROL_NAME);
	/* One that hangs. */
	cr_expect_eq(control_ask(dir, "status", SECOND / 10, SECOND, on_line, &a), -ETIMEDOUT);
	/* And with its queue full of callers that it does not take. */
	for (int i = 0; i < 64; i++)
		call();
	cr_expect_eq(control_ask(dir, "status", SECOND / 10, SECOND, on_line, &a), -ETIMEDOUT);
	/* One that was killed: its socket stays. */
	link(CONTROL_NAME, "kept");
	control_free(c);
	rename("kept", CONTROL_NAME);
	cr_expect_eq(control_ask(dir, "status", SECOND, SECOND, on_line, &a), -ECONNREFUSED);
	cr_expect_eq(a.lines, 0);
	close(dir);
}

/* A recorder of another mind: answers with that, and ends. */
static const char *answer_text;

static void *answer_once(void *arg)
{
	int fd = accept(*(int *)arg, NULL, NULL);

	if (fd >= 0) {
		send(fd, answer_text, strlen(answer_text), MSG_NOSIGNAL);
		close(fd);
	}
	return NULL;
}

static int answered(const char *text, struct asked *a)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = CONTROL_NAME};
	int dir = open_dir(), fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pthread_t thread;
	int err;

	unlink(CONTROL_NAME);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	cr_assert_eq(listen(fd, 1), 0);
	answer_text = text;
	cr_assert_eq(pthread_create(&thread, NULL, answer_once, &fd), 0);
	err = control_ask(dir, "status", 20 * SECOND, 20 * SECOND, on_line, a);
	pthread_join(thread, NULL);
	close(fd);
	close(dir);
	return err;
}

Test(control, answers_that_are_none)
{
	static char endless[4096];
	struct asked a = {0};

	memset(endless, 'x', sizeof(endless) - 1);
	cr_expect_eq(answered(endless, &a), -EBADMSG);
	cr_expect_eq(a.lines, 0);
	cr_expect_eq(answered("", &a), 0);
	cr_expect_eq(answered("no newline", &a), 0);
	cr_expect_eq(a.lines, 0);
	cr_expect_eq(answered("\n\x1b]0;x\a\n", &a), 0);
	cr_expect_str_eq(a.text, "|\\x1b]0;x\\x07|");
}

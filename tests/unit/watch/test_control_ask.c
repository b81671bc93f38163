/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The caller's side of the control socket: recorders that answer, that are gone, that hang or
 * babble. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "fake_control.h"
#include "store_folder.h"
#include "watch/control.h"

#define SECOND 1000000000ull
#define NAME   FAKE_CONTROL_NAME

TestSuite(control_ask, .init = enter_folder, .fini = leave_folder);

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

Test(control_ask, asking)
{
	struct fake_control f = {0};
	struct asked status = {.line = "status"}, wait = {.line = "trigger 1 2"},
		     enough = {.line = "trigger 1 2", .stop_at = 1};
	struct asked *const all[] = {&status, &wait, &enough};
	int dir = fake_control_dir();
	struct control *c = fake_control_serve(dir, &f);
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

Test(control_ask, asking_where_nobody_is)
{
	struct asked a = {0};
	struct fake_control f = {0};
	int dir = fake_control_dir();
	struct control *c;

	cr_expect_eq(control_ask(dir, "status", SECOND, SECOND, on_line, &a), -ENOENT);
	put_file(CONTROL_NAME, "");
	cr_expect_eq(control_ask(dir, "status", SECOND, SECOND, on_line, &a), -ENOTSOCK);
	unlink(CONTROL_NAME);
	mkfifo(CONTROL_NAME, 0600);
	cr_expect_eq(control_ask(dir, "status", SECOND, SECOND, on_line, &a), -ENOTSOCK);
	unlink(CONTROL_NAME);
	/* A link to a socket is not followed. */
	c = fake_control_serve(dir, &f);
	rename(CONTROL_NAME, "real");
	symlink("real", CONTROL_NAME);
	cr_expect_eq(control_ask(dir, "status", SECOND, SECOND, on_line, &a), -ENOTSOCK);
	unlink(CONTROL_NAME);
	rename("real", CONTROL_NAME);
	/* One that hangs. */
	cr_expect_eq(control_ask(dir, "status", SECOND / 10, SECOND, on_line, &a), -ETIMEDOUT);
	/* And with its queue full of callers that it does not take. */
	for (int i = 0; i < 64; i++)
		fake_control_call();
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
	int dir = fake_control_dir(), fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
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

Test(control_ask, answers_that_are_none)
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

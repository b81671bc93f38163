/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The word to the service manager, against a socket of its kind. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "watch/notify.h"

/* Listens under that name, '@' in front for an abstract one. Returns the socket. */
static int manager(const char *name)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	size_t len = strlen(name);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	memcpy(at.sun_path, name, len);
	if (*name == '@')
		at.sun_path[0] = '\0';
	cr_assert_eq(bind(fd, (struct sockaddr *)&at,
			  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
		     0);
	setenv("NOTIFY_SOCKET", name, 1);
	return fd;
}

static void expect_heard(int fd, const char *text)
{
	char heard[64] = "";
	ssize_t n = recv(fd, heard, sizeof(heard) - 1, 0);

	cr_expect_eq(n, (ssize_t)strlen(text));
	cr_expect_str_eq(heard, text);
}

Test(notify, reaches_a_socket_by_path)
{
	char dir[] = "/tmp/hotrun-notify-XXXXXX", path[64];
	_cleanup_close_ int fd = -1;

	cr_assert(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/notify", dir);
	fd = manager(path);
	cr_expect_eq(notify("READY=1"), 0);
	expect_heard(fd, "READY=1");
	unlink(path);
	cr_expect_eq(notify("READY=1"), -ENOENT, "gone, and nothing waits");
	rmdir(dir);
}

Test(notify, reaches_an_abstract_socket)
{
	char name[64];
	_cleanup_close_ int fd = -1;

	snprintf(name, sizeof(name), "@hotrun-notify-%d", getpid());
	fd = manager(name);
	cr_expect_eq(notify("STATUS=watching"), 0);
	expect_heard(fd, "STATUS=watching");
}

Test(notify, says_nothing_where_nobody_listens)
{
	char path[200];

	unsetenv("NOTIFY_SOCKET");
	cr_expect_eq(notify("READY=1"), 0);
	setenv("NOTIFY_SOCKET", "", 1);
	cr_expect_eq(notify("READY=1"), 0);
	setenv("NOTIFY_SOCKET", "relative", 1);
	cr_expect_eq(notify("READY=1"), -EINVAL);
	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	setenv("NOTIFY_SOCKET", path, 1);
	cr_expect_eq(notify("READY=1"), -EINVAL);
}

/* A manager that does not read must not stop the recorder. */
Test(notify, never_waits)
{
	char name[64];
	_cleanup_close_ int fd = -1;
	int err = 0;

	snprintf(name, sizeof(name), "@hotrun-notify-%d", getpid());
	fd = manager(name);
	for (int i = 0; i < 100000 && !err; i++)
		err = notify("WATCHDOG=1");
	cr_expect_eq(err, -EAGAIN);
}

Test(notify, knows_how_often_the_watchdog_wants_to_be_fed)
{
	char pid[16];

	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	cr_expect_eq(notify_interval_ns(), 0);
	setenv("WATCHDOG_USEC", "30000000", 1);
	cr_expect_eq(notify_interval_ns(), 15000000000ull);
	snprintf(pid, sizeof(pid), "%d", getpid());
	setenv("WATCHDOG_PID", pid, 1);
	cr_expect_eq(notify_interval_ns(), 15000000000ull);
	setenv("WATCHDOG_PID", "1", 1);
	cr_expect_eq(notify_interval_ns(), 0, "of another process");
	unsetenv("WATCHDOG_PID");
	setenv("WATCHDOG_USEC", "often", 1);
	cr_expect_eq(notify_interval_ns(), 0);
	setenv("WATCHDOG_USEC", "99999999999999999999", 1);
	cr_expect_eq(notify_interval_ns(), 0);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The caller's side. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "watch/control.h"

/* --- the way there ---------------------------------------------------------------------------- */

/* Holds what lies there, whatever takes its name meanwhile. */
static int find_socket(int dir, int *ret_fd)
{
	_cleanup_close_ int fd = openat(dir, CONTROL_NAME, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st, folder;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || fstat(dir, &folder))
		return -errno;
	if (!S_ISSOCK(st.st_mode) || st.st_uid != folder.st_uid)
		return -ENOTSOCK;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Also for as long as the recorder's queue is full. */
static int connect_to(int place, uint64_t timeout_ns, int *ret_fd)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval timeout = {.tv_sec = (time_t)(timeout_ns / SECOND_NS),
				  .tv_usec = (suseconds_t)(timeout_ns % SECOND_NS / 1000)};

	if (fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", place);
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return errno == EAGAIN || errno == EINPROGRESS ? -ETIMEDOUT : -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

static int send_line(int fd, const char *line)
{
	char text[CONTROL_LINE_BYTES];
	int len = snprintf(text, sizeof(text), "%s\n", line);
	ssize_t n;

	if (len >= (int)sizeof(text))
		return -EINVAL;
	n = send(fd, text, (size_t)len, MSG_NOSIGNAL);
	if (n == len || (n < 0 && errno == EPIPE)) /* its last words are still there to be read */
		return 0;
	return n < 0 && errno != EAGAIN ? -errno : -ETIMEDOUT;
}

/* --- the answer ------------------------------------------------------------------------------- */

struct reader {
	int fd;
	char text[CONTROL_LINE_BYTES];
	size_t len;
};

/* 1 there is more, 0 the connection has ended, or negative errno. */
static int read_more(struct reader *r, uint64_t deadline_ns)
{
	uint64_t at = clock_now_ns();
	struct timespec left = {0};
	struct pollfd poll_fd = {.fd = r->fd, .events = POLLIN};
	ssize_t n;
	int ready;

	if (at < deadline_ns)
		left = (struct timespec){.tv_sec = (time_t)((deadline_ns - at) / SECOND_NS),
					 .tv_nsec = (long)((deadline_ns - at) % SECOND_NS)};
	ready = ppoll(&poll_fd, 1, &left, NULL);
	if (ready < 0)
		return -errno;
	if (!ready)
		return -ETIMEDOUT;
	n = recv(r->fd, r->text + r->len, sizeof(r->text) - r->len, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return 1;
	/* Closed with something unread of ours. */
	if (n < 0)
		return errno == ECONNRESET ? 0 : -errno;
	r->len += (size_t)n;
	return n > 0;
}

/* Hands over the first line and takes it out; *ret_line false where it is not there in full. */
static int take_line(struct reader *r, int (*answer)(void *ctx, const char *line), void *ctx,
		     bool *ret_line)
{
	const char *end = memchr(r->text, '\n', r->len);
	char safe[4 * CONTROL_LINE_BYTES + 1];
	size_t len;

	*ret_line = end;
	if (!end)
		return r->len == sizeof(r->text) ? -EBADMSG : 0;
	len = (size_t)(end - r->text);
	text_copy_safe(safe, sizeof(safe), r->text, len);
	r->len -= len + 1;
	memmove(r->text, end + 1, r->len);
	return answer(ctx, safe);
}

static int read_lines(int fd, uint64_t first_ns, uint64_t next_ns,
		      int (*answer)(void *ctx, const char *line), void *ctx)
{
	struct reader r = {.fd = fd};
	uint64_t since_ns = clock_now_ns(), deadline_ns;
	bool line;
	int n;

	if (__builtin_add_overflow(since_ns, first_ns, &deadline_ns))
		deadline_ns = UINT64_MAX;
	for (;;) {
		do {
			n = take_line(&r, answer, ctx, &line);
			if (n)
				return n;
			since_ns = clock_now_ns();
			if (line && __builtin_add_overflow(since_ns, next_ns, &deadline_ns))
				deadline_ns = UINT64_MAX;
		} while (line);
		n = read_more(&r, deadline_ns);
		if (n <= 0)
			return n;
	}
}

int control_open(int dir, const char *line, uint64_t timeout_ns, int *ret_fd)
{
	_cleanup_close_ int place = -1, fd = -1;
	int err = find_socket(dir, &place);

	if (!err)
		err = connect_to(place, timeout_ns, &fd);
	if (!err)
		err = send_line(fd, line);
	if (!err)
		*ret_fd = take_fd(&fd);
	return err;
}

int control_ask(int dir, const char *line, uint64_t first_ns, uint64_t next_ns,
		int (*answer)(void *ctx, const char *line), void *ctx)
{
	_cleanup_close_ int fd = -1;
	int err = control_open(dir, line, first_ns, &fd);

	return err ? err : read_lines(fd, first_ns, next_ns, answer, ctx);
}

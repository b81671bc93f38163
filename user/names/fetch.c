/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A server says its pid first; on a host full of spinners it may take long to come to it. */
#define HELLO_MS 3000

#define GOODBYE_MS 100

/* Descriptors of a helper: its socket, and while it answers the caller's. */
#define SOCKET_FD 3

struct hung {
	int fd;
	uint64_t key;
};

struct fetch {
	uint64_t deadline_ns;
	uint64_t timeouts;
	pid_t nursery; /* the process that forks servers */
	int nursery_fd;
	int server_fd; /* -1 = none at the moment */
	pid_t server;
	struct hung hung[FETCH_MAX_HUNG];
	unsigned hung_cnt;
};

/* --- messages with at most one descriptor ------------------------------------------------------ */

static int send_message(int socket, const void *bytes, size_t len, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)bytes, .iov_len = len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (fd >= 0) {
		struct cmsghdr *c;

		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	do {
		n = sendmsg(socket, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* 0 or -errno; -EPIPE at the end, -EBADMSG for another length. */
static int receive_message(int socket, void *bytes, size_t len, int *ret_fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = bytes, .iov_len = len};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *c;
	ssize_t n;

	*ret_fd = -1;
	do {
		n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	if ((size_t)n == len)
		return 0;
	if (*ret_fd >= 0)
		close(*ret_fd);
	*ret_fd = -1;
	return n ? -EBADMSG : -EPIPE;
}

static bool wait_readable(int fd, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int n;

	do { /* a signal makes this wait start again: the recording ends a deadline later */
		n = poll(&p, 1, timeout_ms);
	} while (n < 0 && errno == EINTR);
	return n > 0;
}

/* --- helpers ----------------------------------------------------------------------------------- */

/* Keeps nothing of the parent's but the socket: a stuck helper holds what it has. */
static void settle_helper(int socket, const char *name)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd < SOCKET_FD && null >= 0; fd++)
		dup2(null, fd);
	if (socket != SOCKET_FD && dup2(socket, SOCKET_FD) < 0)
		_exit(1);
	syscall(SYS_close_range, SOCKET_FD + 1, ~0u, 0);
	if (chdir("/"))
		_exit(1);
	prctl(PR_SET_NAME, name);
}

static void serve(int socket)
{
	static struct fetch_request request;
	pid_t pid = getpid();

	settle_helper(socket, "hotrun-file");
	if (send_message(SOCKET_FD, &pid, sizeof(pid), -1))
		_exit(0);
	for (;;) {
		struct fetch_reply reply = {0};
		int give_fd, fd = -1, err;

		if (receive_message(SOCKET_FD, &request, sizeof(request), &give_fd))
			_exit(0);
		fetch_serve(&request, give_fd, &reply, &fd);
		err = send_message(SOCKET_FD, &reply, sizeof(reply), fd);
		if (err)
			_exit(0);
		if (fd >= 0)
			close(fd);
		if (give_fd >= 0)
			close(give_fd);
	}
}

/* Touches no file of a target, so it never hangs. */
static void nurse(int socket)
{
	int fd;
	char byte;

	settle_helper(socket, "hotrun-files");
	/* Ctrl-C is for hotrun; helpers end with its socket. */
	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	while (!receive_message(SOCKET_FD, &byte, sizeof(byte), &fd)) {
		if (fd >= 0 && !fork())
			serve(fd);
		if (fd >= 0)
			close(fd);
	}
	_exit(0);
}

struct fetch *fetch_new(uint64_t deadline_ns)
{
	struct fetch *f = calloc(1, sizeof(*f));
	int pair[2], err;

	if (!f)
		return NULL;
	f->deadline_ns = deadline_ns;
	f->server_fd = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		free(f);
		return NULL;
	}
	f->nursery = fork();
	if (!f->nursery)
		nurse(pair[1]);
	err = errno;
	close(pair[1]);
	f->nursery_fd = pair[0];
	if (f->nursery > 0)
		return f;
	close(pair[0]);
	free(f);
	errno = err;
	return NULL;
}

void fetch_free(struct fetch *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < f->hung_cnt; i++)
		close(f->hung[i].fd);
	if (f->server_fd >= 0) {
		/* Its parent should outlive it: not every host has an init that buries orphans. */
		shutdown(f->server_fd, SHUT_WR);
		wait_readable(f->server_fd, GOODBYE_MS);
		close(f->server_fd);
	}
	close(f->nursery_fd);
	waitpid(f->nursery, NULL, 0);
	free(f);
}

/* --- asking ------------------------------------------------------------------------------------ */

static int start_server(struct fetch *f)
{
	int pair[2], none, err;

	if (f->server_fd >= 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -EAGAIN;
	err = send_message(f->nursery_fd, "", 1, pair[1]);
	close(pair[1]);
	if (err || !wait_readable(pair[0], HELLO_MS) ||
	    receive_message(pair[0], &f->server, sizeof(f->server), &none)) {
		close(pair[0]);
		return -EAGAIN;
	}
	f->server_fd = pair[0];
	return 0;
}

/* Forgets servers that came back meanwhile: their answer, or their end, can be read. */
static void reap(struct fetch *f)
{
	for (unsigned i = 0; i < f->hung_cnt;) {
		if (wait_readable(f->hung[i].fd, 0)) {
			close(f->hung[i].fd);
			f->hung[i] = f->hung[--f->hung_cnt];
		} else {
			i++;
		}
	}
}

static bool is_refused(const struct fetch *f, uint64_t key)
{
	unsigned same = 0;

	for (unsigned i = 0; i < f->hung_cnt; i++)
		same += f->hung[i].key == key;
	return same >= FETCH_MAX_HUNG_KEY || f->hung_cnt >= FETCH_MAX_HUNG;
}

static uint64_t cpu_ns(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static bool wait_reply(const struct fetch *f)
{
	for (int i = 0; i < FETCH_MAX_DEADLINES; i++) {
		uint64_t before = cpu_ns(f->server);

		if (wait_readable(f->server_fd, (int)(f->deadline_ns / 1000000u)))
			return true;
		if (cpu_ns(f->server) == before)
			return false;
	}
	return false;
}

int fetch_ask(struct fetch *f, const struct fetch_request *request, int give_fd,
	      struct fetch_reply *ret_reply, int *ret_fd)
{
	int err;

	*ret_fd = -1;
	reap(f);
	if (is_refused(f, request->key))
		return -EBUSY;
	if (start_server(f))
		return -EAGAIN;
	err = send_message(f->server_fd, request, sizeof(*request), give_fd);
	if (!err && !wait_reply(f)) {
		f->hung[f->hung_cnt++] = (struct hung){f->server_fd, request->key};
		f->server_fd = -1;
		f->timeouts++;
		return -ETIMEDOUT;
	}
	if (!err)
		err = receive_message(f->server_fd, ret_reply, sizeof(*ret_reply), ret_fd);
	if (!err)
		return 0;
	close(f->server_fd);
	f->server_fd = -1;
	return -EPIPE;
}

uint64_t fetch_timeouts(const struct fetch *f)
{
	return f->timeouts;
}

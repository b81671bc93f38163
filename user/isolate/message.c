/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "isolate/message.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(MESSAGE_FDS_MAX * sizeof(int))];
};

int message_send(int socket, const void *bytes, size_t len, const int *fds, unsigned fd_cnt)
{
	union control control = {0};
	struct iovec iov = {.iov_base = (void *)bytes, .iov_len = len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (fd_cnt > MESSAGE_FDS_MAX)
		return -EINVAL;
	if (fd_cnt) {
		struct cmsghdr *c;

		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(fd_cnt * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fd_cnt * sizeof(int));
		memcpy(CMSG_DATA(c), fds, fd_cnt * sizeof(int));
	}
	do {
		n = sendmsg(socket, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* Takes the descriptors out of a received message. Returns how many. */
static unsigned take_fds(struct msghdr *msg, int *fds)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	unsigned cnt;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return 0;
	cnt = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	memcpy(fds, CMSG_DATA(c), cnt * sizeof(int));
	return cnt;
}

int message_receive(int socket, void *bytes, size_t cap, size_t *ret_len, int *fds,
		    unsigned *ret_fd_cnt)
{
	union control control = {0};
	struct iovec iov = {.iov_base = bytes, .iov_len = cap};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	unsigned cnt;
	ssize_t n;

	do {
		n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	cnt = take_fds(&msg, fds);
	if (n && !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		*ret_len = (size_t)n;
		*ret_fd_cnt = cnt;
		return 0;
	}
	for (unsigned i = 0; i < cnt; i++)
		close(fds[i]);
	return n ? -EBADMSG : -EPIPE;
}

int message_receive_bytes(int socket, void *bytes, size_t cap, size_t *ret_len)
{
	struct iovec iov = {.iov_base = bytes, .iov_len = cap};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	do {
		n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (!n)
		return -EPIPE;
	if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return -EBADMSG;
	*ret_len = (size_t)n;
	return 0;
}

int message_receive_exact(int socket, void *bytes, size_t len, int *ret_fd)
{
	int fds[MESSAGE_FDS_MAX], err;
	unsigned cnt;
	size_t got;

	*ret_fd = -1;
	err = message_receive(socket, bytes, len, &got, fds, &cnt);
	if (err)
		return err;
	if (got == len && cnt <= 1) {
		if (cnt)
			*ret_fd = fds[0];
		return 0;
	}
	for (unsigned i = 0; i < cnt; i++)
		close(fds[i]);
	return -EBADMSG;
}

bool message_wait(int socket, int timeout_ms)
{
	struct pollfd p = {.fd = socket, .events = POLLIN};
	int n;

	do { /* a signal makes this wait start again: the recording ends a deadline later */
		n = poll(&p, 1, timeout_ms);
	} while (n < 0 && errno == EINTR);
	return n > 0;
}

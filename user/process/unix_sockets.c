/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/unix_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define CHUNK_BYTES  65536
#define PREFIX_BYTES 128 /* what stands before the path */

#define FLAG_LISTENS	0x10000u /* __SO_ACCEPTCON, include/uapi/linux/net.h */
#define STATE_CONNECTED 3u	 /* SS_CONNECTED */

void unix_sockets_take_line(const char *line, size_t len, struct unix_path *paths, size_t paths_cnt)
{
	unsigned flags, state;
	char prefix[PREFIX_BYTES];
	int at = 0;

	/* "ffff9d: 00000003 00000000 00010000 0001 01 17367 /run/x" */
	snprintf(prefix, sizeof(prefix), "%.*s", (int)(len < PREFIX_BYTES ? len : PREFIX_BYTES - 1),
		 line);
	if (sscanf(prefix, "%*[^:]: %*x %*x %x %*x %x %*u %n", &flags, &state, &at) != 2 || !at)
		return;
	for (size_t i = 0; i < paths_cnt; i++) {
		struct unix_path *p = &paths[i];

		if (!p->path || !*p->path || strlen(p->path) != len - (size_t)at ||
		    memcmp(line + at, p->path, len - (size_t)at))
			continue;
		p->listening_cnt += (flags & FLAG_LISTENS) != 0;
		p->connected_cnt += state == STATE_CONNECTED;
	}
}

int unix_sockets_count(int process_fd, struct unix_path *paths, size_t paths_cnt)
{
	_cleanup_close_ int fd = openat(process_fd, "net/unix", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	_cleanup_free_ char *buf = malloc(CHUNK_BYTES);
	size_t len = 0, left = UNIX_SOCKETS_BYTES_MAX;

	if (fd < 0)
		return -errno;
	if (!buf)
		return -ENOMEM;
	while (left) {
		ssize_t n = read(fd, buf + len, CHUNK_BYTES - len);
		char *line = buf, *newline;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		left -= (size_t)n < left ? (size_t)n : left;
		len += (size_t)n;
		while ((newline = memchr(line, '\n', len - (size_t)(line - buf)))) {
			unix_sockets_take_line(line, (size_t)(newline - line), paths, paths_cnt);
			line = newline + 1;
		}
		len -= (size_t)(line - buf);
		if (len == CHUNK_BYTES) /* longer than any line that the kernel writes */
			len = 0;
		memmove(buf, line, len);
	}
	return 0;
}

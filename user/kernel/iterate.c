/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/iterate.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define BUFFER_BYTES (64u << 10)

int iterate(int link_fd, size_t record_bytes, void (*take)(void *ctx, const void *record),
	    void *ctx)
{
	size_t have = 0, room = BUFFER_BYTES / record_bytes * record_bytes;
	_cleanup_free_ char *buffer = malloc(room);
	_cleanup_close_ int fd = -1;

	if (!buffer)
		return -ENOMEM;
	fd = bpf_iter_create(link_fd);
	if (fd < 0)
		return -errno;
	for (;;) {
		/* The kernel writes what fits, parts of records among it. */
		ssize_t n = read(fd, buffer + have, room - have);
		size_t done = 0;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		have += (size_t)n;
		for (; have - done >= record_bytes; done += record_bytes)
			if (take)
				take(ctx, buffer + done);
		have -= done;
		memmove(buffer, buffer + done, have);
	}
}

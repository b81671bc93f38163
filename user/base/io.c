/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/io.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

#define COPY_BYTES (64u << 10)

/* Where the file stands, in place of an offset. */
#define HERE -1

static ssize_t read_from(int fd, void *buf, size_t len, off_t offset)
{
	size_t done = 0;

	while (done < len) {
		char *to = (char *)buf + done;
		ssize_t n = offset == HERE ? read(fd, to, len - done)
					   : pread(fd, to, len - done, offset + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

ssize_t io_read(int fd, void *buf, size_t len)
{
	return read_from(fd, buf, len, HERE);
}

ssize_t io_read_at(int fd, void *buf, size_t len, uint64_t offset)
{
	/* No file is so long: a hostile header may say so. */
	return offset > INT64_MAX - len ? 0 : read_from(fd, buf, len, (off_t)offset);
}

static int write_to(int fd, const void *bytes, size_t len, off_t offset, bool goes_on)
{
	size_t done = 0;

	while (done < len) {
		const char *from = (const char *)bytes + done;
		ssize_t n = offset == HERE ? write(fd, from, len - done)
					   : pwrite(fd, from, len - done, offset + (off_t)done);

		if (n < 0 && errno == EINTR && goes_on)
			continue;
		if (n < 0)
			return errno == EFBIG || errno == EDQUOT ? -ENOSPC : -errno;
		if (!n)
			return -ENOSPC;
		done += (size_t)n;
	}
	return 0;
}

int io_write(int fd, const void *bytes, size_t len)
{
	return write_to(fd, bytes, len, HERE, true);
}

int io_write_at(int fd, const void *bytes, size_t len, uint64_t offset)
{
	return offset > INT64_MAX - len ? -ENOSPC : write_to(fd, bytes, len, (off_t)offset, true);
}

int io_copy(int from, int to, uint64_t max)
{
	_cleanup_free_ char *buf = malloc(COPY_BYTES);
	uint64_t done = 0;

	if (!buf)
		return -ENOMEM;
	for (;;) {
		ssize_t n = io_read_at(from, buf, COPY_BYTES, done);
		int err;

		if (n <= 0)
			return (int)n;
		done += (uint64_t)n;
		if (done > max)
			return -EFBIG;
		err = write_to(to, buf, (size_t)n, HERE, false);
		if (err)
			return err;
	}
}

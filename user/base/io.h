/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_IO_H
#define HOTRUN_BASE_IO_H
/*
 * Reads and writes that go on after a signal and after a part, as read(2) and write(2) alone do
 * not. For files: none of these waits for a reader or writer at the other end, and -EAGAIN ends
 * them.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Up to len bytes from where the file stands, or from that offset. Returns how many: fewer only at
 * the end of the file. Negative errno if any read failed. */
ssize_t io_read(int fd, void *buf, size_t len);
ssize_t io_read_at(int fd, void *buf, size_t len, uint64_t offset);

/* All len bytes, to where the file stands, or to that offset. 0, or negative errno: -ENOSPC for a
 * quota and the limit of a file's size, too. */
int io_write(int fd, const void *bytes, size_t len);
int io_write_at(int fd, const void *bytes, size_t len, uint64_t offset);

/* All of a file, from its beginning, to where `to` stands. 0, negative errno, or -EFBIG beyond max
 * bytes. Whoever reads `to` may be slow: -EINTR when a signal came while that was waited for. */
int io_copy(int from, int to, uint64_t max);
#endif

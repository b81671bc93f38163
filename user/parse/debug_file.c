/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/debug_file.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"

#define CHUNK_BYTES (256u << 10)

struct unpacking {
	lzma_stream stream;
	int fd; /* packed bytes from here .. */
	uint64_t at, end;
	int to_fd;
	uint64_t unpacked;
	uint8_t in[CHUNK_BYTES], out[CHUNK_BYTES];
};

static void cleanup_unpacking(struct unpacking **u)
{
	if (!*u)
		return;
	lzma_end(&(*u)->stream);
	free(*u);
}

/* Refills what is packed. A file that ends early looks like a stream that is cut. */
static int refill(struct unpacking *u)
{
	size_t want = u->end - u->at < CHUNK_BYTES ? (size_t)(u->end - u->at) : CHUNK_BYTES;
	ssize_t n = pread(u->fd, u->in, want, (off_t)u->at);

	if (n < 0)
		return -errno;
	u->at = n ? u->at + (uint64_t)n : u->end;
	u->stream.next_in = u->in;
	u->stream.avail_in = (size_t)n;
	return 0;
}

static int flush(struct unpacking *u)
{
	size_t have = CHUNK_BYTES - u->stream.avail_out;

	if (have > DEBUG_UNPACKED_BYTES_MAX - u->unpacked)
		return -E2BIG;
	if (pwrite(u->to_fd, u->out, have, (off_t)u->unpacked) != (ssize_t)have)
		return -ENOMEM;
	u->unpacked += have;
	u->stream.next_out = u->out;
	u->stream.avail_out = CHUNK_BYTES;
	return 0;
}

static int unpack(struct unpacking *u)
{
	lzma_ret ret = LZMA_OK;
	int err = 0;

	u->stream.next_out = u->out;
	u->stream.avail_out = CHUNK_BYTES;
	while (!err && ret == LZMA_OK) {
		if (!u->stream.avail_in && u->at < u->end)
			err = refill(u);
		if (!err)
			ret = lzma_code(&u->stream, u->at < u->end ? LZMA_RUN : LZMA_FINISH);
		if (!err && (!u->stream.avail_out || ret == LZMA_STREAM_END))
			err = flush(u);
	}
	if (err || ret == LZMA_STREAM_END)
		return err;
	if (ret == LZMA_MEM_ERROR)
		return -ENOMEM;
	return ret == LZMA_MEMLIMIT_ERROR ? -E2BIG : -EBADMSG;
}

int debug_unpack(int fd, uint64_t offset, uint64_t bytes, int to_fd)
{
	_cleanup_(cleanup_unpacking) struct unpacking *u = NULL;

	if (bytes > DEBUG_PACKED_BYTES_MAX)
		return -E2BIG;
	if (offset > (uint64_t)INT64_MAX - bytes)
		return -EBADMSG;
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->fd = fd;
	u->at = offset;
	u->end = offset + bytes;
	u->to_fd = to_fd;
	if (lzma_stream_decoder(&u->stream, DEBUG_MEMORY_BYTES_MAX, 0) != LZMA_OK)
		return -ENOMEM;
	return unpack(u);
}

int debug_crc(int fd, uint32_t *ret_crc)
{
	_cleanup_free_ uint8_t *chunk = malloc(CHUNK_BYTES);
	uLong crc = crc32(0, NULL, 0);
	uint64_t at = 0;
	struct stat st;

	if (!chunk)
		return -ENOMEM;
	if (fstat(fd, &st))
		return -errno;
	if ((uint64_t)st.st_size > DEBUG_CRC_BYTES_MAX)
		return -E2BIG;
	for (;;) {
		ssize_t n = pread(fd, chunk, CHUNK_BYTES, (off_t)at);

		if (n < 0)
			return -errno;
		if (!n)
			break;
		at += (uint64_t)n;
		if (at > DEBUG_CRC_BYTES_MAX)
			return -E2BIG;
		crc = crc32(crc, chunk, (uInt)n);
	}
	*ret_crc = (uint32_t)crc;
	return 0;
}

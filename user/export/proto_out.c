/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/proto_out.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/types.h>
#include <zlib.h>

struct proto_buffer {
	ProtobufCBuffer base; /* first: protobuf-c hands out a pointer to it */
	FILE *out;
};

static void append(ProtobufCBuffer *buffer, size_t len, const uint8_t *data)
{
	fwrite(data, 1, len, ((struct proto_buffer *)buffer)->out);
}

void proto_put(FILE *out, const ProtobufCMessage *message)
{
	struct proto_buffer buffer = {.base.append = append, .out = out};

	protobuf_c_message_pack_to_buffer(message, &buffer.base);
}

/* --- gzip ------------------------------------------------------------------------------------ */

struct gzip {
	z_stream z;
	FILE *out;
	unsigned char bytes[65536];
};

/* 0 or an error of errno. */
static int compress_some(struct gzip *g, int flush)
{
	do {
		size_t cnt;

		g->z.next_out = g->bytes;
		g->z.avail_out = sizeof(g->bytes);
		if (deflate(&g->z, flush) == Z_STREAM_ERROR)
			return EIO;
		cnt = sizeof(g->bytes) - g->z.avail_out;
		if (fwrite(g->bytes, 1, cnt, g->out) != cnt)
			return EIO;
	} while (!g->z.avail_out);
	return 0;
}

static ssize_t gzip_write(void *cookie, const char *bytes, size_t cnt)
{
	struct gzip *g = cookie;

	if (cnt > INT_MAX)
		cnt = INT_MAX;
	g->z.next_in = (unsigned char *)bytes;
	g->z.avail_in = (unsigned int)cnt;
	errno = compress_some(g, Z_NO_FLUSH);
	return errno ? 0 : (ssize_t)cnt;
}

static int gzip_close(void *cookie)
{
	struct gzip *g = cookie;
	int err;

	g->z.avail_in = 0;
	err = compress_some(g, Z_FINISH);
	deflateEnd(&g->z);
	free(g);
	errno = err;
	return err ? -1 : 0;
}

FILE *gzip_open(FILE *out)
{
	static const cookie_io_functions_t functions = {.write = gzip_write, .close = gzip_close};
	struct gzip *g = calloc(1, sizeof(*g));
	FILE *stream;

	/* 15 + 16: the largest window, and gzip's header and trailer (zlib.h). */
	if (!g || deflateInit2(&g->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
			       Z_DEFAULT_STRATEGY) != Z_OK) {
		free(g);
		errno = ENOMEM;
		return NULL;
	}
	g->out = out;
	stream = fopencookie(g, "w", functions);
	if (!stream) {
		deflateEnd(&g->z);
		free(g);
		errno = ENOMEM;
	}
	return stream;
}

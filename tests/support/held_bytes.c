/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "held_bytes.h"

#include <errno.h>
#include <string.h>

ssize_t held_bytes_read(void *source, void *buf, size_t len, uint64_t offset)
{
	struct held_bytes *b = source;

	b->reads++;
	if (b->fail_at && offset + len > b->fail_at)
		return -EIO;
	if (offset >= b->len)
		return 0;
	if (len > b->len - offset)
		len = b->len - offset;
	memcpy(buf, b->data + offset, len);
	return (ssize_t)len;
}

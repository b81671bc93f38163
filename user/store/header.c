/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The header of a database file, read without SQLite. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "store/private.h"

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

int file_header_read(int fd, struct file_header *ret_header)
{
	uint8_t bytes[100];
	ssize_t n = pread(fd, bytes, sizeof(bytes), 0);

	if (n < 0)
		return errno == EISDIR ? -EINVAL : -errno;
	if (n != sizeof(bytes) || memcmp(bytes, "SQLite format 3", 16) != 0)
		return -EINVAL;
	*ret_header = (struct file_header){
		.rollback_journal = bytes[18] == 1 && bytes[19] == 1,
		.change_counter = be32(bytes + 24),
		.utf8 = be32(bytes + 56) == 1,
		.user_version = be32(bytes + 60),
		.application_id = be32(bytes + 68),
	};
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "drive.h"

int drive_read_stands(struct drive *d, const struct stand_look *look, const uint32_t *tgids,
		      size_t cnt, stands_take_fn take, void *ctx)
{
	static char buffer[1u << 17];
	int fd = session_open_stands(d->s, look, tgids, cnt);
	size_t have = 0;
	ssize_t n = 1;

	if (fd < 0)
		return fd;
	while (n) {
		ssize_t done;

		n = read(fd, buffer + have, sizeof(buffer) - have);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		cr_assert_geq(n, 0, "%s", strerror(errno));
		have += (size_t)n;
		done = session_take_stands(buffer, have, take, ctx);
		cr_assert_geq(done, 0);
		have -= (size_t)done;
		memmove(buffer, buffer + done, have);
	}
	close(fd);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

int notify(const char *lines)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = -1;
	size_t len = path ? strlen(path) : 0;

	if (!len)
		return 0;
	if ((*path != '/' && *path != '@') || len >= sizeof(to.sun_path))
		return -EINVAL;
	memcpy(to.sun_path, path, len);
	if (*path == '@') /* abstract */
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || sendto(fd, lines, strlen(lines), MSG_NOSIGNAL, (struct sockaddr *)&to,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
		return -errno;
	return 0;
}

uint64_t notify_interval_ns(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t value;

	if (!usec || text_parse_u64(usec, 1, UINT64_MAX / 1000, &value))
		return 0;
	if (pid && strtoul(pid, NULL, 10) != (unsigned long)getpid())
		return 0;
	return value * 1000 / 2;
}

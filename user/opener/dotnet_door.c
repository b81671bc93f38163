/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/dotnet_door.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "opener/guard.h"

int dotnet_door_directory(const struct dotnet_door *door, const char *path)
{
	_cleanup_close_ int cwd_fd = -1;

	if (*path == '/')
		return guard_look(door->root_fd, path, true);
	cwd_fd = openat(door->process_fd, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return cwd_fd < 0 ? -errno : guard_look(cwd_fd, path, true);
}

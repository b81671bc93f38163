/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OPENER_DOTNET_DOOR_H
#define HOTRUN_OPENER_DOTNET_DOOR_H
/*
 * A .NET process whose directories are open, and the way from there to directories as it names
 * them. Runs in the helper process (opener.h) only.
 */
#include <stdint.h>

#include "perfmap/maps/locate.h"

struct dotnet_door {
	int process_fd, root_fd; /* borrowed */
	const struct perfmap_target *target;
	uint64_t start_ticks, started_wall_ns;
};

/* Opens a directory as the process names it: absolute, or from where it works. Or -errno. */
int dotnet_door_directory(const struct dotnet_door *door, const char *path);
#endif

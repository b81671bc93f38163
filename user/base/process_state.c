/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/process_state.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

bool process_is_runnable(pid_t pid)
{
	char path[48], stat[256], *end;
	_cleanup_close_ int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	n = fd < 0 ? -1 : read(fd, stat, sizeof(stat) - 1);
	if (n <= 0)
		return false;
	stat[n] = '\0';
	end = strrchr(stat, ')');
	return end && !strncmp(end, ") R", 3);
}

uint64_t process_cpu_ns(pid_t pid)
{
	clockid_t clock;

	return pid <= 0 || clock_getcpuclockid(pid, &clock) ? 0 : clock_ns(clock);
}

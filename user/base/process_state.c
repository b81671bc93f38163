/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/process_state.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* A short file of /proc/PID; "" where there is none. */
static void read_of(pid_t pid, const char *name, char *text, size_t bytes)
{
	char path[48];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	n = fd < 0 ? -1 : read(fd, text, bytes - 1);
	text[n > 0 ? n : 0] = '\0';
}

bool process_is_runnable(pid_t pid)
{
	char stat[256], *end;

	read_of(pid, "stat", stat, sizeof(stat));
	end = strrchr(stat, ')');
	return end && !strncmp(end, ") R", 3);
}

struct process_turns process_turns_of(pid_t tid)
{
	struct process_turns t = {.cpu_ns = process_cpu_ns(tid)};
	char text[96];

	/* First, what ends when it stops to want a CPU. */
	t.runnable = process_is_runnable(tid);
	read_of(tid, "schedstat", text, sizeof(text));
	if (sscanf(text, "%*u %" SCNu64 " %" SCNu64, &t.delay_ns, &t.turns) != 2)
		t.delay_ns = t.turns = 0;
	return t;
}

uint64_t process_cpu_ns(pid_t pid)
{
	clockid_t clock;

	return pid <= 0 || clock_getcpuclockid(pid, &clock) ? 0 : clock_ns(clock);
}

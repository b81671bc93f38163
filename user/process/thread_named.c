/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/thread_named.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define COMM_BYTES 64

static bool is_called(int task_fd, const char *tid, const char *comm)
{
	char path[64], text[COMM_BYTES];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%.20s/comm", tid);
	fd = openat(task_fd, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return !strcmp(text, comm);
}

uint32_t thread_named(const char *proc_path, uint32_t tgid, const char *comm)
{
	char path[320];
	struct dirent *entry;
	unsigned seen = 0;
	uint32_t tid = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%u/task", proc_path, tgid);
	dir = opendir(path);
	while (dir && !tid && seen < THREAD_NAMED_MAX && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		seen++;
		if (is_called(dirfd(dir), entry->d_name, comm))
			tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
	}
	if (dir)
		closedir(dir);
	return tid;
}

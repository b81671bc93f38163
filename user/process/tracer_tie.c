/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/tracer_tie.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "opener/guard.h"
#include "opener/proc_stat.h"
#include "process/left_behind.h"

#define STATUS_BYTES 8192
#define CGROUP_BYTES 65536 /* a dozen hierarchies with paths of PATH_MAX */

/* What its status tells. 0 or -errno. */
static int read_status(const char *proc_path, uint32_t tid, char text[static STATUS_BYTES],
		       struct left_status *ret_status)
{
	_cleanup_close_ int fd = guard_process(proc_path, tid);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = guard_read(fd, "status", text, STATUS_BYTES);
	return n < 0 ? (int)n : left_status_parse(text, ret_status);
}

/* Whether a thread that traces is one of the tracer's. */
static bool is_thread_of(const char *proc_path, uint32_t tid, uint32_t tgid)
{
	char text[STATUS_BYTES];
	struct left_status status;

	return tid == tgid ||
	       (tid && !read_status(proc_path, tid, text, &status) && status.tgid == tgid);
}

/* A child of the tracer that it does not trace. */
static bool is_other_child(const char *proc_path, uint32_t tgid, uint32_t child)
{
	_cleanup_close_ int fd = guard_process(proc_path, child);
	char text[STATUS_BYTES];
	struct left_status status;
	struct proc_stat stat;

	/* Those that end meanwhile are none. */
	if (fd < 0 || proc_stat_read(fd, &stat) || stat.parent_tgid != tgid ||
	    proc_stat_ended(&stat))
		return false;
	return read_status(proc_path, child, text, &status) ||
	       !is_thread_of(proc_path, status.tracer, tgid);
}

static int find_other_child(const char *proc_path, uint32_t tgid, uint32_t *ret_child)
{
	DIR *dir = opendir(proc_path);
	const struct dirent *entry;
	uint64_t child;

	*ret_child = 0;
	if (!dir)
		return -errno;
	while (!*ret_child && (entry = readdir(dir)))
		if (!text_parse_u64(entry->d_name, 1, UINT32_MAX, &child) &&
		    is_other_child(proc_path, tgid, (uint32_t)child))
			*ret_child = (uint32_t)child;
	closedir(dir);
	return 0;
}

/* Whether it is in another group than its parent: then it is the first there. */
static bool is_first_of_group(const char *proc_path, int process_fd, uint32_t parent)
{
	_cleanup_close_ int parent_fd = parent ? guard_process(proc_path, parent) : -1;
	_cleanup_free_ char *own = malloc(CGROUP_BYTES), *above = malloc(CGROUP_BYTES);

	if (!own || !above || parent_fd < 0 ||
	    guard_read(process_fd, "cgroup", own, CGROUP_BYTES) < 0 ||
	    guard_read(parent_fd, "cgroup", above, CGROUP_BYTES) < 0)
		return true;
	return strcmp(own, above) != 0;
}

/* The first of a pid namespace below ours: "NSpid:\t4711\t1". */
static bool is_first_of_namespace(const char *status)
{
	const char *at = strstr(status, "\nNSpid:"), *end, *last;

	if (!at)
		return false;
	end = at + 1 + strcspn(at + 1, "\n");
	for (last = end; last > at && last[-1] != '\t' && last[-1] != ' '; last--)
		;
	return end - last == 1 && *last == '1';
}

int tracer_tie_read(const char *proc_path, uint32_t tgid, bool is_parent, enum tracer_tie *ret_tie,
		    uint32_t *ret_child)
{
	_cleanup_close_ int fd = guard_process(proc_path, tgid);
	char status[STATUS_BYTES];
	struct proc_stat stat;
	uint32_t child = 0;
	int err;

	if (fd < 0)
		return fd;
	err = proc_stat_read(fd, &stat);
	if (!err && guard_read(fd, "status", status, sizeof(status)) < 0)
		err = -ESRCH;
	if (!err)
		err = find_other_child(proc_path, tgid, &child);
	if (err)
		return err;
	*ret_child = child;
	/* A service manager starts what it runs as the leader of a session. */
	if (child)
		*ret_tie = TRACER_HAS_CHILDREN;
	else if (is_first_of_namespace(status) || (stat.parent_tgid <= 1 && stat.session == tgid) ||
		 (is_parent && is_first_of_group(proc_path, fd, stat.parent_tgid)))
		*ret_tie = TRACER_IS_MAIN;
	else
		*ret_tie = TRACER_FREE;
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "opener/guard.h"

#define STATUS_BYTES  8192
#define CMDLINE_BYTES 16384 /* the assembly stands near the front */
#define CGROUP_BYTES  65536 /* a dozen hierarchies with paths of PATH_MAX */
#define MAPS_CHUNK    65536
/* Of maps: 65,530 mappings, the kernel's default bound, of names that are not there to make them
 * long. What is beyond is cut, as with too many of them. */
#define MAPS_BYTES (8u << 20)

uint32_t proc_parse_ns_pid(const char *text)
{
	const char *line = strstr(text, "\nNStgid:"), *end;
	unsigned long value = 0;

	if (!line)
		return 0;
	line += strlen("\nNStgid:");
	end = line + strcspn(line, "\n");
	while (line < end) {
		char *after;
		unsigned long v;

		line += strspn(line, " \t");
		v = strtoul(line, &after, 10);
		if (after == line)
			break;
		value = v;
		line = after;
	}
	return value <= UINT32_MAX ? (uint32_t)value : 0;
}

uint32_t proc_parse_uid(const char *text)
{
	const char *line = strstr(text, "\nUid:");
	unsigned int uid;

	return line && sscanf(line, "\nUid: %u", &uid) == 1 ? uid : UINT32_MAX;
}

static int add_path(struct proc_facts *f, const char *path, size_t len, size_t *ret_offset)
{
	size_t wanted = len + 1;

	if (f->paths_len + wanted > PROC_PATHS_MAX)
		return -ENOSPC;
	while (f->paths_cap - f->paths_len < wanted) {
		size_t cap = f->paths_cap ? f->paths_cap * 2 : 16384;
		char *p = realloc(f->paths, cap);

		if (!p)
			return -ENOMEM;
		f->paths = p;
		f->paths_cap = cap;
	}
	*ret_offset = f->paths_len;
	maps_unescape(path, len, f->paths + f->paths_len, wanted);
	f->paths_len += wanted;
	return 0;
}

static int add_line(struct proc_facts *f, const char *text, size_t len)
{
	struct maps_line line;
	struct proc_mapping *map;

	if (maps_parse(text, len, &line) || !line.executable)
		return 0;
	if (f->mappings_cnt >= MODEL_MAX_MAPPINGS)
		return -ENOSPC;
	if (GROW(f->mappings, f->mappings_cnt, f->mappings_cap))
		return -ENOMEM;
	map = &f->mappings[f->mappings_cnt];
	*map = (struct proc_mapping){
		.start = line.start,
		.end = line.end,
		.file_offset = line.file_offset,
		.dev = line.dev,
		.inode = line.inode,
	};
	/* Neighbours are often of the same file. */
	if (f->mappings_cnt && line.path_len &&
	    !strncmp(f->paths + map[-1].path, line.path, line.path_len) &&
	    !f->paths[map[-1].path + line.path_len])
		map->path = map[-1].path;
	else if (add_path(f, line.path, line.path_len, &map->path))
		return -ENOSPC;
	f->mappings_cnt++;
	return 0;
}

/* Reads maps in pieces and keeps the executable lines. */
static void read_mappings(int process_fd, struct proc_facts *f)
{
	_cleanup_close_ int fd = openat(process_fd, "maps", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	_cleanup_free_ char *buf = malloc(MAPS_CHUNK);
	size_t len = 0, left = MAPS_BYTES;

	if (fd < 0 || !buf)
		return;
	for (;;) {
		ssize_t n = read(fd, buf + len, MAPS_CHUNK - len);
		char *line = buf, *newline;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		if ((size_t)n > left) {
			f->mappings_cut = true;
			return;
		}
		left -= (size_t)n;
		len += (size_t)n;
		while ((newline = memchr(line, '\n', len - (size_t)(line - buf)))) {
			if (add_line(f, line, (size_t)(newline - line))) {
				f->mappings_cut = true;
				return;
			}
			line = newline + 1;
		}
		len -= (size_t)(line - buf);
		if (len == MAPS_CHUNK) /* a line longer than any that the kernel writes */
			return;
		memmove(buf, line, len);
	}
}

static void read_exe(int process_fd, struct proc_facts *f)
{
	ssize_t n = readlinkat(process_fd, "exe", f->exe, sizeof(f->exe) - 1);
	size_t len;

	f->exe[n > 0 ? n : 0] = '\0';
	if (n > 0 && maps_deleted(f->exe, (size_t)n, &len))
		f->exe[len] = '\0';
}

static void read_entry(int process_fd, struct proc_facts *f)
{
	_cleanup_free_ char *cmdline = NULL;
	ssize_t n;

	if (!entry_is_host(f->exe))
		return;
	cmdline = malloc(CMDLINE_BYTES);
	if (!cmdline)
		return;
	n = guard_read(process_fd, "cmdline", cmdline, CMDLINE_BYTES);
	entry_name(f->exe, cmdline, n > 0 ? (size_t)n : 0, f->entry);
}

static void read_cgroup(int process_fd, struct proc_facts *f)
{
	_cleanup_free_ char *text = malloc(CGROUP_BYTES);
	ssize_t n;

	if (!text)
		return;
	n = guard_read(process_fd, "cgroup", text, CGROUP_BYTES);
	if (n > 0)
		cgroup_parse(text, (size_t)n, &f->cgroup);
}

static void run(struct loader_job *base)
{
	struct proc_job *job = (struct proc_job *)base;
	_cleanup_close_ int process_fd = target_process_open_stat(&job->target, &job->facts.stat);
	char status[STATUS_BYTES];

	if (process_fd < 0) {
		job->error = process_fd;
		return;
	}
	job->facts.uid = UINT32_MAX;
	if (guard_read(process_fd, "status", status, sizeof(status)) > 0) {
		job->facts.ns_pid = proc_parse_ns_pid(status);
		job->facts.uid = proc_parse_uid(status);
	}
	read_cgroup(process_fd, &job->facts);
	if (job->facts.stat.kernel)
		return;
	read_exe(process_fd, &job->facts);
	read_entry(process_fd, &job->facts);
	if (job->want_mappings)
		read_mappings(process_fd, &job->facts);
}

static void release(struct loader_job *base)
{
	struct proc_job *job = (struct proc_job *)base;

	free(job->facts.mappings);
	free(job->facts.paths);
	free(job);
}

struct proc_job *proc_job_new(const struct target_process *target, bool want_mappings)
{
	struct proc_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->base.run = run;
	job->base.release = release;
	job->target = *target;
	cgroup_parse("", 0, &job->facts.cgroup);
	job->want_mappings = want_mappings;
	return job;
}

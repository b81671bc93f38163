/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/file_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "names/guard.h"
#include "names/symbol.h"

#define DEBUG_FOLDER "/usr/lib/debug/.build-id/" /* gdb's convention, also debuginfo packages' */
#define PATH_BYTES   4096

static int host_root(void)
{
	return open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool same_build_id(const struct elf_identity *id, const struct model_module *module)
{
	return id->build_id_len && id->build_id_len == module->build_id_len &&
	       !memcmp(id->build_id, module->build_id, id->build_id_len);
}

/* Images have no build id. */
static enum model_reason read_identity(struct file_job *job, int fd)
{
	struct stat st;

	if (!job->is_image)
		return elf_identify(fd, &job->identity);
	if (fstat(fd, &st))
		return REASON_FILE_MALFORMED;
	job->identity = (struct elf_identity){
		.dev = st.st_dev,
		.inode = st.st_ino,
		.size_bytes = (uint64_t)st.st_size,
		.mtime_ns =
			(uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec,
	};
	return REASON_NAMED;
}

/*
 * Whether an opened file is the mapped one. The device is no help: overlayfs and btrfs show one in
 * maps and another in stat.
 */
static enum model_reason identify(struct file_job *job, int fd, bool must_know)
{
	enum model_reason reason = read_identity(job, fd);

	if (reason)
		return reason;
	if (job->module.build_id_len)
		return same_build_id(&job->identity, &job->module) ? REASON_NAMED
								   : REASON_FILE_CHANGED;
	if (must_know)
		return REASON_FILE_CHANGED;
	if (job->module.inode && job->module.inode != job->identity.inode)
		return REASON_FILE_CHANGED;
	return REASON_NAMED;
}

/* By path below the process's root; failing that the mapped file itself, which also reaches deleted
 * files and tells apart what overlayfs hides. */
static enum model_reason open_in_process(struct file_job *job, int process_fd)
{
	_cleanup_close_ int root_fd = guard_root(process_fd), fd = -1;
	enum model_reason reason = REASON_FILE_GONE;
	struct stat st;

	if (root_fd >= 0)
		reason = guard_open(root_fd, job->path, ELF_FILE_BYTES_MAX, &fd, &st);
	else if (root_fd == -EACCES || root_fd == -EPERM)
		reason = REASON_FILE_DENIED;
	if (!reason) {
		reason = identify(job, fd, false);
		if (!reason) {
			job->fd = take_fd(&fd);
			return REASON_NAMED;
		}
	}
	if (reason != REASON_FILE_GONE && reason != REASON_FILE_CHANGED)
		return reason;
	if (fd >= 0)
		close(take_fd(&fd));
	if (guard_open_mapped(process_fd, job->start, job->end, ELF_FILE_BYTES_MAX, &fd, &st))
		return reason;
	reason = read_identity(job, fd);
	if (!reason)
		job->fd = take_fd(&fd);
	return reason;
}

static enum model_reason open_on_host(struct file_job *job)
{
	_cleanup_close_ int root_fd = host_root(), fd = -1;
	struct stat st;

	if (root_fd < 0 || !job->module.build_id_len ||
	    guard_open(root_fd, job->path, ELF_FILE_BYTES_MAX, &fd, &st) || identify(job, fd, true))
		return REASON_PROCESS_GONE;
	job->fd = take_fd(&fd);
	return REASON_NAMED;
}

static enum model_reason open_step(struct file_job *job)
{
	_cleanup_close_ int process_fd = asker_open(&job->target);

	if (process_fd >= 0) {
		enum model_reason reason = open_in_process(job, process_fd);

		/* A dying process has lost its root already. */
		if (reason != REASON_FILE_GONE && reason != REASON_PROCESS_GONE)
			return reason;
		return open_on_host(job) ? reason : REASON_NAMED;
	}
	if (process_fd == -EACCES || process_fd == -EPERM)
		return REASON_FILE_DENIED;
	return open_on_host(job);
}

static bool add_debug(struct file_job *job, int root_fd, const char *path)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (root_fd < 0 || guard_open(root_fd, path, ELF_FILE_BYTES_MAX, &fd, &st))
		return false;
	return elf_add_debug(job->table, fd) == REASON_NAMED;
}

/* /usr/lib/debug/.build-id/xx/yyyy.debug, then the file named by .gnu_debuglink beside this one. */
static void find_debug_file(struct file_job *job)
{
	_cleanup_close_ int process_fd = asker_open(&job->target), host_fd = host_root();
	_cleanup_close_ int root_fd = process_fd < 0 ? -1 : guard_root(process_fd);
	const struct elf_identity *id = &job->identity;
	const char *slash = strrchr(job->path, '/');
	char path[PATH_BYTES];
	size_t n;

	n = (size_t)snprintf(path, sizeof(path), DEBUG_FOLDER "%02x/", id->build_id[0]);
	for (unsigned i = 1; i < id->build_id_len; i++)
		n += (size_t)snprintf(path + n, sizeof(path) - n, "%02x", id->build_id[i]);
	snprintf(path + n, sizeof(path) - n, ".debug");
	if (add_debug(job, root_fd, path) || add_debug(job, host_fd, path))
		return;
	if (!job->table->debuglink[0] || !slash)
		return;
	if (snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - job->path), job->path,
		     job->table->debuglink) < (int)sizeof(path) &&
	    add_debug(job, root_fd, path))
		return;
	if (snprintf(path, sizeof(path), "%.*s/.debug/%s", (int)(slash - job->path), job->path,
		     job->table->debuglink) < (int)sizeof(path))
		add_debug(job, root_fd, path);
}

static ssize_t read_at(void *source, void *buf, size_t len, uint64_t offset)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(*(const int *)source, (char *)buf + done, len - done,
				  (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static enum model_reason load_image(struct file_job *job)
{
	switch (perfmap_image_load(read_at, &job->fd, &job->image)) {
	case 0:
		return REASON_NAMED;
	case -E2BIG:
	case -ENOMEM:
		return REASON_LIMIT;
	default:
		return REASON_FILE_MALFORMED;
	}
}

static void run(struct loader_job *base)
{
	struct file_job *job = (struct file_job *)base;

	if (job->step == FILE_STEP_OPEN) {
		job->reason = open_step(job);
		return;
	}
	if (job->is_image) {
		job->reason = load_image(job);
		return;
	}
	job->reason = elf_load(job->fd, &job->identity, &job->table);
	if (!job->reason && !job->table->has_symtab && job->identity.build_id_len > 1)
		find_debug_file(job);
}

static void release(struct loader_job *base)
{
	struct file_job *job = (struct file_job *)base;

	if (job->fd >= 0)
		close(job->fd);
	elf_free(job->table);
	perfmap_image_free(job->image);
	free(job->path);
	free(job);
}

struct file_job *file_job_new(const struct asker_target *target, const struct model_module *module,
			      const struct model_mapping *mapping)
{
	struct file_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->base.run = run;
	job->base.release = release;
	job->step = FILE_STEP_OPEN;
	job->target = *target;
	job->module = *module;
	job->start = mapping->start;
	job->end = mapping->end;
	job->is_image = symbol_is_image(module->path);
	job->fd = -1;
	job->path = strdup(module->path);
	if (!job->path) {
		free(job);
		return NULL;
	}
	return job;
}

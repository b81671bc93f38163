/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/file_job.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

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

/* Of the part of the file that the image takes. */
static ssize_t read_inside(void *source, void *buf, size_t len, uint64_t offset)
{
	struct file_job *job = source;

	if (!job->inside_bytes)
		return read_at(&job->fd, buf, len, offset);
	if (offset >= job->inside_bytes)
		return 0;
	if (len > job->inside_bytes - offset)
		len = job->inside_bytes - offset;
	return read_at(&job->fd, buf, len, job->inside + offset);
}

static enum model_reason load_image(struct file_job *job)
{
	switch (perfmap_image_load(read_inside, job, &job->image)) {
	case 0:
		return REASON_NAMED;
	case -E2BIG:
	case -ENOMEM:
		return REASON_LIMIT;
	default:
		return REASON_FILE_MALFORMED;
	}
}

/* A bundle that is not there or not readable leaves the table without one. */
static enum model_reason load_elf(struct file_job *job)
{
	enum model_reason reason = elf_load(job->fd, &job->identity, &job->table);

	if (!reason)
		perfmap_bundle_load(read_at, &job->fd, &job->bundle);
	return reason;
}

static enum model_reason load_bundle(struct file_job *job)
{
	switch (perfmap_bundle_load(read_at, &job->fd, &job->bundle)) {
	case 0:
		return REASON_NAMED;
	case -ENOENT:
		return REASON_NO_SYMBOL;
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

	if (job->table && job->debug_fd >= 0)
		job->reason = elf_add_debug(job->table, job->debug_fd);
	else if (job->table)
		job->reason = elf_add_debugdata(job->table, job->fd);
	else if (job->kind == FILE_IMAGE)
		job->reason = load_image(job);
	else if (job->kind == FILE_BUNDLE)
		job->reason = load_bundle(job);
	else if (job->kind == FILE_COMPONENT)
		job->reason = perfmap_component_load(read_inside, job, &job->component)
				      ? REASON_FILE_MALFORMED
				      : REASON_NAMED;
	else
		job->reason = load_elf(job);
}

static void release(struct loader_job *base)
{
	struct file_job *job = (struct file_job *)base;

	close(job->fd);
	if (job->debug_fd >= 0)
		close(job->debug_fd);
	elf_free(job->table);
	perfmap_bundle_free(job->bundle);
	perfmap_image_free(job->image);
	perfmap_component_free(job->component);
	free(job);
}

struct file_job *file_job_new(int fd, enum file_kind kind, const struct elf_identity *identity)
{
	struct file_job *job = calloc(1, sizeof(*job));

	if (!job) {
		close(fd);
		errno = ENOMEM;
		return NULL;
	}
	job->base.run = run;
	job->base.release = release;
	job->fd = fd;
	job->debug_fd = -1;
	job->kind = kind;
	job->identity = *identity;
	return job;
}

void file_job_give(struct file_job *job, int fd)
{
	if (job->debug_fd >= 0)
		close(job->debug_fd);
	job->debug_fd = fd;
}

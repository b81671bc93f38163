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

	if (job->table && job->debug_fd >= 0)
		job->reason = elf_add_debug(job->table, job->debug_fd);
	else if (job->table)
		job->reason = elf_add_debugdata(job->table, job->fd);
	else if (job->is_image)
		job->reason = load_image(job);
	else
		job->reason = elf_load(job->fd, &job->identity, &job->table);
}

static void release(struct loader_job *base)
{
	struct file_job *job = (struct file_job *)base;

	close(job->fd);
	if (job->debug_fd >= 0)
		close(job->debug_fd);
	elf_free(job->table);
	perfmap_image_free(job->image);
	free(job);
}

struct file_job *file_job_new(int fd, bool is_image, const struct elf_identity *identity)
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
	job->is_image = is_image;
	job->identity = *identity;
	return job;
}

void file_job_give(struct file_job *job, int fd)
{
	if (job->debug_fd >= 0)
		close(job->debug_fd);
	job->debug_fd = fd;
}

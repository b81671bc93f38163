/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/map_job.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "perfmap/locate.h"

/* include/uapi/linux/magic.h has it under another name since 6.2 only. */
#define XFS_MAGIC 0x58465342

/* Chunks of 64 MiB that one advance reads at the most; the rest follows at the next look. */
#define ADVANCES_MAX 4

/* Not overlayfs: anybody may lay one over a FUSE file system in a user namespace. */
static bool is_local(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return false;
	switch ((unsigned long)fs.f_type) {
	case TMPFS_MAGIC:
	case EXT4_SUPER_MAGIC:
	case XFS_MAGIC:
	case BTRFS_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

/* The start in wall-clock time, to tell maps of earlier processes of the same id. */
static uint64_t started_wall_ns(uint64_t start_ns)
{
	struct timespec wall, boot;

	if (clock_gettime(CLOCK_REALTIME, &wall) || clock_gettime(CLOCK_BOOTTIME, &boot))
		return 0;
	return (uint64_t)(wall.tv_sec - boot.tv_sec) * 1000000000u +
	       (uint64_t)(wall.tv_nsec - boot.tv_nsec) + start_ns;
}

static int open_map(struct map_job *job)
{
	_cleanup_close_ int process_fd = asker_open(&job->target);
	_cleanup_free_ struct perfmap_target *target = malloc(sizeof(*target));
	_cleanup_free_ struct perfmap_file *file = malloc(sizeof(*file));
	int err;

	if (process_fd < 0)
		return process_fd;
	if (!target || !file)
		return -ENOMEM;
	err = perfmap_target_read(process_fd, target);
	if (!err)
		err = perfmap_locate(process_fd, target, started_wall_ns(job->target.start_ns),
				     file);
	if (err)
		return err;
	job->local = is_local(file->fd);
	job->fd = file->fd;
	job->tail = perfmap_tail_new(file->fd);
	return job->tail ? 0 : -ENOMEM;
}

static int advance(struct map_job *job)
{
	size_t bytes = PERFMAP_ADVANCE_BYTES_MAX;
	int err = 0;

	job->grown = false;
	for (int i = 0; i < ADVANCES_MAX && !err && bytes == PERFMAP_ADVANCE_BYTES_MAX; i++) {
		err = perfmap_tail_advance(job->tail, job->seen_ns, &bytes);
		job->grown |= !err && bytes;
	}
	return err;
}

static void run(struct loader_job *base)
{
	struct map_job *job = (struct map_job *)base;

	switch (job->step) {
	case MAP_STEP_OPEN:
		job->error = open_map(job);
		break;
	case MAP_STEP_ADVANCE:
		job->error = advance(job);
		break;
	case MAP_STEP_NAME:
		job->error = perfmap_tail_name(job->tail, &job->hit, job->name, sizeof(job->name),
					       &job->name_len);
		break;
	}
}

static void release(struct loader_job *base)
{
	struct map_job *job = (struct map_job *)base;

	perfmap_tail_free(job->tail);
	free(job);
}

struct map_job *map_job_new(const struct asker_target *target)
{
	struct map_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->base.run = run;
	job->base.release = release;
	job->target = *target;
	return job;
}

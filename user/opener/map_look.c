/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/map_look.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "opener/file_look.h"
#include "opener/guard.h"
#include "opener/symbol_look.h"
#include "perfmap/maps/map.h"

/* include/uapi/linux/magic.h has it under another name since 6.2 only. */
#define XFS_MAGIC 0x58465342

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

/* --- perf maps -------------------------------------------------------------------------------- */

/* Whose last reference may be ours: its end must not wait for anybody. That of a FUSE file system
 * which somebody laid an overlay over does not; only root mounts those where it would. */
static bool is_keepable(int fd)
{
	struct statfs fs;

	return is_local(fd) || (!fstatfs(fd, &fs) && fs.f_type == OVERLAYFS_SUPER_MAGIC);
}

/* To keep it: a descriptor whose end waits for nobody. -1: not on such a file system. */
static int kept_map(int fd)
{
	char self[32];

	if (!is_keepable(fd))
		return -1;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return open(self, O_PATH | O_CLOEXEC);
}

/* Takes the file, and gives what was asked for: to a worker, unless that knows all of it
 * already. */
static int give_map(const struct map_use *use, const struct perfmap_file *file, int way_fd,
		    struct file_reply *reply, int *ret_fd)
{
	_cleanup_close_ int fd = file->fd;

	reply->map.dev = file->dev;
	reply->map.ino = file->ino;
	reply->map.size_bytes = file->size_bytes;
	reply->map.local = is_local(fd);
	if (use->to_worker && use->known_bytes && reply->map.size_bytes == use->known_bytes)
		reply->map.nothing_new = true;
	else if (use->to_worker)
		return file_look_deliver(way_fd, fd);
	else
		*ret_fd = reply->map.local ? take_fd(&fd) : kept_map(fd);
	return 0;
}

/* The map itself, which was kept. */
static int look_same(const struct same_map_request *request, int map_fd, int way_fd,
		     struct file_reply *reply, int *ret_fd)
{
	static struct perfmap_file file; /* large; one thread here */
	struct stat st;
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", map_fd);
	if (fstat(map_fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > PERFMAP_FILE_BYTES_MAX)
		return -EFBIG;
	file.fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (file.fd < 0)
		return -errno;
	file.dev = st.st_dev;
	file.ino = st.st_ino;
	file.size_bytes = (uint64_t)st.st_size;
	return give_map(&request->use, &file, way_fd, reply, ret_fd);
}

static int look_in_kept(const struct file_request *request, int directory_fd, int way_fd,
			struct file_reply *reply, int *ret_fd)
{
	struct perfmap_target *target = calloc(1, sizeof(*target));
	static struct perfmap_file file;
	int err;

	if (!target)
		return -ENOMEM;
	target->ns_pid = request->kept_map.ns_pid;
	target->euid = request->kept_map.euid;
	err = perfmap_locate_in(directory_fd, target, target_process_wall_ns(&request->target),
				&file);
	free(target);
	if (err)
		return err;
	err = give_map(&request->kept_map.use, &file, way_fd, reply, ret_fd);
	/* It will not be found again but by its descriptor. */
	return err || *ret_fd >= 0 || request->kept_map.use.to_worker ? err : -ENOTSUP;
}

static int look_at_path(const struct file_request *request, int way_fd, struct file_reply *reply,
			int *ret_fd)
{
	static struct perfmap_target target; /* large; one thread here */
	static struct perfmap_file file;
	_cleanup_close_ int process_fd = target_process_open(&request->target);
	int err;

	if (process_fd < 0)
		return process_fd;
	err = target_process_read(process_fd, &request->map.env, &target);
	if (!err)
		err = perfmap_locate(process_fd, &target, target_process_wall_ns(&request->target),
				     &file);
	return err ? err : give_map(&request->map.use, &file, way_fd, reply, ret_fd);
}

static int look_in_symbols(const struct symbol_map_request *request, int way_fd,
			   struct file_reply *reply, int *ret_fd)
{
	static struct perfmap_file file; /* large; one thread here */
	int err = symbol_map_open(request, &file);

	return err ? err : give_map(&request->use, &file, way_fd, reply, ret_fd);
}

int map_look(const struct file_request *request, int give_fd, int way_fd, struct file_reply *reply,
	     int *ret_fd)
{
	switch (request->kind) {
	case FILE_REQUEST_KEPT_MAP:
		return look_in_kept(request, give_fd, way_fd, reply, ret_fd);
	case FILE_REQUEST_SAME_MAP:
		return look_same(&request->same_map, give_fd, way_fd, reply, ret_fd);
	case FILE_REQUEST_SYMBOL_MAP:
		return look_in_symbols(&request->symbol_map, way_fd, reply, ret_fd);
	default:
		return look_at_path(request, way_fd, reply, ret_fd);
	}
}

/* --- directories that are kept ---------------------------------------------------------------- */

int map_look_directory(const struct file_request *request, struct file_reply *reply, int *ret_fd)
{
	static struct perfmap_target target; /* large; one thread here */
	_cleanup_close_ int process_fd = target_process_open(&request->target), fd = -1;
	unsigned place = request->directory.place;
	struct statx st;
	int err;

	if (process_fd < 0)
		return process_fd;
	err = target_process_read(process_fd, &request->directory.env, &target);
	if (err)
		return err;
	reply->directory.ns_pid = target.ns_pid;
	reply->directory.euid = target.euid;
	fd = place ? perfmap_directory(process_fd, &target, place - 1) : guard_root(process_fd);
	if (fd < 0)
		return fd;
	if (!is_keepable(fd))
		return -ENOTSUP;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &st))
		return -errno;
	reply->directory.dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	reply->directory.ino = st.stx_ino;
	reply->directory.mount = st.stx_mnt_id;
	*ret_fd = take_fd(&fd);
	return 0;
}

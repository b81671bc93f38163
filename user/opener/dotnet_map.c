/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/dotnet_map.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "opener/file_writer.h"
#include "opener/guard.h"

/* Descriptors that are looked through; a soft limit of a million is allowed to a service. */
#define DESCRIPTORS_MAX 100000u

/* --- whether the runtime has it open ---------------------------------------------------------- */

enum writing { WRITING_UNKNOWN, WRITING_NOT, WRITING_IT, WRITING_DELETED };

/* Paths of other mount namespaces are shown as far as the kernel can, so the name alone counts. */
static bool is_map_name(const char *path, uint32_t ns_pid, bool *ret_deleted)
{
	static const char mark[] = " (deleted)";
	const char *base = strrchr(path, '/');
	char name[32];
	size_t n = (size_t)snprintf(name, sizeof(name), "perf-%u.map", ns_pid);

	base = base ? base + 1 : path;
	if (strncmp(base, name, n))
		return false;
	*ret_deleted = !strcmp(base + n, mark);
	return *ret_deleted || !base[n];
}

/* The runtime holds the file open as long as it writes to it. ino 0: there is none at the path. */
static enum writing find_writing(const struct dotnet_door *door, uint64_t dev, uint64_t ino)
{
	int fd = openat(door->process_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	enum writing found = WRITING_NOT;
	const struct dirent *entry;
	char path[PATH_MAX];

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return WRITING_UNKNOWN;
	}
	for (unsigned i = 0; i < DESCRIPTORS_MAX && (entry = readdir(dir)); i++) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, path, sizeof(path) - 1);
		bool deleted;
		struct stat st;

		if (n <= 0)
			continue;
		path[n] = '\0';
		if (!is_map_name(path, door->target->ns_pid, &deleted) ||
		    fstatat(dirfd(dir), entry->d_name, &st, 0) || !S_ISREG(st.st_mode))
			continue;
		if (ino && st.st_dev == dev && st.st_ino == ino) {
			found = WRITING_IT;
			break;
		}
		if (deleted)
			found = WRITING_DELETED;
	}
	closedir(dir);
	return found;
}

/* --- whether it may be asked for one ---------------------------------------------------------- */

static const char *map_directory(const struct perfmap_target *target)
{
	return target->env.dump_dir[0] ? target->env.dump_dir : "/tmp";
}

/* The runtime follows links and truncates what it finds: only its own plain file may lie there. */
static int check_file(int dir_fd, const struct dotnet_door *door)
{
	_cleanup_close_ int fd = -1;
	char name[32];
	struct stat st;

	snprintf(name, sizeof(name), "perf-%u.map", door->target->ns_pid);
	fd = guard_look(dir_fd, name, false);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	if (!S_ISREG(st.st_mode))
		return -ENOTSUP;
	if (st.st_uid != door->target->euid)
		return -EPERM;
	return st.st_nlink > 1 ? -EMLINK : 0;
}

/* Values as dotnet_process.map_refusal has them. */
static int check_place(const struct dotnet_door *door)
{
	_cleanup_close_ int dir_fd = dotnet_door_directory(door, map_directory(door->target));
	struct statvfs fs;
	struct stat st;
	int err;

	if (dir_fd < 0)
		return dir_fd == -ENOTDIR ? -ENOENT : dir_fd;
	err = check_file(dir_fd, door);
	if (err != -ENOENT)
		return err;
	if (fstat(dir_fd, &st) || fstatvfs(dir_fd, &fs))
		return -errno;
	if (fs.f_flag & ST_RDONLY)
		return -EROFS;
	/* Who cannot be judged is given the benefit: the result is verified. */
	return file_writer_look(door->process_fd, &st) == FILE_WRITER_MAY_NOT ? -EACCES : 0;
}

static int reserve(int dir_fd, const char *name, uint32_t uid)
{
	_cleanup_close_ int fd =
		openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	int err;

	if (fd < 0)
		return -errno;
	if (uid == geteuid() || !fchown(fd, uid, (gid_t)-1))
		return 0;
	err = -errno;
	unlinkat(dir_fd, name, 0);
	return err;
}

static int release(int dir_fd, const char *name, const struct dotnet_door *door)
{
	struct stat st;
	int err = check_file(dir_fd, door);

	if (err)
		return err;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) || st.st_size)
		return 0;
	return unlinkat(dir_fd, name, 0) ? -errno : 0;
}

int dotnet_place_serve(const struct file_request *request)
{
	static struct perfmap_target target; /* large; one thread here */
	_cleanup_close_ int process_fd = target_process_open(&request->target), root_fd = -1,
			    dir_fd = -1;
	struct dotnet_door door;
	char name[32];
	int err;

	if (process_fd < 0)
		return process_fd;
	err = target_process_read(process_fd, &request->runtime.env, &target);
	if (err)
		return err;
	root_fd = guard_root(process_fd);
	if (root_fd < 0)
		return root_fd;
	door = (struct dotnet_door){
		.process_fd = process_fd, .root_fd = root_fd, .target = &target};
	dir_fd = dotnet_door_directory(&door, map_directory(&target));
	if (dir_fd < 0)
		return dir_fd;
	snprintf(name, sizeof(name), "perf-%u.map", target.ns_pid);
	return request->kind == FILE_REQUEST_RESERVE ? reserve(dir_fd, name, target.euid)
						     : release(dir_fd, name, &door);
}

/* ---------------------------------------------------------------------------------------------- */

static enum dotnet_map absent_state(const struct dotnet_door *door, const struct dotnet_process *p)
{
	if (p->map_refusal == -EROFS || p->map_refusal == -EACCES || p->map_refusal == -ENOENT)
		return DOTNET_MAP_UNWRITABLE;
	return door->target->env.enabled == PERFMAP_ENABLED_ON ? DOTNET_MAP_UNWRITABLE
							       : DOTNET_MAP_ABSENT;
}

/* err: of perfmap_locate(). */
static enum dotnet_map state_of(const struct dotnet_door *door, const struct dotnet_process *p,
				int err, enum writing writing)
{
	if (writing == WRITING_DELETED)
		return DOTNET_MAP_DELETED;
	switch (err) {
	case 0:
		if (writing == WRITING_NOT)
			return DOTNET_MAP_SWITCHED_OFF;
		return door->target->env.enabled == PERFMAP_ENABLED_ON ? DOTNET_MAP_SINCE_START
								       : DOTNET_MAP_SWITCHED_ON;
	case -ENOENT:
		return absent_state(door, p);
	case -ESTALE:
		return DOTNET_MAP_STALE;
	case -ELOOP:
	case -ENOTSUP:
	case -EPERM:
	case -EFBIG:
	case -EXDEV:
		return DOTNET_MAP_UNSAFE;
	case -EACCES:
		return DOTNET_MAP_DENIED;
	default:
		return DOTNET_MAP_UNKNOWN;
	}
}

void dotnet_map_look(const struct dotnet_door *door, struct dotnet_process *p)
{
	static struct perfmap_file file; /* large; one thread here */
	const char *dir = map_directory(door->target);
	enum writing writing;
	int err, n;

	file = (struct perfmap_file){.fd = -1};
	err = perfmap_locate(door->process_fd, door->target, door->started_wall_ns, &file);
	n = snprintf(p->map_path, sizeof(p->map_path), "%s%sperf-%u.map", dir,
		     dir[strlen(dir) - 1] == '/' ? "" : "/", door->target->ns_pid);
	if (n >= (int)sizeof(p->map_path))
		p->map_path[0] = '\0';
	if (!err) {
		if (strlen(file.path) < sizeof(p->map_path))
			strcpy(p->map_path, file.path);
		p->map_bytes = file.size_bytes;
		p->map_dev = file.dev;
		p->map_ino = file.ino;
		p->map_mtime_ns = file.mtime_ns;
		close(file.fd);
	}
	p->map_refusal = check_place(door);
	writing = find_writing(door, p->map_dev, p->map_ino);
	p->map = state_of(door, p, err, writing);
}

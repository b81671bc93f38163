/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "isolate/message.h"
#include "opener/dotnet_look.h"
#include "opener/opener.h"
#include "opener/guard.h"
#include "opener/node_look.h"
#include "opener/symbol_look.h"
#include "perfmap/maps/locate.h"
#include "perfmap/maps/map.h"

/* include/uapi/linux/magic.h has it under another name since 6.2 only. */
#define XFS_MAGIC 0x58465342

#define DEBUG_FOLDER "/usr/lib/debug"

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

static int host_root(void)
{
	return open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int target_process_read(const struct file_request *request, int process_fd,
			struct perfmap_target *ret_target)
{
	int err = perfmap_target_read(process_fd, ret_target);

	if (!err)
		ret_target->env = request->env;
	return err;
}

bool file_request_delivers(const struct file_request *request)
{
	switch (request->what) {
	case FILE_REQUEST_MAPPED:
	case FILE_REQUEST_DEBUG:
	case FILE_REQUEST_SYMBOLS:
		return !request->identity_only;
	case FILE_REQUEST_ENVIRON:
	case FILE_REQUEST_PROGRAM:
	case FILE_REQUEST_NODE:
		return true;
	case FILE_REQUEST_MAP:
		return request->to_worker;
	default:
		return false;
	}
}

/* Hands an opened file on to who works on it. 0 or -errno. */
static int deliver(int way_fd, int fd)
{
	return way_fd < 0 ? 0 : message_send(way_fd, "", 1, &fd, 1);
}

/* --- mapped files ------------------------------------------------------------------------------ */

struct elf_identity guard_identity(const struct stat *st)
{
	return (struct elf_identity){
		.dev = st->st_dev,
		.inode = st->st_ino,
		.size_bytes = (uint64_t)st->st_size,
		.ctime_ns =
			(uint64_t)st->st_ctim.tv_sec * 1000000000u + (uint64_t)st->st_ctim.tv_nsec,
	};
}

/* A mapped file that was found. */
struct found {
	int fd; /* owned */
	struct stat st;
	enum file_stage stage;
};

/*
 * Below a root directory. With a build id whoever reads the file decides whether it is the mapped
 * one, else the inode. The device is no help: overlayfs and btrfs show one in maps and another in
 * stat.
 */
static enum model_reason open_below(const struct file_request *request, int root_fd,
				    enum file_stage stage, struct found *found)
{
	enum model_reason reason;
	struct stat st;
	int fd;

	if (request->stage > stage)
		return REASON_FILE_CHANGED;
	reason = guard_open(root_fd, request->path, ELF_FILE_BYTES_MAX, &fd, &st);
	if (reason)
		return reason;
	if (!request->build_id_len && request->inode && request->inode != st.st_ino) {
		close(fd);
		return REASON_FILE_CHANGED;
	}
	*found = (struct found){fd, st, stage};
	return REASON_NAMED;
}

/* By path below the process's root; failing that the mapped file itself. */
static enum model_reason open_in_process(const struct file_request *request, int process_fd,
					 struct found *found)
{
	_cleanup_close_ int root_fd = guard_root(process_fd);
	enum model_reason reason = REASON_FILE_GONE;

	if (root_fd >= 0)
		reason = open_below(request, root_fd, FILE_BY_PATH, found);
	else if (root_fd == -EACCES || root_fd == -EPERM)
		reason = REASON_FILE_DENIED;
	if (reason != REASON_FILE_GONE && reason != REASON_FILE_CHANGED)
		return reason;
	if (request->stage > FILE_BY_MAPPING ||
	    guard_open_mapped(process_fd, request->start, request->end, ELF_FILE_BYTES_MAX,
			      &found->fd, &found->st))
		return reason;
	found->stage = FILE_BY_MAPPING;
	return REASON_NAMED;
}

/* Of a process that is gone: below the root that was held for it, else on the host, where only a
 * build id can tell. */
static enum model_reason open_left(const struct file_request *request, int root_fd,
				   struct found *found)
{
	_cleanup_close_ int host_fd = -1;

	if (root_fd >= 0 && !open_below(request, root_fd, FILE_LEFT, found))
		return REASON_NAMED;
	if (!request->build_id_len)
		return REASON_PROCESS_GONE;
	host_fd = host_root();
	if (host_fd < 0 || open_below(request, host_fd, FILE_ON_HOST, found))
		return REASON_PROCESS_GONE;
	return REASON_NAMED;
}

static enum model_reason open_mapped_file(const struct file_request *request, int root_fd,
					  struct found *found)
{
	_cleanup_close_ int process_fd = target_process_open(&request->target);

	if (process_fd >= 0) {
		enum model_reason reason = open_in_process(request, process_fd, found);

		/* A dying process has lost its root already. */
		if (reason != REASON_FILE_GONE && reason != REASON_PROCESS_GONE)
			return reason;
		return open_left(request, root_fd, found) ? reason : REASON_NAMED;
	}
	if (process_fd == -EACCES || process_fd == -EPERM)
		return REASON_FILE_DENIED;
	return open_left(request, root_fd, found);
}

static enum model_reason serve_file(const struct file_request *request, int root_fd, int way_fd,
				    struct file_reply *reply)
{
	struct found found = {.fd = -1};
	enum model_reason reason = open_mapped_file(request, root_fd, &found);

	if (reason)
		return reason;
	reply->identity = guard_identity(&found.st);
	reply->stage = found.stage;
	if (!request->identity_only && deliver(way_fd, found.fd))
		reason = REASON_LIMIT;
	close(found.fd);
	return reason;
}

/* --- debug files ------------------------------------------------------------------------------- */

enum debug_place {
	PLACE_BUILD_ID,
	PLACE_BUILD_ID_HOST,
	PLACE_BESIDE,
	PLACE_DOT_DEBUG,
	PLACE_MIRROR,
	PLACE_MIRROR_HOST,
	PLACE_CNT
};

_Static_assert(PLACE_CNT == FILE_DEBUG_PLACES, "every place is asked for");

bool file_request_is_by_build_id(unsigned candidate)
{
	return candidate == PLACE_BUILD_ID || candidate == PLACE_BUILD_ID_HOST;
}

static bool build_id_path(const struct file_request *request, char *path, size_t path_bytes)
{
	size_t n = (size_t)snprintf(path, path_bytes, DEBUG_FOLDER "/.build-id/%02x/",
				    request->build_id[0]);

	for (unsigned i = 1; i < request->build_id_len; i++)
		n += (size_t)snprintf(path + n, path_bytes - n, "%02x", request->build_id[i]);
	return (size_t)snprintf(path + n, path_bytes - n, ".debug") < path_bytes - n;
}

static bool debug_path(const struct file_request *request, char *path, size_t path_bytes)
{
	const char *slash = strrchr(request->path, '/');
	const char *before = "", *between = "";

	if (file_request_is_by_build_id(request->candidate))
		return build_id_path(request, path, path_bytes);
	if (!request->debuglink[0] || !slash)
		return false;
	if (request->candidate == PLACE_DOT_DEBUG)
		between = ".debug/";
	else if (request->candidate != PLACE_BESIDE)
		before = DEBUG_FOLDER;
	return snprintf(path, path_bytes, "%s%.*s/%s%s", before, (int)(slash - request->path),
			request->path, between, request->debuglink) < (int)path_bytes;
}

static enum model_reason serve_debug(const struct file_request *request, int give_fd, int way_fd)
{
	_cleanup_close_ int process_fd = -1, root_fd = -1, fd = -1;
	char path[FILE_PATH_BYTES];
	enum model_reason reason;
	struct stat st;

	if (!debug_path(request, path, sizeof(path)))
		return REASON_FILE_GONE;
	if (request->candidate == PLACE_BUILD_ID_HOST || request->candidate == PLACE_MIRROR_HOST) {
		root_fd = host_root();
	} else {
		process_fd = target_process_open(&request->target);
		root_fd = process_fd < 0 ? -1 : guard_root(process_fd);
		if (root_fd < 0 && give_fd >= 0)
			root_fd = fcntl(give_fd, F_DUPFD_CLOEXEC, 0);
	}
	if (root_fd < 0)
		return REASON_FILE_GONE;
	reason = guard_open(root_fd, path, ELF_FILE_BYTES_MAX, &fd, &st);
	if (!reason && deliver(way_fd, fd))
		reason = REASON_LIMIT;
	return reason;
}

/* --- of the process itself --------------------------------------------------------------------- */

static int serve_own(const struct file_request *request, int way_fd)
{
	const char *name = request->what == FILE_REQUEST_ENVIRON ? "environ" : "exe";
	_cleanup_close_ int process_fd = target_process_open(&request->target), fd = -1;
	struct stat st;

	if (process_fd < 0)
		return process_fd;
	/* The kernel runs regular files only. */
	fd = openat(process_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? deliver(way_fd, fd) : -ENOTSUP;
}

/* --- perf maps --------------------------------------------------------------------------------- */

/* Whose last reference may be ours: its end must not wait for anybody. That of a FUSE file system
 * which somebody laid an overlay over does not; only root mounts those where it would. */
static bool is_holdable(int fd)
{
	struct statfs fs;

	return is_local(fd) || (!fstatfs(fd, &fs) && fs.f_type == OVERLAYFS_SUPER_MAGIC);
}

/* To hold it: a descriptor whose end waits for nobody. -1: not on such a file system. */
static int held_map(int fd)
{
	char self[32];

	if (!is_holdable(fd))
		return -1;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return open(self, O_PATH | O_CLOEXEC);
}

/* Takes the file, and gives what was asked for: to a worker, unless that knows all of it already. */
static int give_map(const struct file_request *request, const struct perfmap_file *file, int way_fd,
		    struct file_reply *reply, int *ret_fd)
{
	_cleanup_close_ int fd = file->fd;

	reply->dev = file->dev;
	reply->ino = file->ino;
	reply->size_bytes = file->size_bytes;
	reply->local = is_local(fd);
	if (request->to_worker && request->known_bytes && reply->size_bytes == request->known_bytes)
		reply->nothing_new = true;
	else if (request->to_worker)
		return deliver(way_fd, fd);
	else
		*ret_fd = reply->local ? take_fd(&fd) : held_map(fd);
	return 0;
}

/* The map itself, which was held. */
static int serve_whole_map(const struct file_request *request, int map_fd, int way_fd,
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
	return give_map(request, &file, way_fd, reply, ret_fd);
}

static int serve_left_map(const struct file_request *request, int directory_fd, int way_fd,
			  struct file_reply *reply, int *ret_fd)
{
	struct perfmap_target *target = calloc(1, sizeof(*target));
	static struct perfmap_file file;
	int err;

	if (!target)
		return -ENOMEM;
	target->ns_pid = request->ns_pid;
	target->euid = request->euid;
	err = perfmap_locate_in(directory_fd, target,
				target_process_wall_ns(request->target.start_ns), &file);
	free(target);
	if (err)
		return err;
	err = give_map(request, &file, way_fd, reply, ret_fd);
	/* It will not be found again but by its descriptor. */
	return err || *ret_fd >= 0 || request->to_worker ? err : -ENOTSUP;
}

static int serve_map(const struct file_request *request, int way_fd, struct file_reply *reply,
		     int *ret_fd)
{
	static struct perfmap_target target; /* large; one thread here */
	static struct perfmap_file file;
	_cleanup_close_ int process_fd = target_process_open(&request->target);
	int err;

	if (process_fd < 0)
		return process_fd;
	err = target_process_read(request, process_fd, &target);
	if (!err)
		err = perfmap_locate(process_fd, &target,
				     target_process_wall_ns(request->target.start_ns), &file);
	return err ? err : give_map(request, &file, way_fd, reply, ret_fd);
}

static int serve_symbol_map(const struct file_request *request, int way_fd,
			    struct file_reply *reply, int *ret_fd)
{
	static struct perfmap_file file; /* large; one thread here */
	int err = symbol_map_open(request, &file);

	return err ? err : give_map(request, &file, way_fd, reply, ret_fd);
}

/* --- directories that are kept ----------------------------------------------------------------- */

static int serve_hold(const struct file_request *request, struct file_reply *reply, int *ret_fd)
{
	static struct perfmap_target target; /* large; one thread here */
	_cleanup_close_ int process_fd = target_process_open(&request->target), fd = -1;
	struct statx st;
	int err;

	if (process_fd < 0)
		return process_fd;
	err = target_process_read(request, process_fd, &target);
	if (err)
		return err;
	reply->ns_pid = target.ns_pid;
	reply->euid = target.euid;
	fd = request->directory ? perfmap_directory(process_fd, &target, request->directory - 1)
				: guard_root(process_fd);
	if (fd < 0)
		return fd;
	if (!is_holdable(fd))
		return -ENOTSUP;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &st))
		return -errno;
	reply->dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	reply->ino = st.stx_ino;
	reply->mount = st.stx_mnt_id;
	*ret_fd = take_fd(&fd);
	return 0;
}

void opener_serve(const struct file_request *request, int give_fd, int way_fd,
		  struct file_reply *ret_reply, int *ret_fd)
{
	*ret_fd = -1;
	switch (request->what) {
	case FILE_REQUEST_MAPPED:
		ret_reply->reason = serve_file(request, give_fd, way_fd, ret_reply);
		break;
	case FILE_REQUEST_DEBUG:
		ret_reply->reason = serve_debug(request, give_fd, way_fd);
		break;
	case FILE_REQUEST_MAP:
		if (request->in_symbols)
			ret_reply->error = serve_symbol_map(request, way_fd, ret_reply, ret_fd);
		else if (request->whole)
			ret_reply->error =
				serve_whole_map(request, give_fd, way_fd, ret_reply, ret_fd);
		else if (request->in_directory)
			ret_reply->error =
				serve_left_map(request, give_fd, way_fd, ret_reply, ret_fd);
		else
			ret_reply->error = serve_map(request, way_fd, ret_reply, ret_fd);
		break;
	case FILE_REQUEST_ENVIRON:
	case FILE_REQUEST_PROGRAM:
		ret_reply->error = serve_own(request, way_fd);
		break;
	case FILE_REQUEST_DIRECTORY:
		ret_reply->error = serve_hold(request, ret_reply, ret_fd);
		break;
	case FILE_REQUEST_DOTNET:
		ret_reply->error = dotnet_look_serve(request, ret_fd);
		break;
	case FILE_REQUEST_LIST:
		ret_reply->error = symbol_list_serve(request, ret_reply, ret_fd);
		break;
	case FILE_REQUEST_SYMBOLS:
		ret_reply->error = symbol_files_serve(request, way_fd, ret_reply);
		break;
	case FILE_REQUEST_NODE:
		ret_reply->error = node_look_serve(request, way_fd, ret_reply);
		break;
	case FILE_REQUEST_CONNECT:
		ret_reply->error = dotnet_connect_serve(request, ret_fd);
		break;
	case FILE_REQUEST_RESERVE:
	case FILE_REQUEST_RELEASE:
		ret_reply->error = dotnet_place_serve(request);
		break;
	}
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/file_look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "isolate/message.h"
#include "opener/guard.h"

#define DEBUG_FOLDER "/usr/lib/debug"

static int host_root(void)
{
	return open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Hands an opened file on to who works on it. 0 or -errno. */
int file_look_deliver(int way_fd, int fd)
{
	return way_fd < 0 ? 0 : message_send(way_fd, "", 1, &fd, 1);
}

/* --- mapped files ----------------------------------------------------------------------------- */

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
static enum model_reason open_below(const struct mapped_request *request, int root_fd,
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
static enum model_reason open_in_process(const struct mapped_request *request, int process_fd,
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

/* Of a process that is gone: below the root that was kept of it, else on the host, where only a
 * build id can tell. */
static enum model_reason open_left(const struct mapped_request *request, int root_fd,
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
		enum model_reason reason = open_in_process(&request->mapped, process_fd, found);

		/* A dying process has lost its root already. */
		if (reason != REASON_FILE_GONE && reason != REASON_PROCESS_GONE)
			return reason;
		return open_left(&request->mapped, root_fd, found) ? reason : REASON_NAMED;
	}
	if (process_fd == -EACCES || process_fd == -EPERM)
		return REASON_FILE_DENIED;
	return open_left(&request->mapped, root_fd, found);
}

enum model_reason file_look_mapped(const struct file_request *request, int root_fd, int way_fd,
				   struct file_reply *reply)
{
	struct found found = {.fd = -1};
	enum model_reason reason = open_mapped_file(request, root_fd, &found);

	if (reason)
		return reason;
	reply->mapped.identity = guard_identity(&found.st);
	reply->mapped.stage = found.stage;
	if (!request->mapped.identity_only && file_look_deliver(way_fd, found.fd))
		reason = REASON_LIMIT;
	close(found.fd);
	return reason;
}

/* --- debug files ------------------------------------------------------------------------------ */

static bool build_id_path(const struct debug_request *request, char *path, size_t path_bytes)
{
	size_t n = (size_t)snprintf(path, path_bytes, DEBUG_FOLDER "/.build-id/%02x/",
				    request->build_id[0]);

	for (unsigned i = 1; i < request->build_id_len; i++)
		n += (size_t)snprintf(path + n, path_bytes - n, "%02x", request->build_id[i]);
	return (size_t)snprintf(path + n, path_bytes - n, ".debug") < path_bytes - n;
}

static bool debug_path(const struct debug_request *request, char *path, size_t path_bytes)
{
	const char *slash = strrchr(request->path, '/');
	const char *before = "", *between = "";

	if (file_request_is_by_build_id(request->place))
		return build_id_path(request, path, path_bytes);
	if (!request->debuglink[0] || !slash)
		return false;
	if (request->place == FILE_DEBUG_DOT_DEBUG)
		between = ".debug/";
	else if (request->place != FILE_DEBUG_BESIDE)
		before = DEBUG_FOLDER;
	return snprintf(path, path_bytes, "%s%.*s/%s%s", before, (int)(slash - request->path),
			request->path, between, request->debuglink) < (int)path_bytes;
}

enum model_reason file_look_debug(const struct file_request *request, int root_fd, int way_fd)
{
	_cleanup_close_ int process_fd = -1, below_fd = -1, fd = -1;
	enum file_debug_place place = request->debug.place;
	char path[FILE_PATH_BYTES];
	enum model_reason reason;
	struct stat st;

	if (!debug_path(&request->debug, path, sizeof(path)))
		return REASON_FILE_GONE;
	if (place == FILE_DEBUG_BUILD_ID_HOST || place == FILE_DEBUG_MIRROR_HOST) {
		below_fd = host_root();
	} else {
		process_fd = target_process_open(&request->target);
		below_fd = process_fd < 0 ? -1 : guard_root(process_fd);
		if (below_fd < 0 && root_fd >= 0)
			below_fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	}
	if (below_fd < 0)
		return REASON_FILE_GONE;
	reason = guard_open(below_fd, path, ELF_FILE_BYTES_MAX, &fd, &st);
	if (!reason && file_look_deliver(way_fd, fd))
		reason = REASON_LIMIT;
	return reason;
}

/* --- of the process itself -------------------------------------------------------------------- */

/* 0 with an owned descriptor of a file below /proc/PID, or -errno. */
static int open_own(int process_fd, const char *name, int *ret_fd)
{
	_cleanup_close_ int fd = openat(process_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	/* The kernel runs regular files only. */
	if (!S_ISREG(st.st_mode))
		return -ENOTSUP;
	*ret_fd = take_fd(&fd);
	return 0;
}

static int deliver_own(int process_fd, const char *name, int way_fd)
{
	_cleanup_close_ int fd = -1;
	int err = open_own(process_fd, name, &fd);

	return err ? err : file_look_deliver(way_fd, fd);
}

int file_look_own(const struct file_request *request, int way_fd)
{
	_cleanup_close_ int process_fd = target_process_open(&request->target);

	if (process_fd < 0)
		return process_fd;
	return deliver_own(process_fd, request->kind == FILE_REQUEST_ENVIRON ? "environ" : "exe",
			   way_fd);
}

/* Files on slow file systems take a part of the deadline: the rest are told as not to be had. */
#define FILES_NS 50000000ull

static int deliver_mapped(int process_fd, const struct target_file *file, int way_fd)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (guard_open_mapped(process_fd, file->start, file->end, INT64_MAX, &fd, &st))
		return message_send(way_fd, "", 1, NULL, 0);
	return file_look_deliver(way_fd, fd);
}

int file_look_target(const struct file_request *request, int way_fd)
{
	static const char *const own[] = {"mem", "pagemap", "maps"};
	_cleanup_close_ int process_fd = target_process_open(&request->target);
	const struct target_request *memory = &request->memory;
	uint64_t start_ns = clock_now_ns();
	int err = process_fd < 0 ? process_fd : way_fd < 0 ? -EINVAL : 0;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]) && !err; i++)
		err = deliver_own(process_fd, own[i], way_fd);
	for (uint32_t i = 0; i < memory->files_cnt && i < TARGET_OPENED_MAX && !err; i++)
		err = clock_now_ns() - start_ns < FILES_NS
			      ? deliver_mapped(process_fd, &memory->files[i], way_fd)
			      : message_send(way_fd, "", 1, NULL, 0);
	return err;
}

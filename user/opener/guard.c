/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

/* openat2 answers EAGAIN when a rename on the host raced with its look-up below the root. */
#define RACE_TRIES 4

static enum model_reason reason_of(int err)
{
	switch (err) {
	case EACCES:
	case EPERM:
	case EWOULDBLOCK: /* a lease is being broken */
		return REASON_FILE_DENIED;
	case ELOOP:
	case EXDEV:
	case ENXIO:
	case ENODEV:
		return REASON_FILE_UNSAFE;
	case ESRCH:
		return REASON_PROCESS_GONE;
	default:
		return REASON_FILE_GONE;
	}
}

int guard_process(const char *proc_path, uint32_t tgid)
{
	char path[256];
	int fd;

	if (snprintf(path, sizeof(path), "%s/%" PRIu32, proc_path, tgid) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int guard_root(int process_fd)
{
	int fd = openat(process_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Checks what path_fd is and opens it for reading. */
static enum model_reason reopen(int path_fd, uint64_t max_bytes, int *ret_fd, struct stat *ret_stat)
{
	char link[32];
	struct stat st;
	int fd;

	if (fstat(path_fd, &st))
		return reason_of(errno);
	if (!S_ISREG(st.st_mode) || st.st_size < 0 || (uint64_t)st.st_size > max_bytes)
		return REASON_FILE_UNSAFE;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	fd = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return reason_of(errno);
	*ret_fd = fd;
	*ret_stat = st;
	return REASON_NAMED;
}

/* Returns a descriptor, or -1 with errno. */
static int open_below(int root_fd, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = -1;

	for (int try = 0; try < RACE_TRIES; try++) {
		fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd;
}

enum model_reason guard_open(int root_fd, const char *path, uint64_t max_bytes, int *ret_fd,
			     struct stat *ret_stat)
{
	_cleanup_close_ int path_fd = open_below(root_fd, path, 0);

	if (path_fd < 0)
		return reason_of(errno);
	return reopen(path_fd, max_bytes, ret_fd, ret_stat);
}

int guard_look(int root_fd, const char *path, bool directory)
{
	int fd = open_below(root_fd, path, directory ? O_DIRECTORY : O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

enum model_reason guard_open_mapped(int process_fd, uint64_t start, uint64_t end,
				    uint64_t max_bytes, int *ret_fd, struct stat *ret_stat)
{
	_cleanup_close_ int path_fd = -1;
	char link[64];

	snprintf(link, sizeof(link), "map_files/%" PRIx64 "-%" PRIx64, start, end);
	path_fd = openat(process_fd, link, O_PATH | O_CLOEXEC);
	if (path_fd < 0)
		return reason_of(errno);
	return reopen(path_fd, max_bytes, ret_fd, ret_stat);
}

ssize_t guard_read(int process_fd, const char *name, char *buf, size_t buf_bytes)
{
	_cleanup_close_ int fd = openat(process_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = io_read(fd, buf, buf_bytes - 1);
	if (len >= 0)
		buf[len] = '\0';
	return len;
}

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

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/symbol_look.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "isolate/message.h"
#include "opener/guard.h"

/* A regular file below a folder (O_PATH). -errno: there is none. */
static int find_below(int folder_fd, const char *path, struct stat *ret_stat)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int fd = (int)syscall(SYS_openat2, folder_fd, path, &how, sizeof(how));

	if (fd < 0 || fstat(fd, ret_stat))
		return -errno;
	return S_ISREG(ret_stat->st_mode) ? take_fd(&fd) : -ENOTSUP;
}

static int open_below(int folder_fd, const char *path, struct stat *ret_stat)
{
	_cleanup_close_ int path_fd = find_below(folder_fd, path, ret_stat);
	char self[32];
	int fd;

	if (path_fd < 0)
		return path_fd;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* --- listing ---------------------------------------------------------------------------------- */

struct list {
	int folder_fd;
	FILE *out;
	size_t entries, bytes;
	bool cut;
};

static void look_through(struct list *l, int parent_fd, const char *name, const char *path,
			 unsigned depth);

static void add(struct list *l, const char *path)
{
	size_t bytes = strlen(path) + 1;

	/* A longer path could not be asked for. */
	if (bytes > FILE_PATH_BYTES || l->bytes + bytes > SYMBOL_LIST_BYTES) {
		l->cut = true;
		return;
	}
	l->bytes += bytes;
	fwrite(path, 1, bytes, l->out);
}

static bool leads_to_file(const struct list *l, const char *path)
{
	struct stat st;
	_cleanup_close_ int fd = find_below(l->folder_fd, path, &st);

	return fd >= 0;
}

static void look_at(struct list *l, int dir_fd, const struct dirent *entry, const char *folder_path,
		    unsigned depth)
{
	_cleanup_free_ char *path = NULL;
	unsigned char type = entry->d_type;
	struct stat st;

	if (asprintf(&path, "%s%s%s", folder_path, *folder_path ? "/" : "", entry->d_name) < 0) {
		path = NULL;
		return;
	}
	if (type == DT_UNKNOWN && !fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
		type = IFTODT(st.st_mode);
	if (type == DT_DIR)
		look_through(l, dir_fd, entry->d_name, path, depth + 1);
	else if (type == DT_REG || (type == DT_LNK && leads_to_file(l, path)))
		add(l, path);
}

static void look_through(struct list *l, int parent_fd, const char *name, const char *path,
			 unsigned depth)
{
	int fd = openat(parent_fd, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct dirent *entry;
	DIR *dir;

	if (fd < 0)
		return;
	dir = depth > SYMBOL_DIRS_DEPTH ? NULL : fdopendir(fd);
	if (!dir) {
		l->cut = true;
		close(fd);
		return;
	}
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (l->entries++ >= SYMBOL_DIRS_ENTRIES) {
			l->cut = true;
			break;
		}
		look_at(l, fd, entry, path, depth);
	}
	closedir(dir);
}

int symbol_list_serve(const struct file_request *request, struct file_reply *reply, int *ret_fd)
{
	_cleanup_close_ int folder_fd =
		open(request->list.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = -1;
	struct list list = {.folder_fd = folder_fd};
	bool failed;

	if (folder_fd < 0)
		return -errno;
	fd = memfd_create("hotrun-list", MFD_CLOEXEC);
	list.out = fd < 0 ? NULL : fdopen(dup(fd), "w");
	if (!list.out)
		return -ENOMEM;
	look_through(&list, folder_fd, ".", "", 0);
	failed = ferror(list.out) | fclose(list.out);
	if (failed)
		return -ENOMEM;
	reply->list.cut = list.cut;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

static int open_folder(const char *folder)
{
	int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int symbol_files_serve(const struct file_request *r, int way_fd, struct file_reply *reply)
{
	const struct symbols_request *request = &r->symbols;
	_cleanup_close_ int folder_fd = open_folder(request->folder);
	const char *end = request->files + sizeof(request->files);
	bool found = false;

	if (folder_fd < 0)
		return folder_fd;
	/* The last byte is a NUL, and an empty path ends them. */
	if (end[-1])
		return -EINVAL;
	for (const char *path = request->files; path < end && *path; path += strlen(path) + 1) {
		struct stat st;
		_cleanup_close_ int fd = open_below(folder_fd, path, &st);
		bool is_one = fd >= 0 && (uint64_t)st.st_size <= ELF_FILE_BYTES_MAX;
		int err = 0;

		if (is_one)
			reply->mapped.identity = guard_identity(&st);
		found |= is_one;
		if (!request->identity_only)
			err = message_send(way_fd, "", 1, &fd, is_one);
		if (err)
			return err;
	}
	return found ? 0 : -ENOENT;
}

int symbol_map_open(const struct symbol_map_request *request, struct perfmap_file *ret_file)
{
	_cleanup_close_ int folder_fd = open_folder(request->folder);
	struct stat st;
	int fd;

	if (folder_fd < 0)
		return folder_fd;
	fd = open_below(folder_fd, request->file, &st);
	if (fd < 0)
		return fd;
	if ((uint64_t)st.st_size > PERFMAP_FILE_BYTES_MAX) {
		close(fd);
		return -EFBIG;
	}
	ret_file->fd = fd;
	ret_file->dev = st.st_dev;
	ret_file->ino = st.st_ino;
	ret_file->size_bytes = (uint64_t)st.st_size;
	return 0;
}

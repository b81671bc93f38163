/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/node_look.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "isolate/message.h"
#include "opener/guard.h"

/* Paths with the id, lists and folders without. */
static const struct source {
	const char *before, *after; /* after NULL = a list, or a folder */
	enum parse_node_source what;
	uint64_t max_bytes; /* 0 = a folder */
} sources[] = {
#define CONTAINERD(run)                                                                  \
	{                                                                                \
		run "/containerd/io.containerd.runtime.v2.task/k8s.io/", "/config.json", \
			PARSE_NODE_SPEC, NODE_FILE_BYTES_MAX                             \
	}
#define STORAGE(folder)                                                               \
	{                                                                             \
		folder, "/userdata/config.json", PARSE_NODE_SPEC, NODE_FILE_BYTES_MAX \
	}
#define LIST(file)                                                  \
	{                                                           \
		file, NULL, PARSE_NODE_STORAGE, NODE_LIST_BYTES_MAX \
	}
	CONTAINERD("/run"),
	CONTAINERD("/run/k3s"),
	CONTAINERD("/var/snap/microk8s/common/run"),
	STORAGE("/run/containers/storage/overlay-containers/"),
	STORAGE("/run/containers/storage/vfs-containers/"),
	STORAGE("/var/lib/containers/storage/overlay-containers/"),
	STORAGE("/var/lib/containers/storage/vfs-containers/"),
	{"/var/lib/docker/containers/", "/config.v2.json", PARSE_NODE_DOCKER, NODE_FILE_BYTES_MAX},
	LIST("/var/lib/containers/storage/overlay-containers/containers.json"),
	LIST("/var/lib/containers/storage/overlay-containers/volatile-containers.json"),
	LIST("/var/lib/containers/storage/vfs-containers/containers.json"),
	LIST("/var/lib/containers/storage/vfs-containers/volatile-containers.json"),
	{"/var/log/containers", NULL, PARSE_NODE_LOG, 0},
	{"/var/log/pods", NULL, PARSE_NODE_POD_FOLDER, 0},
};
#define SOURCES (sizeof(sources) / sizeof(sources[0]))

static int open_file(int root_fd, const struct source *source, const char *id)
{
	char path[256];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s%s%s", source->before, source->after ? id : "",
		 source->after ? source->after : "");
	return guard_open(root_fd, path, source->max_bytes, &fd, &st) ? -1 : fd;
}

/* Whether a name may be that of the id: what more there is to it a worker finds out. */
static bool ends_with(const char *name, const char *before, const char *id, const char *after)
{
	char end[CONTAINER_ID_BYTES + 8];
	size_t len = strlen(name),
	       end_len = (size_t)snprintf(end, sizeof(end), "%s%s%s", before, id, after);

	return len >= end_len && !strcmp(name + len - end_len, end);
}

/* A file in memory with the name of the folder's entry. */
static int open_entry(int root_fd, const struct source *source, const char *id)
{
	bool is_log = source->what == PARSE_NODE_LOG;
	_cleanup_close_ int path_fd = guard_look(root_fd, source->before, true);
	struct dirent *entry;
	int fd, found = -1;
	DIR *folder;

	if (path_fd < 0)
		return -1;
	fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	folder = fd < 0 ? NULL : fdopendir(fd);
	if (!folder) {
		cleanup_close(&fd);
		return -1;
	}
	for (int i = 0; found < 0 && i < NODE_FOLDER_ENTRIES_MAX && (entry = readdir(folder));
	     i++) {
		size_t len = strlen(entry->d_name);

		if (!ends_with(entry->d_name, is_log ? "-" : "_", id, is_log ? ".log" : ""))
			continue;
		found = memfd_create("hotrun-node", MFD_CLOEXEC);
		if (found < 0 || write(found, entry->d_name, len) != (ssize_t)len)
			break;
	}
	closedir(folder);
	return found;
}

/* Whether it is the same folder as this process's own root. */
static bool is_own_root(int fd)
{
	struct stat own, other;

	return !stat("/", &own) && !fstat(fd, &other) && own.st_dev == other.st_dev &&
	       own.st_ino == other.st_ino;
}

static int open_root(const char *path)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* The first root is the one that was named, or this process's; the second one, where none was, that
 * of the host's first process. */
static int open_nth_root(const struct file_request *request, size_t nth)
{
	char init[sizeof(request->target.proc_path) + sizeof("/1/root")];
	int fd;

	if (!nth)
		return open_root(request->node.root[0] ? request->node.root : "/");
	if (nth > 1 || request->node.root[0])
		return -ENOENT;
	snprintf(init, sizeof(init), "%s/1/root", request->target.proc_path);
	fd = open_root(init);
	if (fd < 0 || !is_own_root(fd))
		return fd;
	close(fd);
	return -ENOENT;
}

/* From a source on. Returns a descriptor, or -1. */
static int open_next(const struct file_request *request, int root_fd, size_t *source)
{
	for (; *source < SOURCES; (*source)++) {
		const struct source *s = &sources[*source];
		const char *id = s->what == PARSE_NODE_POD_FOLDER ? request->node.pod_uid
								  : request->node.container_id;
		int fd = -1;

		if (id[0])
			fd = s->max_bytes ? open_file(root_fd, s, id) : open_entry(root_fd, s, id);
		if (fd >= 0)
			return fd;
	}
	return -1;
}

int node_look_serve(const struct file_request *request, int way_fd, struct file_reply *reply)
{
	size_t source = request->node.candidate % SOURCES;

	for (size_t nth = request->node.candidate / SOURCES;; nth++) {
		_cleanup_close_ int root_fd = open_nth_root(request, nth), fd = -1;

		if (root_fd < 0)
			return root_fd;
		fd = open_next(request, root_fd, &source);
		if (fd >= 0) {
			reply->node.candidate = (unsigned)(nth * SOURCES + source);
			reply->node.source = sources[source].what;
			return message_send(way_fd, "", 1, &fd, 1);
		}
		source = 0;
	}
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/node_look.h"

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
#include "names/guard.h"

/* Whether the contents of a file named the container. */
typedef bool (*read_fn)(const char *text, size_t len, const char *id,
			struct container_names *ret_names);

static bool read_spec(const char *text, size_t len, const char *id,
		      struct container_names *ret_names)
{
	(void)id;
	return container_from_spec(text, len, ret_names);
}

static bool read_docker(const char *text, size_t len, const char *id,
			struct container_names *ret_names)
{
	(void)id;
	return container_from_docker(text, len, ret_names);
}

/* Paths with the id, and lists without. */
static const struct {
	const char *before, *after; /* after NULL = a list */
	read_fn read;
	uint64_t max_bytes;
} sources[] = {
#define CONTAINERD(run)                                                                  \
	{                                                                                \
		run "/containerd/io.containerd.runtime.v2.task/k8s.io/", "/config.json", \
			read_spec, NODE_FILE_BYTES_MAX                                   \
	}
#define STORAGE(folder)                                                         \
	{                                                                       \
		folder, "/userdata/config.json", read_spec, NODE_FILE_BYTES_MAX \
	}
#define LIST(file)                                                      \
	{                                                               \
		file, NULL, container_from_storage, NODE_LIST_BYTES_MAX \
	}
	CONTAINERD("/run"),
	CONTAINERD("/run/k3s"),
	CONTAINERD("/var/snap/microk8s/common/run"),
	STORAGE("/run/containers/storage/overlay-containers/"),
	STORAGE("/run/containers/storage/vfs-containers/"),
	STORAGE("/var/lib/containers/storage/overlay-containers/"),
	STORAGE("/var/lib/containers/storage/vfs-containers/"),
	{"/var/lib/docker/containers/", "/config.v2.json", read_docker, NODE_FILE_BYTES_MAX},
	LIST("/var/lib/containers/storage/overlay-containers/containers.json"),
	LIST("/var/lib/containers/storage/overlay-containers/volatile-containers.json"),
	LIST("/var/lib/containers/storage/vfs-containers/containers.json"),
	LIST("/var/lib/containers/storage/vfs-containers/volatile-containers.json"),
};

static bool read_file(int root_fd, const char *path, size_t source, const char *id,
		      struct container_names *ret_names)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *text = NULL;
	struct stat st;
	size_t len = 0;

	if (guard_open(root_fd, path, sources[source].max_bytes, &fd, &st) || !st.st_size)
		return false;
	text = malloc((size_t)st.st_size);
	while (text && len < (size_t)st.st_size) {
		ssize_t n = read(fd, text + len, (size_t)st.st_size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	return text && sources[source].read(text, len, id, ret_names);
}

static bool look_in_files(int root_fd, const char *id, struct container_names *ret_names)
{
	char path[256];

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		const char *after = sources[i].after;

		snprintf(path, sizeof(path), "%s%s%s", sources[i].before, after ? id : "",
			 after ? after : "");
		if (read_file(root_fd, path, i, id, ret_names))
			return true;
	}
	return false;
}

/* Looks through the names in a folder. */
static bool look_in_folder(int root_fd, const char *path, read_fn read_name, const char *id,
			   struct container_names *ret_names)
{
	_cleanup_close_ int path_fd = guard_look(root_fd, path, true);
	bool found = false;
	struct dirent *entry;
	DIR *folder;
	int fd;

	if (path_fd < 0)
		return false;
	fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	folder = fd < 0 ? NULL : fdopendir(fd);
	if (!folder) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	for (int i = 0; !found && i < NODE_FOLDER_ENTRIES_MAX && (entry = readdir(folder)); i++)
		found = read_name(entry->d_name, strlen(entry->d_name), id, ret_names);
	closedir(folder);
	return found;
}

static bool look_below(int root_fd, const struct fetch_request *request,
		       struct container_names *ret_names)
{
	const char *id = request->container_id, *uid = request->pod_uid;

	if (id[0] &&
	    (look_in_files(root_fd, id, ret_names) ||
	     look_in_folder(root_fd, "/var/log/containers", container_from_log, id, ret_names)))
		return true;
	return uid[0] &&
	       look_in_folder(root_fd, "/var/log/pods", container_from_pod_folder, uid, ret_names);
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

static int look(const struct fetch_request *request, struct container_names *ret_names)
{
	_cleanup_close_ int root_fd = open_root(request->path[0] ? request->path : "/");
	_cleanup_close_ int host_fd = -1;
	char init[sizeof(request->target.proc_path) + sizeof("/1/root")];

	if (root_fd < 0)
		return root_fd;
	if (look_below(root_fd, request, ret_names))
		return 0;
	if (request->path[0])
		return -ENOENT;
	snprintf(init, sizeof(init), "%s/1/root", request->target.proc_path);
	host_fd = open_root(init);
	if (host_fd < 0)
		return host_fd;
	return !is_own_root(host_fd) && look_below(host_fd, request, ret_names) ? 0 : -ENOENT;
}

int node_look_serve(const struct fetch_request *request, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	struct container_names names;
	int err = look(request, &names);

	if (err)
		return err;
	fd = memfd_create("hotrun-node", MFD_CLOEXEC);
	if (fd < 0 || write(fd, &names, sizeof(names)) != (ssize_t)sizeof(names))
		return -ENOMEM;
	*ret_fd = take_fd(&fd);
	return 0;
}

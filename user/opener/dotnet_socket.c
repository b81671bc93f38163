/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/dotnet_socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "opener/guard.h"
#include "opener/proc_stat.h"
#include "perfmap/socket/diagnostics.h"

/* Of a temporary directory that are looked through for what earlier processes left. */
#define ENTRIES_MAX 100000u

static const char *temporary_directory(const struct perfmap_target *target)
{
	return target->env.temp_dir[0] ? target->env.temp_dir : "/tmp";
}

/* Whether a socket of another process that had this pid lies there. */
static bool has_stale(int dir_fd, uint32_t ns_pid)
{
	/* O_PATH descriptors cannot be read. */
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	bool found = false;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	for (unsigned i = 0; i < ENTRIES_MAX && !found && (entry = readdir(dir)); i++)
		found = diagnostics_is_socket_name(entry->d_name, ns_pid);
	closedir(dir);
	return found;
}

/* Finds the socket: 0 with an O_PATH descriptor of the very one, owned, or -errno as listed at
 * dotnet_connect_serve(). */
static int find_socket(const struct dotnet_door *door, bool with_stale, int *ret_fd,
		       struct stat *ret_stat)
{
	_cleanup_close_ int dir_fd = dotnet_door_directory(door, temporary_directory(door->target));
	_cleanup_close_ int fd = -1;
	char name[DIAGNOSTICS_NAME_BYTES];
	struct stat st;

	if (dir_fd < 0)
		return dir_fd == -ENOTDIR ? -ENOENT : dir_fd;
	diagnostics_socket_name(door->target->ns_pid, door->start_ticks, name);
	fd = guard_look(dir_fd, name, false);
	if (fd == -ENOENT && with_stale && has_stale(dir_fd, door->target->ns_pid))
		return -ESTALE;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	if (st.st_uid != door->target->euid)
		return -EPERM;
	*ret_fd = take_fd(&fd);
	*ret_stat = st;
	return 0;
}

static enum dotnet_socket state_of(int err)
{
	switch (err) {
	case 0:
		return DOTNET_SOCKET_THERE;
	case -ENOENT:
		return DOTNET_SOCKET_ABSENT;
	case -ESTALE:
		return DOTNET_SOCKET_STALE;
	case -ENOTSOCK:
	case -EPERM:
	case -ELOOP:
		return DOTNET_SOCKET_UNSAFE;
	case -EACCES:
		return DOTNET_SOCKET_DENIED;
	default:
		return DOTNET_SOCKET_UNKNOWN;
	}
}

void dotnet_socket_look(const struct dotnet_door *door, bool with_stale, struct dotnet_process *p)
{
	const char *dir = temporary_directory(door->target);
	char name[DIAGNOSTICS_NAME_BYTES];
	_cleanup_close_ int fd = -1;
	struct stat st;
	int n;

	p->socket = state_of(find_socket(door, with_stale, &fd, &st));
	if (p->socket == DOTNET_SOCKET_THERE && st.st_mtim.tv_sec > 0)
		p->socket_mtime_ns =
			(uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	diagnostics_socket_name(door->target->ns_pid, door->start_ticks, name);
	n = snprintf(p->socket_path, sizeof(p->socket_path), "%s%s%s", dir,
		     dir[strlen(dir) - 1] == '/' ? "" : "/", name);
	if (n >= (int)sizeof(p->socket_path))
		p->socket_path[0] = '\0';
}

int dotnet_connect_serve(const struct file_request *request, int *ret_fd)
{
	static struct perfmap_target target; /* large; one thread here */
	_cleanup_close_ int process_fd = target_process_open(&request->target);
	_cleanup_close_ int root_fd = -1, path_fd = -1, fd = -1;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct proc_stat stat;
	struct dotnet_door door;
	struct stat st;
	int err;

	if (process_fd < 0)
		return process_fd;
	err = target_process_read(process_fd, &request->runtime.env, &target);
	if (err)
		return err;
	root_fd = guard_root(process_fd);
	if (root_fd < 0)
		return root_fd == -ENOENT ? -ESRCH : root_fd;
	door = (struct dotnet_door){
		.process_fd = process_fd, .root_fd = root_fd, .target = &target};
	err = proc_stat_read(process_fd, &stat);
	door.start_ticks = err ? 0 : stat.start_ticks;
	if (!err)
		err = find_socket(&door, true, &path_fd, &st);
	if (err)
		return err;
	/* The socket that was checked, however long its path and whatever lies there by now. */
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", path_fd);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

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
#include "opener/file_writer.h"
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

/* A process whose directories are open. */
struct opened {
	struct perfmap_target target;
	struct dotnet_door door;
	int process_fd, root_fd; /* owned */
};

static void close_opened(struct opened *o)
{
	cleanup_close(&o->process_fd);
	cleanup_close(&o->root_fd);
}

/* 0 or -errno; closed by close_opened() either way. */
static int open_process(const struct file_request *request, struct opened *o)
{
	struct proc_stat stat;
	int err;

	o->root_fd = -1;
	o->process_fd = target_process_open(&request->target);
	if (o->process_fd < 0)
		return o->process_fd;
	err = target_process_read(o->process_fd, &request->runtime.env, &o->target);
	if (err)
		return err;
	o->root_fd = guard_root(o->process_fd);
	if (o->root_fd < 0)
		return o->root_fd == -ENOENT ? -ESRCH : o->root_fd;
	err = proc_stat_read(o->process_fd, &stat);
	o->door = (struct dotnet_door){
		.process_fd = o->process_fd,
		.root_fd = o->root_fd,
		.target = &o->target,
		.start_ticks = err ? 0 : stat.start_ticks,
	};
	return err;
}

/* The folder of a port and its name there. A descriptor, owned, or -errno. */
static int open_port_folder(const struct dotnet_door *door, const char *port, const char **ret_name)
{
	const char *slash = strrchr(port, '/');
	char folder[RUNTIME_PORT_BYTES];

	*ret_name = slash ? slash + 1 : port;
	if (!**ret_name || !strcmp(*ret_name, ".") || !strcmp(*ret_name, ".."))
		return -EINVAL;
	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - port) + 1 : 1,
		 slash ? port : ".");
	return dotnet_door_directory(door, folder);
}

/* The socket that was checked, however long its path and whatever lies there by now. */
static int connect_to(int path_fd, int *ret_fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = -1;

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", path_fd);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

int dotnet_connect_serve(const struct file_request *request, int *ret_fd)
{
	static struct opened opened; /* large; one thread here */
	_cleanup_close_ int path_fd = -1;
	int err = open_process(request, &opened);
	struct stat st;

	if (!err)
		err = find_socket(&opened.door, true, &path_fd, &st);
	close_opened(&opened);
	return err ? err : connect_to(path_fd, ret_fd);
}

/* Makes room at a port: only a socket goes, the process's own or what was made in its stead, and
 * none at which a tool listens. own: that of who made it. 0 or -errno. */
static int clear_port(int dir_fd, const char *name, uint32_t euid, bool own)
{
	_cleanup_close_ int path_fd = guard_look(dir_fd, name, false), fd = -1;
	struct stat st;
	int err;

	if (path_fd < 0)
		return path_fd == -ENOENT ? 0 : path_fd;
	if (fstat(path_fd, &st))
		return -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	err = connect_to(path_fd, &fd);
	if (!err || err == -EAGAIN)
		return -EADDRINUSE;
	if (err != -ECONNREFUSED)
		return err;
	if (st.st_uid != euid && !(own && st.st_uid == geteuid()))
		return -EPERM;
	return unlinkat(dir_fd, name, 0) ? -errno : 0;
}

/* Whoever connects is checked by who accepts: the runtime may be any user's. */
static int bind_at(int dir_fd, const char *name, int *ret_fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	mode_t was;
	int err;

	if (fd < 0)
		return -errno;
	if (snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir_fd,
		     name) >= (int)sizeof(address.sun_path))
		return -ENAMETOOLONG;
	was = umask(0111);
	err = bind(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
	umask(was);
	if (!err && listen(fd, 4)) {
		err = -errno;
		unlinkat(dir_fd, name, 0);
	}
	if (!err)
		*ret_fd = take_fd(&fd);
	return err;
}

/* Its environment names the folder: what it could not do there itself is not done in its stead. */
static int check_folder(int dir_fd, const struct dotnet_door *door)
{
	struct stat st;

	if (fstat(dir_fd, &st))
		return -errno;
	return file_writer_look(door->process_fd, &st) == FILE_WRITER_MAY ? 0 : -EPERM;
}

/* The folder of the port of a request, in which there is room at its name then; of an unlisten ours
 * has no listener any more by now. A descriptor, owned, or -errno. */
static int open_cleared_port(const struct file_request *request, const char **ret_name)
{
	static struct opened opened; /* large; one thread here */
	_cleanup_close_ int dir_fd = -1;
	int err = open_process(request, &opened);

	if (!err) {
		dir_fd = open_port_folder(&opened.door, request->runtime.port, ret_name);
		err = dir_fd < 0 ? dir_fd : check_folder(dir_fd, &opened.door);
	}
	if (!err)
		err = clear_port(dir_fd, *ret_name, opened.target.euid,
				 request->kind == FILE_REQUEST_UNLISTEN);
	close_opened(&opened);
	return err ? err : take_fd(&dir_fd);
}

int dotnet_listen_serve(const struct file_request *request, int *ret_fd)
{
	const char *name;
	_cleanup_close_ int dir_fd = open_cleared_port(request, &name);

	return dir_fd < 0 ? dir_fd : bind_at(dir_fd, name, ret_fd);
}

int dotnet_unlisten_serve(const struct file_request *request)
{
	const char *name;
	_cleanup_close_ int dir_fd = open_cleared_port(request, &name);

	return dir_fd < 0 ? dir_fd : 0;
}

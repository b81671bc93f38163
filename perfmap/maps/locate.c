/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/maps/locate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of /proc/PID/status. Its longest line, Groups, may have 65,536 numbers. */
#define STATUS_BYTES_MAX (1u << 20)
/* A process that renames directories all the time does not keep us here. */
#define OPEN_TRIES 16u

int perfmap_process_open(const char *proc_path, uint32_t tgid)
{
	char path[PERFMAP_PATH_BYTES];
	int fd, n;

	n = snprintf(path, sizeof(path), "%s/%" PRIu32, proc_path, tgid);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return fd;
}

/* Opens a file of /proc/PID; -ESRCH when the process is gone. */
static int open_of_process(int process_fd, const char *name, int flags)
{
	int fd = openat(process_fd, name, flags | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return fd;
}

/* Reads all of a file of /proc/PID, at most max bytes, NUL-terminated. Returns owned bytes. */
static int read_of_process(int process_fd, const char *name, size_t max, char **ret_bytes,
			   size_t *ret_len)
{
	size_t cap = 4096, len = 0;
	char *bytes = malloc(cap), *grown;
	ssize_t n;
	int fd, err = 0;

	fd = open_of_process(process_fd, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0 || !bytes) {
		free(bytes);
		if (fd < 0)
			return fd;
		close(fd);
		return -ENOMEM;
	}
	for (;;) {
		n = read(fd, bytes + len, cap - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			err = -errno;
		if (n <= 0)
			break;
		len += (size_t)n;
		if (len < cap - 1)
			continue;
		if (cap >= max)
			break;
		grown = realloc(bytes, cap * 2);
		if (!grown) {
			err = -ENOMEM;
			break;
		}
		bytes = grown;
		cap *= 2;
	}
	close(fd);
	if (err) {
		free(bytes);
		return err;
	}
	bytes[len] = 0;
	*ret_bytes = bytes;
	*ret_len = len;
	return 0;
}

/* The number'th number (from 0) of the line of status that begins with key; the last one for -1. */
static bool status_number(const char *status, const char *key, int number, uint32_t *ret)
{
	const char *line = strstr(status, key), *end;
	bool found = false;
	char *after;

	if (!line)
		return false;
	line += strlen(key);
	end = strchrnul(line, '\n');
	while (line < end) {
		unsigned long v = strtoul(line, &after, 10);

		if (after == line || after > end || v > UINT32_MAX)
			break;
		*ret = (uint32_t)v;
		found = number <= 0;
		if (number == 0)
			break;
		if (number > 0)
			number--;
		line = after;
	}
	return found;
}

static bool take_variable(const char *entry, const char *name, char *value, size_t cap)
{
	size_t len = strlen(name);

	if (strncmp(entry, name, len) || entry[len] != '=')
		return false;
	/* A value that does not fit names no file that could be opened. */
	if (!value[0] && strlen(entry + len + 1) < cap)
		strcpy(value, entry + len + 1);
	return true;
}

/* The runtime reads its numbers as hexadecimal: 0 none, 1 map and jitdump, 2 jitdump, 3 map. */
static enum perfmap_enabled parse_enabled(const char *value)
{
	unsigned long v;

	if (!*value)
		return PERFMAP_ENABLED_UNSET;
	v = strtoul(value, NULL, 16);
	return v == 1 || v == 3 ? PERFMAP_ENABLED_ON : PERFMAP_ENABLED_OFF;
}

void perfmap_environment_parse(const char *bytes, size_t len,
			       struct perfmap_environment *ret_environment)
{
	struct perfmap_environment *env = ret_environment;
	char enabled[16] = "", enabled_old[16] = "", dump_dir_old[PERFMAP_PATH_BYTES] = "";
	const char *p, *end = bytes + len;

	memset(env, 0, sizeof(*env));
	for (p = bytes; p < end; p += strlen(p) + 1) {
		if (*p != 'D' && *p != 'C' && *p != 'T')
			continue;
		(void)(take_variable(p, "DOTNET_PerfMapEnabled", enabled, sizeof(enabled)) ||
		       take_variable(p, "COMPlus_PerfMapEnabled", enabled_old,
				     sizeof(enabled_old)) ||
		       take_variable(p, "DOTNET_PerfMapJitDumpPath", env->dump_dir,
				     sizeof(env->dump_dir)) ||
		       take_variable(p, "COMPlus_PerfMapJitDumpPath", dump_dir_old,
				     sizeof(dump_dir_old)) ||
		       take_variable(p, "TMPDIR", env->temp_dir, sizeof(env->temp_dir)));
	}
	/* DOTNET_ wins over COMPlus_, as in the runtime. */
	env->enabled = parse_enabled(enabled[0] ? enabled : enabled_old);
	if (!env->dump_dir[0])
		strcpy(env->dump_dir, dump_dir_old);
}

int perfmap_target_read(int process_fd, struct perfmap_target *ret_target)
{
	struct perfmap_target *target;
	char *status;
	size_t len;
	int err;

	err = read_of_process(process_fd, "status", STATUS_BYTES_MAX, &status, &len);
	if (err)
		return err;
	target = calloc(1, sizeof(*target));
	if (!target)
		err = -ENOMEM;
	else if (!status_number(status, "\nUid:", 1, &target->euid) ||
		 (!status_number(status, "\nNStgid:", -1, &target->ns_pid) &&
		  !status_number(status, "\nTgid:", 0, &target->ns_pid)))
		err = -EBADMSG;
	free(status);
	if (!err)
		*ret_target = *target;
	free(target);
	return err;
}

/* Opens path (O_PATH, and flags) below a directory that it cannot leave, whatever links lie on the
 * way. */
static int open_below(int dir_fd, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	unsigned int tries = OPEN_TRIES;
	long fd;

	/* EAGAIN: a rename on the way raced with "..", see openat2(2). */
	do {
		fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
	} while (fd < 0 && (errno == EINTR || errno == EAGAIN) && --tries);
	if (fd >= 0)
		return (int)fd;
	/* A component that is no directory: nothing can be there. */
	return errno == ENOTDIR ? -ENOENT : -errno;
}

/* The owner sets it at will: a time before 1970 counts as 1970. */
static uint64_t mtime_of(const struct stat *st)
{
	if (st->st_mtim.tv_sec < 0)
		return 0;
	return (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

static int check(const struct stat *st, uint32_t euid, uint64_t started_wall_ns)
{
	if (S_ISLNK(st->st_mode))
		return -ELOOP;
	if (!S_ISREG(st->st_mode))
		return -ENOTSUP;
	if (st->st_uid != euid)
		return -EPERM;
	if ((uint64_t)st->st_size > PERFMAP_FILE_BYTES_MAX)
		return -EFBIG;
	if (started_wall_ns && mtime_of(st) + PERFMAP_STALE_SLACK_NS < started_wall_ns)
		return -ESTALE;
	return 0;
}

/* One candidate: the directory as the process names it; root_fd is its root or its cwd. */
static int try_directory(int root_fd, const char *dir, const struct perfmap_target *target,
			 uint64_t started_wall_ns, struct perfmap_file *ret_file)
{
	char path[sizeof(ret_file->path)], self[64];
	struct stat st;
	int path_fd, fd, err;

	snprintf(path, sizeof(path), "%s%sperf-%" PRIu32 ".map", dir,
		 dir[strlen(dir) - 1] == '/' ? "" : "/", target->ns_pid);
	path_fd = open_below(root_fd, path, O_NOFOLLOW);
	if (path_fd < 0)
		return path_fd;
	err = fstat(path_fd, &st) ? -errno : check(&st, target->euid, started_wall_ns);
	if (!err) {
		/* The same inode, opened for reading: nothing can be slipped in between. */
		snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
		fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		err = fd < 0 ? -errno : 0;
	}
	close(path_fd);
	if (err)
		return err;
	ret_file->fd = fd;
	ret_file->dev = st.st_dev;
	ret_file->ino = st.st_ino;
	ret_file->size_bytes = (uint64_t)st.st_size;
	ret_file->mtime_ns = mtime_of(&st);
	strcpy(ret_file->path, path);
	return 0;
}

/* NULL: no such candidate. */
static const char *candidate_of(const struct perfmap_target *target, unsigned candidate)
{
	switch (candidate) {
	case 0:
		return *target->env.dump_dir ? target->env.dump_dir : NULL;
	case PERFMAP_DIRECTORY_FIXED:
		return "/tmp";
	case 2:
		return *target->env.temp_dir && strcmp(target->env.temp_dir, "/tmp")
			       ? target->env.temp_dir
			       : NULL;
	default:
		return NULL;
	}
}

/* Relative directories begin at the working directory and stay below it. */
static int open_base(int process_fd, const char *dir)
{
	return open_of_process(process_fd, dir[0] == '/' ? "root" : "cwd", O_PATH | O_DIRECTORY);
}

int perfmap_locate(int process_fd, const struct perfmap_target *target, uint64_t started_wall_ns,
		   struct perfmap_file *ret_file)
{
	int err, base_fd, first_err = -ENOENT;

	for (unsigned i = 0; i < PERFMAP_DIRECTORIES; i++) {
		const char *dir = candidate_of(target, i);

		if (!dir)
			continue;
		base_fd = open_base(process_fd, dir);
		err = base_fd < 0 ? base_fd
				  : try_directory(base_fd, dir, target, started_wall_ns, ret_file);
		if (base_fd >= 0)
			close(base_fd);
		if (!err)
			return 0;
		if (first_err == -ENOENT)
			first_err = err;
	}
	return first_err;
}

int perfmap_directory(int process_fd, const struct perfmap_target *target, unsigned candidate)
{
	const char *dir = candidate_of(target, candidate);
	int base_fd, fd;

	if (!dir)
		return -ENOENT;
	base_fd = open_base(process_fd, dir);
	if (base_fd < 0)
		return base_fd;
	fd = open_below(base_fd, dir, O_DIRECTORY);
	close(base_fd);
	return fd;
}

int perfmap_locate_in(int directory_fd, const struct perfmap_target *target,
		      uint64_t started_wall_ns, struct perfmap_file *ret_file)
{
	return try_directory(directory_fd, "/", target, started_wall_ns, ret_file);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/dotnet_look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "names/dotnet_version.h"
#include "names/elf.h"
#include "names/guard.h"
#include "names/proc.h"

#define ENVIRON_BYTES_MAX (4u << 20) /* the kernel allows 2 MiB by default */

/* --- environment ------------------------------------------------------------------------------- */

/* The value of a variable in entries that each end with a NUL, or NULL. */
static const char *find_variable(const char *environ, size_t len, const char *name)
{
	size_t name_len = strlen(name);

	for (size_t at = 0; at < len; at += strlen(environ + at) + 1)
		if (!strncmp(environ + at, name, name_len) && environ[at + name_len] == '=')
			return environ + at + name_len + 1;
	return NULL;
}

/* The runtime reads its numbers as hexadecimal; DOTNET_ wins over COMPlus_. */
static bool is_number(const char *environ, size_t len, const char *name, unsigned long number)
{
	char full[64];
	const char *value;

	snprintf(full, sizeof(full), "DOTNET_%s", name);
	value = find_variable(environ, len, full);
	if (!value) {
		snprintf(full, sizeof(full), "COMPlus_%s", name);
		value = find_variable(environ, len, full);
	}
	return value && *value && strtoul(value, NULL, 16) == number;
}

/* docs/design/coreclr/profiling: the path may be given for one architecture alone. */
static void read_profiler(const char *environ, size_t len, char ret_path[PATH_MAX])
{
	static const char *const names[] = {
		"CORECLR_PROFILER_PATH",     "CORECLR_PROFILER_PATH_64",
		"CORECLR_PROFILER_PATH_32",  "CORECLR_PROFILER_PATH_ARM64",
		"CORECLR_PROFILER_PATH_ARM",
	};
	const char *on = find_variable(environ, len, "CORECLR_ENABLE_PROFILING"), *value = NULL;

	if (!on || strtoul(on, NULL, 16) != 1)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !value; i++)
		value = find_variable(environ, len, names[i]);
	if (value)
		snprintf(ret_path, PATH_MAX, "%s", value);
}

static void look_environment(int process_fd, struct dotnet_look *look)
{
	_cleanup_free_ char *environ = malloc(ENVIRON_BYTES_MAX);
	ssize_t n = environ ? guard_read(process_fd, "environ", environ, ENVIRON_BYTES_MAX) : -1;

	if (n <= 0)
		return;
	read_profiler(environ, (size_t)n, look->profiler);
	look->process.diagnostics_off = is_number(environ, (size_t)n, "EnableDiagnostics", 0) ||
					is_number(environ, (size_t)n, "EnableDiagnostics_IPC", 0);
}

/* --- files that tell the version --------------------------------------------------------------- */

static void set_version(struct dotnet_process *p, const char *version, const char *source)
{
	if (!*version || *p->version)
		return;
	snprintf(p->version, sizeof(p->version), "%s", version);
	snprintf(p->version_source, sizeof(p->version_source), "%s", source);
}

static void look_executable(int process_fd, struct dotnet_look *look)
{
	struct dotnet_process *p = &look->process;
	struct dotnet_executable executable;
	/* The kernel runs regular files only. */
	_cleanup_close_ int fd = openat(process_fd, "exe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return;
	dotnet_version_executable(fd, &executable);
	p->is_32bit = executable.is_32bit;
	p->native_aot = executable.native_aot;
	p->single_file = executable.has_runtime;
	set_version(p, executable.version, "file");
}

/* A self-contained application has its libcoreclr.so beside it. */
static void look_library(const struct fetch_request *request, const struct dotnet_door *door,
			 struct dotnet_process *p)
{
	char version[DOTNET_VERSION_BYTES];
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (!request->path[0] || *p->version)
		return;
	if (guard_open(door->root_fd, request->path, ELF_FILE_BYTES_MAX, &fd, &st) &&
	    guard_open_mapped(door->process_fd, request->start, request->end, ELF_FILE_BYTES_MAX,
			      &fd, &st))
		return;
	if (dotnet_version_library(fd, version))
		set_version(p, version, "file");
}

/* ----------------------------------------------------------------------------------------------- */

int dotnet_look_directory(const struct dotnet_door *door, const char *path)
{
	_cleanup_close_ int cwd_fd = -1;

	if (*path == '/')
		return guard_look(door->root_fd, path, true);
	cwd_fd = openat(door->process_fd, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return cwd_fd < 0 ? -errno : guard_look(cwd_fd, path, true);
}

int dotnet_read_start(int process_fd, uint64_t *ret_ticks)
{
	_cleanup_free_ struct proc_facts *facts = malloc(sizeof(*facts));
	char stat[2048];
	ssize_t n = facts ? guard_read(process_fd, "stat", stat, sizeof(stat)) : -ENOMEM;

	if (n < 0)
		return (int)n;
	if (proc_parse_stat(stat, (size_t)n, facts))
		return -EBADMSG;
	*ret_ticks = facts->start_ticks;
	return 0;
}

/* Whether a process that maps no runtime is one of .NET all the same. */
static bool recognise(struct dotnet_process *p)
{
	if (p->single_file)
		p->found = DOTNET_BY_EXECUTABLE;
	else if (p->native_aot)
		p->found = DOTNET_BY_EXECUTABLE;
	else if (p->socket == DOTNET_SOCKET_THERE)
		p->found = DOTNET_BY_SOCKET;
	else
		return false;
	return true;
}

static int look_at(const struct fetch_request *request, int process_fd, struct dotnet_look *look)
{
	static struct perfmap_target target; /* large; one thread here */
	_cleanup_close_ int root_fd = -1;
	struct dotnet_process *p = &look->process;
	struct dotnet_door door;
	int err = perfmap_target_read(process_fd, &target);
	uint64_t ticks = 0;

	if (!err)
		err = dotnet_read_start(process_fd, &ticks);
	if (err)
		return err;
	p->ns_pid = target.ns_pid;
	p->euid = target.euid;
	p->start_ticks = ticks;
	root_fd = guard_root(process_fd);
	look->denied = root_fd == -EACCES || root_fd == -EPERM;
	if (look->denied) {
		p->socket = DOTNET_SOCKET_DENIED;
		p->map = DOTNET_MAP_DENIED;
		p->map_refusal = -EACCES;
		look->is_dotnet = request->is_dotnet;
		return 0;
	}
	if (root_fd < 0)
		return root_fd == -ENOENT ? -ESRCH : root_fd;
	door = (struct dotnet_door){
		.process_fd = process_fd,
		.root_fd = root_fd,
		.target = &target,
		.start_ticks = ticks,
		.started_wall_ns = asker_started_wall_ns(request->target.start_ns),
	};
	look_executable(process_fd, look);
	dotnet_look_socket(&door, request->is_dotnet, p);
	look->is_dotnet = request->is_dotnet || recognise(p);
	if (!look->is_dotnet)
		return 0;
	look_environment(process_fd, look);
	look_library(request, &door, p);
	look->bytes = dotnet_look_map(&door, request->bytes_max, p);
	return 0;
}

int dotnet_look_serve(const struct fetch_request *request, int *ret_fd)
{
	static struct dotnet_look look; /* large; one thread here */
	_cleanup_close_ int process_fd = asker_open(&request->target), fd = -1;
	int err;

	if (process_fd < 0)
		return process_fd;
	memset(&look, 0, sizeof(look));
	err = look_at(request, process_fd, &look);
	if (err)
		return err;
	fd = memfd_create("hotrun-dotnet", MFD_CLOEXEC);
	if (fd < 0 || write(fd, &look, sizeof(look)) != (ssize_t)sizeof(look))
		return -ENOMEM;
	*ret_fd = take_fd(&fd);
	return 0;
}

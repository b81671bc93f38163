/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What others left of a .NET process; see left_behind.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "opener/guard.h"
#include "parse/parse_fact.h"
#include "process/left_behind.h"
#include "process/proc.h"
#include "process/unix_sockets.h"

/* For a worker, at one file. */
#define JOB_NS 2000000000ull

#define RUNTIME "libcoreclr.so"
/* Of debuggers, beside the runtime: exports the same name, and profiles nothing. */
#define DEBUGGER_LIBRARY "libmscordbi.so"

/* Before its start is over some time passes without a finalizer: nobody waits yet. */
#define START_NS 1000000000ull

/* --- ports ------------------------------------------------------------------------------------ */

static void add_port(struct left_dotnet *d, const char *path)
{
	struct left_port *port;

	if (d->ports_cnt >= LEFT_PORTS_MAX)
		return;
	port = &d->ports[d->ports_cnt++];
	*port = (struct left_port){.by_default = !*path};
	snprintf(port->path, sizeof(port->path), "%s", path);
}

/* The ports at which it waits. */
static void find_ports(struct left_reader *r, const struct file_requests_subject *subject,
		       struct left_dotnet *d)
{
	_cleanup_free_ struct file_request *request = calloc(1, sizeof(*request));
	_cleanup_free_ struct parse_environ *env = calloc(1, sizeof(*env));
	struct parse_request parse = {.kind = PARSE_ENVIRON};
	struct file_reply reply;

	if (!request || !env)
		return;
	request->kind = FILE_REQUEST_ENVIRON;
	if (file_requests_find(r->requests, subject, request, &parse, &reply, env) || reply.error)
		return;
	_Static_assert(PARSE_PORT_BYTES == LEFT_PORT_BYTES, "the same paths");
	if (env->default_suspends)
		add_port(d, "");
	for (uint32_t i = 0; i < env->ports_cnt; i++)
		add_port(d, env->ports[i].path);
}

/* Connections that stay, and whether a tool listens where the runtime connects to. */
static void look_at_sockets(const struct left_reader *r, uint32_t tgid, const char *socket_path,
			    struct left_dotnet *d)
{
	const char *proc_path = r->requests->proc_path;
	_cleanup_close_ int fd = guard_process(proc_path, tgid);
	struct unix_path paths[1 + LEFT_PORTS_MAX] = {{.path = socket_path}};

	for (uint32_t i = 0; i < d->ports_cnt; i++)
		paths[1 + i].path = d->ports[i].path;
	if (fd < 0 || unix_sockets_count(fd, paths, 1 + d->ports_cnt))
		return;
	d->sessions_cnt = paths[0].connected_cnt;
	for (uint32_t i = 0; i < d->ports_cnt; i++)
		d->ports[i].answered = paths[1 + i].listening_cnt > 0;
}

/* --- profilers -------------------------------------------------------------------------------- */

/* Whether a mapped file exports DllGetClassObject. */
static bool look_into(struct left_reader *r, const struct file_requests_subject *subject,
		      const struct proc_mapping *mapping, const char *path)
{
	_cleanup_free_ struct file_request *request = calloc(1, sizeof(*request));
	struct parse_request parse = {.kind = PARSE_PROGRAM};
	struct dotnet_executable answer = {0};
	struct file_reply reply;

	if (!request)
		return false;
	request->kind = FILE_REQUEST_MAPPED;
	request->mapped = (struct mapped_request){
		.inode = mapping->inode, .start = mapping->start, .end = mapping->end};
	snprintf(request->mapped.path, sizeof(request->mapped.path), "%s", path);
	file_requests_slice(r->requests);
	return !file_requests_find(r->requests, subject, request, &parse, &reply, &answer) &&
	       answer.class_object;
}

/* The same of a file that may be known from another process. */
static bool exports_class_object(struct left_reader *r, const struct file_requests_subject *subject,
				 const struct proc_mapping *mapping, const char *path)
{
	bool exports;

	for (size_t i = 0; i < r->files_cnt; i++)
		if (r->files[i].inode == mapping->inode && r->files[i].dev == mapping->dev)
			return r->files[i].exports;
	exports = look_into(r, subject, mapping, path);
	if (r->files_cnt < LEFT_FILES_MAX && !GROW(r->files, r->files_cnt, r->files_cap))
		r->files[r->files_cnt++] =
			(struct left_file){mapping->dev, mapping->inode, exports};
	return exports;
}

/* Where the runtime's own libraries lie; its length, 0 = it has no folder of its own. */
static size_t find_runtime_folder(const struct proc_facts *f, const char **ret_path)
{
	for (size_t i = 0; i < f->mappings_cnt; i++) {
		const char *path = f->paths + f->mappings[i].path, *base = entry_basename(path);

		if (strcmp(base, RUNTIME))
			continue;
		*ret_path = path;
		return (size_t)(base - path);
	}
	return 0;
}

static void find_profiler_in(struct left_reader *r, const struct file_requests_subject *subject,
			     const struct proc_facts *f, struct left_dotnet *d)
{
	const char *folder = "", *last = "";
	size_t folder_len = find_runtime_folder(f, &folder), looked = 0;

	for (size_t i = 0; i < f->mappings_cnt && looked < LEFT_LIBRARIES_MAX; i++) {
		const char *path = f->paths + f->mappings[i].path, *base = entry_basename(path);
		bool is_own = folder_len && !strncmp(path, folder, folder_len) &&
			      !strchr(path + folder_len, '/');

		if (*path != '/' || !strcmp(path, last) || !strstr(base, ".so") ||
		    !f->mappings[i].inode || is_own || !strcmp(base, DEBUGGER_LIBRARY) ||
		    strlen(path) >= FILE_PATH_BYTES)
			continue;
		last = path;
		looked++;
		if (!exports_class_object(r, subject, &f->mappings[i], path))
			continue;
		snprintf(d->profiler, sizeof(d->profiler), "%s", base);
		d->profiler_exports = true;
		return;
	}
}

static void find_profiler(struct left_reader *r, const struct file_requests_subject *subject,
			  struct left_dotnet *d)
{
	struct proc_job *job = proc_job_new(&subject->target, true);
	struct loader_job *mine = NULL;

	if (!job)
		return;
	file_requests_slice(r->requests);
	if (!file_requests_run(r->requests, subject->process, &job->base, &mine) && !job->error)
		find_profiler_in(r, subject, &job->facts, d);
	if (mine)
		mine->release(mine);
}

/* ---------------------------------------------------------------------------------------------- */

void left_behind_add_dotnet(struct left_reader *r, const struct dotnet_target *target,
			    struct left_process *left)
{
	const struct dotnet_process *p = &target->process;
	const struct file_requests_subject subject = {
		p->tgid, target->party,
		file_requests_target_of(r->requests, p->tgid, p->start_ticks), JOB_NS};
	struct left_dotnet *d = &left->dotnet;

	if (p->start_ticks != left->start_ticks)
		return;
	d->is = true;
	d->map = p->map;
	d->socket = p->socket;
	snprintf(d->map_path, sizeof(d->map_path), "%s", p->map_path);
	snprintf(d->profiler, sizeof(d->profiler), "%s", p->profiler);
	snprintf(left->name, sizeof(left->name), "%s", p->name);
	snprintf(left->unit, sizeof(left->unit), "%s", p->unit);
	snprintf(left->container, sizeof(left->container), "%s", p->container);
	file_requests_slice(r->requests);
	if (!d->has_finalizer && !p->native_aot && left->age_ns >= START_NS)
		find_ports(r, &subject, d);
	look_at_sockets(r, p->tgid, p->socket == DOTNET_SOCKET_THERE ? p->socket_path : NULL, d);
	find_profiler(r, &subject, d);
}

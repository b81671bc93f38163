/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/dotnet.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text.h"
#include "opener/dotnet_look.h"
#include "opener/guard.h"
#include "opener/proc_stat.h"
#include "parse/dotnet_version.h"
#include "parse/parse_fact.h"
#include "process/proc.h"

/* For a worker, at one file of a process: a map of 64 MB takes 0.1 s. */
#define DOTNET_JOB_NS 2000000000ull

#define RUNTIME "libcoreclr.so"
/* Where profilers are attached later, no variable names them: what their makers call them. */
static const char *const profiler_names[] = {"Profiler", "AutoInstrumentation.Native"};

/* What the mappings of a process tell. */
struct mapped {
	const struct proc_mapping *runtime; /* of libcoreclr.so, NULL none */
	bool doublemapper;
	bool musl;
};

static const char *path_of(const struct proc_facts *f, size_t i)
{
	return f->paths + f->mappings[i].path;
}

static struct mapped look_at_mappings(const struct proc_facts *f)
{
	struct mapped found = {0};

	for (size_t i = 0; i < f->mappings_cnt; i++) {
		const char *path = path_of(f, i), *base = entry_basename(path);

		if (!found.runtime && !strcmp(base, RUNTIME))
			found.runtime = &f->mappings[i];
		found.doublemapper |= model_mapping_kind_of(path, strlen(path)) == MAPPING_JIT;
		found.musl |= !strncmp(base, "ld-musl-", strlen("ld-musl-"));
	}
	return found;
}

static void find_profiler(const struct proc_facts *f, const char *wanted,
			  char ret_name[DOTNET_NAME_BYTES])
{
	const char *wanted_base = entry_basename(wanted);

	for (size_t i = 0; i < f->mappings_cnt; i++) {
		const char *base = entry_basename(path_of(f, i));
		bool is_one = *wanted_base && !strcmp(base, wanted_base);

		for (size_t k = 0; k < sizeof(profiler_names) / sizeof(profiler_names[0]); k++)
			is_one |= strstr(base, profiler_names[k]) != NULL;
		if (!is_one)
			continue;
		snprintf(ret_name, DOTNET_NAME_BYTES, "%s", base);
		return;
	}
}

/* For people: the entry assembly, else the executable, else the comm (as facts.c does). */
static const char *name_of(const struct proc_facts *f)
{
	const char *exe = entry_basename(f->exe);

	if (f->entry[0])
		return f->entry;
	return *exe && strcmp(exe, "dotnet") ? exe : f->stat.comm;
}

/* --- one process ------------------------------------------------------------------------------ */

/* What is known of a process that is looked at. */
struct looking {
	struct file_requests *requests;
	const struct proc_facts *facts;
	struct mapped mapped;
	struct file_requests_subject subject;
	struct file_request request;
	struct parse_environ env;
	struct dotnet_executable program;
	struct dotnet_look look;
};

/* Has a worker read a file of the process; one that it cannot read tells nothing. 0; -ESRCH; or
 * -ETIMEDOUT. */
static int find(struct looking *l, enum file_request_kind what, enum parse_kind kind,
		void *ret_answer)
{
	struct parse_request parse = {.kind = kind};
	struct file_reply reply;
	enum model_reason reason;

	l->request.kind = what;
	reason = file_requests_find(l->requests, &l->subject, &l->request, &parse, &reply,
				    ret_answer);
	/* Without its environment nobody knows where its map would be. */
	if (reason == REASON_FILE_TIMEOUT || reason == REASON_LIMIT ||
	    (reason && kind == PARSE_ENVIRON))
		return -ETIMEDOUT;
	return reply.error == -ESRCH ? -ESRCH : 0;
}

static int look_outside(struct looking *l)
{
	_cleanup_close_ int fd = -1;
	struct file_reply reply;

	l->request.kind = FILE_REQUEST_DOTNET;
	l->request.dotnet.env = l->env.map;
	l->request.dotnet.is_dotnet = l->mapped.runtime || l->mapped.doublemapper ||
				      l->program.has_runtime || l->program.native_aot;
	if (file_requests_open_of(l->requests, l->subject.process, &l->subject.target, &l->request,
				  -1, &reply, &fd))
		return -ETIMEDOUT;
	if (reply.error)
		return reply.error;
	return pread(fd, &l->look, sizeof(l->look), 0) == (ssize_t)sizeof(l->look) ? 0 : -EIO;
}

/* Whether its memory could be read, of which nothing is: the kernel is asked as for names. */
static void look_at_memory(struct looking *l)
{
	_cleanup_close_ int fd = -1;
	struct file_reply reply;

	l->request.kind = FILE_REQUEST_TARGET;
	l->request.memory = (struct target_request){0};
	if (!file_requests_open_of(l->requests, l->subject.process, &l->subject.target, &l->request,
				   -1, &reply, &fd))
		l->look.process.memory_denied = reply.error == -EACCES || reply.error == -EPERM;
}

static void count_lines(struct looking *l, uint64_t *bytes_left)
{
	struct parse_request parse = {.kind = PARSE_LINES, .fact.bytes_max = *bytes_left};
	struct dotnet_process *p = &l->look.process;
	struct parse_lines lines = {.cut = true};
	struct file_reply reply;

	if (!p->map_ino)
		return;
	l->request.kind = FILE_REQUEST_MAP;
	l->request.map = (struct map_request){.use.to_worker = true, .env = l->env.map};
	if (*bytes_left)
		file_requests_find(l->requests, &l->subject, &l->request, &parse, &reply, &lines);
	p->map_entries = lines.entries;
	p->map_methods = lines.methods;
	p->map_cut = lines.cut;
	*bytes_left -= lines.bytes < *bytes_left ? lines.bytes : *bytes_left;
}

static void set_version(struct dotnet_process *p, const char *version, const char *source)
{
	if (!*version || *p->version)
		return;
	snprintf(p->version, sizeof(p->version), "%s", version);
	snprintf(p->version_source, sizeof(p->version_source), "%s", source);
}

static void set_path_version(struct looking *l)
{
	const struct proc_mapping *runtime = l->mapped.runtime;
	char version[DOTNET_VERSION_BYTES];

	if (runtime && dotnet_version_path(l->facts->paths + runtime->path, version))
		set_version(&l->look.process, version, "path");
}

/* Only a self-contained application's libcoreclr.so has to tell it itself. */
static void find_version(struct looking *l)
{
	const struct proc_mapping *runtime = l->mapped.runtime;
	struct mapped_request *mapped = &l->request.mapped;
	struct dotnet_process *p = &l->look.process;
	struct parse_runtime library = {""};

	set_path_version(l);
	set_version(p, l->program.version, "file");
	if (!runtime || *p->version)
		return;
	*mapped = (struct mapped_request){.start = runtime->start, .end = runtime->end};
	snprintf(mapped->path, sizeof(mapped->path), "%s", l->facts->paths + runtime->path);
	find(l, FILE_REQUEST_MAPPED, PARSE_RUNTIME, &library);
	set_version(p, library.version, "file");
}

static void set_found(struct looking *l)
{
	struct dotnet_process *p = &l->look.process;

	p->is_32bit = l->program.is_32bit;
	p->single_file = l->program.has_runtime;
	p->native_aot = l->program.native_aot && !l->mapped.runtime && !l->mapped.doublemapper;
	if (l->mapped.runtime)
		p->found = DOTNET_BY_LIBRARY;
	else if (p->single_file || p->native_aot)
		p->found = DOTNET_BY_EXECUTABLE;
	else if (l->mapped.doublemapper)
		p->found = DOTNET_BY_DOUBLEMAPPER;
	else
		p->found = DOTNET_BY_SOCKET;
}

/* All that only its own bytes tell. 0; -ENOENT: it is not .NET; or another errno. */
static int look_inside(struct looking *l, uint64_t *bytes_left)
{
	int err = find(l, FILE_REQUEST_ENVIRON, PARSE_ENVIRON, &l->env);

	if (!err)
		err = find(l, FILE_REQUEST_PROGRAM, PARSE_PROGRAM, &l->program);
	if (!err)
		err = look_outside(l);
	if (err)
		return err;
	if (!l->look.is_dotnet)
		return l->look.denied ? -EACCES : -ENOENT;
	l->look.process.diagnostics_off = l->env.diagnostics_off;
	find_version(l);
	count_lines(l, bytes_left);
	if (!l->program.native_aot)
		look_at_memory(l);
	return 0;
}

/* It is known to be .NET, and that it does not answer is to be seen. */
static void set_unknown(struct looking *l)
{
	struct dotnet_process *p = &l->look.process;

	*p = (struct dotnet_process){
		.ns_pid = l->facts->ns_pid,
		.start_ticks = l->facts->stat.start_ticks,
		.socket = DOTNET_SOCKET_UNKNOWN,
		.map = DOTNET_MAP_UNKNOWN,
		.map_refusal = -ETIMEDOUT,
	};
	set_path_version(l);
}

/* Fills ret_found where the process is .NET. 0; -ENOENT: it is not; or another errno. */
static int look_closer(struct file_requests *requests, const struct target_process *target,
		       const struct proc_facts *facts, uint64_t *bytes_left,
		       struct dotnet_target *ret_found)
{
	const struct file_requests_facts who = {facts->cgroup.container.id, facts->cgroup.path};
	_cleanup_free_ struct looking *l = calloc(1, sizeof(*l));
	struct dotnet_process *p;
	int err;

	if (!l)
		return -ENOMEM;
	l->requests = requests;
	l->facts = facts;
	l->mapped = look_at_mappings(facts);
	l->subject = (struct file_requests_subject){
		target->tgid, file_requests_party_of(target, &who), *target, DOTNET_JOB_NS};
	err = look_inside(l, bytes_left);
	if (err == -ETIMEDOUT && (l->mapped.runtime || l->mapped.doublemapper))
		set_unknown(l);
	else if (err)
		return err;
	p = &l->look.process;
	p->tgid = target->tgid;
	p->musl = l->mapped.musl;
	snprintf(p->name, sizeof(p->name), "%s", name_of(facts));
	snprintf(p->unit, sizeof(p->unit), "%s", facts->cgroup.unit);
	snprintf(p->container, sizeof(p->container), "%s", facts->cgroup.container.text);
	set_found(l);
	find_profiler(facts, l->env.profiler, p->profiler);
	*ret_found = (struct dotnet_target){*p, l->subject.party, l->env.map};
	return 0;
}

/* Its start and whether it is one that can run .NET. 0, -ENOENT (no), or another errno. */
static int read_stat(const struct file_requests *requests, uint32_t tgid, uint64_t *ret_ticks)
{
	_cleanup_close_ int fd = guard_process(requests->proc_path, tgid);
	struct proc_stat stat;
	int err;

	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	err = proc_stat_read(fd, &stat);
	if (err)
		return err;
	if (stat.kernel || proc_stat_ended(&stat))
		return -ENOENT;
	*ret_ticks = stat.start_ticks;
	return 0;
}

static int look_at(struct file_requests *requests, uint32_t tgid, uint64_t *bytes_left,
		   struct dotnet_target *ret_found)
{
	struct target_process target;
	struct loader_job *left = NULL;
	struct proc_job *job;
	enum model_reason reason;
	uint64_t ticks = 0;
	int err = read_stat(requests, tgid, &ticks);

	if (err)
		return err;
	/* Each may make us wait for its own time, and nobody for that of others. */
	file_requests_slice(requests);
	target = file_requests_target_of(requests, tgid, ticks);
	job = proc_job_new(&target, true);
	if (!job)
		return -ENOMEM;
	reason = file_requests_run(requests, tgid, &job->base, &left);
	if (reason)
		err = -ETIMEDOUT;
	else
		err = job->error
			      ? job->error
			      : look_closer(requests, &target, &job->facts, bytes_left, ret_found);
	if (left)
		left->release(left);
	return err;
}

/* --- all -------------------------------------------------------------------------------------- */

static int add(struct file_requests *requests, uint32_t tgid, uint64_t *bytes_left,
	       struct dotnet_list *list)
{
	int err;

	if (list->cnt >= DOTNET_PROCESSES_MAX) {
		list->cut = true;
		return 0;
	}
	if (GROW(list->rows, list->cnt, list->cap))
		return -ENOMEM;
	err = look_at(requests, tgid, bytes_left, &list->rows[list->cnt]);
	if (!err)
		list->cnt++;
	list->unreadable += err == -EACCES || err == -EPERM;
	list->hung += err == -ETIMEDOUT;
	return err;
}

static int compare_pids(const void *a, const void *b)
{
	const struct dotnet_target *x = a, *y = b;

	return (x->process.tgid > y->process.tgid) - (x->process.tgid < y->process.tgid);
}

static bool is_stopped(const struct file_requests *requests)
{
	return requests->stop && *requests->stop;
}

static int add_all(struct file_requests *requests, struct dotnet_list *list)
{
	DIR *dir = opendir(requests->proc_path);
	uint64_t tgid, bytes_left = DOTNET_COUNTED_BYTES_MAX;
	const struct dirent *entry;
	int err = 0;

	if (!dir)
		return -errno;
	while (err != -ENOMEM && !is_stopped(requests) && (entry = readdir(dir)))
		if (!text_parse_u64(entry->d_name, 1, UINT32_MAX, &tgid))
			err = add(requests, (uint32_t)tgid, &bytes_left, list);
	closedir(dir);
	if (list->cnt)
		qsort(list->rows, list->cnt, sizeof(*list->rows), compare_pids);
	if (is_stopped(requests))
		return -EINTR;
	return err == -ENOMEM ? err : 0;
}

int dotnet_read(struct file_requests *requests, uint32_t tgid, struct dotnet_list *ret_list)
{
	uint64_t bytes_left = DOTNET_COUNTED_BYTES_MAX;
	struct dotnet_list list = {0};
	int err = tgid ? add(requests, tgid, &bytes_left, &list) : add_all(requests, &list);

	if (err)
		dotnet_clear(&list);
	else
		*ret_list = list;
	return err;
}

void dotnet_clear(struct dotnet_list *list)
{
	free(list->rows);
	*list = (struct dotnet_list){0};
}

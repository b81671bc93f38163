/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/dotnet.h"

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
#include "names/dotnet_look.h"
#include "names/dotnet_version.h"
#include "names/guard.h"
#include "names/proc.h"

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
	return *exe && strcmp(exe, "dotnet") ? exe : f->comm;
}

/* --- one process ------------------------------------------------------------------------------- */

/* What the helper says, and what is left of the bytes that may be read of maps. 0; -ESRCH;
 * -ETIMEDOUT; or another errno. */
static int fetch_look(struct asker *asker, const struct asker_target *target,
		      const struct proc_facts *facts, const struct mapped *mapped,
		      uint64_t *bytes_left, struct dotnet_look *look)
{
	_cleanup_free_ struct fetch_request *request = calloc(1, sizeof(*request));
	_cleanup_close_ int fd = -1;
	struct fetch_reply reply;
	enum model_reason reason;

	if (!request)
		return -ENOMEM;
	request->what = FETCH_DOTNET;
	request->bytes_max = *bytes_left;
	request->is_dotnet = mapped->runtime || mapped->doublemapper;
	if (mapped->runtime) {
		snprintf(request->path, sizeof(request->path), "%s",
			 facts->paths + mapped->runtime->path);
		request->start = mapped->runtime->start;
		request->end = mapped->runtime->end;
	}
	reason = asker_fetch_of(asker, target->tgid, target, request, -1, &reply, &fd);
	if (reason)
		return -ETIMEDOUT;
	if (reply.error)
		return reply.error;
	if (pread(fd, look, sizeof(*look), 0) != (ssize_t)sizeof(*look))
		return -EIO;
	*bytes_left -= look->bytes < *bytes_left ? look->bytes : *bytes_left;
	return 0;
}

static void set_found(struct dotnet_process *p, const struct mapped *mapped)
{
	if (mapped->runtime)
		p->found = DOTNET_BY_LIBRARY;
	else if (p->single_file)
		p->found = DOTNET_BY_EXECUTABLE;
	else if (mapped->doublemapper)
		p->found = DOTNET_BY_DOUBLEMAPPER;
	if (mapped->runtime || mapped->doublemapper)
		p->native_aot = false;
}

static void set_version(struct dotnet_process *p, const struct proc_facts *facts,
			const struct mapped *mapped)
{
	if (!mapped->runtime ||
	    !dotnet_version_path(facts->paths + mapped->runtime->path, p->version))
		return;
	strcpy(p->version_source, "path");
}

/* Fills ret_process where the process is .NET. 0; -ENOENT: it is not; or another errno. */
static int look_closer(struct asker *asker, const struct asker_target *target,
		       const struct proc_facts *facts, uint64_t *bytes_left,
		       struct dotnet_process *ret_process)
{
	_cleanup_free_ struct dotnet_look *look = calloc(1, sizeof(*look));
	struct mapped mapped = look_at_mappings(facts);
	struct dotnet_process *p;
	int err;

	if (!look)
		return -ENOMEM;
	p = &look->process;
	err = fetch_look(asker, target, facts, &mapped, bytes_left, look);
	if (err == -ETIMEDOUT && (mapped.runtime || mapped.doublemapper)) {
		/* It is known to be .NET, and that it does not answer is to be seen. */
		p->ns_pid = facts->ns_pid;
		p->start_ticks = facts->start_ticks;
		p->socket = DOTNET_SOCKET_UNKNOWN;
		p->map = DOTNET_MAP_UNKNOWN;
		p->map_refusal = -ETIMEDOUT;
	} else if (err) {
		return err;
	} else if (!look->is_dotnet) {
		return look->denied ? -EACCES : -ENOENT;
	}
	p->tgid = target->tgid;
	p->musl = mapped.musl;
	snprintf(p->name, sizeof(p->name), "%s", name_of(facts));
	snprintf(p->unit, sizeof(p->unit), "%s", facts->cgroup.unit);
	snprintf(p->container, sizeof(p->container), "%s", facts->cgroup.container.text);
	set_found(p, &mapped);
	set_version(p, facts, &mapped);
	find_profiler(facts, look->profiler, p->profiler);
	*ret_process = *p;
	return 0;
}

/* Its start and whether it is one that can run .NET. 0, -ENOENT (no), or another errno. */
static int read_stat(const struct asker *asker, uint32_t tgid, uint64_t *ret_ticks)
{
	_cleanup_close_ int fd = guard_process(asker->proc_path, tgid);
	_cleanup_free_ struct proc_facts *facts = malloc(sizeof(*facts));
	char stat[2048];
	ssize_t n;

	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	if (!facts)
		return -ENOMEM;
	n = guard_read(fd, "stat", stat, sizeof(stat));
	if (n < 0)
		return (int)n;
	if (proc_parse_stat(stat, (size_t)n, facts))
		return -EBADMSG;
	if (facts->kernel || facts->state == 'Z' || facts->state == 'X')
		return -ENOENT;
	*ret_ticks = facts->start_ticks;
	return 0;
}

static int look_at(struct asker *asker, uint32_t tgid, uint64_t *bytes_left,
		   struct dotnet_process *ret_process)
{
	struct asker_target target;
	struct loader_job *left = NULL;
	struct proc_job *job;
	enum model_reason reason;
	uint64_t ticks = 0;
	int err = read_stat(asker, tgid, &ticks);

	if (err)
		return err;
	/* Each may make us wait for its own time, and nobody for that of others. */
	asker_slice(asker);
	target = asker_target_of(asker, tgid, ticks);
	job = proc_job_new(&target, true);
	if (!job)
		return -ENOMEM;
	reason = asker_run(asker, tgid, &job->base, &left);
	if (reason)
		err = -ETIMEDOUT;
	else
		err = job->error
			      ? job->error
			      : look_closer(asker, &target, &job->facts, bytes_left, ret_process);
	if (left)
		left->release(left);
	return err;
}

/* --- all --------------------------------------------------------------------------------------- */

static int add(struct asker *asker, uint32_t tgid, uint64_t *bytes_left, struct dotnet_list *list)
{
	int err;

	if (list->cnt >= DOTNET_PROCESSES_MAX) {
		list->cut = true;
		return 0;
	}
	if (GROW(list->rows, list->cnt, list->cap))
		return -ENOMEM;
	err = look_at(asker, tgid, bytes_left, &list->rows[list->cnt]);
	if (!err)
		list->cnt++;
	list->unreadable += err == -EACCES || err == -EPERM;
	list->hung += err == -ETIMEDOUT;
	return err;
}

static int compare_pids(const void *a, const void *b)
{
	const struct dotnet_process *x = a, *y = b;

	return (x->tgid > y->tgid) - (x->tgid < y->tgid);
}

static bool is_stopped(const struct asker *asker)
{
	return asker->stop && *asker->stop;
}

static int add_all(struct asker *asker, struct dotnet_list *list)
{
	DIR *dir = opendir(asker->proc_path);
	uint64_t tgid, bytes_left = DOTNET_COUNTED_BYTES_MAX;
	const struct dirent *entry;
	int err = 0;

	if (!dir)
		return -errno;
	while (err != -ENOMEM && !is_stopped(asker) && (entry = readdir(dir)))
		if (!text_parse_u64(entry->d_name, 1, UINT32_MAX, &tgid))
			err = add(asker, (uint32_t)tgid, &bytes_left, list);
	closedir(dir);
	if (list->cnt)
		qsort(list->rows, list->cnt, sizeof(*list->rows), compare_pids);
	if (is_stopped(asker))
		return -EINTR;
	return err == -ENOMEM ? err : 0;
}

int dotnet_read(struct asker *asker, uint32_t tgid, struct dotnet_list *ret_list)
{
	uint64_t bytes_left = DOTNET_COUNTED_BYTES_MAX;
	struct dotnet_list list = {0};
	int err = tgid ? add(asker, tgid, &bytes_left, &list) : add_all(asker, &list);

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

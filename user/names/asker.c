/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/asker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/hash.h"
#include "names/fetch.h"
#include "names/guard.h"
#include "names/hold.h"
#include "names/proc.h"
#include "names/symbol_dirs.h"

/* A start time guessed from the fork event lies after the true one: by how much at the most. */
#define GUESS_SLACK_TICKS 100u

/* Only what took longer than that is booked against a process. */
#define TELLING_NS 1000000u

int asker_init(struct asker *a, const char *proc_path, uint64_t deadline_ns)
{
	*a = (struct asker){
		.slice_ns = deadline_ns > ASKER_SLICE_NS ? deadline_ns : ASKER_SLICE_NS,
		.process_ns = deadline_ns > ASKER_PROCESS_NS ? deadline_ns : ASKER_PROCESS_NS,
	};
	if (snprintf(a->proc_path, sizeof(a->proc_path), "%s", proc_path) >=
	    (int)sizeof(a->proc_path))
		return -ENAMETOOLONG;
	a->fetch = fetch_new(deadline_ns);
	if (!a->fetch)
		return -errno;
	a->loader = loader_new(deadline_ns);
	return a->loader ? 0 : -ENOMEM;
}

void asker_clear(struct asker *a)
{
	loader_free(a->loader);
	fetch_free(a->fetch);
	free(a->hung);
	free(a->spent);
	*a = (struct asker){0};
}

struct asker_target asker_target(const struct asker *a, const struct model *m, uint32_t process)
{
	const struct model_process *p = &m->processes[process];
	struct asker_target target = {
		.tgid = p->tgid,
		.start_ns = p->start_ns,
		.start_exact = p->start_exact,
		.exited = p->exit_ns || (p->flags & PROCESS_GONE),
	};

	snprintf(target.proc_path, sizeof(target.proc_path), "%s", a->proc_path);
	return target;
}

struct asker_target asker_target_of(const struct asker *a, uint32_t tgid, uint64_t start_ticks)
{
	struct asker_target target = {
		.tgid = tgid,
		.start_ns = start_ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK)),
		.start_exact = true,
	};

	snprintf(target.proc_path, sizeof(target.proc_path), "%s", a->proc_path);
	return target;
}

/* --- who may be asked -------------------------------------------------------------------------- */

static bool is_hung(const struct asker *a, uint32_t process)
{
	for (size_t i = 0; i < a->hung_cnt; i++)
		if (a->hung[i] == process)
			return true;
	return false;
}

static void note_hung(struct asker *a, uint32_t process)
{
	/* Without memory it is asked again, and bounded then. */
	if (!is_hung(a, process) && !GROW(a->hung, a->hung_cnt, a->hung_cap))
		a->hung[a->hung_cnt++] = process;
}

static struct asker_spent *spent_of(const struct asker *a, uint32_t process)
{
	for (size_t i = a->spent_cnt; i-- > 0;)
		if (a->spent[i].process == process)
			return &a->spent[i];
	return NULL;
}

bool asker_is_spent(const struct asker *a)
{
	return a->spent_ns >= a->slice_ns;
}

static enum model_reason may_ask(struct asker *a, uint32_t process)
{
	const struct asker_spent *spent = spent_of(a, process);

	if (is_hung(a, process))
		return REASON_FILE_TIMEOUT;
	if (!asker_is_spent(a) && (!spent || spent->ns < a->process_ns))
		return REASON_NAMED;
	a->deferred++;
	return REASON_LIMIT;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void book(struct asker *a, uint32_t process, uint64_t ns)
{
	struct asker_spent *spent = spent_of(a, process);

	if (ns < TELLING_NS)
		return;
	a->spent_ns += ns;
	if (spent)
		spent->ns += ns;
	else if (!GROW(a->spent, a->spent_cnt, a->spent_cap))
		a->spent[a->spent_cnt++] = (struct asker_spent){process, ns};
}

void asker_slice(struct asker *a)
{
	a->spent_cnt = 0;
	a->spent_ns = 0;
}

void asker_forget(struct asker *a, uint32_t process)
{
	for (size_t i = 0; i < a->hung_cnt; i++) {
		if (a->hung[i] == process) {
			a->hung[i] = a->hung[--a->hung_cnt];
			return;
		}
	}
}

uint64_t asker_timeouts(const struct asker *a)
{
	return loader_timeouts(a->loader) + fetch_timeouts(a->fetch);
}

/* --- asking ------------------------------------------------------------------------------------ */

enum model_reason asker_run(struct asker *a, uint32_t process, struct loader_job *job,
			    struct loader_job **ret_job)
{
	enum model_reason reason = may_ask(a, process);
	uint64_t start_ns = now_ns();
	int err;

	*ret_job = job;
	if (reason)
		return reason;
	err = loader_run(a->loader, job);
	book(a, process, now_ns() - start_ns);
	if (!err)
		return REASON_NAMED;
	if (err != -ETIMEDOUT)
		return REASON_LIMIT;
	*ret_job = NULL;
	note_hung(a, process);
	return REASON_FILE_TIMEOUT;
}

/* A user in a mount namespace: whose file systems its processes see. */
static uint64_t key_of(const struct asker_target *target)
{
	char path[300];
	struct stat owner = {0}, mounts = {0};

	if (target->exited)
		return 0;
	snprintf(path, sizeof(path), "%s/%u", target->proc_path, target->tgid);
	if (stat(path, &owner))
		return 0;
	snprintf(path, sizeof(path), "%s/%u/ns/mnt", target->proc_path, target->tgid);
	if (stat(path, &mounts))
		mounts.st_ino = 0;
	return hash_pair(owner.st_uid, mounts.st_ino);
}

/* Maps of two processes that had one pid, or saw themselves under it, cannot be told apart by it. */
static struct symbol_pids pids_of(const struct model *m, uint32_t process)
{
	struct symbol_pids pids = {m->processes[process].tgid, m->processes[process].ns_pid};

	for (uint32_t i = 0; i < m->processes_cnt; i++) {
		const struct model_process *other = &m->processes[i];

		if (i == process || !(other->flags & PROCESS_DOTNET))
			continue;
		if (other->ns_pid == pids.ns_pid)
			pids.ns_pid = 0;
		if (other->tgid == pids.tgid)
			pids.tgid = 0;
	}
	return pids;
}

static bool has_failed(const struct fetch_request *request, const struct fetch_reply *reply, int fd)
{
	return request->what == FETCH_MAP
		       ? reply->error != 0
		       : reply->reason != 0 || (fd < 0 && !request->identity_only);
}

enum model_reason asker_fetch_of(struct asker *a, uint32_t process,
				 const struct asker_target *target, struct fetch_request *request,
				 int give_fd, struct fetch_reply *ret_reply, int *ret_fd)
{
	enum model_reason reason = may_ask(a, process);
	uint64_t start_ns = now_ns();
	int err;

	*ret_fd = -1;
	if (reason)
		return reason;
	request->target = *target;
	request->key = key_of(&request->target);
	/* For files of a process that is gone; a map's descriptor is a copy or a folder. */
	if (give_fd < 0 && a->hold && (request->what == FETCH_FILE || request->what == FETCH_DEBUG))
		give_fd = hold_root(a->hold, process);
	err = fetch_ask(a->fetch, request, give_fd, ret_reply, ret_fd);
	book(a, process, now_ns() - start_ns);
	if (!err)
		return REASON_NAMED;
	if (err == -EBUSY || err == -EAGAIN)
		return REASON_LIMIT;
	note_hung(a, process); /* or its file killed the helper: not again either */
	return err == -EPIPE ? REASON_FILE_MALFORMED : REASON_FILE_TIMEOUT;
}

enum model_reason asker_fetch(struct asker *a, const struct model *m, uint32_t process,
			      struct fetch_request *request, int give_fd,
			      struct fetch_reply *ret_reply, int *ret_fd)
{
	struct asker_target target = asker_target(a, m, process);
	enum model_reason reason =
		asker_fetch_of(a, process, &target, request, give_fd, ret_reply, ret_fd);
	struct symbol_pids pids;

	/* What was put off is asked again. */
	if (!a->symbols || reason == REASON_LIMIT ||
	    (!reason && !has_failed(request, ret_reply, *ret_fd)))
		return reason;
	pids = pids_of(m, process);
	return symbol_dirs_serve(a->symbols, request, &pids, ret_reply, ret_fd) ? REASON_NAMED
										: reason;
}

uint64_t asker_started_wall_ns(uint64_t start_ns)
{
	struct timespec wall, boot;

	if (clock_gettime(CLOCK_REALTIME, &wall) || clock_gettime(CLOCK_BOOTTIME, &boot))
		return 0;
	return (uint64_t)(wall.tv_sec - boot.tv_sec) * 1000000000u +
	       (uint64_t)(wall.tv_nsec - boot.tv_nsec) + start_ns;
}

bool asker_same_start(const struct asker_target *target, uint64_t start_ticks)
{
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t wanted = target->start_ns / tick_ns;

	if (target->start_exact)
		return start_ticks == wanted;
	return start_ticks <= wanted + 1 && start_ticks + GUESS_SLACK_TICKS >= wanted;
}

int asker_open(const struct asker_target *target)
{
	_cleanup_free_ struct proc_facts *facts = NULL;
	_cleanup_close_ int fd = -1;
	char stat[2048];
	ssize_t n;

	if (target->exited)
		return -ESRCH;
	fd = guard_process(target->proc_path, target->tgid);
	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	facts = malloc(sizeof(*facts));
	if (!facts)
		return -ENOMEM;
	n = guard_read(fd, "stat", stat, sizeof(stat));
	if (n < 0)
		return (int)n;
	if (proc_parse_stat(stat, (size_t)n, facts) ||
	    !asker_same_start(target, facts->start_ticks))
		return -ESRCH;
	return take_fd(&fd);
}

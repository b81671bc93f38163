/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is asked, and who pays for it; see file_requests.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "opener/file_requests.h"
#include "opener/guard.h"

/* Even: the keys of all others are odd, but for root's. */
#define NOBODY_YET 2u
/* A party that was found without facts holds so long. */
#define GUESS_NS 10000000ull

struct target_process file_requests_target(const struct file_requests *fr, const struct model *m,
					   uint32_t process)
{
	const struct model_process *p = &m->processes[process];
	struct target_process target = {
		.tgid = p->tgid,
		.start_ns = p->start_ns,
		.start_exact = p->start_exact,
		.exited = p->exit_ns || (p->flags & PROCESS_GONE),
	};

	snprintf(target.proc_path, sizeof(target.proc_path), "%s", fr->proc_path);
	return target;
}

struct target_process file_requests_target_of(const struct file_requests *fr, uint32_t tgid,
					      uint64_t start_ticks)
{
	struct target_process target = {
		.tgid = tgid,
		.start_ns = start_ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK)),
		.start_exact = true,
	};

	snprintf(target.proc_path, sizeof(target.proc_path), "%s", fr->proc_path);
	return target;
}

/* --- who pays --------------------------------------------------------------------------------- */

/* A process of a user's session can name its own cgroups as it likes. */
static bool is_session(const char *cgroup)
{
	return cgroup && !strncmp(cgroup, "/user.slice", strlen("/user.slice"));
}

/* The real user of a process, UINT32_MAX where it is gone; that of its directory may be root's for
 * a process that hides. */
static uint32_t uid_of(int process_fd)
{
	char status[4096];
	const char *line;

	if (process_fd < 0 || guard_read(process_fd, "status", status, sizeof(status)) <= 0)
		return UINT32_MAX;
	/* The name of the process, in the first line, has its newlines escaped. */
	line = strstr(status, "\nUid:\t");
	return line ? (uint32_t)strtoul(line + strlen("\nUid:\t"), NULL, 10) : UINT32_MAX;
}

/* Its mount namespace (namespaces(7)). */
static struct file_requests_namespace namespace_of(int process_fd)
{
	struct stat st;

	if (process_fd < 0 || fstatat(process_fd, "ns/mnt", &st, 0))
		return (struct file_requests_namespace){0};
	return (struct file_requests_namespace){st.st_dev, st.st_ino};
}

/* Whether it is in no container that has files of its own: it is in the mount namespace of the
 * host's first process, or in ours, where we may not look at that one. */
static bool has_hosts_files(struct file_requests *fr, int process_fd)
{
	struct file_requests_namespace own = namespace_of(process_fd);

	if (!fr->hosts_known) {
		_cleanup_close_ int first = guard_process(fr->proc_path, 1);
		_cleanup_close_ int ours = guard_process(fr->proc_path, (uint32_t)getpid());

		fr->hosts[0] = namespace_of(first);
		fr->hosts[1] = namespace_of(ours);
		fr->hosts_known = true;
	}
	for (int i = 0; i < 2; i++)
		if (own.inode && own.inode == fr->hosts[i].inode && own.dev == fr->hosts[i].dev)
			return true;
	return false;
}

/* The container of a process, by facts or, where there are none, by others of its cgroup. */
static const char *container_of(const struct model *m, uint32_t process)
{
	const struct model_process *p = &m->processes[process];

	if ((p->flags & PROCESS_FACTS) || !p->cgroup_id)
		return p->container_id;
	for (size_t i = 0; i < m->processes_cnt; i++) {
		const struct model_process *other = &m->processes[i];

		if (other->cgroup_id == p->cgroup_id && (other->flags & PROCESS_FACTS))
			return is_session(other->cgroup) ? NULL : other->container_id;
	}
	return NULL;
}

/* Its cgroup, or itself where not even that is known. */
static uint64_t party_of_unknown(uint64_t cgroup_id, uint64_t start_ns, uint32_t tgid)
{
	return (cgroup_id ? hash_pair(cgroup_id, 2) : hash_pair(start_ns, tgid)) | 1;
}

static uint64_t party_of_container(const char *container)
{
	return hash_bytes(container, strlen(container)) | 1;
}

static uint64_t party_of_uid(uint32_t uid)
{
	return uid ? hash_pair(uid, 1) | 1 : WORKERS_TRUSTED;
}

static uint64_t find_party(struct file_requests *fr, const struct model *m, uint32_t process)
{
	const struct model_process *p = &m->processes[process];
	const char *container = container_of(m, process);
	struct target_process target = file_requests_target(fr, m, process);
	_cleanup_close_ int fd = -1;
	uint32_t uid;

	if (container && *container && !is_session(p->cgroup))
		return party_of_container(container);
	fd = target_process_open(&target);
	uid = (p->flags & PROCESS_FACTS) || has_hosts_files(fr, fd) ? uid_of(fd) : UINT32_MAX;
	return uid == UINT32_MAX ? party_of_unknown(p->cgroup_id, p->start_ns, p->tgid)
				 : party_of_uid(uid);
}

uint64_t file_requests_party_of(const struct target_process *target,
				const struct file_requests_facts *facts)
{
	_cleanup_close_ int fd = -1;
	uint32_t uid;

	if (*facts->container_id && !is_session(facts->cgroup))
		return party_of_container(facts->container_id);
	fd = target_process_open(target);
	uid = uid_of(fd);
	return uid == UINT32_MAX ? party_of_unknown(0, target->start_ns, target->tgid)
				 : party_of_uid(uid);
}

/* Not for ever while its facts may come still. */
static uint64_t guess_party(struct file_requests *fr, const struct model *m, uint32_t process)
{
	uint64_t now_ns = clock_now_ns();

	if (fr->guess.process != process || now_ns >= fr->guess.until_ns) {
		fr->guess.party = find_party(fr, m, process);
		fr->guess.process = process;
		fr->guess.until_ns = now_ns + GUESS_NS;
	}
	return fr->guess.party;
}

uint64_t file_requests_party(struct file_requests *fr, const struct model *m, uint32_t process)
{
	while (fr->parties_cnt <= process) {
		if (GROW(fr->parties, fr->parties_cnt, fr->parties_cap))
			return NOBODY_YET;
		fr->parties[fr->parties_cnt++] = NOBODY_YET;
	}
	if (fr->parties[process] != NOBODY_YET)
		return fr->parties[process];
	if (!(m->processes[process].flags & (PROCESS_FACTS | PROCESS_GONE)))
		return guess_party(fr, m, process);
	fr->parties[process] = find_party(fr, m, process);
	return fr->parties[process];
}

uint64_t file_requests_party_now(struct file_requests *fr, const struct model *m, uint32_t process)
{
	uint64_t party = file_requests_party(fr, m, process);
	struct target_process target = file_requests_target(fr, m, process);
	_cleanup_close_ int fd = -1;
	uint32_t uid;

	if (party != WORKERS_TRUSTED)
		return party;
	/* Found a moment ago; it may have become somebody else, or moved, meanwhile. */
	if (process >= fr->parties_cnt || fr->parties[process] == NOBODY_YET)
		return find_party(fr, m, process);
	fd = target_process_open(&target);
	uid = uid_of(fd);
	/* One that is gone stays what it was. */
	if (!uid || uid == UINT32_MAX)
		return party;
	fr->parties[process] = find_party(fr, m, process);
	return fr->parties[process];
}

void file_requests_party_forget(struct file_requests *fr, uint32_t process)
{
	if (process < fr->parties_cnt)
		fr->parties[process] = NOBODY_YET;
	fr->guess.until_ns = 0;
}

bool file_requests_in_debt(struct file_requests *fr, const struct model *m, uint32_t process)
{
	return workers_in_debt(fr->workers, file_requests_party(fr, m, process));
}

enum model_reason file_requests_why_pending(struct file_requests *fr, const struct model *m,
					    uint32_t process)
{
	return file_requests_in_debt(fr, m, process) ? REASON_BUDGET : REASON_PENDING;
}

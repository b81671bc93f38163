/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/file_requests.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/hash.h"
#include "process/environ.h"
#include "opener/opener.h"
#include "opener/guard.h"
#include "process/kept_directories.h"
#include "names/names.h"
#include "parse/parse.h"
#include "parse/parse_fact.h"
#include "process/proc.h"
#include "names/symbol_dirs.h"

/* A start time guessed from the fork event lies after the true one: by how much at the most. */
#define GUESS_SLACK_TICKS 100u

/* Who asks by hand also has maps switched on: sockets and folders of other users. */
#define OWN_CAPABILITIES                                                           \
	(NAMES_CAPABILITIES | PRIVILEGE(CAP_DAC_OVERRIDE) | PRIVILEGE(CAP_CHOWN) | \
	 PRIVILEGE(CAP_FOWNER))

/* Even: the keys of all others are odd, but for root's. */
#define NOBODY_YET 2u

/* Only what took longer than that is booked against a process. */
#define TELLING_NS 1000000u

/* Between two looks whether somebody wants us to end. */
#define STOP_NS 100000000ull

/* A deadline longer than the budgets stretches them: tests on slow machines. */
static uint64_t budget(uint64_t ns, uint64_t deadline_ns)
{
	return deadline_ns > ns ? deadline_ns : ns;
}

int file_requests_init_with(struct file_requests *fr, struct nursery *nursery,
			    struct workers *workers, uint64_t worker_bytes, const char *proc_path,
			    uint64_t deadline_ns)
{
	struct workers_limits limits = {.memory_bytes = worker_bytes};

	*fr = (struct file_requests){
		.slice_ns = budget(FILE_REQUESTS_SLICE_NS, deadline_ns),
		.process_ns = budget(FILE_REQUESTS_PROCESS_NS, deadline_ns),
		.job_ns = deadline_ns > FILE_REQUESTS_SLICE_NS ? deadline_ns : FILE_REQUESTS_JOB_NS,
		.party_ns = budget(FILE_REQUESTS_PARTY_NS, deadline_ns),
		.jobs_ns = budget(FILE_REQUESTS_JOBS_NS, deadline_ns),
	};
	if (snprintf(fr->proc_path, sizeof(fr->proc_path), "%s", proc_path) >=
	    (int)sizeof(fr->proc_path))
		return -ENAMETOOLONG;
	fr->own_nursery = nursery ? NULL : nursery_new(OWN_CAPABILITIES);
	fr->nursery = nursery ? nursery : fr->own_nursery;
	if (!fr->nursery)
		return -errno;
	fr->opener = opener_new(fr->nursery, deadline_ns);
	fr->own_workers = workers ? NULL : workers_new(fr->nursery, parse_do, &limits);
	fr->workers = workers ? workers : fr->own_workers;
	fr->loader = loader_new(deadline_ns);
	return fr->opener && fr->workers && fr->loader ? 0 : -ENOMEM;
}

int file_requests_init(struct file_requests *fr, struct nursery *nursery, const char *proc_path,
		       uint64_t deadline_ns)
{
	return file_requests_init_with(fr, nursery, NULL, 0, proc_path, deadline_ns);
}

void file_requests_clear(struct file_requests *fr)
{
	if (fr->workers)
		environ_clear(fr);
	loader_free(fr->loader);
	opener_free(fr->opener);
	workers_free(fr->own_workers);
	nursery_free(fr->own_nursery);
	free(fr->hung);
	free(fr->spent);
	free(fr->waited);
	free(fr->parties);
	free(fr->costs);
	*fr = (struct file_requests){0};
}

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

/* --- who may be asked -------------------------------------------------------------------------- */

static struct file_requests_hung *hung_of(const struct file_requests *fr, uint32_t process)
{
	for (size_t i = 0; i < fr->hung_cnt; i++)
		if (fr->hung[i].process == process)
			return &fr->hung[i];
	return NULL;
}

static void note_hung(struct file_requests *fr, uint32_t process)
{
	struct file_requests_hung *hung = hung_of(fr, process);

	if (!hung) {
		/* Without memory it is asked again, and bounded then. */
		if (GROW(fr->hung, fr->hung_cnt, fr->hung_cap))
			return;
		hung = &fr->hung[fr->hung_cnt++];
		*hung = (struct file_requests_hung){.process = process};
	}
	hung->again_ns = file_requests_now_ns() + (FILE_REQUESTS_HUNG_NS << 2 * hung->times++);
}

static struct file_requests_spent *spent_of(const struct file_requests *fr, uint32_t process)
{
	for (size_t i = fr->spent_cnt; i-- > 0;)
		if (fr->spent[i].process == process)
			return &fr->spent[i];
	return NULL;
}

bool file_requests_is_spent(const struct file_requests *fr)
{
	return fr->spent_ns >= fr->slice_ns;
}

static enum model_reason may_ask(struct file_requests *fr, uint32_t process)
{
	const struct file_requests_spent *spent = spent_of(fr, process);
	const struct file_requests_hung *hung = hung_of(fr, process);

	if (hung && hung->times >= FILE_REQUESTS_HUNG_MOST)
		return REASON_FILE_TIMEOUT;
	if (hung && file_requests_now_ns() < hung->again_ns) {
		fr->deferred++;
		return REASON_FILE_TIMEOUT;
	}
	if (!file_requests_is_spent(fr) && (!spent || spent->ns < fr->process_ns))
		return REASON_NAMED;
	fr->deferred++;
	return REASON_LIMIT;
}

uint64_t file_requests_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void book(struct file_requests *fr, uint32_t process, uint64_t ns)
{
	struct file_requests_spent *spent = spent_of(fr, process);

	if (ns < TELLING_NS)
		return;
	fr->spent_ns += ns;
	if (spent)
		spent->ns += ns;
	else if (!GROW(fr->spent, fr->spent_cnt, fr->spent_cap))
		fr->spent[fr->spent_cnt++] = (struct file_requests_spent){process, ns};
}

void file_requests_slice(struct file_requests *fr)
{
	fr->spent_cnt = 0;
	fr->spent_ns = 0;
	fr->waited_cnt = 0;
	fr->waited_ns = 0;
}

void file_requests_forget(struct file_requests *fr, uint32_t process)
{
	environ_forget(fr, process);
	/* What runs now may be in a container, or a user's. */
	if (process < fr->parties_cnt)
		fr->parties[process] = NOBODY_YET;
	for (size_t i = 0; i < fr->hung_cnt; i++) {
		if (fr->hung[i].process == process) {
			fr->hung[i] = fr->hung[--fr->hung_cnt];
			return;
		}
	}
}

uint64_t file_requests_timeouts(const struct file_requests *fr)
{
	return loader_timeouts(fr->loader) + opener_timeouts(fr->opener);
}

/* --- asking ------------------------------------------------------------------------------------ */

enum model_reason file_requests_run(struct file_requests *fr, uint32_t process,
				    struct loader_job *job, struct loader_job **ret_job)
{
	enum model_reason reason = may_ask(fr, process);
	uint64_t start_ns = file_requests_now_ns();
	int err;

	*ret_job = job;
	if (reason)
		return reason;
	err = loader_run(fr->loader, job);
	book(fr, process, file_requests_now_ns() - start_ns);
	if (!err)
		return REASON_NAMED;
	if (err != -ETIMEDOUT)
		return REASON_LIMIT;
	*ret_job = NULL;
	note_hung(fr, process);
	return REASON_FILE_TIMEOUT;
}

/* A user in a mount namespace: whose file systems its processes see. */
static uint64_t key_of(const struct target_process *target)
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

/* Maps of two processes that had one pid, or saw themselves under it, cannot be told apart by
 * it. */
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

static bool has_failed(const struct file_request *request, const struct file_reply *reply, int fd)
{
	return request->what == FILE_REQUEST_MAP
		       ? reply->error != 0
		       : reply->reason != 0 || (fd < 0 && !request->identity_only);
}

enum model_reason file_requests_open_of(struct file_requests *fr, uint32_t process,
					const struct target_process *target,
					struct file_request *request, int give_fd,
					struct file_reply *ret_reply, int *ret_fd)
{
	bool is_file = request->what == FILE_REQUEST_MAPPED || request->what == FILE_REQUEST_DEBUG;
	bool delivers = file_request_delivers(request);
	enum model_reason reason = may_ask(fr, process);
	uint64_t start_ns = file_requests_now_ns();
	int way[2] = {-1, -1}, err;

	*ret_fd = -1;
	if (reason)
		return reason;
	if (delivers && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, way))
		return REASON_LIMIT;
	request->target = *target;
	request->key = key_of(&request->target);
	/* For files of a process that is gone; a map's descriptor is another. */
	if (give_fd < 0 && fr->kept && is_file)
		give_fd = kept_directories_root(fr->kept, process);
	err = opener_ask(fr->opener, request, give_fd, way[0], ret_reply, ret_fd);
	book(fr, process, file_requests_now_ns() - start_ns);
	if (!err && !ret_reply->reason && !ret_reply->error && delivers &&
	    !ret_reply->nothing_new) {
		*ret_fd = take_fd(&way[1]);
		ret_reply->in_socket = true;
	}
	cleanup_close(&way[0]);
	cleanup_close(&way[1]);
	if (!err)
		return REASON_NAMED;
	if (err == -EBUSY || err == -EAGAIN)
		return REASON_LIMIT;
	note_hung(fr, process); /* or its file killed the helper: not again either */
	return err == -EPIPE ? REASON_FILE_MALFORMED : REASON_FILE_TIMEOUT;
}

enum model_reason file_requests_open(struct file_requests *fr, const struct model *m,
				     uint32_t process, struct file_request *request, int give_fd,
				     struct file_reply *ret_reply, int *ret_fd)
{
	struct target_process target = file_requests_target(fr, m, process);
	uint64_t opener_ns = opener_cpu_ns(fr->opener);
	enum model_reason reason =
		file_requests_open_of(fr, process, &target, request, give_fd, ret_reply, ret_fd);
	struct symbol_pids pids;

	file_requests_charge_ns(fr, m, process, opener_cpu_ns(fr->opener) - opener_ns);
	/* What was put off is asked again. */
	if (!fr->symbols || reason == REASON_LIMIT ||
	    (!reason && !has_failed(request, ret_reply, *ret_fd)))
		return reason;
	pids = pids_of(m, process);
	return symbol_dirs_serve(fr->symbols, request, &pids, ret_reply, ret_fd) ? REASON_NAMED
										 : reason;
}

/* --- who pays ---------------------------------------------------------------------------------- */

/* A process of a user's session can name its own cgroups as it likes. */
static bool is_session(const char *cgroup)
{
	return cgroup && !strncmp(cgroup, "/user.slice", strlen("/user.slice"));
}

/* The real user of a process, UINT32_MAX where it is gone; that of its directory may be root's for
 * a process that hides. */
static uint32_t uid_of(const struct target_process *target)
{
	_cleanup_close_ int fd = target_process_open(target);
	char status[4096];
	const char *line;

	if (fd < 0 || guard_read(fd, "status", status, sizeof(status)) <= 0)
		return UINT32_MAX;
	/* The name of the process, in the first line, has its newlines escaped. */
	line = strstr(status, "\nUid:\t");
	return line ? (uint32_t)strtoul(line + strlen("\nUid:\t"), NULL, 10) : UINT32_MAX;
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

static uint64_t find_party(const struct file_requests *fr, const struct model *m, uint32_t process)
{
	const struct model_process *p = &m->processes[process];
	const char *container = container_of(m, process);
	struct target_process target = file_requests_target(fr, m, process);
	uint32_t uid;

	if (container && *container && !is_session(p->cgroup))
		return party_of_container(container);
	uid = p->flags & PROCESS_FACTS ? uid_of(&target) : UINT32_MAX;
	return uid == UINT32_MAX ? party_of_unknown(p->cgroup_id, p->start_ns, p->tgid)
				 : party_of_uid(uid);
}

uint64_t file_requests_party_of(const struct target_process *target,
				const struct file_requests_facts *facts)
{
	uint32_t uid;

	if (*facts->container_id && !is_session(facts->cgroup))
		return party_of_container(facts->container_id);
	uid = uid_of(target);
	return uid == UINT32_MAX ? party_of_unknown(0, target->start_ns, target->tgid)
				 : party_of_uid(uid);
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
	/* Not for ever while its facts may come still. */
	if (!(m->processes[process].flags & (PROCESS_FACTS | PROCESS_GONE)))
		return find_party(fr, m, process);
	fr->parties[process] = find_party(fr, m, process);
	return fr->parties[process];
}

uint64_t file_requests_party_now(struct file_requests *fr, const struct model *m, uint32_t process)
{
	uint64_t party = file_requests_party(fr, m, process);
	struct target_process target = file_requests_target(fr, m, process);
	uint32_t uid = party == WORKERS_TRUSTED ? uid_of(&target) : 0;

	/* One that is gone stays what it was. */
	if (!uid || uid == UINT32_MAX)
		return party;
	fr->parties[process] = find_party(fr, m, process);
	return fr->parties[process];
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

/* --- workers ----------------------------------------------------------------------------------- */

struct workers_job *file_requests_job_new(struct file_requests *fr, const struct model *m,
					  uint32_t process, const struct parse_request *request)
{
	return workers_job_new(file_requests_party(fr, m, process), request,
			       parse_request_bytes(request), true);
}

struct file_requests_cost *file_requests_cost(struct file_requests *fr, uint32_t process)
{
	while (fr->costs_cnt <= process) {
		if (GROW(fr->costs, fr->costs_cnt, fr->costs_cap))
			return NULL;
		fr->costs[fr->costs_cnt++] = (struct file_requests_cost){0};
	}
	fr->costs[process].changed = true;
	return &fr->costs[process];
}

uint64_t file_requests_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void file_requests_charge_ns(struct file_requests *fr, const struct model *m, uint32_t process,
			     uint64_t cpu_ns)
{
	struct file_requests_cost *cost = cpu_ns ? file_requests_cost(fr, process) : NULL;

	if (cost)
		cost->cpu_ns += cpu_ns;
	if (cpu_ns)
		workers_charge(fr->workers, file_requests_party(fr, m, process), cpu_ns);
}

void file_requests_charge(struct file_requests *fr, const struct model *m, uint32_t process,
			  uint64_t since_cpu_ns)
{
	file_requests_charge_ns(fr, m, process, file_requests_cpu_ns() - since_cpu_ns);
}

void file_requests_job_end(struct file_requests *fr, uint32_t process, struct workers_job *job)
{
	uint64_t cpu_ns = job ? workers_job_cpu_ns(job) : 0;
	struct file_requests_cost *cost = cpu_ns ? file_requests_cost(fr, process) : NULL;

	if (cost)
		cost->cpu_ns += cpu_ns;
	workers_job_free(fr->workers, job);
}

void file_requests_job_begin(struct file_requests *fr, struct workers_job *job, bool urgent)
{
	workers_submit(fr->workers, job, urgent);
}

static struct file_requests_waited *waited_of(struct file_requests *fr, uint64_t party)
{
	for (size_t i = fr->waited_cnt; i-- > 0;)
		if (fr->waited[i].party == party)
			return &fr->waited[i];
	if (GROW(fr->waited, fr->waited_cnt, fr->waited_cap))
		return NULL;
	fr->waited[fr->waited_cnt] = (struct file_requests_waited){.party = party};
	return &fr->waited[fr->waited_cnt++];
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void wait_job(struct file_requests *fr, struct workers_job *job, uint64_t party)
{
	struct file_requests_waited *w = waited_of(fr, party);
	uint64_t start_ns = file_requests_now_ns(), ns = 0;

	if (w && w->ns < fr->party_ns && fr->waited_ns < fr->jobs_ns &&
	    !workers_in_debt(fr->workers, party))
		ns = least(least(fr->job_ns, fr->party_ns - w->ns), fr->jobs_ns - fr->waited_ns);
	if (!ns)
		return;
	workers_wait(fr->workers, job, ns);
	ns = file_requests_now_ns() - start_ns;
	if (w && ns >= TELLING_NS) {
		w->ns += ns;
		fr->waited_ns += ns;
	}
}

/* What became of a job that has ended. */
static enum model_reason reason_of_job(const struct workers_job *job,
				       const struct parse_reply **ret_reply)
{
	const struct parse_reply *reply;
	size_t len;

	switch (workers_job_error(job)) {
	case 0:
		break;
	case -ETIME:
		return REASON_FILE_COSTLY;
	case -ETIMEDOUT:
		return REASON_FILE_TIMEOUT;
	case -EPIPE: /* it died of the file */
		return REASON_FILE_MALFORMED;
	default:
		return REASON_LIMIT;
	}
	reply = workers_job_reply(job, &len);
	if (len != sizeof(*reply) || reply->reason >= REASON_CNT)
		return REASON_FILE_MALFORMED;
	*ret_reply = reply;
	return (enum model_reason)reply->reason;
}

enum model_reason file_requests_job_wait(struct file_requests *fr, struct workers_job *job,
					 uint64_t party, const struct parse_reply **ret_reply)
{
	if (workers_job_error(job) == -EINPROGRESS)
		wait_job(fr, job, party);
	if (workers_job_error(job) == -EINPROGRESS) {
		fr->deferred++;
		return REASON_PENDING;
	}
	return reason_of_job(job, ret_reply);
}

/* --- facts ------------------------------------------------------------------------------------- */

static bool is_stopped(const struct file_requests *fr)
{
	return fr->stop && *fr->stop;
}

/* Waits for a job that its time is bound for, and has its party pay for a wait in vain. */
static enum model_reason wait_now(struct file_requests *fr, struct workers_job *job,
				  const struct file_requests_subject *s)
{
	uint64_t start_ns = file_requests_now_ns(), past_ns = 0;
	const struct parse_reply *reply;

	while (past_ns < s->wait_ns && !is_stopped(fr) &&
	       !workers_wait(fr->workers, job, least(STOP_NS, s->wait_ns - past_ns)))
		past_ns = file_requests_now_ns() - start_ns;
	if (workers_job_error(job) != -EINPROGRESS)
		return reason_of_job(job, &reply);
	if (!is_stopped(fr))
		workers_charge(fr->workers, s->party, past_ns);
	return REASON_FILE_TIMEOUT;
}

/* Takes fd, which is all cnt descriptors of the job. */
static enum model_reason find(struct file_requests *fr, const struct file_requests_subject *s,
			      const struct parse_request *parse, int fd, unsigned cnt,
			      void *ret_answer)
{
	_cleanup_close_ int file_fd = fd;
	struct workers_job *job = NULL;
	enum model_reason reason;

	if (!workers_in_debt(fr->workers, s->party))
		job = workers_job_new(s->party, parse, parse_request_bytes(parse), true);
	if (!job)
		return REASON_LIMIT;
	for (unsigned i = 1; i < cnt; i++)
		workers_job_give(job, fcntl(file_fd, F_DUPFD_CLOEXEC, 0));
	workers_job_give(job, take_fd(&file_fd));
	file_requests_job_begin(fr, job, false);
	reason = wait_now(fr, job, s);
	if (!reason && !parse_fact_take(job, parse->kind, ret_answer))
		reason = REASON_FILE_MALFORMED;
	workers_job_free(fr->workers, job);
	return reason;
}

enum model_reason file_requests_find_in(struct file_requests *fr,
					const struct file_requests_subject *s,
					struct parse_request *parse, int fd, bool in_socket,
					void *ret_answer)
{
	parse->in_socket = in_socket;
	return find(fr, s, parse, fd, 1, ret_answer);
}

enum model_reason file_requests_find_in_many(struct file_requests *fr,
					     const struct file_requests_subject *s,
					     struct parse_request *parse, int fd, unsigned cnt,
					     void *ret_answer)
{
	parse->in_socket = (1u << cnt) - 1;
	return find(fr, s, parse, fd, cnt, ret_answer);
}

enum model_reason file_requests_find(struct file_requests *fr,
				     const struct file_requests_subject *s,
				     struct file_request *request, struct parse_request *parse,
				     struct file_reply *ret_reply, void *ret_answer)
{
	enum model_reason reason;
	int fd;

	*ret_reply = (struct file_reply){0};
	reason = file_requests_open_of(fr, s->process, &s->target, request, -1, ret_reply, &fd);
	if (reason || ret_reply->error || ret_reply->reason || fd < 0)
		return reason;
	return file_requests_find_in(fr, s, parse, fd, ret_reply->in_socket, ret_answer);
}

/* ----------------------------------------------------------------------------------------------- */

uint64_t target_process_wall_ns(uint64_t start_ns)
{
	struct timespec wall, boot;

	if (clock_gettime(CLOCK_REALTIME, &wall) || clock_gettime(CLOCK_BOOTTIME, &boot))
		return 0;
	return (uint64_t)(wall.tv_sec - boot.tv_sec) * 1000000000u +
	       (uint64_t)(wall.tv_nsec - boot.tv_nsec) + start_ns;
}

bool target_process_same_start(const struct target_process *target, uint64_t start_ticks)
{
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t wanted = target->start_ns / tick_ns;

	if (target->start_exact)
		return start_ticks == wanted;
	return start_ticks <= wanted + 1 && start_ticks + GUESS_SLACK_TICKS >= wanted;
}

int target_process_open(const struct target_process *target)
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
	    !target_process_same_start(target, facts->start_ticks))
		return -ESRCH;
	return take_fd(&fd);
}

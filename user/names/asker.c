/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/asker.h"

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
#include "names/environ.h"
#include "names/fetch.h"
#include "names/guard.h"
#include "names/hold.h"
#include "names/names.h"
#include "names/parse.h"
#include "names/parse_fact.h"
#include "names/proc.h"
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

int asker_init_with(struct asker *a, struct nursery *nursery, struct workers *workers,
		    uint64_t worker_bytes, const char *proc_path, uint64_t deadline_ns)
{
	struct workers_limits limits = {.memory_bytes = worker_bytes};

	*a = (struct asker){
		.slice_ns = budget(ASKER_SLICE_NS, deadline_ns),
		.process_ns = budget(ASKER_PROCESS_NS, deadline_ns),
		.job_ns = deadline_ns > ASKER_SLICE_NS ? deadline_ns : ASKER_JOB_NS,
		.party_ns = budget(ASKER_PARTY_NS, deadline_ns),
		.jobs_ns = budget(ASKER_JOBS_NS, deadline_ns),
	};
	if (snprintf(a->proc_path, sizeof(a->proc_path), "%s", proc_path) >=
	    (int)sizeof(a->proc_path))
		return -ENAMETOOLONG;
	a->own_nursery = nursery ? NULL : nursery_new(OWN_CAPABILITIES);
	a->nursery = nursery ? nursery : a->own_nursery;
	if (!a->nursery)
		return -errno;
	a->fetch = fetch_new(a->nursery, deadline_ns);
	a->own_workers = workers ? NULL : workers_new(a->nursery, parse_do, &limits);
	a->workers = workers ? workers : a->own_workers;
	a->loader = loader_new(deadline_ns);
	return a->fetch && a->workers && a->loader ? 0 : -ENOMEM;
}

int asker_init(struct asker *a, struct nursery *nursery, const char *proc_path,
	       uint64_t deadline_ns)
{
	return asker_init_with(a, nursery, NULL, 0, proc_path, deadline_ns);
}

void asker_clear(struct asker *a)
{
	if (a->workers)
		environ_clear(a);
	loader_free(a->loader);
	fetch_free(a->fetch);
	workers_free(a->own_workers);
	nursery_free(a->own_nursery);
	free(a->hung);
	free(a->spent);
	free(a->waited);
	free(a->parties);
	free(a->costs);
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

static struct asker_hung *hung_of(const struct asker *a, uint32_t process)
{
	for (size_t i = 0; i < a->hung_cnt; i++)
		if (a->hung[i].process == process)
			return &a->hung[i];
	return NULL;
}

static void note_hung(struct asker *a, uint32_t process)
{
	struct asker_hung *hung = hung_of(a, process);

	if (!hung) {
		/* Without memory it is asked again, and bounded then. */
		if (GROW(a->hung, a->hung_cnt, a->hung_cap))
			return;
		hung = &a->hung[a->hung_cnt++];
		*hung = (struct asker_hung){.process = process};
	}
	hung->again_ns = asker_now_ns() + (ASKER_HUNG_NS << 2 * hung->times++);
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
	const struct asker_hung *hung = hung_of(a, process);

	if (hung && hung->times >= ASKER_HUNG_MOST)
		return REASON_FILE_TIMEOUT;
	if (hung && asker_now_ns() < hung->again_ns) {
		a->deferred++;
		return REASON_FILE_TIMEOUT;
	}
	if (!asker_is_spent(a) && (!spent || spent->ns < a->process_ns))
		return REASON_NAMED;
	a->deferred++;
	return REASON_LIMIT;
}

uint64_t asker_now_ns(void)
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
	a->waited_cnt = 0;
	a->waited_ns = 0;
}

void asker_forget(struct asker *a, uint32_t process)
{
	environ_forget(a, process);
	/* What runs now may be in a container, or a user's. */
	if (process < a->parties_cnt)
		a->parties[process] = NOBODY_YET;
	for (size_t i = 0; i < a->hung_cnt; i++) {
		if (a->hung[i].process == process) {
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
	uint64_t start_ns = asker_now_ns();
	int err;

	*ret_job = job;
	if (reason)
		return reason;
	err = loader_run(a->loader, job);
	book(a, process, asker_now_ns() - start_ns);
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
	bool is_file = request->what == FETCH_FILE || request->what == FETCH_DEBUG;
	bool delivers = fetch_delivers(request);
	enum model_reason reason = may_ask(a, process);
	uint64_t start_ns = asker_now_ns();
	int way[2] = {-1, -1}, err;

	*ret_fd = -1;
	if (reason)
		return reason;
	if (delivers && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, way))
		return REASON_LIMIT;
	request->target = *target;
	request->key = key_of(&request->target);
	/* For files of a process that is gone; a map's descriptor is another. */
	if (give_fd < 0 && a->hold && is_file)
		give_fd = hold_root(a->hold, process);
	err = fetch_ask(a->fetch, request, give_fd, way[0], ret_reply, ret_fd);
	book(a, process, asker_now_ns() - start_ns);
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
	note_hung(a, process); /* or its file killed the helper: not again either */
	return err == -EPIPE ? REASON_FILE_MALFORMED : REASON_FILE_TIMEOUT;
}

enum model_reason asker_fetch(struct asker *a, const struct model *m, uint32_t process,
			      struct fetch_request *request, int give_fd,
			      struct fetch_reply *ret_reply, int *ret_fd)
{
	struct asker_target target = asker_target(a, m, process);
	uint64_t opener_ns = fetch_cpu_ns(a->fetch);
	enum model_reason reason =
		asker_fetch_of(a, process, &target, request, give_fd, ret_reply, ret_fd);
	struct symbol_pids pids;

	asker_charge_ns(a, m, process, fetch_cpu_ns(a->fetch) - opener_ns);
	/* What was put off is asked again. */
	if (!a->symbols || reason == REASON_LIMIT ||
	    (!reason && !has_failed(request, ret_reply, *ret_fd)))
		return reason;
	pids = pids_of(m, process);
	return symbol_dirs_serve(a->symbols, request, &pids, ret_reply, ret_fd) ? REASON_NAMED
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
static uint32_t uid_of(const struct asker_target *target)
{
	_cleanup_close_ int fd = asker_open(target);
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

static uint64_t find_party(const struct asker *a, const struct model *m, uint32_t process)
{
	const struct model_process *p = &m->processes[process];
	const char *container = container_of(m, process);
	struct asker_target target = asker_target(a, m, process);
	uint32_t uid;

	if (container && *container && !is_session(p->cgroup))
		return party_of_container(container);
	uid = p->flags & PROCESS_FACTS ? uid_of(&target) : UINT32_MAX;
	return uid == UINT32_MAX ? party_of_unknown(p->cgroup_id, p->start_ns, p->tgid)
				 : party_of_uid(uid);
}

uint64_t asker_party_of(const struct asker_target *target, const struct asker_facts *facts)
{
	uint32_t uid;

	if (*facts->container_id && !is_session(facts->cgroup))
		return party_of_container(facts->container_id);
	uid = uid_of(target);
	return uid == UINT32_MAX ? party_of_unknown(0, target->start_ns, target->tgid)
				 : party_of_uid(uid);
}

uint64_t asker_party(struct asker *a, const struct model *m, uint32_t process)
{
	while (a->parties_cnt <= process) {
		if (GROW(a->parties, a->parties_cnt, a->parties_cap))
			return NOBODY_YET;
		a->parties[a->parties_cnt++] = NOBODY_YET;
	}
	if (a->parties[process] != NOBODY_YET)
		return a->parties[process];
	/* Not for ever while its facts may come still. */
	if (!(m->processes[process].flags & (PROCESS_FACTS | PROCESS_GONE)))
		return find_party(a, m, process);
	a->parties[process] = find_party(a, m, process);
	return a->parties[process];
}

uint64_t asker_party_now(struct asker *a, const struct model *m, uint32_t process)
{
	uint64_t party = asker_party(a, m, process);
	struct asker_target target = asker_target(a, m, process);
	uint32_t uid = party == WORKERS_TRUSTED ? uid_of(&target) : 0;

	/* One that is gone stays what it was. */
	if (!uid || uid == UINT32_MAX)
		return party;
	a->parties[process] = find_party(a, m, process);
	return a->parties[process];
}

bool asker_in_debt(struct asker *a, const struct model *m, uint32_t process)
{
	return workers_in_debt(a->workers, asker_party(a, m, process));
}

bool asker_is_frugal(struct asker *a, const struct model *m, uint32_t process)
{
	return workers_is_frugal(a->workers, asker_party(a, m, process));
}

enum model_reason asker_why_pending(struct asker *a, const struct model *m, uint32_t process)
{
	return asker_in_debt(a, m, process) ? REASON_BUDGET : REASON_PENDING;
}

/* --- workers ----------------------------------------------------------------------------------- */

struct workers_job *asker_job_new(struct asker *a, const struct model *m, uint32_t process,
				  const struct parse_request *request)
{
	return workers_job_new(asker_party(a, m, process), request, parse_request_bytes(request),
			       true);
}

struct asker_cost *asker_cost(struct asker *a, uint32_t process)
{
	while (a->costs_cnt <= process) {
		if (GROW(a->costs, a->costs_cnt, a->costs_cap))
			return NULL;
		a->costs[a->costs_cnt++] = (struct asker_cost){0};
	}
	a->costs[process].changed = true;
	return &a->costs[process];
}

uint64_t asker_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void asker_charge_ns(struct asker *a, const struct model *m, uint32_t process, uint64_t cpu_ns)
{
	struct asker_cost *cost = cpu_ns ? asker_cost(a, process) : NULL;

	if (cost)
		cost->cpu_ns += cpu_ns;
	if (cpu_ns)
		workers_charge(a->workers, asker_party(a, m, process), cpu_ns);
}

void asker_charge(struct asker *a, const struct model *m, uint32_t process, uint64_t since_cpu_ns)
{
	asker_charge_ns(a, m, process, asker_cpu_ns() - since_cpu_ns);
}

void asker_job_end(struct asker *a, uint32_t process, struct workers_job *job)
{
	uint64_t cpu_ns = job ? workers_job_cpu_ns(job) : 0;
	struct asker_cost *cost = cpu_ns ? asker_cost(a, process) : NULL;

	if (cost)
		cost->cpu_ns += cpu_ns;
	workers_job_free(a->workers, job);
}

void asker_job_begin(struct asker *a, struct workers_job *job, bool urgent)
{
	workers_submit(a->workers, job, urgent);
}

static struct asker_waited *waited_of(struct asker *a, uint64_t party)
{
	for (size_t i = a->waited_cnt; i-- > 0;)
		if (a->waited[i].party == party)
			return &a->waited[i];
	if (GROW(a->waited, a->waited_cnt, a->waited_cap))
		return NULL;
	a->waited[a->waited_cnt] = (struct asker_waited){.party = party};
	return &a->waited[a->waited_cnt++];
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void wait_job(struct asker *a, struct workers_job *job, uint64_t party)
{
	struct asker_waited *w = waited_of(a, party);
	uint64_t start_ns = asker_now_ns(), ns = 0;

	if (w && w->ns < a->party_ns && a->waited_ns < a->jobs_ns &&
	    !workers_in_debt(a->workers, party))
		ns = least(least(a->job_ns, a->party_ns - w->ns), a->jobs_ns - a->waited_ns);
	if (!ns)
		return;
	workers_wait(a->workers, job, ns);
	ns = asker_now_ns() - start_ns;
	if (w && ns >= TELLING_NS) {
		w->ns += ns;
		a->waited_ns += ns;
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

enum model_reason asker_job_wait(struct asker *a, struct workers_job *job, uint64_t party,
				 const struct parse_reply **ret_reply)
{
	if (workers_job_error(job) == -EINPROGRESS)
		wait_job(a, job, party);
	if (workers_job_error(job) == -EINPROGRESS) {
		a->deferred++;
		return REASON_PENDING;
	}
	return reason_of_job(job, ret_reply);
}

/* --- facts ------------------------------------------------------------------------------------- */

static bool is_stopped(const struct asker *a)
{
	return a->stop && *a->stop;
}

/* Waits for a job that its time is bound for, and has its party pay for a wait in vain. */
static enum model_reason wait_now(struct asker *a, struct workers_job *job,
				  const struct asker_subject *s)
{
	uint64_t start_ns = asker_now_ns(), past_ns = 0;
	const struct parse_reply *reply;

	while (past_ns < s->wait_ns && !is_stopped(a) &&
	       !workers_wait(a->workers, job, least(STOP_NS, s->wait_ns - past_ns)))
		past_ns = asker_now_ns() - start_ns;
	if (workers_job_error(job) != -EINPROGRESS)
		return reason_of_job(job, &reply);
	if (!is_stopped(a))
		workers_charge(a->workers, s->party, past_ns);
	return REASON_FILE_TIMEOUT;
}

/* Takes fd, which is all cnt descriptors of the job. */
static enum model_reason find(struct asker *a, const struct asker_subject *s,
			      const struct parse_request *parse, int fd, unsigned cnt,
			      void *ret_answer)
{
	_cleanup_close_ int file_fd = fd;
	struct workers_job *job = NULL;
	enum model_reason reason;

	if (!workers_in_debt(a->workers, s->party))
		job = workers_job_new(s->party, parse, parse_request_bytes(parse), true);
	if (!job)
		return REASON_LIMIT;
	for (unsigned i = 1; i < cnt; i++)
		workers_job_give(job, fcntl(file_fd, F_DUPFD_CLOEXEC, 0));
	workers_job_give(job, take_fd(&file_fd));
	asker_job_begin(a, job, false);
	reason = wait_now(a, job, s);
	if (!reason && !parse_fact_take(job, parse->kind, ret_answer))
		reason = REASON_FILE_MALFORMED;
	workers_job_free(a->workers, job);
	return reason;
}

enum model_reason asker_find_in(struct asker *a, const struct asker_subject *s,
				struct parse_request *parse, int fd, bool in_socket,
				void *ret_answer)
{
	parse->in_socket = in_socket;
	return find(a, s, parse, fd, 1, ret_answer);
}

enum model_reason asker_find_files(struct asker *a, const struct asker_subject *s,
				   struct parse_request *parse, int fd, unsigned cnt,
				   void *ret_answer)
{
	parse->in_socket = (1u << cnt) - 1;
	return find(a, s, parse, fd, cnt, ret_answer);
}

enum model_reason asker_find(struct asker *a, const struct asker_subject *s,
			     struct fetch_request *request, struct parse_request *parse,
			     struct fetch_reply *ret_reply, void *ret_answer)
{
	enum model_reason reason;
	int fd;

	*ret_reply = (struct fetch_reply){0};
	reason = asker_fetch_of(a, s->process, &s->target, request, -1, ret_reply, &fd);
	if (reason || ret_reply->error || ret_reply->reason || fd < 0)
		return reason;
	return asker_find_in(a, s, parse, fd, ret_reply->in_socket, ret_answer);
}

/* ----------------------------------------------------------------------------------------------- */

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

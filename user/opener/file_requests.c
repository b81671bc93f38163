/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/file_requests.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "opener/opener.h"
#include "parse/parse.h"

/* Who asks by hand also has maps switched on: sockets and folders of other users. */
#define OWN_CAPABILITIES                                                            \
	(OPENER_CAPABILITIES | PRIVILEGE(CAP_DAC_OVERRIDE) | PRIVILEGE(CAP_CHOWN) | \
	 PRIVILEGE(CAP_FOWNER))

/* Only what took longer than that is booked against a process. */
#define TELLING_NS 1000000u

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
	/* For a request that hangs, a deadline may be longer than jobs are waited for. */
	uint64_t least_ns = deadline_ns > FILE_REQUESTS_SLICE_NS ? deadline_ns : 0;

	*fr = (struct file_requests){
		.slice_ns = budget(FILE_REQUESTS_SLICE_NS, deadline_ns),
		.process_ns = budget(FILE_REQUESTS_PROCESS_NS, deadline_ns),
		.job_ns = budget(FILE_REQUESTS_JOB_NS, least_ns),
		.party_ns = budget(FILE_REQUESTS_PARTY_NS, least_ns),
		.jobs_ns = budget(FILE_REQUESTS_JOBS_NS, least_ns),
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

/* --- who may be asked ------------------------------------------------------------------------- */

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
	hung->again_ns = clock_now_ns() + (FILE_REQUESTS_HUNG_NS << 2 * hung->times++);
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
	return fr->spent_ns >= fr->slice_ns || (fr->until_ns && clock_now_ns() >= fr->until_ns);
}

static enum model_reason may_ask(struct file_requests *fr, uint32_t process)
{
	const struct file_requests_spent *spent = spent_of(fr, process);
	const struct file_requests_hung *hung = hung_of(fr, process);

	if (hung && hung->times >= FILE_REQUESTS_HUNG_MOST)
		return REASON_FILE_TIMEOUT;
	if (hung && clock_now_ns() < hung->again_ns) {
		fr->deferred++;
		return REASON_FILE_TIMEOUT;
	}
	if (!file_requests_is_spent(fr) && (!spent || spent->ns < fr->process_ns))
		return REASON_NAMED;
	fr->deferred++;
	return REASON_LIMIT;
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
	file_requests_party_forget(fr, process);
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

/* --- asking ----------------------------------------------------------------------------------- */

enum model_reason file_requests_run(struct file_requests *fr, uint32_t process,
				    struct loader_job *job, struct loader_job **ret_job)
{
	enum model_reason reason = may_ask(fr, process);
	uint64_t start_ns = clock_now_ns();
	int err;

	*ret_job = job;
	if (reason)
		return reason;
	err = loader_run(fr->loader, job);
	book(fr, process, clock_now_ns() - start_ns);
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

/* Whether the opener sent a descriptor to where it was to go. */
static bool is_delivered(const struct file_request *request, const struct file_reply *reply)
{
	return !reply->reason && !reply->error &&
	       !(file_request_map_use(request) && reply->map.nothing_new);
}

enum model_reason file_requests_open_of(struct file_requests *fr, uint32_t process,
					const struct target_process *target,
					struct file_request *request, int give_fd,
					struct file_reply *ret_reply, int *ret_fd)
{
	bool delivers = file_request_delivers(request);
	enum model_reason reason = may_ask(fr, process);
	uint64_t start_ns = clock_now_ns();
	int way[2] = {-1, -1}, err;

	*ret_fd = -1;
	if (reason)
		return reason;
	if (delivers && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, way))
		return REASON_LIMIT;
	request->target = *target;
	request->key = key_of(&request->target);
	err = opener_ask(fr->opener, request, give_fd, way[0], ret_reply, ret_fd);
	book(fr, process, clock_now_ns() - start_ns);
	if (!err && delivers && is_delivered(request, ret_reply)) {
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

	file_requests_charge_ns(fr, m, process, opener_cpu_ns(fr->opener) - opener_ns);
	return reason;
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

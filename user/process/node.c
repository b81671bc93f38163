/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "parse/container.h"
#include "parse/parse_fact.h"

/* As a process of the file requests: what hangs or takes long is booked against one container.
 * No row of a model is so large. */
#define ASKED_AS 0x80000000u

struct remembered {
	char key[CONTAINER_ID_BYTES];  /* container id, else pod uid; "" = free */
	unsigned tries;		       /* that found nothing */
	uint64_t again_ns;	       /* monotonic */
	struct container_names *names; /* NULL = none found yet */
	/* Of a look that goes on: the file that a worker reads, owned, and which it is. */
	struct workers_job *job;
	unsigned candidate;
};

struct node {
	struct file_requests *requests;
	char root[FILE_PATH_BYTES];
	unsigned looks;
	unsigned jobs;		       /* under way */
	struct remembered *remembered; /* NODE_REMEMBERED */
	uint32_t *waiting;	       /* rows of processes */
	size_t waiting_cnt, waiting_cap;
};

struct node *node_new(struct file_requests *requests, const char *root)
{
	struct node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->requests = requests;
	n->remembered = calloc(NODE_REMEMBERED, sizeof(*n->remembered));
	if (!n->remembered ||
	    snprintf(n->root, sizeof(n->root), "%s", root ? root : "") >= (int)sizeof(n->root)) {
		int err = n->remembered ? ENAMETOOLONG : ENOMEM;

		node_free(n);
		errno = err;
		return NULL;
	}
	return n;
}

static void clear(struct node *n, struct remembered *r)
{
	if (r->job) {
		workers_job_free(n->requests->workers, r->job);
		n->jobs--;
	}
	free(r->names);
	*r = (struct remembered){0};
}

void node_free(struct node *n)
{
	if (!n)
		return;
	for (size_t i = 0; n->remembered && i < NODE_REMEMBERED; i++)
		clear(n, &n->remembered[i]);
	free(n->remembered);
	free(n->waiting);
	free(n);
}

static const char *key_of(const struct model_process *p)
{
	return p->container_id[0] ? p->container_id : p->pod_uid;
}

/* Has the next file opened and a worker begin; without a job where none is left. Returns a reason
 * of the file requests. */
static enum model_reason begin(struct node *n, struct remembered *r, uint32_t slot,
			       const struct model *m, uint32_t process)
{
	_cleanup_free_ struct file_request *request = calloc(1, sizeof(*request));
	struct target_process target = {.exited = true}; /* no process is asked */
	struct parse_request parse = {.kind = PARSE_NODE, .in_socket = 1};
	const struct model_process *p = &m->processes[process];
	struct file_reply reply;
	enum model_reason reason;
	int fd;

	if (!request)
		return REASON_LIMIT;
	snprintf(target.proc_path, sizeof(target.proc_path), "%s", n->requests->proc_path);
	request->kind = FILE_REQUEST_NODE;
	request->node.candidate = r->candidate;
	memcpy(request->node.root, n->root, sizeof(n->root));
	snprintf(request->node.container_id, sizeof(request->node.container_id), "%s",
		 p->container_id);
	snprintf(request->node.pod_uid, sizeof(request->node.pod_uid), "%s", p->pod_uid);
	reason = file_requests_open_of(n->requests, ASKED_AS | slot, &target, request, -1, &reply,
				       &fd);
	if (reason || fd < 0)
		return reason;
	r->candidate = reply.node.candidate;
	parse.fact.what = reply.node.source;
	snprintf(parse.fact.id, sizeof(parse.fact.id), "%s",
		 reply.node.source == PARSE_NODE_POD_FOLDER ? p->pod_uid : p->container_id);
	r->job = file_requests_job_new(n->requests, m, process, &parse);
	if (!r->job) {
		close(fd);
		return REASON_LIMIT;
	}
	n->jobs++;
	workers_job_give(r->job, fd);
	file_requests_job_begin(n->requests, r->job, WORKERS_URGENT);
	return REASON_NAMED;
}

/* Takes what the worker found; a file that it could not read tells nothing. */
static void finish(struct node *n, struct remembered *r, uint32_t process, bool is_answered)
{
	struct parse_node answer = {0};

	if (is_answered && parse_fact_take(r->job, PARSE_NODE, &answer) && answer.found) {
		r->names = malloc(sizeof(*r->names));
		if (r->names)
			*r->names = answer.names;
	}
	file_requests_job_end(n->requests, process, take_ptr(&r->job));
	n->jobs--;
	r->candidate++;
}

/* Looks through the files. Returns REASON_NAMED with names or without (nothing tells); or
 * REASON_PENDING, or another reason of the file requests, with which it goes on at the next
 * occasion. */
static enum model_reason ask(struct node *n, struct remembered *r, uint32_t slot,
			     const struct model *m, uint32_t process)
{
	while (!r->names) {
		uint64_t party = file_requests_party(n->requests, m, process);
		const struct parse_reply *reply;
		enum model_reason reason = REASON_NAMED;

		if (!r->job)
			reason = begin(n, r, slot, m, process);
		if (reason)
			return reason;
		if (!r->job)
			break;
		reason = file_requests_job_wait(n->requests, r->job, party, &reply);
		if (reason == REASON_PENDING)
			return reason;
		finish(n, r, process, reason == REASON_NAMED);
	}
	r->candidate = 0;
	return REASON_NAMED;
}

static struct remembered *find(struct node *n, const char *key, uint32_t *ret_slot)
{
	uint32_t slot = (uint32_t)(hash_bytes(key, strlen(key)) % NODE_REMEMBERED);
	struct remembered *r = &n->remembered[slot];

	if (strcmp(r->key, key) != 0) {
		clear(n, r);
		snprintf(r->key, sizeof(r->key), "%s", key);
	}
	*ret_slot = slot;
	return r;
}

static void look(struct node *n, struct remembered *r, uint32_t slot, const struct model *m,
		 uint32_t process)
{
	uint64_t now = clock_now_ns();
	enum model_reason reason;

	if (r->names || now < r->again_ns || n->looks >= NODE_LOOKS_MAX)
		return;
	n->looks++;
	reason = ask(n, r, slot, m, process);
	/* What there was no time for is looked for at the next occasion. */
	if (reason == REASON_LIMIT || reason == REASON_PENDING || r->names)
		return;
	r->again_ns =
		now + (r->tries < NODE_TRIES - 1 ? NODE_AGAIN_NS << r->tries : NODE_AGAIN_MAX_NS);
	if (r->tries < NODE_TRIES)
		r->tries++;
}

static void set_names(struct model *m, struct model_process *p, const struct container_names *names)
{
	p->container_name = model_str(m, names->name);
	p->pod = model_str(m, names->pod);
	p->namespace = model_str(m, names->namespace);
	if (!p->pod_uid[0])
		p->pod_uid = model_str(m, names->pod_uid);
	if (!p->runtime[0])
		p->runtime = model_str(m, names->runtime);
	p->dirty = true;
}

/* Returns true where there is nothing to wait for. */
static bool name(struct node *n, struct model *m, uint32_t process)
{
	struct model_process *p = &m->processes[process];
	struct remembered *r;
	uint32_t slot;

	if (!key_of(p)[0])
		return true;
	r = find(n, key_of(p), &slot);
	look(n, r, slot, m, process);
	if (r->names)
		set_names(m, p, r->names);
	return r->names || (r->tries >= NODE_TRIES && !r->job);
}

void node_name(struct node *n, struct model *m, uint32_t process)
{
	if (!name(n, m, process) && n->waiting_cnt < NODE_WAITING_MAX &&
	    !GROW(n->waiting, n->waiting_cnt, n->waiting_cap))
		n->waiting[n->waiting_cnt++] = process;
}

void node_tail(struct node *n, struct model *m)
{
	size_t left = 0;

	n->looks = 0;
	for (size_t i = 0; i < n->waiting_cnt; i++) {
		uint32_t process = n->waiting[i];

		if (process < m->processes_cnt && !name(n, m, process))
			n->waiting[left++] = process;
	}
	n->waiting_cnt = left;
}

bool node_is_looking(const struct node *n)
{
	return n->jobs > 0;
}

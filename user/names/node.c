/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/hash.h"
#include "names/container.h"
#include "names/fetch.h"

/* As a process of the asker: what hangs or takes long is booked against one container. No row of a
 * model is so large. */
#define ASKED_AS 0x80000000u

struct remembered {
	char key[CGROUP_CONTAINER_ID_BYTES]; /* container id, else pod uid; "" = free */
	unsigned tries;			     /* that found nothing */
	uint64_t again_ns;		     /* monotonic */
	struct container_names *names;	     /* NULL = none found yet */
};

struct node {
	struct asker *asker;
	char root[FETCH_PATH_BYTES];
	unsigned looks;
	struct remembered *remembered; /* NODE_REMEMBERED */
	uint32_t *waiting;	       /* rows of processes */
	size_t waiting_cnt, waiting_cap;
};

struct node *node_new(struct asker *asker, const char *root)
{
	struct node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->asker = asker;
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

void node_free(struct node *n)
{
	if (!n)
		return;
	for (size_t i = 0; n->remembered && i < NODE_REMEMBERED; i++)
		free(n->remembered[i].names);
	free(n->remembered);
	free(n->waiting);
	free(n);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static const char *key_of(const struct model_process *p)
{
	return p->container_id[0] ? p->container_id : p->pod_uid;
}

/* Asks the helper process. Returns REASON_NAMED with ret_names owned or NULL (nothing tells), or a reason
 * of the asker. */
static enum model_reason ask(struct node *n, uint32_t slot, const struct model_process *p,
			     struct container_names **ret_names)
{
	_cleanup_free_ struct fetch_request *request = calloc(1, sizeof(*request));
	_cleanup_free_ struct container_names *names = malloc(sizeof(*names));
	struct asker_target target = {.exited = true}; /* no process is asked */
	_cleanup_close_ int fd = -1;
	struct fetch_reply reply;
	enum model_reason reason;

	if (!request || !names)
		return REASON_LIMIT;
	snprintf(target.proc_path, sizeof(target.proc_path), "%s", n->asker->proc_path);
	request->what = FETCH_NODE;
	memcpy(request->path, n->root, sizeof(n->root));
	snprintf(request->container_id, sizeof(request->container_id), "%s", p->container_id);
	snprintf(request->pod_uid, sizeof(request->pod_uid), "%s", p->pod_uid);
	reason = asker_fetch_of(n->asker, ASKED_AS | slot, &target, request, -1, &reply, &fd);
	if (reason)
		return reason;
	if (!reply.error && fd >= 0 &&
	    pread(fd, names, sizeof(*names), 0) == (ssize_t)sizeof(*names))
		*ret_names = take_ptr(&names);
	else
		*ret_names = NULL;
	return REASON_NAMED;
}

static struct remembered *find(struct node *n, const char *key, uint32_t *ret_slot)
{
	uint32_t slot = (uint32_t)(hash_bytes(key, strlen(key)) % NODE_REMEMBERED);
	struct remembered *r = &n->remembered[slot];

	if (strcmp(r->key, key) != 0) {
		free(r->names);
		*r = (struct remembered){0};
		snprintf(r->key, sizeof(r->key), "%s", key);
	}
	*ret_slot = slot;
	return r;
}

static void look(struct node *n, struct remembered *r, uint32_t slot, const struct model_process *p)
{
	uint64_t now = now_ns();

	if (r->names || now < r->again_ns || n->looks >= NODE_LOOKS_MAX)
		return;
	n->looks++;
	/* What there was no time for is looked for at the next occasion. */
	if (ask(n, slot, p, &r->names) == REASON_LIMIT || r->names)
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
	look(n, r, slot, p);
	if (r->names)
		set_names(m, p, r->names);
	return r->names || r->tries >= NODE_TRIES;
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

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PROCESS_NODE_H
#define HOTRUN_PROCESS_NODE_H
/*
 * Names of containers, pods and namespaces, from the node's own files (node_look.h has which); no
 * API server and no runtime is asked. What a container is called does not change: each is looked up
 * once and remembered, as far as there is room. The files may appear some seconds after the
 * container: what was not there is looked for again, ever more seldom. One thread.
 *
 * The root of the node's files is "/" for a hotrun on the host; in a container (a DaemonSet) either
 * /proc/1/root, which needs the host's pids and CAP_SYS_PTRACE and is tried by itself, or a folder
 * that the host's root, or its /var/log and /run, are mounted below.
 */
#include "model/model.h"
#include "opener/file_requests.h"

/* Containers remembered; two of one place take turns. 110 pods a node is Kubernetes' default. */
#define NODE_REMEMBERED 4096u
/* Look-ups between two node_tail(): 0.1 to 1 ms each; the file requests bounds their time. */
#define NODE_LOOKS_MAX 512u
/* Processes whose container has no name yet. */
#define NODE_WAITING_MAX 4096u
/* Looked for again after 0.5, 1, 2, 4, 8, 16 s; then no more for their sake, and for others of that
 * container not before NODE_AGAIN_MAX_NS. */
#define NODE_AGAIN_NS	  500000000ull
#define NODE_TRIES	  7u
#define NODE_AGAIN_MAX_NS 60000000000ull

struct node;

/* Borrows the file requests until node_free(). root: of the node's files, NULL or "" = "/", then
 * /proc/1/root. Returns owned; NULL with errno ENOMEM, or ENAMETOOLONG. */
struct node *node_new(struct file_requests *requests, const char *root);
void node_free(struct node *n);

/* Gives a process whose container_id or pod_uid is known what the node's files tell:
 * container_name, pod, namespace, and pod_uid and runtime where its cgroup did not tell. What they
 * do not tell yet follows in node_tail(). */
void node_name(struct node *n, struct model *m, uint32_t process);

/* Once a slice: looks again for those that had no name. */
void node_tail(struct node *n, struct model *m);

/* Whether a look-up is under way: its names come with a later node_tail(). */
bool node_is_looking(const struct node *n);
#endif

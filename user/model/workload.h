/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_WORKLOAD_H
#define HOTRUN_MODEL_WORKLOAD_H
/*
 * Which workload a process belongs to, so that its processes and replicas on this node are one: of
 * a pod who made it, by the suffixes that Kubernetes generates, and the container within; else the
 * container, the unit, or the name. Where a container lives, for people. Pure.
 *
 * Suffixes: ReplicaSets -HASH-RANDOM (8 to 10 and 5 of the letters of
 * k8s.io/apimachinery/pkg/util/rand), CronJobs -MINUTES-RANDOM (8 to 10 digits), DaemonSets and
 * Jobs -RANDOM, StatefulSets -ORDINAL. A bare pod whose own name ends like that is taken for one of
 * them.
 */
#include "model/model.h"

/* Three names of Kubernetes and what is between them. Longer ones are cut. */
#define WORKLOAD_BYTES 1024

/* Bytes of a pod's name that are its owner's. */
size_t workload_owner(const char *pod, size_t len);

/* "prod/shop-7d9c6b5f4d-x2x9k/api", "web", "0123456789ab", "" where it runs in no container. */
void workload_container(const struct model_process *p, char ret_text[static WORKLOAD_BYTES]);

/* "prod/shop/api", "web", "nginx.service", "sshd", "kernel threads". */
void workload_of(const struct model_process *p, char ret_text[static WORKLOAD_BYTES]);

/* By process: workload_of(), interned in m. The array is owned by the caller; NULL without
 * memory. */
const char **workloads_new(struct model *m);
#endif

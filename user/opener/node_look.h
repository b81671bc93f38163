/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OPENER_NODE_LOOK_H
#define HOTRUN_OPENER_NODE_LOOK_H
/*
 * Looks for a container in the node's own files, in the helper process (opener.h): they may lie on
 * a file system that hangs. Opens them and reads none: JSON and strangers' names are taken apart by
 * a worker (parse_fact.h). Regular files only, of bounded size; folders up to a bounded count of
 * entries.
 *
 * Below the root of the node's files, the first that tells:
 * containerd      /run/containerd/io.containerd.runtime.v2.task/k8s.io/ID/config.json, and that
 *                 below /run/k3s/ and /var/snap/microk8s/common/run/
 * CRI-O           /run/containers/storage/DRIVER-containers/ID/userdata/config.json;
 *                 /var/lib likewise
 * podman          /var/lib/containers/storage/DRIVER-containers/containers.json,
 *                 volatile-containers.json
 * Docker          /var/lib/docker/containers/ID/config.v2.json
 * kubelet         /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log; of the pod alone
 *                 /var/log/pods/NAMESPACE_POD_UID
 */
#include "opener/file_request.h"
#include "parse/parse_fact.h"

/* A bundle's config.json has 10 to 60 KiB. */
#define NODE_FILE_BYTES_MAX (1ull << 20)
/* containers.json: some 1 KiB a container. */
#define NODE_LIST_BYTES_MAX PARSE_NODE_BYTES_MAX
/* Of a folder: a node has 110 pods by default, 500 at the most. */
#define NODE_FOLDER_ENTRIES_MAX 16384

/* FILE_REQUEST_NODE: sends the first file that is there to a worker, from the candidate on, and
 * tells which it was and what it is; of a folder an entry's name. 0; -ENOENT (none is left); or
 * another errno. */
int node_look_serve(const struct file_request *request, int way_fd, struct file_reply *reply);
#endif

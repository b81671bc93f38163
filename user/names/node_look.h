/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_NODE_LOOK_H
#define HOTRUN_NAMES_NODE_LOOK_H
/*
 * Looks for a container in the node's own files, in the helper process (fetch.h): they may lie on a file
 * system that hangs, and JSON of strangers' names is taken apart here, where a crash harms nobody. Regular
 * files only, of bounded size; folders up to a bounded count of entries.
 *
 * Below the root of the node's files, the first that tells:
 *	containerd	/run/containerd/io.containerd.runtime.v2.task/k8s.io/ID/config.json, and that
 *			below /run/k3s/ and /var/snap/microk8s/common/run/
 *	CRI-O		/run/containers/storage/DRIVER-containers/ID/userdata/config.json, /var/lib likewise
 *	podman		/var/lib/containers/storage/DRIVER-containers/containers.json, volatile-containers.json
 *	Docker		/var/lib/docker/containers/ID/config.v2.json
 *	kubelet		/var/log/containers/POD_NAMESPACE_CONTAINER-ID.log; of the pod alone
 *			/var/log/pods/NAMESPACE_POD_UID
 */
#include "names/container.h"
#include "names/fetch.h"

/* A bundle's config.json has 10 to 60 KiB. JSON of empty lists alone takes 50 times its size in memory. */
#define NODE_FILE_BYTES_MAX (1ull << 20)
/* containers.json: some 1 KiB a container. */
#define NODE_LIST_BYTES_MAX (2ull << 20)
/* Of a folder: a node has 110 pods by default, 500 at the most. */
#define NODE_FOLDER_ENTRIES_MAX 16384

/* FETCH_NODE: 0 and ret_fd, a memfd with a struct container_names, owned; -ENOENT (nothing tells); or
 * another errno. */
int node_look_serve(const struct fetch_request *request, int *ret_fd);
#endif

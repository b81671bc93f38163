/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_CONTAINER_H
#define HOTRUN_PARSE_CONTAINER_H
/*
 * What the node's own files call a container: takes their contents apart, opens none. Pure.
 * Runtimes write them, but the names in them are strangers' bytes: parsed by length, with bounds on
 * size (the reader's) and depth. A name that is empty, holds a NUL byte or does not fit is none.
 */
#include <stdbool.h>
#include <stddef.h>

#define CONTAINER_NAME_BYTES 256 /* a pod's has 253 characters at the most (RFC 1123) */
#define CONTAINER_JSON_DEPTH 32

#define CONTAINER_ID_BYTES	65 /* 64 hex digits */
#define CONTAINER_POD_UID_BYTES 37 /* 36, or 32 hex digits of a static pod */

/* "" where not known. */
struct container_names {
	/* as the pod, or the engine, names it; "" of a pod's pause */
	char name[CONTAINER_NAME_BYTES];
	char pod[CONTAINER_NAME_BYTES], namespace[CONTAINER_NAME_BYTES];
	char pod_uid[64];
	char runtime[16]; /* as struct cgroup_container has it, where the file tells */
};

/*
 * Each returns true where it named the container or its pod; else ret_names is untouched.
 *
 * A bundle's config.json (OCI runtime specification, "annotations"): of containerd's CRI plugin
 * (pkg/cri/annotations: io.kubernetes.cri.container-name, sandbox-name, sandbox-namespace,
 * sandbox-uid), of CRI-O (io.kubernetes.container.name, io.kubernetes.pod.name, .namespace, .uid;
 * io.container.manager).
 */
bool container_from_spec(const char *json, size_t len, struct container_names *ret_names);
/* Docker's config.v2.json: "Name" is "/web"; containers of pods have the kubelet's labels. */
bool container_from_docker(const char *json, size_t len, struct container_names *ret_names);
/* containers.json of containers/storage, as podman keeps it: [{"id": ID, "names": ["web"]},
 * ...]. */
bool container_from_storage(const char *json, size_t len, const char *id,
			    struct container_names *ret_names);
/* The kubelet's link /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log (legacyLogSymlink). */
bool container_from_log(const char *file, size_t len, const char *id,
			struct container_names *ret_names);
/* The kubelet's folder /var/log/pods/NAMESPACE_POD_UID (BuildPodLogsDirectory). */
bool container_from_pod_folder(const char *folder, size_t len, const char *pod_uid,
			       struct container_names *ret_names);
#endif

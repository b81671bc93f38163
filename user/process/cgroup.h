/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PROCESS_CGROUP_H
#define HOTRUN_PROCESS_CGROUP_H
/*
 * What the cgroup paths of a process tell: systemd unit, container, pod. Pure. Paths are chosen by
 * strangers and prove nothing. Where hotrun has a cgroup namespace of its own, paths of others are
 * relative to its group ("/../../kubepods-burstable-podUID.slice/cri-containerd-ID.scope"), and
 * what stands above the common part is not told: then "".
 *
 * Conventions (a group's last name, by cgroupfs / by systemd):
 * Docker          /docker/ID                      docker-ID.scope
 * containerd      /kubepods/.../ID                cri-containerd-ID.scope, SLICE:cri-containerd:ID
 * CRI-O           /kubepods/.../crio-ID           crio-ID.scope
 * podman          /libpod_parent/libpod-ID        libpod-ID.scope; in units libpod-payload-ID
 * kubelet         /kubepods/burstable/podUID      kubepods-burstable-podUID.slice, '_' for '-'
 * (kubelet: pkg/kubelet/cm/cgroup_manager_linux.go and pod_container_manager_linux.go; static pods
 * have 32 digits without '-'); systemd.unit(5); LXC's lxc.payload.NAME.
 */
#include <stddef.h>

#include "parse/container.h"

#define CGROUP_PATH_BYTES      4096
#define CGROUP_UNIT_BYTES      256
#define CGROUP_CONTAINER_BYTES 64

/* Of a pod the container of Kubernetes, whatever it runs in itself; else the innermost. Static
 * strings and texts are never NULL, "" where not told. */
struct cgroup_container {
	char text[CGROUP_CONTAINER_BYTES]; /* 12 hex digits, "pod UID", or a name */
	char id[CONTAINER_ID_BYTES];
	char pod_uid[CONTAINER_POD_UID_BYTES];
	const char *qos;     /* "guaranteed", "burstable", "besteffort" */
	const char *runtime; /* "containerd", "cri-o", "docker", "podman", "lxc" */
};

struct cgroup_facts {
	char path[CGROUP_PATH_BYTES]; /* of the cpu controller, else of the unified hierarchy */
	char unit[CGROUP_UNIT_BYTES]; /* "nginx.service", escapes undone; "" none */
	struct cgroup_container container;
};

/* Parses /proc/PID/cgroup: lines "id:controllers:path". Lines that are none are skipped. */
void cgroup_parse(const char *text, size_t len, struct cgroup_facts *ret_facts);
#endif

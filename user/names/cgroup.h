/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_CGROUP_H
#define HOTRUN_NAMES_CGROUP_H
/*
 * What the cgroup paths of a process tell: systemd unit and container. Pure. Conventions of
 * systemd.unit(5), Docker, containerd, CRI-O, Podman, LXC and the kubelet; paths are chosen by
 * strangers and prove nothing.
 */
#include <stddef.h>

#define CGROUP_PATH_BYTES      4096
#define CGROUP_UNIT_BYTES      256
#define CGROUP_CONTAINER_BYTES 64

struct cgroup_facts {
	char path[CGROUP_PATH_BYTES]; /* of the cpu controller, else of the unified hierarchy */
	char unit[CGROUP_UNIT_BYTES]; /* "nginx.service", escapes undone; "" none */
	char container[CGROUP_CONTAINER_BYTES]; /* 12 hex digits, "pod UID", or a name; "" none */
};

/* Parses /proc/PID/cgroup: lines "id:controllers:path". Lines that are none are skipped. */
void cgroup_parse(const char *text, size_t len, struct cgroup_facts *ret_facts);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PROCESS_FREEZER_H
#define HOTRUN_PROCESS_FREEZER_H
/*
 * Whether the group of a process is frozen (Documentation/admin-guide/cgroup-v2.rst, cgroup.freeze;
 * cgroup-v1/freezer-subsystem.rst), which group was frozen itself, and the way out. What container
 * runtimes call pause is the same. Files of the kernel alone; a target chooses no more than how
 * deep its groups are. One thread.
 */
#include "model/left_behind.h"

/* Groups below a frozen one that are walked to count its processes. */
#define FREEZER_GROUPS_MAX 512u

/* Where the hierarchies are mounted, "" = they are not. */
struct freezer {
	char v1[PATH_MAX], v2[PATH_MAX];
};

/* By the mounts that this process sees (proc_path is "/proc" but in tests). */
void freezer_find(const char *proc_path, struct freezer *ret_freezer);

/* Of a process by its directory (guard_process()). All 0 where it is not frozen, or nothing can be
 * seen. */
void freezer_look(const struct freezer *f, int process_fd, struct left_freeze *ret_freeze);

/* Thaws the group: all processes in it and below, unless one above is frozen as well. An act on
 * targets: of `hotrun recover --resume` alone. 0; -ENOENT (which group is not known, or it is
 * gone); or another -errno. */
int freezer_thaw(const struct left_freeze *freeze);
#endif

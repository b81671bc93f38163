/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PROCESS_FREEZER_H
#define HOTRUN_PROCESS_FREEZER_H
/*
 * Whether the group of a process is frozen (Documentation/admin-guide/cgroup-v2.rst, cgroup.freeze;
 * cgroup-v1/freezer-subsystem.rst), which group was frozen itself, and the way out. What container
 * runtimes call pause is the same. Files of the kernel alone; a target chooses no more than how
 * deep its groups are. One thread.
 */
#include <signal.h>

#include "model/left_behind.h"

/* Groups below a frozen one that are walked to count its processes. */
#define FREEZER_GROUPS_MAX 512u

/* Where the hierarchies are mounted, "" = they are not, or from a part alone. */
struct freezer {
	char v1[PATH_MAX], v2[PATH_MAX];
	const volatile sig_atomic_t *stop; /* borrowed; NULL = none */
	struct freezer_counted *counted;   /* owned: what was counted of frozen groups */
};

/* By the mounts that this process sees (proc_path is "/proc" but in tests). Freed by
 * freezer_clear(). */
void freezer_find(const char *proc_path, const volatile sig_atomic_t *stop,
		  struct freezer *ret_freezer);
void freezer_clear(struct freezer *f);

/* Of a process by its directory (guard_process()). All 0 where it is not frozen; unseen where that
 * cannot be told. A group of version 2 that was told to freeze, and does not stand whole yet, is
 * freezing. */
void freezer_look(const struct freezer *f, int process_fd, struct left_freeze *ret_freeze);

/* Thaws the group: all processes in it and below, unless one above is frozen as well. An act on
 * targets: of `hotrun recover --resume` alone. 0; -ENOENT (which group is not known, or it is
 * gone); or another -errno. */
int freezer_thaw(const struct left_freeze *freeze);
#endif

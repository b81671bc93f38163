/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_CGROUP_WATCH_H
#define HOTRUN_COLLECT_CGROUP_WATCH_H
/*
 * The groups that threads ran in: their paths and limits, and each slice what the kernel says of
 * their throttling. A group that comes and goes within one slice has no path. No threads.
 */
#include <stdbool.h>
#include <stddef.h>

#include "kernel/cgroup_tree.h"
#include "model/model.h"

/* By row of m->cgroups. */
struct cgroup_watched {
	bool looked;   /* its path was looked for */
	bool gone;     /* deleted, or never found */
	bool baseline; /* stat was read */
	struct cgroup_stat stat;
};

struct cgroup_watch {
	struct cgroup_mounts mounts;
	bool off;      /* no such mount */
	uint32_t pass; /* slices so far */
	struct cgroup_watched *rows;
	size_t rows_cnt, rows_cap;
};

/* Finds the mounts. Sets OFF_LIMITS in m where there are none, and is silent from then on. */
void cgroup_watch_open(struct cgroup_watch *watch, struct model *m);
/* At the end of a slice, before it is written. Cost: a walk of the tree when there are new groups;
 * cpu.stat of those that ran and have a limit; the limits of an eighth of those that ran. */
void cgroup_watch_refresh(struct cgroup_watch *watch, struct model *m);
/* Releases what it holds. Takes a zeroed one. */
void cgroup_watch_close(struct cgroup_watch *watch);
#endif

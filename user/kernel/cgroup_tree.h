/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_CGROUP_TREE_H
#define HOTRUN_KERNEL_CGROUP_TREE_H
/*
 * The cgroups of the hierarchy that carries the cpu controller (v1 or v2): the one whose ids the
 * samples and accounts carry. Their ids, paths, limits, and what the kernel says of throttling. The
 * id of a group is the inode of its folder.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CGROUP_TREE_MAX 16384

#define CGROUP_MOUNT_BYTES 4096

/* Where the hierarchies are mounted; a host may have the controllers on v1 and a v2 beside them. */
struct cgroup_mounts {
	char cpu[CGROUP_MOUNT_BYTES]; /* of the cpu controller, v1 preferred to v2 */
	char v2[CGROUP_MOUNT_BYTES];  /* "" = none */
	bool v1;		      /* cpu is a hierarchy of v1 */
};
/* Those of this process; of pid 1, below /proc/1/root, where a container shows its own group only
 * and may look there (the host's pids, CAP_SYS_PTRACE). 0, or -ENOTSUP where no cgroup file system
 * that could carry the cpu controller is mounted. */
int cgroup_mounts_find(struct cgroup_mounts *ret_mounts);

/*
 * Turns what the user gave (a folder below a cgroup mount, or a path as /proc/PID/cgroup has it)
 * into the folder of the cpu controller's hierarchy. Returns 0 with *ret_folder owned, -ENOENT, or
 * -ENOTSUP where no cgroup file system is mounted.
 */
int cgroup_tree_find(const char *path, char **ret_folder);

/* A group of the tree; path and strings are borrowed until the callback returns. */
struct cgroup_entry {
	uint64_t id;
	uint64_t parent;  /* id, 0 where the walk began */
	const char *path; /* below the mount, "/" = the root */
};

/* Calls take for each group of the tree below folder, parents first, at most CGROUP_TREE_MAX times.
 * 0, -E2BIG when there are more, or negative errno of the folder itself. */
int cgroup_tree_walk(const char *folder, void (*take)(void *ctx, const struct cgroup_entry *entry),
		     void *ctx);

/* Own limit of a group: quota_ns of CPU time in each period_ns; quota 0 = none. */
struct cgroup_limit {
	uint64_t quota_ns, period_ns;
};
/* What its cpu.stat says since the group was made. Throttled time is summed over CPUs. */
struct cgroup_stat {
	uint64_t periods, throttled_periods, throttled_ns;
};

/*
 * Both read the files of the group with that path (struct cgroup_entry): v1 cpu.cfs_quota_us,
 * cpu.cfs_period_us and throttled_time in ns, v2 cpu.max and throttled_usec in us
 * (Documentation/scheduler/sched-bwc.rst, admin-guide/cgroup-v2.rst). 0, -ENOENT where the group is
 * gone or has no such files (the root, or a kernel without bandwidth control), or -EBADMSG.
 */
int cgroup_tree_limit(const struct cgroup_mounts *mounts, const char *path,
		      struct cgroup_limit *ret_limit);
int cgroup_tree_stat(const struct cgroup_mounts *mounts, const char *path,
		     struct cgroup_stat *ret_stat);
#endif

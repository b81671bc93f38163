/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_CGROUP_TREE_H
#define HOTRUN_KERNEL_CGROUP_TREE_H
/*
 * Ids of a cgroup and of all groups below it, in the hierarchy that carries the cpu controller (v1
 * or v2): the one whose ids the samples carry. The id of a group is the inode of its folder.
 */
#include <stddef.h>
#include <stdint.h>

#define CGROUP_TREE_MAX 16384

/*
 * Turns what the user gave (a folder below a cgroup mount, or a path as /proc/PID/cgroup has it)
 * into the folder of the cpu controller's hierarchy. Returns 0 with *ret_folder owned, -ENOENT, or
 * -ENOTSUP where no cgroup file system is mounted.
 */
int cgroup_tree_find(const char *path, char **ret_folder);

/* Calls take for each group of the tree, at most CGROUP_TREE_MAX times. 0, -E2BIG when there are
 * more, or negative errno of the folder itself. */
int cgroup_tree_walk(const char *folder, void (*take)(void *ctx, uint64_t id), void *ctx);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_DRIVE_GROUP_H
#define HOTRUN_TESTS_DRIVE_GROUP_H
/* Cgroups of the cpu controller, v1 or v2, wherever this machine has it. Failures end the test. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct drive_group {
	char path[256];
	bool v2;
};

/* Makes a group below the root, or below parent. Skips the test where there is no such
 * controller. */
void drive_group_new(struct drive_group *g, const struct drive_group *parent, const char *name);
/* CPU time that it may use in each 100 ms; 0 = no limit. */
void drive_group_limit(const struct drive_group *g, uint64_t quota_us);
/* As much weight as can be given. */
void drive_group_prefer(const struct drive_group *g);
/* A process with its threads; NULL = the root group. */
void drive_group_move(const struct drive_group *g, pid_t pid);
/* For how long it was throttled, throttling that is over, summed over CPUs. */
uint64_t drive_group_throttled_ns(const struct drive_group *g);
/* Removes it; everybody must be gone. */
void drive_group_free(const struct drive_group *g);
#endif

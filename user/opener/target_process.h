/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OPENER_TARGET_PROCESS_H
#define HOTRUN_OPENER_TARGET_PROCESS_H
/*
 * A process whose files are asked for: one incarnation of a pid, and no other that has it later. It
 * is copied into jobs and requests, which may outlive the model. No state; any thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "opener/proc_stat.h"
#include "perfmap/maps/locate.h"

struct target_process {
	char proc_path[256];
	uint32_t tgid;
	uint64_t start_ns; /* boottime */
	bool start_exact;
	bool exited; /* do not look at /proc: the id may be somebody else's by now */
};

/*
 * Opens /proc/PID of the process (guard_process()) once it is sure to be this incarnation: field 22
 * of stat is its start time in clock ticks. Once its main thread has ended and others go on, the
 * kernel shows maps, exe, root, mem and environ in their directories only: then that is one of a
 * thread, /proc/PID/task/TID, which has no map_files. Returns a descriptor owned by the caller,
 * -ESRCH where it is gone, or another -errno. For the opener and for jobs.
 */
int target_process_open(const struct target_process *target);
/* The same; also what the process's own stat says, set with a descriptor only. */
int target_process_open_stat(const struct target_process *target, struct proc_stat *ret_stat);
/* Whether a start time in clock ticks is the process's. */
bool target_process_same_start(const struct target_process *target, uint64_t start_ticks);
/* Its start as wall-clock time, to tell maps of earlier processes of the same id; 0 where the
 * clocks do not answer. */
uint64_t target_process_wall_ns(const struct target_process *target);
/* What must be known of it to find its perf map; env: what its environment says. 0 or -errno. */
int target_process_read(int process_fd, const struct perfmap_environment *env,
			struct perfmap_target *ret_target);
#endif

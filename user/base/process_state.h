/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_PROCESS_STATE_H
#define HOTRUN_BASE_PROCESS_STATE_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether a child of ours wants the CPU (state R of /proc/PID/stat), as on a host full of other
 * work, rather than the answer of a file: it is late through no fault of what it was asked for. */
bool process_is_runnable(pid_t pid);

/* What a task did so far, of a process that of its first thread: CPU time; time in which it waited
 * for a CPU, and how often it got one, both 0 on kernels that do not count that; and whether it
 * wants one at the moment. The kernel adds to the former three when a turn begins or ends. All 0 of
 * one that is gone. */
struct process_turns {
	uint64_t cpu_ns, delay_ns, turns;
	bool runnable;
};
struct process_turns process_turns_of(pid_t tid);

/* CPU time of all its threads so far; 0 where it is gone. */
uint64_t process_cpu_ns(pid_t pid);
#endif

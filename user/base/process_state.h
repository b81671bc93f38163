/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_PROCESS_STATE_H
#define HOTRUN_BASE_PROCESS_STATE_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether a child of ours wants the CPU (state R of /proc/PID/stat), as on a host full of other
 * work, rather than the answer of a file: it is late through no fault of what it was asked for. */
bool process_is_runnable(pid_t pid);

/* CPU time of all its threads so far; 0 where it is gone. */
uint64_t process_cpu_ns(pid_t pid);
#endif

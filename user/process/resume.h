/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PROCESS_RESUME_H
#define HOTRUN_PROCESS_RESUME_H
/*
 * Signals to processes: acts on targets, of `hotrun recover --resume` alone. Whom they reach is one
 * incarnation of a pid and no other (pidfd_open(2)). No state.
 */
#include <stdbool.h>
#include <stdint.h>

/* How long a tracer may take to end by itself, and then by SIGKILL. */
#define RESUME_TERM_NS 2000000000ull
#define RESUME_KILL_NS 2000000000ull

/* Sends it to the process. 0; -ESRCH: it is gone, or another one has its pid; -EPERM; or another
 * -errno. */
int resume_signal(const char *proc_path, uint32_t tgid, uint64_t start_ticks, int signal);

/*
 * Ends a process: SIGTERM, with a SIGCONT behind it so that one that is stopped gets it, and
 * SIGKILL where it is not gone after RESUME_TERM_NS. Returns 0 when it is gone, with what it took;
 * -ETIMEDOUT: it is not (state D); -ESRCH, -EPERM or another -errno: it was not asked.
 */
int resume_end(const char *proc_path, uint32_t tgid, uint64_t start_ticks, bool *ret_killed);

/* Whether it is hotrun itself, or one that hotrun was started from: a shell, its terminal; true as
 * well where that cannot be told. */
bool resume_is_above(const char *proc_path, uint32_t tgid);
#endif

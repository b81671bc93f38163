/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PROCESS_THREAD_NAMED_H
#define HOTRUN_PROCESS_THREAD_NAMED_H
/*
 * Finds a thread of a process by its name, before the accounts have told of it. A process chooses
 * how many threads it has: only the first ones are looked at. One thread.
 */
#include <stdint.h>

/* Threads that are looked at: a runtime has its own among the first ten. */
#define THREAD_NAMED_MAX 32u

/* Its tid, or 0. */
uint32_t thread_named(const char *proc_path, uint32_t tgid, const char *comm);
#endif

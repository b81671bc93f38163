/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_CLOCK_H
#define HOTRUN_BASE_CLOCK_H
/*
 * Clocks as one number of nanoseconds. No threads of its own; each function may be called from any.
 */
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define SECOND_NS 1000000000ull

/* A clock of clock_gettime(2); 0 where there is none such (any more). CLOCK_THREAD_CPUTIME_ID and
 * CLOCK_PROCESS_CPUTIME_ID tell what a piece of work cost, however long it waited for a CPU. */
uint64_t clock_ns(clockid_t clock);

/* CLOCK_MONOTONIC: the clock of the BPF programs (bpf_ktime_get_ns()) and of all records. */
uint64_t clock_now_ns(void);

/* CPU time of a thread of this process. */
uint64_t clock_thread_cpu_ns(pthread_t thread);
#endif

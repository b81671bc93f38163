/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_WALK_H
#define HOTRUN_KERNEL_WALK_H
/*
 * A pass over the threads that did anything since the one before, by a program that steps through
 * tasks itself. Kernels before 6.12 hand over each task to a program instead (iterate.h): those
 * that have such iterators were not tried. Private to this room.
 */
#include <stdbool.h>

struct hotrun_bpf;

/* Whether this kernel is to be asked. */
bool walk_is_possible(void);
/* Hands over records of struct event_task, borrowed, some perhaps twice. Returns how many parts it
 * took, each of which begins with a look at all processes, or negative errno. Not from two threads
 * at once. */
int walk_threads(struct hotrun_bpf *bpf, void (*take)(void *ctx, const void *record), void *ctx);
#endif

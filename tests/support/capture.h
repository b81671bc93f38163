/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_SUPPORT_CAPTURE_H
#define HOTRUN_TESTS_SUPPORT_CAPTURE_H
/*
 * A small capture made by hand, in which every field of every table has a value of its own, and the
 * comparison of two captures. No threads.
 */
#include "model/model.h"

/* Returns owned; never NULL. Has one slice; capture_next_slice() adds others. */
struct model *capture_model(void);

/* Forgets the per-slice tables, then adds a slice with samples, accounts, cpus and losses, a new
 * thread and stack, and changes a process, a thread, a mapping, a stack and a location. */
void capture_next_slice(struct model *m);

/* Adds cnt samples over the stacks that are there. */
void capture_add_samples(struct model *m, size_t cnt);

/* NULL when a and b hold the same, else the name of the first field that differs ("thread.comm").
 * Marks, caches and what is not stored are left out. */
const char *capture_difference(const struct model *a, const struct model *b);
#endif

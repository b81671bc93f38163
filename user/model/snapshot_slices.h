/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_SNAPSHOT_SLICES_H
#define HOTRUN_MODEL_SNAPSHOT_SLICES_H
/* A snapshot of what was recorded of late, without another look: accounts, and samples as places
 * where threads stood. Pure; no threads. */
#include "model/snapshot.h"

/*
 * The newest closed slices of m that make ns together, or as much as there is; *s is emptied first.
 * A thread's times are split among its samples; without one it is a row that was not read. 0,
 * -ENODATA without a closed slice, or -ENOMEM.
 */
int snapshot_of_slices(const struct model *m, uint64_t ns, struct snapshot *s);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_SWITCHES_H
#define HOTRUN_MODEL_SWITCHES_H
/* Windows of single switches (model_switch). Pure; no threads. */
#include <stdbool.h>

#include "model/model.h"

/* model_switch.cpu is below. */
#define SWITCH_CPUS_MAX 65536u

/*
 * Whose turn each CPU is in at from_ns, in the middle of a window: rows that begin a window there,
 * as many as ret_rows has room for, which are fewer than the rows of m before it. Their threads are
 * of m, their slice is not told. Returns how many; 0 where there is no window at that time.
 */
size_t model_switches_begin(const struct model *m, uint64_t from_ns, struct model_switch *ret_rows,
			    size_t max);
/* CPUs that rows are of: all are below. */
uint32_t model_switches_cpus(const struct model *m);
/* Whether a window begins with that row. */
bool model_switches_begins(const struct model *m, size_t row);
/* When the window of that row ends. */
uint64_t model_switches_end(const struct model *m, size_t row);
#endif

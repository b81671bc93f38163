/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_ROOT_H
#define HOTRUN_NAMES_ROOT_H
/*
 * Judges from names whether a walked stack reaches the root of its thread. A heuristic: the kernel
 * does not tell why its walk along frame pointers ended. Pure.
 *
 * A stack counts as whole when its root-most frame is
 * - a known first function: _start, start_thread, clone and their like, Go's goexit; or
 * - unnamed code of the C library (distributions strip start_thread and __libc_start_call_main),
 *   called from the root side of another module: inner functions of libc that use the frame pointer
 *   for something else are called by libc itself or have an exported name; or
 * - unnamed code of the executable, or its main.
 * Known errors: a comparison function called by a stripped qsort that loses the frame counts as
 * whole; a thread started by an unknown function of a named executable counts as broken.
 */
#include "model/model.h"

/*
 * root: symbol of the root-most frame; inner: that of the frame it called, NULL if there is none;
 * exe: last component of the executable's path, "" unknown.
 */
bool root_reached(const struct model_symbol *root, const struct model_symbol *inner,
		  const char *exe);
#endif

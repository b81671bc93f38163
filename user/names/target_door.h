/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_TARGET_DOOR_H
#define HOTRUN_NAMES_TARGET_DOOR_H
/* The memory of a process, for a worker that is to read it (parse/target_memory.h). No threads. */
#include "names/sources.h"
#include "parse/parse.h"

/*
 * Has it opened, with so many files that are mapped there (TARGET_GIVEN_MAX at the most): *ret_fd
 * is the caller's then, to be given to a job as its only descriptor. A reason: it cannot be had;
 * *ret_error says why where it was the process's (-errno), else 0.
 */
enum model_reason target_door_open(const struct sources *sources, const struct model *m,
				   uint32_t process, const struct target_mapping *files,
				   uint32_t files_cnt, int *ret_fd, int *ret_error);
#endif

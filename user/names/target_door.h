/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_TARGET_DOOR_H
#define HOTRUN_NAMES_TARGET_DOOR_H
/* The memory of a process, for a worker that is to read it (parse/target_memory.h). No threads. */
#include "names/sources.h"
#include "parse/parse.h"

#define TARGET_FDS 3

/*
 * Has its files opened: ret_fds are the caller's then, to be given to a job in this order, and the
 * request knows how they come. A reason: there are none; *ret_error says why where it was
 * the process's (-errno), else 0.
 */
enum model_reason target_door_open(const struct sources *sources, const struct model *m,
				   uint32_t process, struct parse_request *parse,
				   int ret_fds[TARGET_FDS], int *ret_error);
/* Gives them to a job; NULL: closes them. */
void target_door_give(struct workers_job *job, const int fds[TARGET_FDS]);
#endif

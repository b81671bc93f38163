/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_EXEC_NAMES_H
#define HOTRUN_NAMES_EXEC_NAMES_H
/*
 * Names of .NET processes by what the kernel tells of their exec, for those that have ended before
 * anybody could read /proc. What was read there counts for more.
 */
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"
#include "process/entry.h"

struct event_exec;

struct exec_name {
	uint64_t time_ns, start_ns; /* boottime, the latter */
	uint32_t tgid;
	char name[ENTRY_BYTES];
};

struct exec_names {
	struct exec_name *rows;
	size_t cnt, cap;
};

void exec_names_add(struct exec_names *e, const struct event_exec *exec);
/* Gives the model those up to that time: the lives of processes are known up to it. */
void exec_names_apply(struct exec_names *e, struct model *m, uint64_t until_ns);
void exec_names_clear(struct exec_names *e);
#endif

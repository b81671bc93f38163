/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_WALK_PROCESS_H
#define HOTRUN_TESTS_WALK_PROCESS_H
/*
 * Tables of all the code that a process of this machine has mapped, compiled as workers do it.
 */
#include <sys/types.h>

#include "walk.h"

#define WALK_MAPPINGS_MAX 128u

struct walk_process {
	struct walk_mapping mappings[WALK_MAPPINGS_MAX]; /* by address */
	struct unwind_table *tables[WALK_MAPPINGS_MAX];	 /* owned; NULL = the file has none */
	size_t cnt;
};

/* 0 = this one. 0 or -errno. */
int walk_process_read(struct walk_process *p, pid_t pid);
void walk_process_clear(struct walk_process *p);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_LISTENERS_H
#define HOTRUN_COLLECT_LISTENERS_H
/*
 * Finds out which processes listen on TCP ports where the kernel side does not report requests, and
 * with them who serves: from /proc alone, by the inode numbers of listening sockets. For verdicts,
 * which say nothing of how such a process serves. Without it nothing is read. No threads.
 *
 * A listening socket of a network namespace in which no process runs is not found.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collect/process_facts.h"
#include "collect/rooms.h"

/* Begins with zeroes, and these two, borrowed. */
struct listeners {
	const struct rooms *rooms;
	struct process_facts *facts;
	uint64_t due_ns;
	bool told; /* that some could not be read */
};

/* Into the flags of processes, where it is time to: at the start, at the end, and now and then. */
void listeners_find(struct listeners *l);

/* One pass over the processes of the model that run: sets PROCESS_SOCKETS and PROCESS_LISTENS.
 * Returns of how many it is not known whether they listen. */
uint32_t listeners_read(struct model *m, const char *proc_path);
#endif

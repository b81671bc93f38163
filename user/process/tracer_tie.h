/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PROCESS_TRACER_TIE_H
#define HOTRUN_PROCESS_TRACER_TIE_H
/*
 * What else hangs on a process that traces another. The traced one may have chosen it: a child of
 * any process makes that its tracer by PTRACE_TRACEME (ptrace(2)), and hands it on to children of
 * its own by CLONE_PTRACE, so a supervisor may be one that knows nothing of it. Reads files of the
 * kernel in /proc; nothing is changed. No state.
 */
#include <stdbool.h>
#include <stdint.h>

enum tracer_tie {
	TRACER_FREE,
	TRACER_HAS_CHILDREN, /* that it does not trace */
	TRACER_IS_MAIN,	     /* of a unit or container, as far as that can be told */
};

/*
 * tgid: who traces; is_parent: it is the parent of what it traces, then the first process of its
 * group is taken for the main one, too. 0 with the tie, of TRACER_HAS_CHILDREN with
 * one of them; -errno where it cannot be told.
 */
int tracer_tie_read(const char *proc_path, uint32_t tgid, bool is_parent, enum tracer_tie *ret_tie,
		    uint32_t *ret_child);
#endif

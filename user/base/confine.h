/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_CONFINE_H
#define HOTRUN_BASE_CONFINE_H
/*
 * What a child of hotrun goes through before it executes a program: no capability, nothing to be
 * gained by executing, a user of its own where one is said, bounds, no precedence over anybody, and
 * the first to go when memory runs out. Descriptors are the caller's: close_range(2) behind those
 * that the child needs. Nothing but system calls: also between fork() and exec in a program with
 * threads.
 */
#include <stdint.h>

#include "base/account.h"

struct confinement {
	int nice;		       /* at the least; 0 or higher */
	uint64_t file_bytes;	       /* of a file that it writes; 0 = as it is */
	uint64_t cpu_s;		       /* of CPU time, then SIGKILL; 0 = as it is */
	const struct account *account; /* to become, NULL = the user stays; borrowed */
	bool keep_saved; /* account_become(); for a process of ours, not for a program */
};

/* 0 or negative errno: then the child is to end. */
int confine(const struct confinement *c);
#endif

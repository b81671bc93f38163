/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_CALMS_H
#define HOTRUN_NAMES_CALMS_H
/*
 * The calms of a .NET process: times in which its finalizer thread did not run, as far as looks at
 * that thread tell. Only there code of dynamic methods is freed, so that what lies somewhere in a
 * calm lies there all the time. Each has a number. No threads.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/process_state.h"

/* Calms of which the end is remembered. */
#define CALM_ENDS 64u
#define CALM_NONE UINT32_MAX

/* Begins with zeroes. */
struct calms {
	uint32_t finalizer; /* tid, 0 = not known */
	uint64_t finalizer_again_ns;
	unsigned finalizer_looks;
	struct process_turns turns;
	uint32_t calm;	   /* its number */
	uint64_t since_ns; /* when it began, 0 = there is none: the finalizer may be running */
	uint64_t mark_ns;  /* the last look: it lasts until then at least */
	uint64_t ends_ns[CALM_ENDS]; /* by their number */
	uint64_t usual_ns;	     /* how long it does not run, as a rule; 0 = not known */
};

/* Looks whether the finalizer of that process ran since the last look. True: it may have, and what
 * was known until then (*ret_until_ns) may be no more. */
bool calms_look(struct calms *c, const char *proc_path, uint32_t tgid, uint64_t now_ns,
		uint64_t *ret_until_ns);
/* The number of the one that lasts, or CALM_NONE. */
uint32_t calms_now(const struct calms *c);
/* Until when something is known to have been there that was read in that calm (or CALM_NONE), and
 * last at until_ns. */
uint64_t calms_known_until(const struct calms *c, uint32_t calm, uint64_t until_ns);
#endif

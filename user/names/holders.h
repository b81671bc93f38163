/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_HOLDERS_H
#define HOTRUN_NAMES_HOLDERS_H
/*
 * Who holds the locks of .NET that threads wait for, out of the memory of their processes, read by
 * workers (parse/lock_holders.h). One thread.
 */
#include "names/jit_memory.h"
#include "names/sources.h"
#include "parse/parse.h"

/* A thread that waits, and what its stack holds. */
struct holders_wait {
	uint32_t process; /* row */
	uint32_t tid;	  /* as the host sees it */
	uint32_t row;	  /* the caller's */
	uint32_t turn;	  /* the caller's: first come those with low ones, of all processes */
	struct perfmap_lock_holder holder; /* found */
	bool asked;			   /* there is nothing more to be found */
	bool left_out;			   /* nobody could ask, or there was no answer in time */
	uint64_t switches;		   /* its, when its stack was read */
	struct perfmap_lock_wait at;
};

/*
 * Fills in what is found, of those that did not run meanwhile; sorts them. Waits until end_ns
 * (CLOCK_MONOTONIC) at the most, and after debts_ns for nobody whose party has used up its
 * allowance: those are left out then. memory knows of runtimes, NULL: nothing. False: the budgets
 * of file_requests.h did not allow all of it yet.
 */
bool holders_find(const struct sources *s, struct jit_memory *memory, const struct model *m,
		  struct holders_wait *waits, size_t cnt, uint64_t debts_ns, uint64_t end_ns);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_LOCK_HOLDERS_H
#define HOTRUN_PARSE_LOCK_HOLDERS_H
/* Who holds what threads of a .NET process wait for, read by a worker in its memory
 * (perfmap/memory/). Both sides are hostile. One thread. */
#include "parse/parse.h"
#include "parse/target_memory.h"

/* The worker's side: the holder for each of the waits, as far as it is known. */
void lock_holders_read(struct target_memory *memory, const struct parse_locks *locks,
		       struct perfmap_lock_holder *ret_holders);
#endif

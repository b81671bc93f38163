/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_LOCK_HOLDERS_H
#define HOTRUN_PARSE_LOCK_HOLDERS_H
/* Who holds what threads of a .NET process wait for, read by a worker in its memory
 * (perfmap/memory/). Both sides are hostile. One thread. */
#include "parse/parse.h"
#include "parse/target_memory.h"

/* The worker's side: ids for each of the waits, 0 = not known; and whether what they wait for may
 * be a monitor. REASON_RUNTIME_SILENT: of all. */
enum model_reason lock_holders_read(struct target_memory *memory, const struct parse_locks *locks,
				    uint32_t *ret_holders, bool *ret_monitors);
#endif

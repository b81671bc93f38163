/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_WAIT_NAMES_H
#define HOTRUN_COLLECT_WAIT_NAMES_H
/* Waiting for what workers read, for who has nothing else to do meanwhile. No threads. */
#include <stddef.h>
#include <stdint.h>

#include "collect/unwind_feed.h"

/* Whether tables of these processes (rows; none = of anybody) are wanted. */
bool wait_names_tables_wanted(const struct unwind_feed *f, const uint32_t *processes, size_t cnt);
/* Until none is, or none will be there in time. */
void wait_names_tables(struct unwind_feed *f, struct model *m, struct names *names,
		       const uint32_t *processes, size_t cnt, uint64_t end_ns);
/* For a moment: for what is being read, or until what could not be asked for may be. */
void wait_names_moment(struct names *names);
#endif

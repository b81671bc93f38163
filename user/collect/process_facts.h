/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_PROCESS_FACTS_H
#define HOTRUN_COLLECT_PROCESS_FACTS_H
/*
 * Reads the facts of processes (entry assembly, unit, container, mappings), within what that may
 * take of a slice: all at the start, then those that are to be shown. No threads.
 */
#include <stdint.h>

#include "collect/newly_started.h"
#include "collect/rooms.h"
#include "model/fair.h"

/* Begins with zeroes, and these two, borrowed. */
struct process_facts {
	const struct rooms *rooms;
	struct newly_started *newly_started;
	struct fair spent; /* us of this slice */
};

void process_facts_close(struct process_facts *f);
void process_facts_begin_slice(struct process_facts *f);

/* Of this process, whatever it costs. */
void process_facts_read(struct process_facts *f, uint32_t process);
/* Of this one, unless they are there, or who answers for it has had its share of the slice. */
void process_facts_want(struct process_facts *f, uint32_t process);
/* Of all that run already, as many as there is time for. */
void process_facts_read_all(struct process_facts *f);
#endif

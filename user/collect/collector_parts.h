/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_COLLECTOR_PARTS_H
#define HOTRUN_COLLECT_COLLECTOR_PARTS_H
/*
 * What a collector is made of, for the files that put its parts together and for nobody else:
 *
 *	collector.c		it is made and freed, and asked about
 *	collector_slice.c	a slice takes what came, ends and begins
 *	collector_pause.c	what goes on by itself while a slice grows
 *	collector_stands.c	where all threads stand at a moment
 *	collector_announce.c	what it says of itself
 *	collector_start.c	it starts, stops and begins anew, by means of all of these
 *
 * Each part has its state and its header of its own, works between the rooms, and borrows the parts
 * that it calls, wired once by collector_new():
 *
 *	naming -> wait_choice -> process_facts -> newly_started <- records
 *	naming -> records, process_facts; request_take, listeners -> process_facts;
 *	switch_keep -> books
 */
#include "collect/books.h"
#include "collect/cgroup_select.h"
#include "collect/cgroup_watch.h"
#include "collect/collector.h"
#include "collect/listeners.h"
#include "collect/naming.h"
#include "collect/notices.h"
#include "collect/process_facts.h"
#include "collect/records.h"
#include "collect/request_take.h"
#include "collect/rooms.h"
#include "collect/switch_keep.h"
#include "collect/wait_choice.h"

struct collector {
	struct collector_options options; /* with the gear of this slice, */
	struct collector_gear next_gear;  /* and that of the next one */
	bool asked_requests;		  /* at first; collector_change() may give them up */
	struct rooms rooms;

	struct records records;
	struct books books;
	struct process_facts facts;
	struct request_take requests;
	struct listeners listeners;
	struct switch_keep switches;
	struct cgroup_select cgroups;
	struct cgroup_watch groups;
	struct wait_choice waits;
	struct naming naming;
	struct notices notices;

	struct nursery *nursery;
	struct workers *workers; /* of names, which are begun anew; their accounts are not */
	/* CPU time, ns: of who opened files for names before, of the nursery when it was seen last,
	 * and of the programs of earlier sessions. */
	uint64_t opener_ns, nursery_ns, bpf_ns;

	uint64_t start_ns, slice_start_ns;
	uint64_t drained_ns; /* the last collector_drain() or the like */
	size_t threads_at_start, bytes_at_start;
};

/* A new model, and who fills and names it. 0 or -ENOMEM. */
int collector_open_rooms(struct collector *c);
void collector_close_rooms(struct collector *c);
/* The session, as the options are. Errors as collector_new(). */
int collector_open_session(struct collector *c, char *why, size_t why_bytes);

/* A recording ends: collector_look_at_all(), for which who hangs is given tables. */
void collector_look_at_end(struct collector *c);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_RECORDS_H
#define HOTRUN_COLLECT_RECORDS_H
/*
 * Takes the records of the session and of its side-band into the model, in the order that they need
 * each other, and hands on who started, called exec or mapped a file. No threads.
 */
#include <stddef.h>
#include <stdint.h>

#include "collect/newly_started.h"
#include "collect/rooms.h"
#include "names/exec_names.h"

/* Begins with zeroes. */
struct records {
	const struct rooms *rooms;
	struct session_ops ops; /* for who reads more of the session: its accounts, its sockets */
	struct sideband_ops sideband_ops;
	uint64_t samples; /* so far */
	struct newly_started newly_started;
	struct exec_names exec_names;
	uint32_t *execs; /* processes that called exec since the last drain */
	size_t execs_cnt, execs_cap;
};

/* Borrows the rooms. */
void records_open(struct records *r, const struct rooms *rooms);
void records_close(struct records *r);
/* There is another model: rows of processes mean others. */
void records_forget(struct records *r);

/* Takes all that came until now; once the session has stopped, all that there is. */
void records_drain(struct records *r);
/* Of the side-band alone, and looks at who just started. */
void records_look_at_started(struct records *r);
#endif

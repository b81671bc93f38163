/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_OPTIONS_H
#define HOTRUN_EXPORT_OPTIONS_H
/*
 * What `hotrun export` was told, for all formats alike: each writer is
 *
 *	int NAME_write(FILE *out, struct model *m, const struct export_options *options);
 *
 * and returns 0, -ENOMEM, or -EIO when out has failed. It leaves the tables of m as they are, but
 * for symbols of notes, which it adds. The part in time and just my code are the model's
 * (model/window.h, model/frame_view.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "model/model.h"

/* What a sample counts. */
enum export_weight {
	EXPORT_SAMPLES, /* ticks of host.sample_hz on a CPU */
	EXPORT_WAITERS, /* these, times the threads that waited for it (model/harm.h) */
	EXPORT_BLOCKED, /* ms of threads in waits (judge/blocked.h) */
	EXPORT_WEIGHTS
};

struct export_options {
	const uint8_t *wanted; /* by row of processes: whether it is of them; NULL = all are */
	const char *subject;   /* what these are called; NULL = the host */
	enum export_weight weight;
	bool idle;	/* of blocked time: idle waits, too */
	bool workload;	/* folded: begin with the workload (model/workload.h), not the process */
	bool pid;	/* folded: begin with NAME-PID, as stackcollapse-perf.pl --pid */
	bool addresses; /* keep unnamed functions of a native file apart; else they are one frame */
	const char *table; /* of tables: this one alone; NULL = see there */
};

/* Whether the process (row) is one of these. */
static inline bool export_wants(const struct export_options *o, uint32_t process)
{
	return !o->wanted || o->wanted[process];
}
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_FOLDED_H
#define HOTRUN_OUTPUT_FOLDED_H
/*
 * Folded stacks, the text format of flame graph tools (Brendan Gregg's FlameGraph, speedscope,
 * inferno): one line a distinct stack,
 *
 *	process;root;...;leaf COUNT
 *
 * merged, sorted frame by frame, the process's name first as stackcollapse-perf.pl writes it.
 * Suffixes as there: `_[k]` kernel, `_[j]` JIT. COUNT is on-CPU samples, or with their harm as
 * weight (model/harm.h) the threads that waited for a CPU at those samples: what nobody waited for
 * is left out. Of a model whose samples are blocked time (blocked_as_samples()), milliseconds.
 *
 * Watched processes choose names: control and direction characters and bytes that are not UTF-8
 * become \xHH, a backslash \\, a semicolon \x3b, an empty name [unnamed]. A line is thus always one
 * line and its separators are ours. Spaces stay: tools take the number after the last one.
 */
#include <stdbool.h>
#include <stdio.h>

#include "model/model.h"

struct folded_options {
	uint32_t process; /* row, MODEL_NONE = all */
	bool waiters;	  /* each sample weighs the threads that waited, else one */
	bool workload;	  /* the first frame is the workload (model/workload.h), not the process */
	bool pid;	  /* the first frame is NAME-PID, as with stackcollapse-perf.pl --pid */
	bool addresses; /* keep unnamed functions of a native file apart; else they are one frame */
};

/* Returns 0, -ENOMEM, or -EIO when out has failed. Adds symbols of notes to m. */
int folded_write(FILE *out, struct model *m, const struct folded_options *options);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_FOLDED_H
#define HOTRUN_EXPORT_FOLDED_H
/*
 * Folded stacks, the text format of flame graph tools (Brendan Gregg's FlameGraph, speedscope,
 * inferno): one line a distinct stack,
 *
 *	process;root;...;leaf COUNT
 *
 * merged, sorted frame by frame, the process's name first as stackcollapse-perf.pl writes it.
 * Suffixes as there: `_[k]` kernel, `_[j]` JIT. COUNT is on-CPU samples, or with their harm as
 * weight (model/harm.h) the threads that waited for a CPU at those samples: what nobody waited for
 * is left out. Of blocked time, milliseconds.
 *
 * Watched processes choose names: control and direction characters and bytes that are not UTF-8
 * become \xHH, a backslash \\, a semicolon \x3b, an empty name [unnamed]. A line is thus always one
 * line and its separators are ours. Spaces stay: tools take the number after the last one.
 */
#include "export/options.h"

int folded_write(FILE *out, struct model *m, const struct export_options *options);
#endif

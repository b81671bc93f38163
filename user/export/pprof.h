/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_PPROF_H
#define HOTRUN_EXPORT_PPROF_H
/*
 * The format of Google's pprof, compressed by gzip (proto/profile.proto in
 * github.com/google/pprof; schema/pprof.proto has what is written of it).
 *
 * Each sample has all values that the capture knows: `samples` (ticks), `cpu`, `waiting` (time of
 * the threads that waited for its CPU meanwhile) and `blocked`, each in ns; options.weight says
 * which one is shown first. Samples of one thread with one stack are one, and carry the labels
 * process, pid, thread, tid, role, pod and verdict. A location is a method over its tiers, without
 * an address; its mapping is the file, with its build id, or the assembly. Nothing is inlined.
 */
#include "export/options.h"

int pprof_write(FILE *out, struct model *m, const struct export_options *options);
#endif

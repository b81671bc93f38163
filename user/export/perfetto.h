/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_PERFETTO_H
#define HOTRUN_EXPORT_PERFETTO_H
/*
 * A trace for Perfetto (protos/perfetto/trace/ in github.com/google/perfetto; schema/perfetto.proto
 * has what is written of it), on CLOCK_MONOTONIC with the wall clock beside it: counters of the
 * host, a slice for each time that a process was hurt or contended, slow, or throttled
 * (timeline.h), processes and threads by name, and samples of CPU time.
 *
 * Its tools count samples, each as one: one that stands for several ticks is there as often, so far
 * apart. Other weights have no place in it: options.weight is not looked at.
 */
#include "export/options.h"

int perfetto_write(FILE *out, struct model *m, const struct export_options *options);
#endif

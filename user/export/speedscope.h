/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_SPEEDSCOPE_H
#define HOTRUN_EXPORT_SPEEDSCOPE_H
/*
 * The file format of speedscope (its file-format-schema.json): a sampled profile a thread, heaviest
 * first, each in the order of time, in nanoseconds of what is weighed. Of CPU time, time without a
 * sample is a sample without a stack, so that all threads share one axis of time; of other weights
 * samples follow one another.
 */
#include "export/options.h"

int speedscope_write(FILE *out, struct model *m, const struct export_options *options);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_DIFF_PRIVATE_H
#define HOTRUN_JUDGE_DIFF_PRIVATE_H
/*
 * What the files of the difference share. Only diff*.c include this.
 */
#include "judge/diff.h"

/* Samples of both sides that a figure rests on; 0 where it is not asked. */
double diff_samples_of(const struct diff_book *book, uint32_t method, enum diff_of of);
/* Of the chances to be named by mistake, 1 on the mean. */
double diff_weight_of(const struct diff *d, uint32_t method, enum diff_of of);
/* diff_value_of() without its error and least, which are NAN: quick. */
struct diff_value diff_change_of(const struct diff *d, uint32_t method, enum diff_of of);
/* Whether the CPU time of a kind was counted by switches wherever it had any. */
bool diff_is_counted(const struct diff_kind *kind);
/* All CPU time of a kind of processes. */
struct diff_value diff_value_of_kind(const struct diff *d, uint32_t kind);
/* What another finding explains goes; of the others it is told where they are. 0 or -ENOMEM. */
int diff_tell_findings(struct diff *d);
#endif

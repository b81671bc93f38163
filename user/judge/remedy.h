/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_REMEDY_H
#define HOTRUN_JUDGE_REMEDY_H
/*
 * What a person can do about a loss: one line for each reason and each cause, "" where there is
 * nothing to do. Static strings. Pure; no threads.
 */

#include "model/model.h"

/* For frames without a name. */
const char *remedy_reason(enum model_reason reason);
/* For losses of records, samples and accounts; enum loss_cause / model_loss_cause. */
const char *remedy_loss(uint32_t cause);
/* For stacks that do not reach their root. */
const char *remedy_end(enum stack_end end);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_BLOCKED_H
#define HOTRUN_COMMANDS_BLOCKED_H
/*
 * What the commands that write samples share where blocked time is asked for instead.
 */
#include <stdbool.h>

#include "model/model.h"

/* Whether it is known. Returns an enum exit_code; why it is not is logged. */
int blocked_check(const struct model *m);
/* Puts it in the place of the samples of m (judge/blocked.h). Returns an enum exit_code; why it is
 * not known, and other errors, are logged. */
int blocked_take(struct model *m, bool idle);
#endif

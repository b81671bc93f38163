/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_RECOVER_ACT_H
#define HOTRUN_COMMANDS_RECOVER_ACT_H
/*
 * `hotrun recover PID --resume`: the one place of hotrun that acts on a process against its state.
 * Does what the findings allow, one act after the other, each logged, and looks after each whether
 * its threads run. Nothing else calls it. One thread.
 */
#include "commands/recover_look.h"

/* Fills what was done, and how it is afterwards. end_tracer: a tracer that holds it may be ended.
 */
void recover_perform(struct recover_look *l, struct recover_row *row, bool end_tracer);
#endif

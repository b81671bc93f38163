/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_RECOVER_ACT_H
#define HOTRUN_COMMANDS_RECOVER_ACT_H
/*
 * `hotrun recover PID --resume`: the one place of hotrun that acts on a process against its state.
 * Does what the findings allow, one act after the other, each logged, and looks after each whether
 * its threads run. Nothing else calls it. One thread.
 */
#include "commands/recover_look.h"

/* What the user allows beyond --resume: tracers that may be ended, by their pids. */
struct recover_wish {
	const uint32_t *tracers;
	size_t tracers_cnt;
};

/* Looks anew; fills what was done, and how it is afterwards. */
void recover_perform(struct recover_look *l, struct recover_row *row,
		     const struct recover_wish *wish);
#endif

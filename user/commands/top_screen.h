/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_TOP_SCREEN_H
#define HOTRUN_COMMANDS_TOP_SCREEN_H
/*
 * The screen of `hotrun top`: which rows it shows, which one is chosen, what each key does. No
 * threads.
 */
#include "commands/live.h"
#include "output/top_view.h"

/* Shows the host until the user quits, the time is over or the terminal is closed. Returns an enum
 * exit_code; errors are logged. live was started. slices: how many to show, 0 = no end. */
int top_screen_run(struct live *live, const struct verdict_policy *policy, enum top_order order,
		   uint64_t slices);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_SNAPSHOT_ARM_H
#define HOTRUN_COMMANDS_SNAPSHOT_ARM_H
/*
 * The one that is armed: it waits, with all that it needs in memory, until somebody asks for a
 * snapshot through its control socket (watch/control.h); and who asks. No threads.
 */
#include <stdio.h>

#include "commands/snapshot_take.h"

#define SNAPSHOT_ARM_DIR "/run/hotrun"

/* Locks what is in memory, and what will be. Before rights are dropped; logs what fails. */
void snapshot_arm_lock(void);
/* Waits and answers until it is asked to stop. Returns an enum exit_code; errors are logged. */
int snapshot_arm(const struct snapshot_taker *taker, const char *dir);

/* Asks whoever is armed, or records, in that folder. An enum exit_code where there was an answer
 * (errors are logged), or a negative errno as of control_ask(): nobody there. */
int snapshot_ask(const char *dir, const struct snapshot_request *request, FILE *out);
#endif

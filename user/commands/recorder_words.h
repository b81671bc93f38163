/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_RECORDER_WORDS_H
#define HOTRUN_COMMANDS_RECORDER_WORDS_H
/*
 * Words for those who asked a resident recorder and got no answer.
 */

/* Logs why the recorder of that folder said nothing, and what to do: err of control_ask(), 0 = it
 * ended. */
void recorder_silent(const char *dir, int err);
#endif

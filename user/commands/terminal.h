/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_TERMINAL_H
#define HOTRUN_COMMANDS_TERMINAL_H
/*
 * What the commands ask of the terminal on stdout.
 */

/* Its columns, at least `least`; 0 where stdout is no terminal or does not know. */
unsigned int terminal_columns(unsigned int least);
#endif

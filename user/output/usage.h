/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_USAGE_H
#define HOTRUN_OUTPUT_USAGE_H
/*
 * What is told of commands and their options (base/option.h): as text, as pages of the manual, and
 * as completion for shells. Nothing here knows a command. No threads.
 */
#include <stdio.h>

#include "base/option.h"

/* The program: what stands before and behind its commands in the help. */
struct usage_program {
	const char *name, *version, *job; /* job as of a command */
	const char *about, *examples, *notes;
	const struct command *const *commands;
	size_t commands_cnt;
};

/* `hotrun --help`, `hotrun COMMAND --help`. */
void usage_help(FILE *out, const struct usage_program *program);
void usage_command_help(FILE *out, const struct usage_program *program,
			const struct command *command);

/* Pages in section 1: of the program, and of one command. Format: man(7). */
void usage_manual(FILE *out, const struct usage_program *program);
void usage_command_manual(FILE *out, const struct usage_program *program,
			  const struct command *command);

/* Completion for a shell. Sources: bash(1), "Programmable Completion"; zshcompsys(1), _arguments;
 * complete(1) of fish. */
void usage_bash(FILE *out, const struct usage_program *program);
void usage_zsh(FILE *out, const struct usage_program *program);
void usage_fish(FILE *out, const struct usage_program *program);
#endif

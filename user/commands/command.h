/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_COMMAND_H
#define HOTRUN_COMMANDS_COMMAND_H
/*
 * The subcommands, one file each: what is said of it, its options as rows, and a function that
 * takes its own argv (argv[0] is its name) and returns the exit code of the program.
 */
#include <signal.h>

#include "output/usage.h"

enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	/* record -- CMD otherwise returns CMD's own code, as env(1) and timeout(1) do. */
	EXIT_OWN_FAILURE = 125,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

/* Set by SIGINT, SIGTERM and SIGHUP: end, and keep what there is. The other mutable global. */
extern volatile sig_atomic_t stop_requested;

extern const struct command record_command, report_command, flame_command, export_command,
	rename_command, top_command, runq_command, requests_command, threads_command,
	timeline_command, perfmap_command, diff_command, doctor_command, recover_command,
	watch_command, trigger_command, captures_command, history_command, query_command,
	seccomp_command, help_command, snapshot_command;

/* All of them, as the help tells them. */
extern const struct usage_program hotrun_program;

/* NULL = there is none of that name. */
const struct command *command_find(const char *name);

/* Prints "see `hotrun COMMAND --help`" after a usage error; returns EXIT_USAGE. */
int command_usage(const char *command);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_COMMAND_H
#define HOTRUN_COMMANDS_COMMAND_H
/*
 * The subcommands, one file each. Each takes its own argv (argv[0] is its name) and returns the
 * exit code of the program.
 */
#include <signal.h>

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

/* Of commands that have the option --node-root, which collector_options.node_root takes. */
#define NODE_ROOT_HELP                                                                            \
	"      --node-root DIR     names of containers and pods come from the node's own files\n" \
	"                          below DIR (default: /, then /proc/1/root, which is the "       \
	"host's\n"                                                                                \
	"                          in a container with its process ids)\n"

int command_record(int argc, char **argv);
int command_report(int argc, char **argv);
int command_export(int argc, char **argv);
int command_flame(int argc, char **argv);
int command_rename(int argc, char **argv);
int command_runq(int argc, char **argv);
int command_requests(int argc, char **argv);
int command_top(int argc, char **argv);
int command_perfmap(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_watch(int argc, char **argv);
int command_captures(int argc, char **argv);
int command_trigger(int argc, char **argv);
int command_seccomp(int argc, char **argv);

/* Prints "see `hotrun COMMAND --help`" after a usage error; returns EXIT_USAGE. */
int command_usage(const char *command);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun help: what the commands and their options are, for people, man(1) and shells. */
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/log.h"
#include "commands/command.h"
#include "commands/options.h"

struct arguments {
	bool manual;
	bool completes;
	unsigned int shell; /* place among the words */
};

static const struct shell {
	const char *name;
	void (*put)(FILE *out, const struct usage_program *program);
} shells[] = {{"bash", usage_bash}, {"zsh", usage_zsh}, {"fish", usage_fish}};
static const char *const shell_names[] = {"bash", "zsh", "fish", NULL};

static int take_shell(void *at, const struct command_option *option, const char *value)
{
	struct arguments *a = at;

	a->completes = true;
	return option_word(&a->shell, option, value);
}

static const struct command_option rows[] = {
	OPTION(0, "manual", NULL,
	       "as a page of the manual, for man(1): of COMMAND, else of all in few words",
	       option_true, OPTION_IN(struct arguments, manual)),
	OPTION(0, "completion", "SHELL", "what completes commands and options in bash, zsh or fish",
	       take_shell, .words = shell_names),
};

static const struct option_group groups[] = {{OPTION_ROWS(rows)}};

static int put(const struct arguments *a, const struct command *command)
{
	if (a->completes)
		shells[a->shell].put(stdout, &hotrun_program);
	else if (a->manual && command)
		usage_command_manual(stdout, &hotrun_program, command);
	else if (a->manual)
		usage_manual(stdout, &hotrun_program);
	else if (command)
		usage_command_help(stdout, &hotrun_program, command);
	else
		usage_help(stdout, &hotrun_program);
	if (!ferror(stdout) && !fflush(stdout))
		return EXIT_OK;
	log_error("output: %s", strerror(errno));
	return EXIT_FAILED;
}

static int run(int argc, char **argv)
{
	const struct command *command = NULL;
	struct arguments a = {0};
	int rc = options_parse(&help_command, argc, argv, &a);

	if (rc)
		return rc;
	if (argc - optind > 1 || (a.completes && (a.manual || optind < argc))) {
		log_error("help: one of COMMAND, --manual COMMAND and --completion SHELL");
		return command_usage("help");
	}
	if (optind < argc) {
		command = command_find(argv[optind]);
		if (!command) {
			log_error("%s: no such command; see `hotrun --help`", argv[optind]);
			return EXIT_USAGE;
		}
	}
	return put(&a, command);
}

const struct command help_command = {
	.name = "help",
	.job = "tell the options of a command; manual pages and completion, too",
	.usage = "[--manual] [COMMAND]\n--completion SHELL",
	.about = "Tells what COMMAND does and its options, else what commands there are.\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.examples = "  hotrun help report\n"
		    "  hotrun help --manual report | man -l -\n"
		    "  source <(hotrun help --completion bash)\n",
	.notes = "`make install` lays both where man(1) and the shells look for them.\n"
		 "Exit code: 0; 1 failure; 2 usage.\n",
	.run = run,
};

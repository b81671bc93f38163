/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program's door: picks the subcommand, catches the signals that end a recording. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"
#include "commands/command.h"

volatile sig_atomic_t stop_requested;

static const struct command *const commands[] = {
	&record_command,   &report_command,  &flame_command,	&export_command,   &diff_command,
	&rename_command,   &top_command,     &runq_command,	&requests_command, &threads_command,
	&timeline_command, &perfmap_command, &snapshot_command, &doctor_command,   &recover_command,
	&watch_command,	   &trigger_command, &captures_command, &history_command,  &query_command,
	&seccomp_command,  &help_command,
};

const struct usage_program hotrun_program = {
	.name = "hotrun",
	.version = HOTRUN_VERSION,
	.job = "observe the CPUs of a Linux host that runs .NET services",
	.about = "A system-wide CPU observer for Linux hosts that run .NET services. It looks\n"
		 "from the kernel and never attaches to a process. `hotrun recover PID --resume` "
		 "acts\n"
		 "on one that others left standing; nothing else does.\n",
	.commands = commands,
	.commands_cnt = sizeof(commands) / sizeof(commands[0]),
	.examples = "  hotrun record -d 30            30 seconds of everything, as root\n"
		    "  hotrun report                  the newest capture in this folder\n"
		    "  hotrun flame -o flame.html     the same as a picture\n"
		    "  hotrun runq -d 10              who waits for a CPU, and how long, as root\n"
		    "  hotrun requests                is anybody kept waiting, as root\n"
		    "  hotrun threads -p Shop.Api     it hangs: where does each thread stand, as "
		    "root\n"
		    "  hotrun snapshot                the host is drowning: an answer within "
		    "seconds\n",
	.notes = "`hotrun COMMAND --help` tells the options; what reads a capture needs no\n"
		 "privileges. `hotrun --version` tells the version.\n",
};

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(name, commands[i]->name))
			return commands[i];
	return NULL;
}

int command_usage(const char *command)
{
	fprintf(stderr, "hotrun: see `hotrun %s --help`\n", command);
	return EXIT_USAGE;
}

static void request_stop(int signal)
{
	stop_requested = signal;
}

/* For what an error of the write tells as well: a closed pager, a full disk. Not SIG_IGN, which the
 * command of `record -- CMD` would inherit. */
static void leave_to_errno(int signal)
{
	(void)signal;
}

static void catch_signals(void)
{
	static const struct {
		int signal;
		void (*handler)(int signal);
	} caught[] = {{SIGINT, request_stop},
		      {SIGTERM, request_stop},
		      {SIGHUP, request_stop},
		      {SIGPIPE, leave_to_errno},
		      {SIGXFSZ, leave_to_errno}};

	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++) {
		struct sigaction action = {.sa_handler = caught[i].handler}, was;

		/* What nohup(1) has ignored stays so. Not SIGINT, which shells ignore for whatever
		 * a script starts with `&`: it ends a recording there, too. No SA_RESTART: waits
		 * end. */
		if (caught[i].signal == SIGHUP && !sigaction(SIGHUP, NULL, &was) &&
		    was.sa_handler == SIG_IGN)
			continue;
		sigaction(caught[i].signal, &action, NULL);
	}
}

/* Started without stdin, stdout or stderr, the next file that is opened (a capture, a map of the
 * kernel) would get its number, and what is printed would land there. */
static void fill_standard_files(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY); /* a write fails as it did */
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	const struct command *command;
	char name[32];

	fill_standard_files();
	/* Run as /proc/self/exe, for the artifacts of a capture, it would be called "exe"
	 * everywhere. */
	prctl(PR_SET_NAME, "hotrun");
	if (argc < 2) {
		usage_help(stderr, &hotrun_program);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		usage_help(stdout, &hotrun_program);
		return EXIT_OK;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("hotrun %s\n", HOTRUN_VERSION);
		return EXIT_OK;
	}
	command = command_find(argv[1]);
	if (command) {
		catch_signals();
		snprintf(name, sizeof(name), "hotrun %s", command->name);
		argv[1] = name; /* getopt begins its messages with it */
		return command->run(argc - 1, argv + 1);
	}
	log_error("%s: no such command; see `hotrun --help`", argv[1]);
	return EXIT_USAGE;
}

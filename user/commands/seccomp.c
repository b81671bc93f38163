/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun seccomp: the profile of this version, for runtimes. */
#include <getopt.h>
#include <stdlib.h>

#include "base/log.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "commands/options.h"

/* The path is relative to the top of the tree, where make runs the compiler. */
__asm__(".section .rodata\n"
	".global seccomp_profile\n"
	"seccomp_profile:\n"
	".incbin \"deploy/kubernetes/seccomp.json\"\n"
	".byte 0\n"
	".previous\n");
extern const char seccomp_profile[];

static const struct command_option rows[] = {
	OPTION('o', "output", "FILE", "where to write (default: stdout)", option_text,
	       .complete = COMPLETE_FILE),
};

static const struct option_group groups[] = {{OPTION_ROWS(rows)}};

static int run(int argc, char **argv)
{
	const char *output = NULL;
	struct result *result;
	int rc = options_parse(&seccomp_command, argc, argv, &output);

	if (rc)
		return rc;
	if (optind < argc) {
		log_error("%s: seccomp takes options only", argv[optind]);
		return command_usage("seccomp");
	}
	result = result_open(output);
	if (!result)
		return EXIT_FAILED;
	fputs(seccomp_profile, result_file(result));
	return result_close(result, 0);
}

const struct command seccomp_command = {
	.name = "seccomp",
	.job = "print the profile of system calls for container runtimes",
	.usage = "[OPTION]...",
	.about = "Prints the seccomp profile of this version, which allows the system calls that "
		 "hotrun\n"
		 "makes and no others, in the format of container runtimes. Its image has no shell "
		 "that\n"
		 "could copy a file: this is how the DaemonSet puts it on the node. Needs no "
		 "privileges.\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.examples = "  hotrun seccomp -o /var/lib/kubelet/seccomp/hotrun.json\n"
		    "  podman run --security-opt seccomp=hotrun.json ...\n",
	.notes = "Exit code: 0; 1 failure; 2 usage.\n",
	.run = run,
};

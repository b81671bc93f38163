/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun seccomp: the profile of this version, for runtimes. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "commands/capture.h"
#include "commands/command.h"

static const char help_text[] =
	"usage: hotrun seccomp [OPTION]...\n\n"
	"Prints the seccomp profile of this version, which allows the system calls that hotrun\n"
	"makes and no others, in the format of container runtimes. Its image has no shell that\n"
	"could copy a file: this is how the DaemonSet puts it on the node. Needs no privileges.\n\n"
	"  -o, --output FILE       where to write (default: stdout)\n"
	"  -h, --help              this text\n\n"
	"  hotrun seccomp -o /var/lib/kubelet/seccomp/hotrun.json\n"
	"  podman run --security-opt seccomp=hotrun.json ...\n\n"
	"Exit code: 0; 1 failure; 2 usage.\n";

/* The path is relative to the top of the tree, where make runs the compiler. */
__asm__(".section .rodata\n"
	".global seccomp_profile\n"
	"seccomp_profile:\n"
	".incbin \"deploy/kubernetes/seccomp.json\"\n"
	".byte 0\n"
	".previous\n");
extern const char seccomp_profile[];

static int parse(int argc, char **argv, const char **ret_output)
{
	static const struct option longs[] = {
		{"output", required_argument, NULL, 'o'}, {"help", no_argument, NULL, 'h'}, {0}};
	int c;

	while ((c = getopt_long(argc, argv, "o:h", longs, NULL)) != -1) {
		switch (c) {
		case 'o':
			*ret_output = optarg;
			break;
		case 'h':
			fputs(help_text, stdout);
			exit(EXIT_OK);
		default:
			return command_usage("seccomp");
		}
	}
	if (optind == argc)
		return EXIT_OK;
	log_error("%s: seccomp takes options only", argv[optind]);
	return command_usage("seccomp");
}

int command_seccomp(int argc, char **argv)
{
	const char *output = NULL;
	struct result *result;
	int rc = parse(argc, argv, &output);

	if (rc)
		return rc;
	result = result_open(output);
	if (!result)
		return EXIT_FAILED;
	fputs(seccomp_profile, result_file(result));
	return result_close(result, 0);
}

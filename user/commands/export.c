/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun export: the samples in formats of other tools. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "output/folded.h"

static const char help_text[] =
	"usage: hotrun export [OPTION]... [FILE]\n\n"
	"Writes the samples of a capture in a format of other tools. Without FILE, of the newest\n"
	"capture in this folder. Needs no privileges.\n\n"
	"      --format FORMAT     folded: a line a stack, for flame graph tools; kernel frames\n"
	"                          end in _[k], JIT frames in _[j] (the default)\n"
	"  -o, --output RESULT     where to write (default: stdout)\n"
	"  -p, --process NAME|PID  this process only\n"
	"      --pid               put the process id behind the name, NAME-PID\n"
	"      --addresses         keep unnamed functions of native libraries apart\n"
	"  -h, --help              this text\n\n"
	"  hotrun export --format folded slow.hotrun > slow.folded\n\n"
	"Exit code: 0; 1 failure; 2 usage.\n";

/* All processes, or each of those named in turn. */
static int write_folded(struct model *m, const uint32_t *rows, size_t cnt, const char *output,
			struct folded_options *options)
{
	struct result *result = result_open(output);
	int err;

	if (!result)
		return EXIT_FAILED;
	options->process = cnt ? rows[0] : MODEL_NONE;
	err = folded_write(result_file(result), m, options);
	for (size_t i = 1; i < cnt && !err; i++) {
		options->process = rows[i];
		err = folded_write(result_file(result), m, options);
	}
	return result_close(result, err);
}

int command_export(int argc, char **argv)
{
	static const struct option longs[] = {{"format", required_argument, NULL, 'f'},
					      {"output", required_argument, NULL, 'o'},
					      {"process", required_argument, NULL, 'p'},
					      {"pid", no_argument, NULL, 'P'},
					      {"addresses", no_argument, NULL, 'A'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	struct folded_options options = {.process = MODEL_NONE};
	const char *output = NULL, *process = NULL;
	_cleanup_free_ uint32_t *rows = NULL;
	struct model *m = NULL;
	size_t cnt;
	int c, rc;

	while ((c = getopt_long(argc, argv, "o:p:h", longs, NULL)) != -1) {
		switch (c) {
		case 'f':
			if (strcmp(optarg, "folded")) {
				log_error("--format %s: not a known format: folded", optarg);
				return command_usage("export");
			}
			break;
		case 'o':
			output = optarg;
			break;
		case 'p':
			process = optarg;
			break;
		case 'P':
			options.pid = true;
			break;
		case 'A':
			options.addresses = true;
			break;
		case 'h':
			fputs(help_text, stdout);
			return EXIT_OK;
		default:
			return command_usage("export");
		}
	}
	rc = capture_argument(argc, argv, process, &m, &rows, &cnt);
	if (!rc)
		rc = write_folded(m, rows, cnt, output, &options);
	model_free(m);
	return rc;
}

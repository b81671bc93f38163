/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun flame: the capture as one interactive page. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "commands/frames.h"
#include "commands/time_window.h"
#include "output/flame.h"

static const char help_text[] =
	"usage: hotrun flame [OPTION]... [FILE]\n\n"
	"Writes the flame graph of a capture as one HTML page that needs no network. Without\n"
	"FILE, of the newest capture in this folder. Needs no privileges.\n\n"
	"  -o, --output PAGE       where to write (default: stdout, when it is no terminal)\n"
	"  -p, --process NAME|PID  show this process first\n"
	"      --addresses         keep unnamed functions of native libraries "
	"apart\n" FRAMES_HELP TIME_WINDOW_HELP "  -h, --help              this text\n\n"
	"  hotrun flame -o flame.html\n"
	"  hotrun flame slow.hotrun -o slow.html -p Shop.Api\n"
	"  hotrun flame --worst 5s -o worst.html\n"
	"  hotrun flame --just-my-code --my-code 'Microsoft.Shop.*' -o mine.html\n\n"
	"Exit code: 0; 1 failure; 2 usage.\n";

int command_flame(int argc, char **argv)
{
	static const struct option longs[] = {TIME_WINDOW_OPTIONS,
					      FRAMES_OPTIONS,
					      {"output", required_argument, NULL, 'o'},
					      {"process", required_argument, NULL, 'p'},
					      {"addresses", no_argument, NULL, 'A'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	struct flame_options options = {.process = MODEL_NONE};
	const char *output = NULL, *process = NULL;
	_cleanup_free_ uint32_t *rows = NULL;
	struct model *m = NULL;
	struct time_window window = {0};
	_cleanup_(frames_clear) struct frames frames = {0};
	struct result *result;
	size_t cnt;
	int c, rc;

	while ((c = getopt_long(argc, argv, "o:p:h", longs, NULL)) != -1) {
		switch (c) {
		case 'o':
			output = optarg;
			break;
		case 'p':
			process = optarg;
			break;
		case 'A':
			options.addresses = true;
			break;
		case FRAMES_RAW:
		case FRAMES_JUST_MINE:
		case FRAMES_MINE:
		case FRAMES_NOT_MINE:
			rc = frames_option(&frames, c, optarg);
			if (rc)
				return command_usage("flame");
			break;
		case TIME_FROM:
		case TIME_TO:
		case TIME_WORST:
			rc = time_window_option(&window, c, optarg);
			if (rc)
				return command_usage("flame");
			break;
		case 'h':
			fputs(help_text, stdout);
			return EXIT_OK;
		default:
			return command_usage("flame");
		}
	}
	if (!output && isatty(STDOUT_FILENO)) {
		log_error("the page would go to the terminal; name a file with -o");
		return command_usage("flame");
	}
	rc = capture_argument(argc, argv, process, &window, &m, &rows, &cnt);
	if (!rc)
		rc = frames_apply(&frames, m);
	if (!rc) {
		if (cnt)
			options.process = rows[0];
		result = result_open(output);
		rc = result ? result_close(result, flame_write(result_file(result), m, &options))
			    : EXIT_FAILED;
	}
	model_free(m);
	return rc;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun flame: the capture as one interactive page. */
#include <getopt.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "commands/blocked.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "commands/frames.h"
#include "commands/options.h"
#include "commands/time_window.h"
#include "output/flame.h"

struct arguments {
	struct flame_options flame;
	const char *output, *process;
	struct time_window window;
	struct frames frames;
};

#define IN(field) OPTION_IN(struct arguments, field)

static const struct command_option rows[] = {
	OPTION('o', "output", "PAGE", "where to write (default: stdout, when it is no terminal)",
	       option_text, .complete = COMPLETE_FILE, IN(output)),
	OPTION('p', "process", "NAME|PID", "show this process first", option_text, IN(process)),
	OPTION(0, "blocked", NULL,
	       "show blocked time first: where threads waited, idle waits left out", option_true,
	       IN(flame.blocked)),
	OPTION(0, "idle", NULL, "idle waits among these, too", option_true, IN(flame.idle)),
};

static const struct option_group groups[] = {
	{OPTION_ROWS(rows)},
	OPTION_SHARED(frames_stack_options, struct arguments, frames),
	OPTION_SHARED(frames_options, struct arguments, frames),
	OPTION_SHARED(time_window_options, struct arguments, window),
};

static int run(int argc, char **argv)
{
	struct arguments a = {.flame = {.process = MODEL_NONE}};
	_cleanup_free_ uint32_t *found = NULL;
	struct model *m = NULL;
	struct result *result;
	size_t cnt;
	int rc = options_parse(&flame_command, argc, argv, &a);

	if (!rc && !a.output && isatty(STDOUT_FILENO)) {
		log_error("the page would go to the terminal; name a file with -o");
		rc = command_usage("flame");
	}
	if (!rc)
		rc = frames_capture(&a.frames, argc, argv, a.process, &a.window, &m, &found, &cnt);
	if (!rc && a.flame.blocked)
		rc = blocked_check(m);
	if (!rc) {
		a.flame.addresses = a.frames.addresses;
		if (cnt)
			a.flame.process = found[0];
		result = result_open_last(a.output);
		rc = result ? result_close(result, flame_write(result_file(result), m, &a.flame))
			    : EXIT_FAILED;
	}
	model_free(m);
	return rc;
}

const struct command flame_command = {
	.name = "flame",
	.job = "write an interactive flame graph, one self-contained HTML page",
	.usage = "[OPTION]... [FILE]",
	.about = "Writes the flame graph of a capture as one HTML page that needs no network. "
		 "Without\n"
		 "FILE, of the newest capture in this folder. Needs no privileges.\n"
		 "\n"
		 "In the page: a strip of time to choose a span in, views (flame graph, callers "
		 "and\n"
		 "callees, call tree, bottom up, threads, modules, the report), weights (CPU, who\n"
		 "waited meanwhile, CPU while requests were slow, blocked time), filters; ? lists "
		 "its\n"
		 "keys. The options say what it shows first.\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.operand = COMPLETE_FILE,
	.examples = "  hotrun flame -o flame.html\n"
		    "  hotrun flame slow.hotrun -o slow.html -p Shop.Api\n"
		    "  hotrun flame --worst 5s -o worst.html\n"
		    "  hotrun flame --blocked -p Shop.Api -o waits.html\n"
		    "  hotrun flame --just-my-code --my-code 'Microsoft.Shop.*' -o mine.html\n",
	.notes = "Exit code: 0; 1 failure; 2 usage.\n",
	.run = run,
};

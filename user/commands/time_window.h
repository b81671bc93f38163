/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_TIME_WINDOW_H
#define HOTRUN_COMMANDS_TIME_WINDOW_H
/*
 * The options --from, --to and --worst, which the commands that read a capture share: they see a
 * part of it in time alone.
 *
 *	OPTION_SHARED(time_window_options, struct arguments, window)	among its groups
 *	time_window_check(&window, "report");		after the last option
 *	time_window_cut(&window, "report", m, &taken);	once the capture is read
 */
#include "commands/options.h"
#include "model/moment.h"
#include "output/report.h"

struct time_window {
	const char *from_text, *to_text; /* as they were written, NULL = not given */
	struct moment from, to;
	uint64_t worst_ns; /* 0 = not given */
};

/* Of a struct time_window; values are borrowed until time_window_cut(). */
extern const struct command_option time_window_options[3];

/* Whether the options go together. Returns EXIT_OK, or EXIT_USAGE, logged. */
int time_window_check(const struct time_window *w, const char *command);
/* Cuts m down to the window, in whole slices; *ret_taken tells what was taken, whole_ns 0 = all of
 * it, not asked for. Returns an enum exit_code; errors are logged. */
int time_window_cut(const struct time_window *w, const char *command, struct model *m,
		    struct report_window *ret_taken);
/* Says on stderr what was taken. */
void time_window_say(const struct report_window *taken);
#endif

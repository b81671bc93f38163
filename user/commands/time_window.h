/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_TIME_WINDOW_H
#define HOTRUN_COMMANDS_TIME_WINDOW_H
/*
 * The options --from, --to and --worst, which the commands that read a capture share: they see a part
 * of it in time alone.
 *
 *	static const struct option longs[] = {TIME_WINDOW_OPTIONS, ...};
 *	case TIME_FROM: case TIME_TO: case TIME_WORST: time_window_option(&window, c, optarg);
 *	time_window_check(&window, "report");		after the last option
 *	time_window_cut(&window, "report", m, &taken);	once the capture is read
 */
#include "model/moment.h"
#include "output/report.h"

struct time_window {
	const char *from_text, *to_text; /* as they were written, NULL = not given */
	struct moment from, to;
	uint64_t worst_ns; /* 0 = not given */
};

enum { TIME_FROM = 1000, TIME_TO, TIME_WORST };

#define TIME_WINDOW_OPTIONS                                                                     \
	{"from", required_argument, NULL, TIME_FROM}, {"to", required_argument, NULL, TIME_TO}, \
	{                                                                                       \
		"worst", required_argument, NULL, TIME_WORST                                    \
	}

#define TIME_WINDOW_HELP                                                                        \
	"      --from TIME         from there on: seconds since the start (12, 12.5, 1m30s),\n" \
	"                          or UTC clock time of the host (14:03:07)\n"                  \
	"      --to TIME           up to there\n"                                               \
	"      --worst LENGTH      the part of that length in which threads waited most (5s)\n"

/* Takes one of the options; value is borrowed until time_window_cut(). Returns an enum exit_code;
 * errors are logged. */
int time_window_option(struct time_window *w, int option, const char *value);
/* Whether the options go together. Returns EXIT_OK, or EXIT_USAGE, logged. */
int time_window_check(const struct time_window *w, const char *command);
/* Cuts m down to the window, in whole slices; *ret_taken tells what was taken, whole_ns 0 = all of it,
 * not asked for. Returns an enum exit_code; errors are logged. */
int time_window_cut(const struct time_window *w, const char *command, struct model *m,
		    struct report_window *ret_taken);
/* Says on stderr what was taken. */
void time_window_say(const struct report_window *taken);
#endif

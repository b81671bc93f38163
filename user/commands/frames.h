/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_FRAMES_H
#define HOTRUN_COMMANDS_FRAMES_H
/*
 * The options --raw-names, --just-my-code, --my-code and --not-my-code, which the commands that show
 * frames of a capture share (model/reading.h).
 *
 *	_cleanup_(frames_clear) struct frames frames = {0};
 *	static const struct option longs[] = {FRAMES_OPTIONS, ...};
 *	case FRAMES_RAW: case FRAMES_JUST_MINE: case FRAMES_MINE: case FRAMES_NOT_MINE:
 *		frames_option(&frames, c, optarg);
 *	frames_apply(&frames, m);			once the capture is read
 */
#include "model/reading.h"

struct frames {
	bool raw_names, just_my_code;
	struct reading_rule *rules; /* in the order they were written */
	size_t rules_cnt, rules_cap;
};

enum { FRAMES_RAW = 1100, FRAMES_JUST_MINE, FRAMES_MINE, FRAMES_NOT_MINE };

#define FRAMES_OPTIONS                                                  \
	{"raw-names", no_argument, NULL, FRAMES_RAW},                   \
		{"just-my-code", no_argument, NULL, FRAMES_JUST_MINE},  \
		{"my-code", required_argument, NULL, FRAMES_MINE},      \
	{                                                               \
		"not-my-code", required_argument, NULL, FRAMES_NOT_MINE \
	}

#define FRAMES_HELP                                                                               \
	"      --raw-names         methods as the runtime and symbol tables write them; a row\n"  \
	"                          a raw name, so that overloads are apart\n"                     \
	"      --just-my-code      application frames only: what they call in frameworks,\n"      \
	"                          runtime and kernel counts as their own\n"                      \
	"      --my-code GLOB      modules (assemblies, native files) that are mine, and those\n" \
	"      --not-my-code GLOB  that are not; repeatable, the last match decides. Not mine\n"  \
	"                          without these: System.*, Microsoft.*, NuGet.*, the runtime,\n" \
	"                          native files in /lib* and /usr/lib*\n"

/* Takes one of the options; value is borrowed until frames_apply(). Returns an enum exit_code; errors
 * are logged. */
int frames_option(struct frames *f, int option, const char *value);
/* Changes m so that it is read that way. Returns an enum exit_code; errors are logged. */
int frames_apply(const struct frames *f, struct model *m);
void frames_clear(struct frames *f);
#endif

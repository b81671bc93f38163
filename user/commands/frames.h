/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_FRAMES_H
#define HOTRUN_COMMANDS_FRAMES_H
/*
 * The options --raw-names, --just-my-code, --my-code and --not-my-code, which the commands that show
 * frames of a capture share (model/frame_view.h).
 *
 *	OPTION_SHARED(frames_options, struct arguments, frames)	among its groups
 *	frames_apply(&a.frames, m);			once the capture is read
 *	frames_clear(&a.frames);
 */
#include "commands/options.h"
#include "model/frame_view.h"

struct frames {
	bool raw_names, just_my_code;
	struct frame_view_rule *rules; /* in the order they were written */
	size_t rules_cnt, rules_cap;
};

/* Of a struct frames; values are borrowed until frames_apply(). */
extern const struct command_option frames_options[4];

/* Changes m so that it is read that way. Returns an enum exit_code; errors are logged. */
int frames_apply(const struct frames *f, struct model *m);
void frames_clear(struct frames *f);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_FRAMES_H
#define HOTRUN_COMMANDS_FRAMES_H
/*
 * How the commands that show frames of a capture are told to show them (model/frame_view.h): the
 * options --raw-names, --just-my-code, --my-code and --not-my-code; of those that hand out whole
 * stacks --addresses, too.
 *
 *	OPTION_SHARED(frames_options, struct arguments, frames)	among its groups
 *	frames_apply(&a.frames, m);			once the capture is read
 *	frames_clear(&a.frames);
 */
#include "commands/capture.h"
#include "commands/options.h"
#include "model/frame_view.h"

struct frames {
	bool raw_names, just_my_code, addresses;
	struct frame_view_rule *rules; /* in the order they were written */
	size_t rules_cnt, rules_cap;
};

/* Of a struct frames; values are borrowed until frames_apply(). */
extern const struct command_option frames_options[4], frames_stack_options[1];

/* Changes m so that it is read that way. Returns an enum exit_code; errors are logged. */
int frames_apply(const struct frames *f, struct model *m);
void frames_clear(struct frames *f);
/* capture_argument(), then both. */
int frames_capture(struct frames *f, int argc, char **argv, const char *process,
		   const struct time_window *window, struct model **ret_model, uint32_t **ret_rows,
		   size_t *ret_cnt);
#endif

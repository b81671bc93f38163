/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/log.h"
#include "commands/command.h"

static int add_rule(struct frames *f, const struct command_option *option, const char *glob,
		    bool mine)
{
	int err;

	if (!*glob || strchr(glob, '/'))
		return option_refuse(option, glob,
				     "not the name of an assembly or file, like Shop.* or "
				     "libshop.so");
	err = GROW(f->rules, f->rules_cnt, f->rules_cap);
	if (err) {
		log_error("--%s %s: %s", option->name, glob, strerror(-err));
		return EXIT_FAILED;
	}
	f->rules[f->rules_cnt++] = (struct frame_view_rule){glob, mine};
	return EXIT_OK;
}

static int take_mine(void *at, const struct command_option *option, const char *value)
{
	return add_rule(at, option, value, true);
}

static int take_not_mine(void *at, const struct command_option *option, const char *value)
{
	return add_rule(at, option, value, false);
}

const struct command_option frames_options[4] = {
	OPTION(0, "raw-names", NULL,
	       "methods as the runtime and symbol tables write them; a row a raw name, so that "
	       "overloads are apart",
	       option_true, OPTION_IN(struct frames, raw_names)),
	OPTION(0, "just-my-code", NULL,
	       "application frames only: what they call in frameworks, runtime and kernel counts "
	       "as their own",
	       option_true, OPTION_IN(struct frames, just_my_code)),
	OPTION(0, "my-code", "GLOB",
	       "modules (assemblies, native files) that are mine; repeatable, the last match of "
	       "these and --not-my-code decides",
	       take_mine),
	OPTION(0, "not-my-code", "GLOB",
	       "those that are not. Without these: System.*, Microsoft.*, NuGet.*, the runtime, "
	       "native files in /lib* and /usr/lib*",
	       take_not_mine),
};

const struct command_option frames_stack_options[1] = {
	OPTION(0, "addresses", NULL, "keep unnamed functions of native libraries apart",
	       option_true, OPTION_IN(struct frames, addresses)),
};

int frames_apply(const struct frames *f, struct model *m)
{
	int err = f->just_my_code || f->rules_cnt ? frame_view_mark_code(m, f->rules, f->rules_cnt)
						  : 0;

	if (err) {
		log_error("cannot tell whose code it is: %s", strerror(-err));
		return EXIT_FAILED;
	}
	m->just_my_code = f->just_my_code;
	if (f->raw_names)
		frame_view_raw_names(m);
	return EXIT_OK;
}

void frames_clear(struct frames *f)
{
	free(f->rules);
	*f = (struct frames){0};
}

int frames_capture(struct frames *f, int argc, char **argv, const char *process,
		   const struct time_window *window, struct model **ret_model, uint32_t **ret_rows,
		   size_t *ret_cnt)
{
	int rc = capture_argument(argc, argv, process, window, ret_model, ret_rows, ret_cnt);

	if (!rc)
		rc = frames_apply(f, *ret_model);
	frames_clear(f);
	return rc;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/log.h"
#include "commands/command.h"

static int add_rule(struct frames *f, const char *glob, bool mine)
{
	const char *option = mine ? "--my-code" : "--not-my-code";
	int err;

	if (!*glob || strchr(glob, '/')) {
		log_error("%s '%s': not the name of an assembly or file, like Shop.* or libshop.so",
			  option, glob);
		return EXIT_USAGE;
	}
	err = GROW(f->rules, f->rules_cnt, f->rules_cap);
	if (err) {
		log_error("%s %s: %s", option, glob, strerror(-err));
		return EXIT_FAILED;
	}
	f->rules[f->rules_cnt++] = (struct reading_rule){glob, mine};
	return EXIT_OK;
}

int frames_option(struct frames *f, int option, const char *value)
{
	if (option == FRAMES_RAW)
		f->raw_names = true;
	else if (option == FRAMES_JUST_MINE)
		f->just_my_code = true;
	else
		return add_rule(f, value, option == FRAMES_MINE);
	return EXIT_OK;
}

int frames_apply(const struct frames *f, struct model *m)
{
	int err =
		f->just_my_code || f->rules_cnt ? reading_mark_code(m, f->rules, f->rules_cnt) : 0;

	if (err) {
		log_error("cannot tell whose code it is: %s", strerror(-err));
		return EXIT_FAILED;
	}
	m->just_my_code = f->just_my_code;
	if (f->raw_names)
		reading_raw_names(m);
	return EXIT_OK;
}

void frames_clear(struct frames *f)
{
	free(f->rules);
	*f = (struct frames){0};
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/option.h"

static bool group_get(const struct option_group *group, size_t i, struct command_option *ret_option)
{
	if (group->get)
		return group->get(i, ret_option);
	if (i >= group->cnt)
		return false;
	*ret_option = group->options[i];
	return true;
}

static const struct command_option help = {.letter = 'h', .name = "help", .text = "this text"};
static const struct option_group help_group = {.options = &help, .cnt = 1};

bool command_option_get(const struct command *command, size_t i, struct command_option *ret_option,
			const struct option_group **ret_group)
{
	bool helped = false;

	for (size_t k = 0; k <= command->groups_cnt; k++) {
		bool is_last = k == command->groups_cnt;
		const struct option_group *group = is_last ? NULL : &command->groups[k];
		size_t n = 0;

		if (!helped && (is_last || group->heading)) {
			helped = true;
			*ret_option = help;
			*ret_group = &help_group;
			if (!i--)
				return true;
		}
		for (; !is_last && group_get(group, n, ret_option); n++) {
			if (n < i)
				continue;
			*ret_group = group;
			return true;
		}
		i -= n;
	}
	return false;
}

void option_label(char label[static OPTION_LABEL_BYTES], const struct command_option *option)
{
	if (option->letter)
		snprintf(label, OPTION_LABEL_BYTES, "-%c", option->letter);
	else
		snprintf(label, OPTION_LABEL_BYTES, "--%s", option->name);
}

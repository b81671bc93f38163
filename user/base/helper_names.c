/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/helper_names.h"

#include <stddef.h>
#include <string.h>

static const char *const names[] = {
	HELPER_NURSERY, HELPER_OPENER,	HELPER_PARSER,
	HELPER_STREAM,	HELPER_SIGNALS, "hotrun-files", /* the nursery, until there were parsers */
};

bool helper_is_name(const char *comm)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(comm, names[i]))
			return true;
	return false;
}

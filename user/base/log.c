/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum log_level log_max_level = LOG_LEVEL_INFO;

void log_line(enum log_level level, const char *format, ...)
{
	char line[2048], safe[4096];
	va_list args;

	if (level > log_max_level)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	text_copy_safe(safe, sizeof(safe), line, strlen(line));
	fprintf(stderr, "hotrun: %s%s\n", level == LOG_LEVEL_WARN ? "warning: " : "", safe);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/option_value.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/log.h"
#include "base/text.h"
#include "commands/command.h"

#define MIN_SECS  0.1
#define MAX_COUNT 1000000
#define MAX_HZ	  10000
#define DAY_SECS  86400

int option_bad_value(const char *command, const char *option, const char *value, const char *want)
{
	log_error("%s %s: %s", option, value, want);
	return command_usage(command);
}

int option_seconds(const char *command, const char *option, const char *value, double max_s,
		   double *ret_seconds)
{
	bool days = max_s >= 2 * DAY_SECS;
	char want[64];

	if (!text_parse_double(value, MIN_SECS, max_s, ret_seconds))
		return EXIT_OK;
	snprintf(want, sizeof(want), "not a number of seconds, 0.1 to %.0f%s",
		 days ? max_s / DAY_SECS : max_s, days ? " days" : "");
	return option_bad_value(command, option, value, want);
}

int option_number(const char *command, const char *option, const char *value, uint64_t min,
		  uint64_t max, uint64_t *ret_number)
{
	char want[64];

	if (!text_parse_u64(value, min, max, ret_number))
		return EXIT_OK;
	snprintf(want, sizeof(want), "not a number, %" PRIu64 " to %" PRIu64, min, max);
	return option_bad_value(command, option, value, want);
}

int option_count(const char *command, const char *option, const char *value, unsigned int min,
		 unsigned int *ret_count)
{
	uint64_t n;
	int rc = option_number(command, option, value, min, MAX_COUNT, &n);

	if (!rc)
		*ret_count = (unsigned int)n;
	return rc;
}

int option_frequency(const char *command, const char *value, uint32_t *ret_hz)
{
	uint64_t hz;

	if (text_parse_u64(value, 1, MAX_HZ, &hz))
		return option_bad_value(command, "-F", value, "not a frequency, 1 to 10000");
	*ret_hz = (uint32_t)hz;
	return EXIT_OK;
}

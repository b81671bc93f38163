/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A configuration file of limits: any bytes. What is read stays within its bounds. */
#include <stdlib.h>
#include <string.h>

#include "judge/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct verdict_policy policy = {0};
	char error[LIMITS_ERROR_BYTES] = "";
	unsigned int line = 0;

	verdict_limits_default(&policy.limits);
	if (limits_parse(&policy, (const char *)data, size, &line, error) && !line)
		abort();
	if (policy.sections_cnt > LIMITS_MAX_SECTIONS)
		abort();
	for (const char *c = error; *c; c++)
		if ((unsigned char)*c < 0x20)
			abort();
	if (!(policy.limits.progress >= 0 && policy.limits.progress <= 1))
		abort();
	limits_clear(&policy);
	return 0;
}

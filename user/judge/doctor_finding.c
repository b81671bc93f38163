/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a finding is told; see doctor.h. */
#include <stdarg.h>
#include <stdio.h>

#include "judge/doctor.h"

const char *doctor_level_text(enum doctor_level level)
{
	static const char *const texts[DOCTOR_LEVELS] = {
		[DOCTOR_OK] = "ok",
		[DOCTOR_WARN] = "warn",
		[DOCTOR_FAIL] = "fail",
		[DOCTOR_NA] = "n/a",
	};

	return texts[level];
}

void doctor_say(struct doctor_finding *finding, enum doctor_level level, const char *remedy,
		const char *format, ...)
{
	va_list args;

	finding->level = level;
	snprintf(finding->remedy, sizeof(finding->remedy), "%s", remedy);
	va_start(args, format);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
}

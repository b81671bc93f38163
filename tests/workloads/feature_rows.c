/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the table of features says, for tests: a line for each program of each row, and what is off
 * of all features where the kernel refuses it: "ROW PROGRAM ROW[,ROW]...".
 */
#include <stdio.h>

#include "base/feature.h"

static void put_off(const char *program)
{
	struct feature_set set = {0};
	const char *comma = "";
	enum feature f;

	feature_ask(&set, FEATURE_ALL);
	while ((f = feature_of_program(&set, program)) < FEATURE_CNT)
		feature_switch_off(&set, f, FEATURE_REFUSED, "refused");
	for (f = 0; f < FEATURE_CNT; f++)
		if (!feature_is_on(&set, f)) {
			printf("%s%s", comma, feature_rows[f].id);
			comma = ",";
		}
	putchar('\n');
}

int main(void)
{
	for (enum feature f = 0; f < FEATURE_CNT; f++) {
		const char *const *program = feature_rows[f].programs;

		for (; program && *program; program++) {
			printf("%s %s ", feature_rows[f].id, *program);
			put_off(*program);
		}
	}
	return 0;
}

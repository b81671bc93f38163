/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/metrics_write.h"

void metrics_put_seconds(FILE *out, uint64_t ns)
{
	fprintf(out, "%llu.%09llu", (unsigned long long)(ns / 1000000000),
		(unsigned long long)(ns % 1000000000));
}

void metrics_put_mean(FILE *out, uint64_t ns, uint64_t elapsed_ns)
{
	uint64_t millionths = elapsed_ns ? (uint64_t)((__uint128_t)ns * 1000000 / elapsed_ns) : 0;

	fprintf(out, "%llu.%06llu", (unsigned long long)(millionths / 1000000),
		(unsigned long long)(millionths % 1000000));
}

void metrics_put_family(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP hotrun_%s %s\n# TYPE hotrun_%s %s\n", name, help, name, type);
}

void metrics_put_value(FILE *out, enum metrics_unit unit, uint64_t value)
{
	if (unit == UNIT_NS)
		metrics_put_seconds(out, value);
	else
		fprintf(out, "%llu", (unsigned long long)value);
	putc('\n', out);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/histogram.h"

static const char STARS[] = "****************************************";

void histogram_put(FILE *out, const uint64_t *counts, size_t counts_cnt)
{
	const int columns = sizeof(STARS) - 1;
	size_t first = counts_cnt, last = 0;
	uint64_t most = 0;

	for (size_t i = 0; i < counts_cnt; i++) {
		if (!counts[i])
			continue;
		first = i < first ? i : first;
		last = i;
		most = counts[i] > most ? counts[i] : most;
	}
	if (!most)
		return;
	fputs("     usecs                 : count     distribution\n", out);
	for (size_t i = first; i <= last; i++) {
		int stars = (int)((double)counts[i] / (double)most * columns);

		fprintf(out, "%11llu -> ", i ? 1ull << i : 0);
		if (i + 1 < counts_cnt)
			fprintf(out, "%-11llu", (2ull << i) - 1);
		else
			fputs("longer     ", out);
		fprintf(out, " : %-8llu |%.*s%*s|\n", (unsigned long long)counts[i], stars, STARS,
			columns - stars, "");
	}
}

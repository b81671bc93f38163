/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/signal.h"

/* What a file or a command of --service-signal says. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct signal_entry entries[SIGNAL_LINES_MAX];
	unsigned int line = 0;
	size_t cnt = 0;
	double value = 0;

	if (!signal_parse_value((const char *)data, size, &value) && !(value >= 0 && value <= 1))
		abort();
	if (signal_parse_lines((const char *)data, size, entries, SIGNAL_LINES_MAX, &cnt, &line))
		return 0;
	for (size_t i = 0; i < cnt; i++)
		if (!(entries[i].value >= 0 && entries[i].value <= 1) || !entries[i].name[0] ||
		    strlen(entries[i].name) >= SIGNAL_NAME_BYTES)
			abort();
	return 0;
}

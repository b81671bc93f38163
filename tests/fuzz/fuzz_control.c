/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line that a caller says on the control socket: any bytes. What is taken stays within its
 * bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "watch/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t before_ns = UINT64_MAX, after_ns = UINT64_MAX;
	enum control_request request =
		control_parse((const char *)data, size, &before_ns, &after_ns);

	if (request == CONTROL_TRIGGER) {
		if (before_ns > CONTROL_DAY_NS || after_ns > CONTROL_DAY_NS)
			abort();
		for (size_t i = 0; i < size; i++)
			if (data[i] < 0x20 || data[i] > 0x7e)
				abort();
	} else if (before_ns != UINT64_MAX || after_ns != UINT64_MAX) {
		abort();
	}
	return 0;
}

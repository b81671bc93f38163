/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdint.h>

#include "names/kallsyms.h"

/* The first byte says how long the pieces are. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kallsyms *k = kallsyms_new();
	struct kallsyms_place place;
	size_t step = size ? data[0] + 1u : 1;

	for (size_t i = 1; k && i < size; i += step)
		if (kallsyms_feed(k, (const char *)data + i, size - i < step ? size - i : step))
			break;
	if (k && !kallsyms_finish(k)) {
		kallsyms_find(k, 0, &place);
		kallsyms_find(k, 0xffffffff81000010, &place);
		kallsyms_find(k, UINT64_MAX, &place);
	}
	kallsyms_free(k);
	return 0;
}

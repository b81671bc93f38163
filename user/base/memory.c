/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/memory.h"

#include <malloc.h>

/* From here on a table has pages of its own. */
#define TABLE_BYTES (128 << 10)

void memory_map_tables(void)
{
	mallopt(M_MMAP_THRESHOLD, TABLE_BYTES);
	mallopt(M_TRIM_THRESHOLD, TABLE_BYTES);
}

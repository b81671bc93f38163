/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "process/entry.h"
#include "process/maps.h"

/* Lines of maps, and the same bytes as a command line: both come from the watched process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *s = (const char *)data, *end = s + size;
	char path[64], name[ENTRY_BYTES];
	struct maps_line line;

	entry_name("/usr/bin/dotnet", s, size, name);
	while (s < end) {
		const char *newline = memchr(s, '\n', (size_t)(end - s));
		size_t len = (size_t)((newline ? newline : end) - s), whole;

		if (!maps_parse(s, len, &line)) {
			if (line.path < s || line.path + line.path_len > s + len)
				abort();
			maps_unescape(line.path, line.path_len, path, sizeof(path));
			maps_deleted(line.path, line.path_len, &whole);
			model_mapping_kind_of(line.path, line.path_len);
		}
		s += len + 1;
	}
	return 0;
}

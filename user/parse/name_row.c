/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/name_row.h"

#include <string.h>

#include "perfmap/names/name.h"

void name_row_take_apart(const char *raw, size_t len, struct blob_writer *w,
			 struct parse_named *row)
{
	char buf[PERFMAP_NAME_BYTES];
	struct perfmap_name name;

	perfmap_name_parse(raw, len, buf, sizeof(buf), &name);
	row->display = blob_add_text(w, name.display, strlen(name.display));
	row->assembly = blob_add_text(w, name.assembly, strlen(name.assembly));
	row->tier = blob_add_text(w, name.tier, strlen(name.tier));
	row->raw = blob_add_text(w, raw, name.raw_len < len ? name.raw_len : len);
	row->is_stub = name.is_stub;
	row->is_framework = perfmap_is_framework(&name);
}

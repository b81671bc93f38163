/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_NDJSON_H
#define HOTRUN_EXPORT_NDJSON_H
/*
 * The tables of a capture (tables.h), a JSON object a line (github.com/ndjson/ndjson-spec): its
 * table first, then the keys of json.h. For what reads line by line.
 */
#include "export/options.h"

int ndjson_write(FILE *out, struct model *m, const struct export_options *options);
#endif

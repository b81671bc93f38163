/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_JSON_H
#define HOTRUN_EXPORT_JSON_H
/*
 * The tables of a capture (tables.h), each an array of objects, in one object; or that one alone.
 * Keys are documented in deploy/hotrun.schema.json, kind "export".
 */
#include "export/options.h"

int json_write(FILE *out, struct model *m, const struct export_options *options);
#endif

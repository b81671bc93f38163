/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_CSV_H
#define HOTRUN_EXPORT_CSV_H
/*
 * One table of a capture (tables.h; processes where none is asked for) as comma-separated values
 * (RFC 4180, with line feeds): a line of the keys of json.h, then a line a row. Texts stand in
 * quotes, with control characters as in folded.h; what is not known is empty.
 *
 * Spreadsheets take a text that begins with =, +, - or @ for a formula, which a process could have
 * as its name: there an apostrophe stands before it.
 */
#include "export/options.h"

/* One text, in quotes. */
void csv_put_text(FILE *out, const char *text);
int csv_write(FILE *out, struct model *m, const struct export_options *options);
#endif

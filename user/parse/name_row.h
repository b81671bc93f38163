/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_NAME_ROW_H
#define HOTRUN_PARSE_NAME_ROW_H
/*
 * A raw .NET name taken apart into a row of an answer, and its texts. In the worker.
 */
#include <stddef.h>

#include "isolate/blob.h"
#include "parse/parse.h"

/* Texts go to the stream that is being written. All of the row but its reason. */
void name_row_take_apart(const char *raw, size_t len, struct blob_writer *w,
			 struct parse_named *row);
#endif

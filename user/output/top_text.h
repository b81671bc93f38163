/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_TOP_TEXT_H
#define HOTRUN_OUTPUT_TOP_TEXT_H
/*
 * The lines of `hotrun top`, for the screen and for --batch alike: UTF-8 without control bytes, at
 * most `columns` code points, without an end of line. Pure; no threads.
 */
#include <stdio.h>

#include "output/table.h"
#include "output/top_view.h"

#define TOP_MIN_COLUMNS 60
/* Room for one line. */
#define TOP_LINE_BYTES TABLE_LINE_BYTES

/* Host, time, what is listed and in which order. */
void top_text_head(char line[static TOP_LINE_BYTES], const struct top_view *v, size_t columns);
/* What the CPUs did, and how long threads waited for them. */
void top_text_host(char line[static TOP_LINE_BYTES], const struct top_view *v, size_t columns);
/* What hotrun itself lost in this slice; "" where it lost nothing. */
void top_text_losses(char line[static TOP_LINE_BYTES], const struct top_view *v, size_t columns);
/* Heads of the columns, and row i of v->rows below them. */
void top_text_titles(char line[static TOP_LINE_BYTES], const struct top_view *v, size_t columns);
void top_text_row(char line[static TOP_LINE_BYTES], const struct top_view *v, size_t i,
		  size_t columns);

/* All of them and at most `rows` rows, each line ended. 0, or -EIO when out failed. */
int top_text_write(FILE *out, const struct top_view *v, size_t rows, size_t columns);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_WORDS_H
#define HOTRUN_OUTPUT_WORDS_H
/*
 * Sentences of ours, broken into lines at spaces. Names within them were made safe before
 * (output/label.h). Pure; no threads.
 */
#include <stddef.h>
#include <stdio.h>

/* A text that is gathered, then broken to the width. Cut where it is full. */
struct words {
	char text[6144];
	size_t len;
};
__attribute__((format(printf, 2, 3))) void words_add(struct words *w, const char *format, ...);

/* Writes text in lines of at most width columns, later ones indented; the first stands at column
 * `at` already. A number keeps its unit. */
void words_put(FILE *out, size_t width, const char *text, size_t at, size_t indent);
#endif

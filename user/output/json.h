/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_JSON_H
#define HOTRUN_OUTPUT_JSON_H
/*
 * The one writer of JSON: of what machines read, and of the data block of the flame graph
 * (output/flame.h). The former is documented key by key in deploy/hotrun.schema.json, which the
 * tests hold each output against. Keys are snake_case with their unit as suffix; what is not known
 * is null, never left out; shares are 0..1. Numbers have a dot whatever the locale is; strings are
 * safe inside HTML and on terminals. Pure; no threads.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "output/table.h"

/* Changes when a key does. */
#define JSON_FORMAT 2

#define JSON_DEPTH 8

struct json {
	FILE *out;
	bool compact; /* without blanks and line breaks within a member of the whole */
	unsigned int depth;
	bool begun[JSON_DEPTH]; /* has a member already */
	bool array[JSON_DEPTH];
};

/* Begins the object of a file: its format and what it is of. */
void json_begin(struct json *j, FILE *out, const char *kind);
/* Begins an object of a format of its own, compact: a block of data with millions of numbers. */
void json_begin_compact(struct json *j, FILE *out);
/* Ends it, and its line. 0, or -EIO when out failed. */
int json_finish(struct json *j);

/* key: any text; NULL within an array. Each is ended by json_end(). Objects in arrays begin a
 * line. */
void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_end(struct json *j);

void json_null(struct json *j, const char *key);
void json_count(struct json *j, const char *key, uint64_t value);
void json_int(struct json *j, const char *key, int64_t value);
void json_flag(struct json *j, const char *key, bool value);
/* null where it is not finite; six digits behind the dot. */
void json_real(struct json *j, const char *key, double value);
/* null where it is not finite; twelve digits that matter, however small it is. */
void json_precise(struct json *j, const char *key, double value);
/* "" and NULL are null. */
void json_text(struct json *j, const char *key, const char *value);
/* The same, but they are "": for formats in which no text is ever unknown. */
void json_string(struct json *j, const char *key, const char *value);
/* "2026-11-21T10:02:43Z" */
void json_utc(struct json *j, const char *key, int64_t seconds);

/* A figure of s under its id. */
void json_figure(struct json *j, const struct figure *figure, const struct subject *s);
void json_figures(struct json *j, const struct figure *figures, size_t figures_cnt,
		  const struct subject *s);
#define JSON_FIGURES(j, figures, s) \
	json_figures(j, figures, sizeof(figures) / sizeof((figures)[0]), s)
#endif

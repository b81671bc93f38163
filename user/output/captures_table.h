/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_CAPTURES_TABLE_H
#define HOTRUN_OUTPUT_CAPTURES_TABLE_H
/*
 * What `hotrun captures` says: the captures in the folder of the resident recorder, as a table or
 * as JSON. Pure; no threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum captures_state {
	CAPTURES_COMPLETE,
	CAPTURES_WRITING,    /* its recorder is at it */
	CAPTURES_CUT,	     /* its recorder ended before it did */
	CAPTURES_UNREADABLE, /* why tells */
	CAPTURES_GONE,	     /* only its artifacts are left */
	CAPTURES_NOT_LOOKED, /* there are too many */
};

struct captures_row {
	const char *name;  /* borrowed */
	int64_t time_s;	   /* Unix time */
	const char *by;	   /* "trigger", "auto", "rotate"; borrowed */
	const char *taken; /* why it was taken by itself, "" or NULL: it was not, or
			   * nobody knows; borrowed */
	bool text, page;   /* its artifacts are there */
	enum captures_state state;
	const char *why;    /* borrowed; of CAPTURES_UNREADABLE */
	uint64_t length_ns; /* 0 = not known */
	uint64_t bytes;	    /* with its artifacts */
};

struct captures_table {
	const char *folder;
	const struct captures_row *rows; /* in the order to show */
	size_t rows_cnt;
};

/* Both return 0, or -EIO when out failed. */
int captures_table_write(FILE *out, const struct captures_table *table);
int captures_table_json(FILE *out, const struct captures_table *table);
#endif

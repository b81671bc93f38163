/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_TABLE_H
#define HOTRUN_OUTPUT_TABLE_H
/*
 * Text tables from rows of columns. A figure is what a column shows: its key, title and unit, and
 * how it is had of a row; output/figures.h has those that several tables show. A table is a list of
 * columns: a figure, its width and when it is shown. Titles, cells and the keys of JSON
 * (output/json.h) come from the same rows, so that each of these facts stands once. Pure; no
 * threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "output/report_text.h"

struct dotnet_process;

enum value_kind {
	VALUE_BLANK,   /* the figure is not of this row: "", null */
	VALUE_NONE,    /* there is nothing to measure: "-", null */
	VALUE_UNKNOWN, /* it could not be seen: "n/a", null */
	VALUE_COUNT,   /* whole numbers, bytes, ns */
	VALUE_INT,
	VALUE_REAL,
	VALUE_FLAG,
	VALUE_TEXT, /* may be a stranger's; borrowed */
};

struct value {
	enum value_kind kind;
	union {
		uint64_t count;
		int64_t integer;
		double real;
		bool flag;
		const char *text;
	};
};

static inline struct value value_count(uint64_t count)
{
	return (struct value){.kind = VALUE_COUNT, .count = count};
}

static inline struct value value_real(double real)
{
	return (struct value){.kind = VALUE_REAL, .real = real};
}

static inline struct value value_flag(bool flag)
{
	return (struct value){.kind = VALUE_FLAG, .flag = flag};
}

/* "" is not known. */
static inline struct value value_text(const char *text)
{
	return (struct value){.kind = text && *text ? VALUE_TEXT : VALUE_UNKNOWN, .text = text};
}

/* How values are written for people. */
enum written_as {
	AS_TEXT,
	AS_ID,	    /* "4711": pids, ports */
	AS_COUNT,   /* "12,345"; "12k" where the column is too narrow */
	AS_THREADS, /* mean threads or CPUs, "1.25" */
	AS_CORES,   /* CPUs of a part of a process, "0.125" */
	AS_RATIO,   /* "0.85" */
	AS_SHARE,   /* of 0..1: "12.3 %" */
	AS_TIME,    /* of ns: "12.3 ms" */
	AS_TENTHS,  /* "12.3": what the title says */
	AS_RATE,    /* a second: "3.5", "1,244" */
	AS_BYTES,   /* "3.1 MB" */
	AS_UTC,	    /* of seconds since the epoch: "2026-11-21 10:02:43 UTC" */
};

/* Room for one cell; a method's has the sequences of its colours, too. */
#define CELL_BYTES (2 * NAME_BYTES + 160)

/* What a row is about. Each table fills in what its figures read; all borrowed. */
struct subject {
	const struct report *report;
	const struct model *m;
	uint64_t elapsed_ns; /* of the window */
	const struct sched_sum *sched;
	const struct requests_sum *requests;
	const struct model_process *process;
	const struct model_thread *thread;
	uint32_t cnt; /* processes that share the row; 0 or 1: the row is one process */
	const struct group_row *group;
	const struct dotnet_process *dotnet;
	const void *item; /* of figures of that table alone, as is the next one */
	const void *of;	  /* the whole that item is of */
	size_t column;	  /* the cell's in the table; set by table_line() */
};

/* A member of what a pointer of struct subject (item, or another one) points to, as a value.
 * UINT64_MAX, -1 of int64_t, "" and NULL are not known; uint64_t of AS_THREADS are ns, and of
 * AS_RATE a count, over subject.elapsed_ns. Where the pointer is NULL there is nothing to
 * measure. */
enum field_type {
	FIELD_NONE,
	FIELD_TEXT,
	FIELD_CHARS, /* an array of the struct's own */
	FIELD_FLAG,
	FIELD_INT,
	FIELD_U16,
	FIELD_U32,
	FIELD_U64,
	FIELD_I64,
	FIELD_REAL,
};
#define FIELD(type, member) FIELD_OF(item, type, member)
#define FIELD_OF(whose, type, member) \
	.field = _Generic(((type *)0)->member,                                                 \
			 char *: FIELD_CHARS,                                                  \
			 const char *: FIELD_TEXT,                                             \
			 bool: FIELD_FLAG,                                                     \
			 int: FIELD_INT,                                                       \
			 uint16_t: FIELD_U16,                                                  \
			 uint32_t: FIELD_U32,                                                  \
			 uint64_t: FIELD_U64,                                                  \
			 unsigned long long: FIELD_U64,                                        \
			 int64_t: FIELD_I64,                                                   \
			 double: FIELD_REAL),                                                  \
	.pointer = offsetof(struct subject, whose), .offset = offsetof(type, member)

struct figure {
	const char *id; /* key in JSON, snake_case with its unit; NULL where it has none */
	const char *title;
	enum written_as unit;
	bool zero_is_dash; /* most rows have none of it: then the others stand out */
	uint32_t off;	   /* where host.off of subject.m has one of these bits, it is not known */
	/* Either of both; the function first. */
	struct value (*value)(const struct subject *s);
	enum field_type field;
	size_t pointer, offset;
	/* Instead of value, for people: at most so many columns, made safe (output/label.h). */
	void (*text)(char text[static CELL_BYTES], size_t columns, const struct subject *s);
};

struct column {
	const struct figure *figure;
	uint8_t width;	   /* of text at the right end, the gap before it included; or at the left
			    * end, where gap is set or it begins the line */
	const char *title; /* instead of the figure's */
	bool left;	   /* text stands at the left end */
	uint8_t gap;	   /* spaces before it */
	/* Where width is 0, it takes what the others leave: pct of that, between least (which those
	 * with a rank leave to it) and most; pct 0 takes all that then is left. */
	uint16_t least, most, pct;
	uint8_t rank;	   /* 0: always shown; else as long as there is room, by rank */
	unsigned int when; /* shown where table_lay_out() is told one of these bits; 0 = always */
};

#define TABLE_COLUMNS	 16
#define TABLE_LINE_BYTES 8192

struct table {
	const struct column *columns;
	size_t columns_cnt;
	size_t widths[TABLE_COLUMNS]; /* 0 = not shown */
};

/* Chooses and measures the columns (at most TABLE_COLUMNS; borrowed) of a table of that width. */
void table_lay_out(struct table *t, const struct column *columns, size_t columns_cnt, size_t width,
		   unsigned int when);
#define TABLE_LAY_OUT(t, columns, width, when) \
	table_lay_out(t, columns, sizeof(columns) / sizeof((columns)[0]), width, when)
bool table_shows(const struct table *t, const struct figure *figure);
/* Where the first of the columns starts that takes what others leave. */
size_t table_rest_at(const struct table *t);

/* Lines without their end, and without spaces there. */
void table_titles(const struct table *t, char line[static TABLE_LINE_BYTES]);
void table_line(const struct table *t, const struct subject *s, char line[static TABLE_LINE_BYTES]);
/* The same, to out, with the end of the line. */
void table_put_titles(FILE *out, const struct table *t);
void table_put_row(FILE *out, const struct table *t, const struct subject *s);
/* "… 12 more" below the names of the rows; nothing where cnt is 0. */
void table_put_more(FILE *out, const struct table *t, size_t cnt);

struct value figure_value(const struct figure *f, const struct subject *s);
/* The text of a value in at most so many columns, where its unit allows that. */
void value_print(char text[static CELL_BYTES], size_t columns, enum written_as unit,
		 struct value value);
/* "99,999", "100k": in at most so many columns (6 at least). */
struct number number_short(uint64_t n, size_t columns);
/* A time in at most 8 columns: "3.1 h", "> 1 year". */
struct number number_long_time(uint64_t ns);
/* So many a second, in at most so many columns (6 at least). */
struct number number_rate(double rate, size_t columns);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_REPORT_TEXT_H
#define HOTRUN_OUTPUT_REPORT_TEXT_H
/*
 * Cells of text reports: numbers that ignore the locale, untrusted names made safe and cut to
 * columns. A column is one code point: wide and combining characters may misalign a line, never
 * break it. Pure; no threads.
 */
#include <stddef.h>
#include <stdint.h>

/* Room for a number of any of these. */
#define NUMBER_BYTES 40
/* Room for a name made safe: what is longer was cut by then. */
#define NAME_BYTES 1024

struct number {
	char text[NUMBER_BYTES];
};

/* "12,345". */
struct number number_count(uint64_t n);
/* With that many decimals (0..3), rounded half up; "-" where v is not finite. */
struct number number_fixed(double v, unsigned int decimals);
/* A fraction as percent, "12.3 %". */
struct number number_percent(double fraction);
/* Nanoseconds as seconds, "12.3 s"; short times as "12.3 ms", "12 us". */
struct number number_time(uint64_t ns);
/* "12.3 kB", "12.3 MB", "12.3 GB" (of 1,000 each). */
struct number number_bytes(uint64_t bytes);
/* Seconds since the epoch as "2026-11-21 10:02:43 UTC". */
struct number number_utc(int64_t seconds);

/* Code points of valid UTF-8. */
size_t text_columns(const char *s);

enum text_cut {
	CUT_END,    /* "a long na…" */
	CUT_START,  /* "…ong name": methods and paths, which tell most at their end */
	CUT_MIDDLE, /* "a lo…name" */
};

/* Shortens s (valid UTF-8) in place to at most columns code points, with "…" where it was cut. */
void text_shorten(char *s, size_t columns, enum text_cut cut);

/* Puts "…" for type arguments that are long: "Node<Tuple<A, B>>.Get" becomes "Node<…>.Get". In
 * place; brackets without their partner stay. */
void text_fold_arguments(char *s);
#endif

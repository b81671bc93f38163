/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_NAMES_SPAN_H
#define PERFMAP_NAMES_SPAN_H
/*
 * Pieces of a raw name, by length, and bounded output: what name.c, type.c, method.c and stub.c are
 * made of. Not for use outside perfmap/. Pure, no threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct perfmap_span {
	const char *s;
	size_t len;
};

/* Bounded output; full at cap - 1 bytes, and then remembers that it was cut. */
struct perfmap_out {
	char *buf;
	size_t cap, len;
	bool cut;
};

void perfmap_out_put(struct perfmap_out *out, const char *s, size_t len);
/* Ends the text with NUL, and with "..." when it was cut. */
void perfmap_out_end(struct perfmap_out *out);

static inline void perfmap_out_text(struct perfmap_out *out, const char *s)
{
	perfmap_out_put(out, s, strlen(s));
}

static inline void perfmap_out_span(struct perfmap_out *out, struct perfmap_span span)
{
	perfmap_out_put(out, span.s, span.len);
}

/* Puts "<what>" for n 1, "<what n>" for more: the first of several needs no number. */
void perfmap_out_numbered(struct perfmap_out *out, const char *what, size_t n);

static inline struct perfmap_span span_sub(struct perfmap_span span, size_t from, size_t to)
{
	return (struct perfmap_span){span.s + from, to - from};
}

static inline bool span_equals(struct perfmap_span span, const char *s)
{
	return span.len == strlen(s) && !memcmp(span.s, s, span.len);
}

static inline bool span_begins(struct perfmap_span span, const char *s)
{
	return span.len >= strlen(s) && !memcmp(span.s, s, strlen(s));
}

static inline bool span_holds(struct perfmap_span span, const char *s)
{
	return memmem(span.s, span.len, s, strlen(s)) != NULL;
}

static inline bool span_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Position of the '>' that belongs to the '<' at 0; 0 when there is none. */
size_t span_matching_angle(struct perfmap_span span);
/* Position behind the last dot outside of <>; 0 when there is none. */
size_t span_after_last_dot(struct perfmap_span span);
/* The number that span begins with, at most 999,999; 0 without one. */
size_t span_number(struct perfmap_span span);
#endif

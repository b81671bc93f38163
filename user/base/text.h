/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_TEXT_H
#define HOTRUN_BASE_TEXT_H
/*
 * Makes untrusted strings safe to show. Every name that a watched process can choose (comm,
 * paths, methods) goes through one of these on its way out. Pure; locale is never consulted.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Writes len bytes of s to out so that a terminal sees one line of valid UTF-8: control bytes
 * (C0, DEL, C1), bytes that are not valid UTF-8, and Unicode's line and direction controls become
 * \xHH, a backslash becomes \\.
 */
void text_put_safe(FILE *out, const char *s, size_t len);

/* The same into buf (always terminated, cut at whole escapes). Returns the length written. */
size_t text_copy_safe(char *buf, size_t buf_bytes, const char *s, size_t len);

/*
 * Copies s as valid UTF-8 without control and direction characters: each that is one, and each bad
 * byte, becomes U+FFFD. buf is always terminated, and cut at whole characters. Returns how many
 * bytes of s went in.
 */
size_t text_copy_utf8(char *buf, size_t buf_bytes, const char *s, size_t len);

/* Writes s as a JSON string with quotes. Bad UTF-8 becomes U+FFFD; `<`, `>`, `&` and the control
 * and direction characters named above are written as \u escapes, so that the text may stand inside
 * HTML and harms no terminal that shows the file. */
void text_put_json(FILE *out, const char *s, size_t len);

/*
 * Reads an unsigned decimal number that is the whole string. Returns 0, -EINVAL (no digits, a sign,
 * anything after the digits) or -ERANGE (not within min..max).
 */
int text_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret_value);

/* The same for a number with an optional fraction, and a dot whatever the locale is. */
int text_parse_double(const char *s, double min, double max, double *ret_value);

/* Reads a time: such a number and us, ms, s, m, h or d, like 20ms or 1.5h. Bounds and result in ns.
 * The same errors. */
int text_parse_time(const char *s, uint64_t min_ns, uint64_t max_ns, uint64_t *ret_ns);

/* Reads an amount of memory or disk: such a number alone, or with K, M, G or T (of 1,024 each, also
 * written Ki, KiB, KB). Result in bytes. The same errors. */
int text_parse_bytes(const char *s, uint64_t min, uint64_t max, uint64_t *ret_bytes);
#endif

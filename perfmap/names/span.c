/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/names/span.h"

#include <stdio.h>

void perfmap_out_put(struct perfmap_out *out, const char *s, size_t len)
{
	size_t room = out->cap - 1 - out->len, i;

	if (len > room) {
		len = room;
		out->cut = true;
	}
	for (i = 0; i < len; i++)
		out->buf[out->len++] = s[i] ? s[i] : '?';
}

void perfmap_out_end(struct perfmap_out *out)
{
	if (out->cut) {
		out->len = out->cap > 4 ? out->cap - 4 : 0;
		/* Not in the middle of a UTF-8 sequence. */
		while (out->len && ((unsigned char)out->buf[out->len] & 0xc0) == 0x80)
			out->len--;
		out->cut = false;
		perfmap_out_put(out, "...", 3);
		out->cut = true;
	}
	out->buf[out->len] = 0;
}

void perfmap_out_numbered(struct perfmap_out *out, const char *what, size_t n)
{
	char number[24];

	perfmap_out_text(out, "<");
	perfmap_out_text(out, what);
	if (n > 1) {
		snprintf(number, sizeof(number), " %zu", n);
		perfmap_out_text(out, number);
	}
	perfmap_out_text(out, ">");
}

size_t span_matching_angle(struct perfmap_span span)
{
	size_t i, depth = 0;

	for (i = 0; i < span.len; i++) {
		if (span.s[i] == '<')
			depth++;
		else if (span.s[i] == '>' && --depth == 0)
			return i;
		if (!depth)
			return 0;
	}
	return 0;
}

size_t span_after_last_dot(struct perfmap_span span)
{
	size_t i, depth = 0;

	for (i = span.len; i-- > 0;) {
		if (span.s[i] == '>')
			depth++;
		else if (span.s[i] == '<' && depth)
			depth--;
		else if (span.s[i] == '.' && !depth)
			return i + 1;
	}
	return 0;
}

size_t span_number(struct perfmap_span span)
{
	size_t i, n = 0;

	for (i = 0; i < span.len && i < 6 && span_is_digit(span.s[i]); i++)
		n = n * 10 + (size_t)(span.s[i] - '0');
	return n;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/words.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

void words_add(struct words *w, const char *format, ...)
{
	size_t room = sizeof(w->text) - w->len;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(w->text + w->len, room, format, args);
	va_end(args);
	if (n > 0)
		w->len += (size_t)n < room ? (size_t)n : room - 1;
}

/* Length of the unit at s, with the space before it, or 0: "12.3 %", "50 ms" and "0.50 CPUs" stay
 * together. */
static size_t unit_length(const char *s)
{
	static const char *const units[] = {"%", "us", "ms", "s", "CPUs"};
	size_t len = *s == ' ' ? strcspn(s + 1, " ,;:()") : 0;

	for (size_t i = 0; len && i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i]) == len && !strncmp(s + 1, units[i], len))
			return 1 + strcspn(s + 1, " ");
	return 0;
}

void words_put(FILE *out, size_t width, const char *text, size_t at, size_t indent)
{
	bool first = true;

	while (*text) {
		size_t len = strcspn(text, " ");
		size_t columns = 0;

		if (len && text[len - 1] >= '0' && text[len - 1] <= '9')
			len += unit_length(text + len);
		for (size_t i = 0; i < len; i++)
			columns += ((unsigned char)text[i] & 0xc0) != 0x80;
		if (!first && at + 1 + columns > width) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
			first = true;
		}
		if (!first) {
			putc(' ', out);
			at++;
		}
		fwrite(text, 1, len, out);
		at += columns;
		first = false;
		text += len;
		text += strspn(text, " ");
	}
	putc('\n', out);
}

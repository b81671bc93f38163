/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/html.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/text.h"

int html_nonce(char nonce[static HTML_NONCE_BYTES])
{
	unsigned char bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return errno ? -errno : -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(nonce + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* The longest piece of a name that is made safe at a time; four bytes each at the most. */
#define PIECE 256

static void put_escaped(FILE *out, const char *safe)
{
	for (; *safe; safe++) {
		switch (*safe) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			putc(*safe, out);
		}
	}
}

void html_put(FILE *out, const char *text)
{
	char safe[4 * PIECE + 8];
	size_t left = strlen(text);

	while (left) {
		size_t piece = left < PIECE ? left : PIECE;

		/* Not within a character. */
		while (piece < left && piece > PIECE - 4 &&
		       ((unsigned char)text[piece] & 0xc0) == 0x80)
			piece--;
		text_copy_safe(safe, sizeof(safe), text, piece);
		put_escaped(out, safe);
		text += piece;
		left -= piece;
	}
}

void html_copy_xml(char *buf, size_t bytes, const char *text)
{
	text_copy_utf8(buf, bytes, text, strlen(text));
	while ((buf = strstr(buf, "\xef\xbf"))) {
		if (buf[2] == '\xbe' || buf[2] == '\xbf')
			buf[2] = '\xbd';
		buf += 3;
	}
}

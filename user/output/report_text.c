/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/report_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char ELLIPSIS[] = "…";

struct number number_count(uint64_t n)
{
	struct number r;
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n), used = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			r.text[used++] = ',';
		r.text[used++] = digits[i];
	}
	r.text[used] = '\0';
	return r;
}

struct number number_fixed(double v, unsigned int decimals)
{
	static const unsigned int scales[] = {1, 10, 100, 1000};
	struct number r = {"-"};
	unsigned int scale = scales[decimals < 4 ? decimals : 3];
	bool negative = v < 0;
	unsigned long long n;

	if (!isfinite(v) || fabs(v) > 1e15)
		return r;
	n = (unsigned long long)llround(fabs(v) * scale);
	if (scale == 1)
		snprintf(r.text, sizeof(r.text), "%s%llu", negative && n ? "-" : "", n);
	else
		snprintf(r.text, sizeof(r.text), "%s%llu.%0*llu", negative && n ? "-" : "",
			 n / scale, (int)decimals, n % scale);
	return r;
}

struct number number_percent(double fraction)
{
	struct number r = number_fixed(fraction * 100, 1);

	strcat(r.text, " %");
	return r;
}

struct number number_time(uint64_t ns)
{
	bool seconds = ns >= 1000000000, millis = ns >= 1000000;
	struct number r = number_fixed((double)ns / (seconds  ? 1e9
						     : millis ? 1e6
							      : 1e3),
				       seconds || millis ? 1 : 0);

	strcat(r.text, seconds ? " s" : millis ? " ms" : " us");
	return r;
}

struct number number_bytes(uint64_t bytes)
{
	bool giga = bytes >= 1000000000, mega = bytes >= 1000000;
	struct number r = number_fixed((double)bytes / (giga ? 1e9 : mega ? 1e6 : 1e3), 1);

	strcat(r.text, giga ? " GB" : mega ? " MB" : " kB");
	return r;
}

struct number number_utc(int64_t seconds)
{
	struct number r = {"time unknown"};
	time_t at = (time_t)seconds;
	struct tm tm;

	if (seconds > 0 && gmtime_r(&at, &tm) && tm.tm_year < 8000)
		strftime(r.text, sizeof(r.text), "%Y-%m-%d %H:%M:%S UTC", &tm);
	return r;
}

static bool starts_point(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

size_t text_columns(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += starts_point(*s);
	return n;
}

/* Byte offset of the n-th code point. */
static size_t offset_of(const char *s, size_t n)
{
	size_t i = 0;

	for (; s[i]; i++)
		if (starts_point(s[i]) && n-- == 0)
			break;
	return i;
}

void text_shorten(char *s, size_t columns, enum text_cut cut)
{
	size_t len = strlen(s), all = text_columns(s), head, tail, from;

	if (all <= columns)
		return;
	if (columns < 3) {
		s[offset_of(s, columns)] = '\0';
		return;
	}
	head = cut == CUT_END ? columns - 1 : cut == CUT_START ? 0 : (columns - 1) / 2;
	tail = columns - 1 - head;
	head = offset_of(s, head);
	from = offset_of(s, all - tail);
	/* Two short characters hold less than the sign: then one more gives way. */
	if (from - head < strlen(ELLIPSIS)) {
		if (tail)
			from = offset_of(s, all - tail + 1);
		else
			head = offset_of(s, columns - 2);
	}
	memcpy(s + head, ELLIPSIS, strlen(ELLIPSIS));
	memmove(s + head + strlen(ELLIPSIS), s + from, len - from + 1);
}

#define SHORT_ARGUMENTS 8 /* bytes that are not worth folding */

/* Length of the bracketed text at s, brackets included, or 0. */
static size_t bracketed(const char *s)
{
	int depth = 0;

	for (size_t i = 0; s[i]; i++) {
		depth += s[i] == '<' || s[i] == '[';
		depth -= s[i] == '>' || s[i] == ']';
		if (!depth)
			return i + 1;
	}
	return 0;
}

void text_fold_arguments(char *s)
{
	char *to = s;

	for (const char *from = s; *from;) {
		bool opens = from > s && (*from == '<' || *from == '[');
		size_t len = opens ? bracketed(from) : 0;

		if (len < SHORT_ARGUMENTS + 2) {
			*to++ = *from++;
			continue;
		}
		*to++ = *from;
		memcpy(to, ELLIPSIS, strlen(ELLIPSIS));
		to += strlen(ELLIPSIS);
		*to++ = from[len - 1];
		from += len;
	}
	*to = '\0';
}

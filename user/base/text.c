/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/*
 * Length of the valid UTF-8 sequence at s (1..4), or 0; its code point in *ret. Overlong forms,
 * surrogates and values past U+10FFFF are not valid (RFC 3629).
 */
static size_t decode(const unsigned char *s, size_t len, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = s[0] < 0x80			 ? 1
		   : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
		   : (s[0] & 0xf0) == 0xe0	 ? 3
		   : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
						 : 0;
	uint32_t point;

	if (!n || n > len)
		return 0;
	if (n == 1) {
		*ret = s[0];
		return 1;
	}
	point = s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (s[i] & 0x3f);
	}
	if (point < least[n] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
		return 0;
	*ret = point;
	return n;
}

/* Characters that move the cursor, end a line or turn the direction of text. */
static bool steers(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x2028 ||
	       point == 0x2029 || (point >= 0x200b && point <= 0x200f) ||
	       (point >= 0x202a && point <= 0x202e) || (point >= 0x2060 && point <= 0x206f) ||
	       point == 0xfeff || point == 0x061c;
}

/* Writes one character or escape of s to out[5]; returns bytes eaten, *ret_len bytes written. */
static size_t safe_step(const unsigned char *s, size_t len, char out[static 5], size_t *ret_len)
{
	static const char hex[] = "0123456789abcdef";
	uint32_t point = 0;
	size_t n = decode(s, len, &point);

	if (n && !steers(point) && point != '\\') {
		memcpy(out, s, n);
		*ret_len = n;
		return n;
	}
	if (*s == '\\') {
		memcpy(out, "\\\\", 2);
		*ret_len = 2;
		return 1;
	}
	/* A steering character of several bytes is escaped byte by byte: its next bytes are then
	 * continuation bytes, which are not valid alone. */
	memcpy(out, "\\x", 2);
	out[2] = hex[*s >> 4];
	out[3] = hex[*s & 15];
	*ret_len = 4;
	return 1;
}

void text_put_safe(FILE *out, const char *s, size_t len)
{
	char step[5];
	size_t n;

	for (size_t i = 0; i < len;) {
		i += safe_step((const unsigned char *)s + i, len - i, step, &n);
		fwrite(step, 1, n, out);
	}
}

size_t text_copy_safe(char *buf, size_t buf_bytes, const char *s, size_t len)
{
	size_t used = 0, n;
	char step[5];

	if (!buf_bytes)
		return 0;
	for (size_t i = 0; i < len;) {
		i += safe_step((const unsigned char *)s + i, len - i, step, &n);
		if (used + n >= buf_bytes)
			break;
		memcpy(buf + used, step, n);
		used += n;
	}
	buf[used] = '\0';
	return used;
}

size_t text_copy_utf8(char *buf, size_t buf_bytes, const char *s, size_t len)
{
	static const char replacement[] = "\xef\xbf\xbd";
	size_t used = 0, i = 0;

	if (!buf_bytes)
		return 0;
	while (i < len) {
		uint32_t point = 0;
		size_t eaten = decode((const unsigned char *)s + i, len - i, &point), n = eaten;
		const char *from = s + i;

		if (!eaten || steers(point)) {
			from = replacement;
			n = strlen(replacement);
		}
		if (used + n >= buf_bytes)
			break;
		memcpy(buf + used, from, n);
		used += n;
		i += eaten ? eaten : 1;
	}
	buf[used] = '\0';
	return i;
}

void text_put_json(FILE *out, const char *s, size_t len)
{
	putc('"', out);
	for (size_t i = 0; i < len;) {
		uint32_t point = 0;
		size_t n = decode((const unsigned char *)s + i, len - i, &point);

		if (!n) {
			fputs("\\ufffd", out);
			i++;
			continue;
		}
		if (point == '"' || point == '\\')
			fprintf(out, "\\%c", (char)point);
		else if (steers(point) || point == '<' || point == '>' || point == '&')
			fprintf(out, "\\u%04x", point);
		else
			fwrite(s + i, 1, n, out);
		i += n;
	}
	putc('"', out);
}

int text_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (!*s)
		return -EINVAL;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return -EINVAL;
		if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*s - '0'), &value))
			return -ERANGE;
	}
	if (value < min || value > max)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

int text_parse_double(const char *s, double min, double max, double *ret_value)
{
	double value = 0, unit = 1;
	bool fraction = false, digits = false;

	for (; *s; s++) {
		if (*s == '.' && !fraction) {
			fraction = true;
			continue;
		}
		if (*s < '0' || *s > '9')
			return -EINVAL;
		digits = true;
		if (fraction)
			value += (*s - '0') * (unit /= 10);
		else
			value = value * 10 + (*s - '0');
	}
	if (!digits)
		return -EINVAL;
	if (!isfinite(value) || value < min || value > max)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

/* A unit after a number, and how much it is. */
struct unit {
	const char *name;
	double factor;
};

/* A number and one of the units. */
static int parse_quantity(const char *s, const struct unit *units, size_t cnt, uint64_t min,
			  uint64_t max, uint64_t *ret_value)
{
	size_t len = strspn(s, "0123456789.");
	char number[32];
	double value;
	int err;

	if (!len || len >= sizeof(number))
		return -EINVAL;
	memcpy(number, s, len);
	number[len] = '\0';
	for (size_t i = 0; i < cnt; i++) {
		if (strcmp(s + len + strspn(s + len, " \t"), units[i].name) != 0)
			continue;
		err = text_parse_double(number, 0, 1e18 / units[i].factor, &value);
		if (err)
			return err;
		value = value * units[i].factor + 0.5;
		if (value < (double)min || (uint64_t)value > max)
			return -ERANGE;
		*ret_value = (uint64_t)value;
		return 0;
	}
	return -EINVAL;
}

int text_parse_time(const char *s, uint64_t min_ns, uint64_t max_ns, uint64_t *ret_ns)
{
	static const struct unit units[] = {{"us", 1e3}, {"ms", 1e6},	{"s", 1e9},
					    {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}};

	return parse_quantity(s, units, sizeof(units) / sizeof(units[0]), min_ns, max_ns, ret_ns);
}

int text_parse_bytes(const char *s, uint64_t min, uint64_t max, uint64_t *ret_bytes)
{
	static const struct unit units[] = {{"", 1},
					    {"B", 1},
					    {"K", 1024.0},
					    {"M", 1024.0 * 1024},
					    {"G", 1024.0 * 1024 * 1024},
					    {"T", 1024.0 * 1024 * 1024 * 1024}};
	char text[40];
	size_t len = strlen(s);

	/* Ki, KB and KiB are K. */
	if (len >= sizeof(text))
		return -EINVAL;
	memcpy(text, s, len + 1);
	if (len > 1 && text[len - 1] == 'B' && (text[len - 2] < '0' || text[len - 2] > '9'))
		text[--len] = '\0';
	if (len > 2 && text[len - 1] == 'i' && strchr("KMGT", text[len - 2]))
		text[--len] = '\0';
	return parse_quantity(text, units, sizeof(units) / sizeof(units[0]), min, max, ret_bytes);
}

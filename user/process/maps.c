/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/maps.h"

#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>

struct cursor {
	const char *pos, *end;
};

static int digit(char c, unsigned base)
{
	int v = -1;

	if (c >= '0' && c <= '9')
		v = c - '0';
	else if (c >= 'a' && c <= 'f')
		v = c - 'a' + 10;
	return v < (int)base ? v : -1;
}

/* Reads a number and the character after it (0 = none wanted). */
static int number(struct cursor *c, unsigned base, char after, uint64_t *ret_value)
{
	uint64_t value = 0;
	const char *start = c->pos;

	for (; c->pos < c->end && digit(*c->pos, base) >= 0; c->pos++) {
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit(*c->pos, base), &value))
			return -EINVAL;
	}
	if (c->pos == start)
		return -EINVAL;
	if (after) {
		if (c->pos == c->end || *c->pos != after)
			return -EINVAL;
		c->pos++;
	}
	*ret_value = value;
	return 0;
}

int maps_parse(const char *line, size_t len, struct maps_line *ret_line)
{
	struct cursor c = {.pos = line, .end = line + len};
	struct maps_line parsed = {0};
	uint64_t major, minor;

	if (number(&c, 16, '-', &parsed.start) || number(&c, 16, ' ', &parsed.end))
		return -EINVAL;
	if (c.end - c.pos < 5 || c.pos[4] != ' ' || parsed.end <= parsed.start)
		return -EINVAL;
	parsed.executable = c.pos[2] == 'x';
	c.pos += 5;
	if (number(&c, 16, ' ', &parsed.file_offset) || number(&c, 16, ':', &major) ||
	    number(&c, 16, ' ', &minor) || number(&c, 10, 0, &parsed.inode))
		return -EINVAL;
	if (major > UINT32_MAX || minor > UINT32_MAX)
		return -EINVAL;
	parsed.dev = makedev((unsigned)major, (unsigned)minor);
	while (c.pos < c.end && *c.pos == ' ')
		c.pos++;
	parsed.path = c.pos;
	parsed.path_len = (size_t)(c.end - c.pos);
	*ret_line = parsed;
	return 0;
}

size_t maps_unescape(const char *path, size_t len, char *buf, size_t buf_bytes)
{
	size_t out = 0;

	for (size_t i = 0; i < len && out + 1 < buf_bytes; out++) {
		if (len - i >= 4 && !memcmp(path + i, "\\012", 4)) {
			buf[out] = '\n';
			i += 4;
		} else {
			buf[out] = path[i++];
		}
	}
	buf[out] = '\0';
	return out;
}

bool maps_deleted(const char *path, size_t len, size_t *ret_len)
{
	static const char mark[] = " (deleted)";
	size_t n = sizeof(mark) - 1;
	bool deleted = len > n && !memcmp(path + len - n, mark, n);

	*ret_len = deleted ? len - n : len;
	return deleted;
}

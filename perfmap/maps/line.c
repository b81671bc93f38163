/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/maps/line.h"

#include <errno.h>
#include <string.h>

/* An address without 0x must have this many digits, so that text of a continued name ("added 5
 * more") hardly passes for an entry. JIT code does not lie in the lowest 16 MiB. */
#define BARE_DIGITS_MIN 7
/* The same for an entry searched for in the middle of damaged text. */
#define RESYNC_DIGITS_MIN 5

static int hex_digit(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Digits read at *pos, 0 when there are none or more than 64 bits' worth. Leading zeros count. */
static size_t read_hex(const char *s, size_t len, size_t *pos, uint64_t *value)
{
	size_t start = *pos, p = start;
	uint64_t v = 0;
	int d;

	while (p < len && (d = hex_digit((unsigned char)s[p])) >= 0) {
		/* Not to the end of a hostile one: each 0x in a line is looked at. */
		if (p - start == 16)
			return 0;
		v = v << 4 | (unsigned int)d;
		p++;
	}
	*pos = p;
	*value = v;
	return p - start;
}

/* The most that parse_at() looks at: two numbers of 0x, 16 digits and a byte more, blanks. */
#define PARSE_AT_BYTES 40u

static bool skip_0x(const char *line, size_t len, size_t *pos)
{
	if (len - *pos < 2 || line[*pos] != '0' || (line[*pos + 1] | 0x20) != 'x')
		return false;
	*pos += 2;
	return true;
}

static bool parse_at(const char *line, size_t len, size_t at, struct perfmap_line *ret_line)
{
	struct perfmap_line l = {.skipped = at};
	size_t p = at, digits;

	l.has_0x = skip_0x(line, len, &p);
	digits = read_hex(line, len, &p, &l.start);
	if (!digits || (!l.has_0x && digits < BARE_DIGITS_MIN))
		return false;
	if (at && digits < RESYNC_DIGITS_MIN)
		return false;
	if (p >= len || line[p] != ' ')
		return false;
	p++;
	skip_0x(line, len, &p); /* HotSpot's maps have it before both */
	if (!read_hex(line, len, &p, &l.size_bytes))
		return false;
	if (p >= len || line[p] != ' ')
		return false;
	if (l.start < PERFMAP_ADDRESS_MIN || !l.size_bytes ||
	    l.size_bytes > PERFMAP_CODE_BYTES_MAX || l.start > UINT64_MAX - l.size_bytes)
		return false;
	l.name_offset = p + 1;
	l.name_len = len - l.name_offset;
	*ret_line = l;
	return true;
}

int perfmap_line_parse_counted(const char *line, size_t len, struct perfmap_work *work,
			       struct perfmap_line *ret_line)
{
	const char *p = line, *end = line + len, *before;

	if (parse_at(line, len, 0, ret_line))
		return 0;
	while (end - p > 1) {
		before = p;
		p = memchr(p + 1, '0', (size_t)(end - p - 1));
		if (!perfmap_work_add(work, (uint64_t)((p ? p : end) - before)) || !p)
			break;
		if (end - p <= 2 || p[1] != 'x')
			continue;
		if (!perfmap_work_add(work, PARSE_AT_BYTES))
			break;
		if (parse_at(line, len, (size_t)(p - line), ret_line))
			return 0;
	}
	return -ENOMSG;
}

int perfmap_line_parse(const char *line, size_t len, struct perfmap_line *ret_line)
{
	struct perfmap_work work = {.limit = UINT64_MAX};

	return perfmap_line_parse_counted(line, len, &work, ret_line);
}

bool perfmap_line_is_stub(const char *name, size_t len)
{
	return len > 4 && !memcmp(name, "stub", 4) && (name[4] == ' ' || name[4] == '<');
}

bool perfmap_line_keeps_stack(const char *name, size_t len)
{
	/* What stands last, in <>. Those that look up interface methods push. */
	static const char *const owners[] = {
		"<DelegateShuffleThunk>", "<GenerateDispatchStub>",
		"<InstantiatingStub>",	  "<JIT_CopiedWriteBarriers>",
		"<MethodCallThunk>",	  "<PRECODE_STUB>",
		"<UnboxingStub>",	  "<VSD_DispatchStub>",
		"<VSD_VTableStub>",
	};

	if (!perfmap_line_is_stub(name, len))
		return false;
	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
		size_t owner_len = strlen(owners[i]);

		if (len > owner_len && !memcmp(name + len - owner_len, owners[i], owner_len))
			return true;
	}
	return false;
}

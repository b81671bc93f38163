/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/maps/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfmap/maps/line.h"
#include "perfmap/maps/map.h"

#define CHUNK_BYTES (1u << 20)

int perfmap_rows_keep(void *arg, const struct perfmap_entry *row)
{
	struct perfmap_rows *r = arg;

	if (r->cnt == r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 256;
		struct perfmap_entry *rows = reallocarray(r->rows, cap, sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		r->rows = rows;
		r->cap = cap;
	}
	r->rows[r->cnt++] = *row;
	return 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

void perfmap_lines_clear(struct perfmap_lines *lines)
{
	free(lines->partial);
	*lines = (struct perfmap_lines){0};
}

void perfmap_lines_restart(struct perfmap_lines *lines)
{
	lines->next_offset = lines->line_offset = 0;
	lines->partial_len = 0;
	lines->skipping = lines->open_name = lines->has_any = false;
}

uint32_t perfmap_name_check(const char *name, size_t len)
{
	uint64_t h = len * 0x9e3779b97f4a7c15ull, word;
	size_t i;

	for (i = 0; i + 8 <= len; i += 8) {
		memcpy(&word, name + i, 8);
		h = (h ^ word) * 0xd6e8feb86659fd93ull;
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, name + i, len - i);
	h = (h ^ word) * 0xd6e8feb86659fd93ull;
	h ^= h >> 32;
	return (uint32_t)h ? (uint32_t)h : 1;
}

/* A name that ends like this is whole: argument list, tier tag, stub's owner. */
static bool ends_whole(const char *name, size_t len)
{
	return len && (name[len - 1] == ')' || name[len - 1] == ']' || name[len - 1] == '>');
}

static bool is_text(const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (((unsigned char)s[i] < 0x20 && s[i] != '\t' && s[i] != '\r') || s[i] == 0x7f ||
		    (unsigned char)s[i] >= 0x80)
			return false;
	}
	return true;
}

static int take_other_line(struct perfmap_lines *l, const char *text, size_t len)
{
	struct perfmap_entry row = {.flags = PERFMAP_ROW_CONTINUES};
	uint64_t length;

	if (!is_text(text, len)) {
		l->scanned.damaged++;
		l->open_name = false;
		return 0;
	}
	if (!l->open_name) {
		l->scanned.unknown++;
		return 0;
	}
	length = l->line_offset + len - l->open_offset;
	row.offset = l->open_offset;
	row.length = length < PERFMAP_RAW_BYTES_MAX ? (uint16_t)length : PERFMAP_RAW_BYTES_MAX;
	l->open_name = !ends_whole(text, len);
	return l->sink(l->arg, &row);
}

/* A whole line, without its newline, that begins at line_offset. */
static int take_line(struct perfmap_lines *l, const char *text, size_t len)
{
	struct perfmap_entry row = {0};
	struct perfmap_line line;
	const char *name;
	size_t whole;

	if (perfmap_line_parse(text, len, &line) || (!line.has_0x && l->has_any && l->has_0x))
		return take_other_line(l, text, len);
	if (!l->has_any) {
		l->has_any = true;
		l->has_0x = line.has_0x;
	}
	if (line.skipped)
		l->scanned.damaged++;
	l->open_name = false;
	if (l->line_offset + len > PERFMAP_FILE_BYTES_MAX) {
		l->scanned.too_far++;
		return 0;
	}
	name = text + line.name_offset;
	whole = len - line.skipped;
	row.start = line.start;
	row.size_bytes = (uint32_t)line.size_bytes;
	row.offset = (uint32_t)(l->line_offset + line.skipped);
	row.length = whole < PERFMAP_RAW_BYTES_MAX ? (uint16_t)whole : PERFMAP_RAW_BYTES_MAX;
	row.check = whole <= PERFMAP_RAW_BYTES_MAX ? perfmap_name_check(name, line.name_len) : 0;
	row.flags = perfmap_line_is_stub(name, line.name_len) ? PERFMAP_ENTRY_STUB : 0;
	if (row.flags && perfmap_line_keeps_stack(name, line.name_len))
		row.flags |= PERFMAP_ROW_KEEPS_STACK;
	l->open_name = !ends_whole(name, line.name_len);
	l->open_offset = row.offset;
	return l->sink(l->arg, &row);
}

/* Adds to the line whose newline has not come yet. */
static int keep_partial(struct perfmap_lines *l, const char *bytes, size_t len)
{
	if (l->skipping)
		return 0;
	if (l->partial_len + len > PERFMAP_LINE_BYTES_MAX) {
		l->skipping = true;
		l->partial_len = 0;
		l->scanned.too_long++;
		return 0;
	}
	if (l->partial_cap < l->partial_len + len) {
		size_t cap = l->partial_len + len + l->partial_cap / 2;
		char *p = realloc(l->partial, cap);

		if (!p) {
			l->skipping = true;
			l->partial_len = 0;
			return -ENOMEM;
		}
		l->partial = p;
		l->partial_cap = cap;
	}
	memcpy(l->partial + l->partial_len, bytes, len);
	l->partial_len += len;
	return 0;
}

/* The newline has come, after len more bytes. */
static int finish_line(struct perfmap_lines *l, const char *bytes, size_t len)
{
	int err;

	if (l->partial_len || l->skipping || len > PERFMAP_LINE_BYTES_MAX) {
		err = keep_partial(l, bytes, len);
		if (!l->skipping)
			err = take_line(l, l->partial, l->partial_len);
		else
			l->open_name = false;
	} else {
		err = take_line(l, bytes, len);
	}
	l->partial_len = 0;
	l->skipping = false;
	return err;
}

int perfmap_lines_feed(struct perfmap_lines *l, const char *bytes, size_t len, uint64_t file_offset)
{
	const char *p = bytes, *end = bytes + len, *newline;
	int err, first_err = 0;

	if (file_offset != l->next_offset)
		return -EINVAL;
	l->scanned.bytes += len;
	while (p < end && (newline = memchr(p, '\n', (size_t)(end - p)))) {
		err = finish_line(l, p, (size_t)(newline - p));
		first_err = first_err ? first_err : err;
		p = newline + 1;
		l->line_offset = file_offset + (size_t)(p - bytes);
	}
	if (p < end) {
		err = keep_partial(l, p, (size_t)(end - p));
		first_err = first_err ? first_err : err;
	}
	l->next_offset = file_offset + len;
	return first_err;
}

/* --- a file ----------------------------------------------------------------------------------- */

/* pread() that a signal does not cut short: bytes read, or negative errno. */
static ssize_t read_some(int fd, char *buf, size_t len, uint64_t offset)
{
	ssize_t n;

	do {
		n = pread(fd, buf, len, (off_t)offset);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static void set_mark(struct perfmap_cursor *c, const char *bytes, size_t len)
{
	size_t keep;

	if (len >= PERFMAP_MARK_BYTES) {
		memcpy(c->mark, bytes + len - PERFMAP_MARK_BYTES, PERFMAP_MARK_BYTES);
		c->mark_len = PERFMAP_MARK_BYTES;
		return;
	}
	keep = PERFMAP_MARK_BYTES - len < c->mark_len ? PERFMAP_MARK_BYTES - len : c->mark_len;
	memmove(c->mark, c->mark + c->mark_len - keep, keep);
	memcpy(c->mark + keep, bytes, len);
	c->mark_len = (uint16_t)(keep + len);
}

/* 1 when what lies before our offset is no longer what was read there, 0, or negative errno. */
static int was_rewritten(int fd, const struct perfmap_cursor *c, uint64_t size)
{
	char now[PERFMAP_MARK_BYTES];
	ssize_t n;

	if (size < c->offset)
		return 1;
	/* Nothing was read yet, or nothing was written since. */
	if (size == c->offset)
		return 0;
	n = read_some(fd, now, c->mark_len, c->offset - c->mark_len);
	if (n < 0)
		return (int)n;
	return (size_t)n != c->mark_len || memcmp(now, c->mark, c->mark_len);
}

/* Reads the file from where the lines go on; what the cursor had read counts as read then. */
static int read_on(int fd, struct perfmap_cursor *c, struct perfmap_lines *lines, uint64_t size,
		   size_t max_bytes)
{
	uint64_t at = lines->next_offset;
	size_t total = 0;
	char *chunk = malloc(CHUNK_BYTES);
	int err = 0;

	if (!chunk)
		return -ENOMEM;
	while (!err && total < max_bytes && c->offset < size) {
		size_t want = size - at < CHUNK_BYTES ? (size_t)(size - at) : CHUNK_BYTES;
		ssize_t n = read_some(fd, chunk, want, at);
		uint64_t end = at + (uint64_t)(n > 0 ? n : 0);

		if (n <= 0) {
			err = (int)n;
			break;
		}
		err = perfmap_lines_feed(lines, chunk, (size_t)n, at);
		if (end > c->offset) {
			set_mark(c, chunk + (c->offset > at ? c->offset - at : 0),
				 (size_t)(end - (c->offset > at ? c->offset : at)));
			total += (size_t)(end - c->offset);
			c->offset = end;
		}
		at = end;
		if (lines->skipping)
			break;
	}
	free(chunk);
	lines->scanned.bytes = total;
	return err;
}

static bool is_sane(const struct perfmap_cursor *c)
{
	return c->line_offset <= c->offset && c->mark_len <= PERFMAP_MARK_BYTES &&
	       c->mark_len <= c->offset &&
	       (c->skipping || c->offset - c->line_offset <= PERFMAP_LINE_BYTES_MAX);
}

int perfmap_scan(int fd, struct perfmap_cursor *cursor, size_t max_bytes, perfmap_sink sink,
		 void *arg, struct perfmap_scanned *ret_scanned)
{
	struct perfmap_cursor c = *cursor;
	struct perfmap_lines lines = {.sink = sink, .arg = arg};
	struct stat st;
	uint64_t size;
	int err;

	if (!is_sane(&c))
		return -EBADMSG;
	if (fstat(fd, &st))
		return -errno;
	size = (uint64_t)st.st_size;
	if (size > PERFMAP_FILE_BYTES_MAX)
		size = PERFMAP_FILE_BYTES_MAX;
	err = was_rewritten(fd, &c, size);
	if (err < 0)
		return err;
	if (err) {
		c = (struct perfmap_cursor){0};
		lines.scanned.rewritten = true;
	}
	lines.line_offset = c.line_offset;
	lines.next_offset = c.skipping ? c.offset : c.line_offset;
	lines.skipping = c.skipping;
	lines.has_0x = c.has_0x;
	lines.has_any = c.has_any;
	lines.open_name = c.open_name;
	lines.open_offset = c.open_offset;
	err = read_on(fd, &c, &lines, size, max_bytes);
	if (!err) {
		c.line_offset = lines.line_offset;
		c.skipping = lines.skipping;
		c.has_0x = lines.has_0x;
		c.has_any = lines.has_any;
		c.open_name = lines.open_name;
		c.open_offset = lines.open_offset;
		lines.scanned.more = c.offset < size;
		*cursor = c;
		*ret_scanned = lines.scanned;
	}
	perfmap_lines_clear(&lines);
	return err;
}

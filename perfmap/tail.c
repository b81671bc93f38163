/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/tail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_BYTES (1u << 20)
/* Last bytes read, compared before reading on: a file that was truncated and has grown past our
 * offset since has others there (it holds addresses of code, hardly the same twice). */
#define MARK_BYTES 64u

struct perfmap_tail {
	int fd;
	struct perfmap *map;
	uint64_t offset;
	char mark[MARK_BYTES]; /* the mark_len bytes before offset */
	size_t mark_len;
};

struct perfmap_tail *perfmap_tail_new(int fd)
{
	struct perfmap_tail *tail = calloc(1, sizeof(*tail));
	struct perfmap *map = perfmap_new();

	if (!tail || !map) {
		free(tail);
		perfmap_free(map);
		close(fd);
		errno = ENOMEM;
		return NULL;
	}
	tail->fd = fd;
	tail->map = map;
	return tail;
}

void perfmap_tail_free(struct perfmap_tail *tail)
{
	if (!tail)
		return;
	close(tail->fd);
	perfmap_free(tail->map);
	free(tail);
}

/* pread() that a signal does not cut short: bytes read, or negative errno. */
static ssize_t read_some(int fd, char *buf, size_t len, uint64_t offset)
{
	ssize_t n;

	do {
		n = pread(fd, buf, len, (off_t)offset);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static void set_mark(struct perfmap_tail *tail, const char *bytes, size_t len)
{
	size_t keep;

	if (len >= MARK_BYTES) {
		memcpy(tail->mark, bytes + len - MARK_BYTES, MARK_BYTES);
		tail->mark_len = MARK_BYTES;
		return;
	}
	keep = MARK_BYTES - len < tail->mark_len ? MARK_BYTES - len : tail->mark_len;
	memmove(tail->mark, tail->mark + tail->mark_len - keep, keep);
	memcpy(tail->mark + keep, bytes, len);
	tail->mark_len = keep + len;
}

/* 1 when what lies before our offset is no longer what was read there, 0, or negative errno. */
static int was_rewritten(const struct perfmap_tail *tail, uint64_t size)
{
	char now[MARK_BYTES];
	ssize_t n;

	if (size < tail->offset)
		return 1;
	/* Nothing was read yet, or nothing was written since. */
	if (size == tail->offset)
		return 0;
	n = read_some(tail->fd, now, tail->mark_len, tail->offset - tail->mark_len);
	if (n < 0)
		return (int)n;
	return (size_t)n != tail->mark_len || memcmp(now, tail->mark, tail->mark_len);
}

static int read_on(struct perfmap_tail *tail, uint64_t size, uint64_t seen_ns, size_t max_bytes,
		   size_t *ret_bytes)
{
	size_t total = 0, want;
	char *chunk;
	ssize_t n;
	int err = 0;

	want = size - tail->offset < CHUNK_BYTES ? (size_t)(size - tail->offset) : CHUNK_BYTES;
	chunk = malloc(want);
	if (!chunk)
		return -ENOMEM;
	while (total < max_bytes && tail->offset < size) {
		n = read_some(tail->fd, chunk, want, tail->offset);
		if (n <= 0) {
			err = (int)n;
			break;
		}
		err = perfmap_feed(tail->map, chunk, (size_t)n, tail->offset, seen_ns);
		set_mark(tail, chunk, (size_t)n);
		tail->offset += (size_t)n;
		total += (size_t)n;
		if (err || perfmap_in_long_line(tail->map))
			break;
	}
	free(chunk);
	if (!err)
		*ret_bytes = total;
	return err;
}

int perfmap_tail_advance(struct perfmap_tail *tail, uint64_t seen_ns, size_t max_bytes,
			 size_t *ret_bytes, bool *ret_more)
{
	struct stat st;
	uint64_t size;
	int rewritten, err;

	if (fstat(tail->fd, &st))
		return -errno;
	size = (uint64_t)st.st_size;
	if (size > PERFMAP_FILE_BYTES_MAX)
		size = PERFMAP_FILE_BYTES_MAX;
	rewritten = was_rewritten(tail, size);
	if (rewritten < 0)
		return rewritten;
	if (rewritten) {
		perfmap_rewritten(tail->map);
		tail->offset = 0;
		tail->mark_len = 0;
	}
	if (tail->offset == size) {
		*ret_bytes = 0;
		*ret_more = false;
		return 0;
	}
	err = read_on(tail, size, seen_ns, max_bytes, ret_bytes);
	*ret_more = tail->offset < size;
	return err;
}

struct perfmap *perfmap_tail_map(struct perfmap_tail *tail)
{
	return tail->map;
}

int perfmap_tail_name(const struct perfmap_tail *tail, const struct perfmap_hit *hit, char *buf,
		      size_t cap, size_t *ret_len)
{
	return perfmap_read_name(hit, tail->fd, buf, cap, ret_len);
}

bool perfmap_tail_rewritten(const struct perfmap_tail *tail)
{
	return perfmap_counters(tail->map).rewrites;
}

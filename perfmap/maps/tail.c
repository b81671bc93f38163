/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/maps/tail.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct perfmap_tail {
	int fd;
	struct perfmap *map;
	struct perfmap_cursor cursor;
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

int perfmap_tail_advance(struct perfmap_tail *tail, uint64_t seen_ns, size_t max_bytes,
			 size_t *ret_bytes, bool *ret_more)
{
	struct perfmap_scanned scanned;
	struct perfmap_rows r = {0};
	int err = perfmap_scan(tail->fd, &tail->cursor, max_bytes, perfmap_rows_keep, &r, &scanned);

	if (!err)
		err = perfmap_take(tail->map, r.rows, r.cnt, &scanned, seen_ns);
	free(r.rows);
	if (err)
		return err;
	*ret_bytes = scanned.bytes;
	*ret_more = scanned.more;
	return 0;
}

const struct perfmap_cursor *perfmap_tail_cursor(const struct perfmap_tail *tail)
{
	return &tail->cursor;
}

int perfmap_tail_take(struct perfmap_tail *tail, const struct perfmap_entry *rows, size_t cnt,
		      const struct perfmap_scanned *scanned, const struct perfmap_cursor *cursor,
		      uint64_t seen_ns)
{
	int err = perfmap_take(tail->map, rows, cnt, scanned, seen_ns);

	if (!err)
		tail->cursor = *cursor;
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

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_MAPS_TAIL_H
#define PERFMAP_MAPS_TAIL_H
/*
 * Follows one open perf map by offset and keeps its entries up to date. Holds on to the file, not
 * to the path: still readable when the process has exited or the file was removed. Whether another
 * file lies at the path by now (perfmap_file.dev, ino) is the caller's to look at. Used by one
 * thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfmap/maps/map.h"
#include "perfmap/maps/scan.h"

struct perfmap_tail;

/* Takes fd (closes it on failure too). Reads nothing yet. Returns owned, or NULL with errno. */
struct perfmap_tail *perfmap_tail_new(int fd);
void perfmap_tail_free(struct perfmap_tail *tail);

/*
 * Reads what was appended since the last call and gives it seen_ns (see map.h). Notices when the
 * file was truncated, also when it has grown again since: then everything is read anew from its
 * beginning, and old entries answer only while their line is still there.
 * max_bytes: read by this call, so that a huge map cannot hold up others (in whole MiB); the rest
 * comes next time. Inside a line that is too long to be one (zeros of a sparse file) a call ends
 * after 1 MiB.
 * Returns 0; -ENOMEM; or what fstat and pread said. ret_bytes: bytes read, 0 = nothing new.
 * ret_more: the file had more.
 */
int perfmap_tail_advance(struct perfmap_tail *tail, uint64_t seen_ns, size_t max_bytes,
			 size_t *ret_bytes, bool *ret_more);

/*
 * The same in two halves, so that another process can do the first one: that one calls
 * perfmap_scan() on the file with a copy of the cursor, and what it gives is taken here. 0 or
 * -ENOMEM.
 */
const struct perfmap_cursor *perfmap_tail_cursor(const struct perfmap_tail *tail);
int perfmap_tail_take(struct perfmap_tail *tail, const struct perfmap_entry *rows, size_t cnt,
		      const struct perfmap_scanned *scanned, const struct perfmap_cursor *cursor,
		      uint64_t seen_ns);

/* The entries, for perfmap_find(); borrowed until perfmap_tail_free(). */
struct perfmap *perfmap_tail_map(struct perfmap_tail *tail);

/* perfmap_read_name() from the file that is followed. */
int perfmap_tail_name(const struct perfmap_tail *tail, const struct perfmap_hit *hit, char *buf,
		      size_t cap, size_t *ret_len);

/* True when the file was truncated at least once while it was followed. */
bool perfmap_tail_rewritten(const struct perfmap_tail *tail);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_MAPS_SCAN_H
#define PERFMAP_MAPS_SCAN_H
/*
 * The lines of a perf map become rows of numbers: what of a map has to look at its text. It may run
 * in another process than the one that keeps the entries (map.h): a cursor says all that is needed
 * to go on, and rows and cursor are plain data. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfmap/maps/run.h"

/* Flag of a row: no entry, but more of the name of the one before it. Its length is the entry's
 * now, its offset that of the entry. */
#define PERFMAP_ROW_CONTINUES 0x2u
/* A stub that perfmap_line_keeps_stack(). */
#define PERFMAP_ROW_KEEPS_STACK 0x4u

/* What the lines of a scan held besides rows. */
struct perfmap_scanned {
	uint64_t bytes;	   /* read */
	uint64_t damaged;  /* lines that lost their entry to damage */
	uint64_t unknown;  /* other lines without an entry */
	uint64_t too_long; /* lines over PERFMAP_LINE_BYTES_MAX, left out */
	uint64_t too_far;  /* entries beyond PERFMAP_FILE_BYTES_MAX */
	bool rewritten;	   /* the file was truncated: rows are of its new content, from its start */
	bool more;	   /* the file has more than was read */
};

/* Takes rows as they come; not 0 ends the scan with that. */
typedef int (*perfmap_sink)(void *arg, const struct perfmap_entry *row);

/* A sink that keeps them: zeroed at first; rows is owned by the caller, to be freed. */
struct perfmap_rows {
	struct perfmap_entry *rows;
	size_t cnt, cap;
};
/* arg: a struct perfmap_rows. 0 or -ENOMEM. */
int perfmap_rows_keep(void *arg, const struct perfmap_entry *row);

/* --- lines, in chunks ------------------------------------------------------------------------- */

/* Where a reader of lines is: zeroed at a file's beginning. */
struct perfmap_lines {
	char *partial; /* owned: a line without its newline yet, from line_offset on */
	size_t partial_len, partial_cap;
	bool skipping;	      /* inside a line that is too long */
	uint64_t line_offset; /* where the line being read begins */
	uint64_t next_offset; /* where the next chunk must begin */
	bool has_0x, has_any; /* what the first entry looked like */
	bool open_name;	      /* the last row's name looks unfinished */
	uint32_t open_offset; /* of that row */
	struct perfmap_scanned scanned;
	perfmap_sink sink;
	void *arg;
};

void perfmap_lines_clear(struct perfmap_lines *lines);
/* The file is read again from its beginning; what was counted stays. */
void perfmap_lines_restart(struct perfmap_lines *lines);
/* As perfmap_feed(), rows go to the sink. 0, -EINVAL, -ENOMEM, or what the sink said first. */
int perfmap_lines_feed(struct perfmap_lines *lines, const char *bytes, size_t len,
		       uint64_t file_offset);

/* Hash of a name, as rows have it in check: never 0. */
uint32_t perfmap_name_check(const char *name, size_t len);

/* --- a file ----------------------------------------------------------------------------------- */

/* Last bytes read, compared before reading on: a file that was truncated and has grown past our
 * offset since has others there (it holds addresses of code, hardly the same twice). */
#define PERFMAP_MARK_BYTES 64u

/* How far a file was read: zeroed at first. */
struct perfmap_cursor {
	uint64_t offset;      /* the file was read up to here */
	uint64_t line_offset; /* begin of a line whose end has not come: it is read again */
	uint32_t open_offset;
	uint16_t mark_len;
	bool skipping, has_0x, has_any, open_name;
	char mark[PERFMAP_MARK_BYTES]; /* the mark_len bytes before offset */
};

/*
 * Reads on from the cursor, at most max_bytes (in whole MiB), and moves it. Inside a line that is
 * too long to be one a call ends after 1 MiB. Returns 0, -ENOMEM, -EBADMSG (a cursor that cannot
 * be), or what fstat, pread and the sink said: the cursor stays then.
 */
int perfmap_scan(int fd, struct perfmap_cursor *cursor, size_t max_bytes, perfmap_sink sink,
		 void *arg, struct perfmap_scanned *ret_scanned);
#endif

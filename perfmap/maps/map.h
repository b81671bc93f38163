/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_MAPS_MAP_H
#define PERFMAP_MAPS_MAP_H
/*
 * The entries of one perf map, fed as the file grows, found by address and time. Names stay in the
 * file: an entry keeps where its line is (about 30 bytes an entry in all). Used by one thread.
 *
 * Time: every entry carries the seen_ns of the feed that completed its line. Pass the earliest
 * moment at which the line can have been written (the time of the previous look at the file; 0 at
 * first sight), in any clock that look-ups use too. Times never go back: an earlier seen_ns counts
 * as the latest one given before.
 *
 * Lines: a torn last line waits for its newline. A damaged line (see line.h) yields the entry that
 * is glued to it. A line without an entry continues the name before it when that name looks
 * unfinished (newline in the name of a dynamic method); else it is counted and left out. In a map
 * whose first entry has 0x, a line without 0x is no entry.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 8 M entries = 240 MB; a service with 6,000 methods is usual, 1 M is a runaway code generator. */
#define PERFMAP_ENTRIES_MAX (8u << 20)
/* Longest line kept; 1,439 bytes is the longest seen, the runtime has no limit. */
#define PERFMAP_LINE_BYTES_MAX (128u << 10)
/* Longest name that is read back; the rest of a longer one is cut. */
#define PERFMAP_RAW_BYTES_MAX 65535u
/* Offsets are 32 bit; locate.h refuses larger files as well. */
#define PERFMAP_FILE_BYTES_MAX UINT32_MAX

struct perfmap;

/* What look-ups answer; a copy, valid for ever. */
struct perfmap_hit {
	uint64_t start, size_bytes; /* of the code */
	uint64_t seen_ns;
	uint32_t offset; /* of the line in the file; with start it identifies the entry */
	uint32_t length; /* of the line without its newline */
	uint32_t check;	 /* for perfmap_read_name() */
	bool is_stub;
	bool later; /* first seen after the time asked for: "named later" */
};

/* Only grow. */
struct perfmap_counters {
	uint64_t entries;    /* taken in, repetitions included */
	uint64_t repeated;   /* of these: same code and name again, folded into the first one */
	uint64_t damaged;    /* lines that lost their entry to damage; see perfmap_damage() */
	uint64_t continued;  /* lines taken as the rest of the name before them */
	uint64_t unknown;    /* other lines without an entry */
	uint64_t too_long;   /* lines over PERFMAP_LINE_BYTES_MAX, left out */
	uint64_t over_limit; /* entries left out for perfmap_limit() or PERFMAP_FILE_BYTES_MAX */
	uint64_t cut_scans;  /* look-ups that gave up on absurdly overlapping entries */
	uint64_t rewrites;   /* calls of perfmap_rewritten() */
};

/* Returns owned, or NULL with errno ENOMEM. */
struct perfmap *perfmap_new(void);
void perfmap_free(struct perfmap *map);

/*
 * Takes in bytes that lie at file_offset of the file. Chunks may be cut anywhere but must follow
 * one another. Returns 0; -EINVAL when file_offset is not where the last chunk ended (0 at first);
 * -ENOMEM (entries of this chunk may be missing then).
 */
int perfmap_feed(struct perfmap *map, const char *bytes, size_t len, uint64_t file_offset,
		 uint64_t seen_ns);

struct perfmap_entry;
struct perfmap_scanned;

/*
 * Takes in rows that perfmap_scan() made, perhaps in another process: in the order in which it gave
 * them, with what it says of their lines. Rows may say anything. Not to be mixed with
 * perfmap_feed(). 0 or -ENOMEM.
 */
int perfmap_take(struct perfmap *map, const struct perfmap_entry *rows, size_t cnt,
		 const struct perfmap_scanned *scanned, uint64_t seen_ns);

/*
 * The file was truncated and is written anew: the next chunk comes from offset 0. Old entries stay
 * and go on answering for their time; perfmap_read_name() tells whether their line is still there.
 * An entry that the new content repeats keeps its time and gets its new place.
 */
void perfmap_rewritten(struct perfmap *map);

/*
 * The entry that covers address at time_ns: the newest with seen_ns <= time_ns; where none, the one
 * first seen later, with ret_hit->later set. A method wins over stubs; among stubs the smallest,
 * then the newest. time_ns = UINT64_MAX asks for the newest of all.
 * Returns 0, -ENOENT (nothing covers it; see perfmap_damage()), or -ENOMEM (the first look-up after
 * a feed sorts what is new). Cost: under 200 ns with a million entries; bounded for any content.
 */
int perfmap_find(struct perfmap *map, uint64_t address, uint64_t time_ns,
		 struct perfmap_hit *ret_hit);

/* Sorts what is new, as the next look-up would: for those who want to know what that takes. 0 or
 * -ENOMEM. */
int perfmap_settle(struct perfmap *map);
bool perfmap_is_settled(const struct perfmap *map);

/*
 * Reads the raw name of an entry from the map's file (fd needs pread) into buf, checking that the
 * line there still is that entry. At most cap - 1 bytes, then a NUL; ret_len is the number of bytes
 * of the name (it may hold NULs itself). Longer names are cut.
 * Returns 0, -ESTALE (another line is there now: "map rewritten"), -EINVAL (cap < 64), or what
 * pread said.
 */
int perfmap_read_name(const struct perfmap_hit *hit, int fd, char *buf, size_t cap,
		      size_t *ret_len);

/*
 * Number of places where damage swallowed lines, one method or several each: their addresses are
 * lost. Where it is not 0, an address without an entry may be one of these.
 */
uint64_t perfmap_damage(const struct perfmap *map);

struct perfmap_counters perfmap_counters(const struct perfmap *map);

/* Lowers the number of entries that it may hold, PERFMAP_ENTRIES_MAX at first; those held stay. */
void perfmap_limit(struct perfmap *map, size_t entries_max);

/* Entries held, and the memory that they and their index take. */
size_t perfmap_entries(const struct perfmap *map);
size_t perfmap_memory_bytes(const struct perfmap *map);
#endif

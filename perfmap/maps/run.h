/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_MAPS_RUN_H
#define PERFMAP_MAPS_RUN_H
/*
 * A sorted run of entries: the building block of map.c. Sorted by start, equal starts by arrival.
 * Above the entries lies a tree of summaries (fan-out 16: first start, largest end), so that the
 * entries that cover an address are found without looking at the others, however they overlap. Not
 * for use outside perfmap/. No threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERFMAP_RUN_NONE   SIZE_MAX
#define PERFMAP_RUN_LEVELS 6 /* 16^7 entries: more than PERFMAP_ENTRIES_MAX */

#define PERFMAP_ENTRY_STUB 0x1u

/* One line of the map. Packed to 28 bytes: a million entries have 4 MB less. */
struct perfmap_entry {
	uint64_t start;
	uint32_t size_bytes;
	uint32_t offset; /* of the line in the file */
	uint32_t epoch;	 /* row of the map's table of times */
	uint32_t check;	 /* hash of the name, 0 = not known */
	uint16_t length; /* of the line, cut at 65,535 */
	uint16_t flags;
} __attribute__((packed, aligned(4)));

_Static_assert(sizeof(struct perfmap_entry) == 28, "28 bytes an entry");

/* One row for 16 rows of the level below: columns, so that a search reads few cache lines. */
struct perfmap_level {
	const uint64_t *starts; /* first start */
	const uint64_t *ends;	/* largest end */
	size_t cnt;
};

struct perfmap_run {
	struct perfmap_entry *entries;
	size_t cnt;
	uint64_t *tree;		     /* the columns of all levels */
	const uint64_t *ends_before; /* for rows of levels[0]: largest end of all rows before it */
	struct perfmap_level levels[PERFMAP_RUN_LEVELS]; /* lowest first */
	unsigned int depth; /* levels used; 0 when 16 entries or fewer */
};

static inline uint64_t perfmap_entry_end(const struct perfmap_entry *e)
{
	return e->start + e->size_bytes;
}

/*
 * Makes a run of cnt > 0 unsorted entries in order of arrival (copied). ret_repeated: entries
 * folded because they repeat the one before them. Returns 0 or -ENOMEM.
 */
int perfmap_run_build(struct perfmap_run *run, const struct perfmap_entry *unsorted, size_t cnt,
		      size_t *ret_repeated);

/*
 * Moves the entries of newer into older; all of them arrived after those of older. newer is left
 * empty. Returns 0, or -ENOMEM with both unchanged.
 */
int perfmap_run_merge(struct perfmap_run *older, struct perfmap_run *newer, size_t *ret_repeated);

void perfmap_run_clear(struct perfmap_run *run);

/* Row of the last entry with start <= address, or PERFMAP_RUN_NONE. */
size_t perfmap_run_last_at(const struct perfmap_run *run, uint64_t address);

/* Row of the first entry with start >= address; cnt when there is none. */
size_t perfmap_run_first_at(const struct perfmap_run *run, uint64_t address);

/*
 * Last row <= row whose code ends after address, or PERFMAP_RUN_NONE. Takes one from *budget for
 * each row or summary looked at and gives up (PERFMAP_RUN_NONE) when it is 0.
 */
size_t perfmap_run_covering(const struct perfmap_run *run, size_t row, uint64_t address,
			    unsigned int *budget);

size_t perfmap_run_bytes(const struct perfmap_run *run);
#endif

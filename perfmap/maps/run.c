/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/maps/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FAN_SHIFT 4
#define FAN	  ((size_t)1 << FAN_SHIFT)
/* Below this many entries a comparison sort is faster than clearing the counts of a radix sort. */
#define RADIX_MIN 1024
#define RADIX	  2048 /* 11 bits a pass: the addresses of one process differ in about 33 */

/* From here on a block asks for huge pages: a look-up in 28 MB of entries is about a
 * seventh faster then. */
#define HUGE_BYTES_MIN (4u << 20)

struct sort_key {
	uint64_t start;
	uint64_t row;
};

static int compare_keys(const void *pa, const void *pb)
{
	const struct sort_key *a = pa, *b = pb;

	if (a->start != b->start)
		return (a->start > b->start) - (a->start < b->start);
	return (a->row > b->row) - (a->row < b->row);
}

/* Stable; sorts keys with the help of spare, returns which of the two holds the result. */
static struct sort_key *radix_sort(struct sort_key *keys, struct sort_key *spare, size_t cnt,
				   uint64_t differing)
{
	size_t counts[RADIX];
	unsigned int shift;

	for (shift = 0; shift < 64 && differing >> shift; shift += 11) {
		struct sort_key *swap = keys;
		size_t i, sum = 0;

		if (!(differing >> shift & (RADIX - 1)))
			continue;
		memset(counts, 0, sizeof(counts));
		for (i = 0; i < cnt; i++)
			counts[keys[i].start >> shift & (RADIX - 1)]++;
		for (i = 0; i < RADIX; i++) {
			size_t c = counts[i];

			counts[i] = sum;
			sum += c;
		}
		for (i = 0; i < cnt; i++)
			spare[counts[keys[i].start >> shift & (RADIX - 1)]++] = keys[i];
		keys = spare;
		spare = swap;
	}
	return keys;
}

/* Writes the entries of unsorted in order to sorted. */
static int sort_entries(struct perfmap_entry *sorted, const struct perfmap_entry *unsorted,
			size_t cnt)
{
	struct sort_key *keys, *result;
	uint64_t differing = 0;
	size_t i;

	keys = calloc(cnt, 2 * sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		keys[i].start = unsorted[i].start;
		keys[i].row = i;
		differing |= unsorted[i].start ^ unsorted[0].start;
	}
	result = keys;
	if (cnt < RADIX_MIN)
		qsort(keys, cnt, sizeof(*keys), compare_keys);
	else
		result = radix_sort(keys, keys + cnt, cnt, differing);
	for (i = 0; i < cnt; i++)
		sorted[i] = unsorted[result[i].row];
	free(keys);
	return 0;
}

static bool same_code(const struct perfmap_entry *a, const struct perfmap_entry *b)
{
	return a->start == b->start && a->size_bytes == b->size_bytes && a->check &&
	       a->check == b->check && a->flags == b->flags;
}

/*
 * Folds entries that repeat the one before them (a runtime lists all methods again when its map is
 * switched on once more): the first one's time, the last one's place in the file. A method stays
 * apart where another method overlaps it, since that one may have lived there in between.
 */
static size_t fold_repeated(struct perfmap_run *run)
{
	struct perfmap_entry *e = run->entries;
	uint64_t methods_end = 0; /* of those with lower starts */
	size_t i, from, to, cnt = run->cnt, kept = 0;

	for (from = 0; from < cnt; from = to) {
		uint64_t start = e[from].start, next, group_end = methods_end;
		size_t group = kept;

		for (to = from + 1; to < cnt && e[to].start == start; to++)
			;
		next = to < cnt ? e[to].start : UINT64_MAX;
		for (i = from; i < to; i++) {
			bool stub = e[i].flags & PERFMAP_ENTRY_STUB;
			uint64_t end = perfmap_entry_end(&e[i]);

			if (!stub && end > group_end)
				group_end = end;
			if (kept > group && same_code(&e[kept - 1], &e[i]) &&
			    (stub || (methods_end <= start && end <= next))) {
				e[kept - 1].offset = e[i].offset;
				e[kept - 1].length = e[i].length;
			} else {
				e[kept++] = e[i];
			}
		}
		methods_end = group_end;
	}
	run->cnt = kept;
	return cnt - kept;
}

/* Numbers in run->tree: two columns a level, and a third for the lowest. */
static size_t tree_cells(size_t cnt)
{
	size_t cells = 0;

	while (cnt > FAN) {
		bool lowest = !cells;

		cnt = (cnt + FAN - 1) >> FAN_SHIFT;
		cells += (lowest ? 3 : 2) * cnt;
	}
	return cells;
}

static size_t tree_bytes(size_t cnt)
{
	/* Never 0 bytes: that would free the block. */
	return (tree_cells(cnt) + 1) * sizeof(uint64_t);
}

static uint64_t start_of(const struct perfmap_run *run, unsigned int level, size_t i)
{
	return level ? run->levels[level - 1].starts[i] : run->entries[i].start;
}

static uint64_t end_of(const struct perfmap_run *run, unsigned int level, size_t i)
{
	return level ? run->levels[level - 1].ends[i] : perfmap_entry_end(&run->entries[i]);
}

static size_t count_of(const struct perfmap_run *run, unsigned int level)
{
	return level ? run->levels[level - 1].cnt : run->cnt;
}

/* run->tree has room for tree_cells(run->cnt). */
static void fill_tree(struct perfmap_run *run)
{
	uint64_t *cells = run->tree, max = 0;
	size_t cnt = run->cnt, i, k;

	run->depth = 0;
	while (cnt > FAN) {
		size_t rows = (cnt + FAN - 1) >> FAN_SHIFT;
		uint64_t *starts = cells, *ends = cells + rows;

		for (i = 0; i < rows; i++) {
			size_t from = i << FAN_SHIFT, to = from + FAN < cnt ? from + FAN : cnt;

			starts[i] = start_of(run, run->depth, from);
			ends[i] = 0;
			for (k = from; k < to; k++) {
				uint64_t end = end_of(run, run->depth, k);

				ends[i] = end > ends[i] ? end : ends[i];
			}
		}
		run->levels[run->depth++] = (struct perfmap_level){starts, ends, rows};
		cells += 2 * rows;
		cnt = rows;
	}
	if (!run->depth)
		return;
	for (i = 0; i < run->levels[0].cnt; i++) {
		cells[i] = max;
		max = run->levels[0].ends[i] > max ? run->levels[0].ends[i] : max;
	}
	run->ends_before = cells;
}

/* Gives back what folding left over; keeps the larger blocks when it cannot. */
static void shrink(struct perfmap_run *run)
{
	void *p;

	p = realloc(run->entries, run->cnt * sizeof(*run->entries));
	if (p)
		run->entries = p;
	p = realloc(run->tree, tree_bytes(run->cnt));
	if (p)
		run->tree = p;
}

/* Only a hint: a kernel without huge pages refuses, and nothing is lost. */
static void hint_huge_pages(void *block, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)block + page - 1) & ~(page - 1);
	uintptr_t to = ((uintptr_t)block + bytes) & ~(page - 1);

	if (bytes >= HUGE_BYTES_MIN)
		(void)madvise((void *)from, to - from, MADV_HUGEPAGE);
}

int perfmap_run_build(struct perfmap_run *run, const struct perfmap_entry *unsorted, size_t cnt,
		      size_t *ret_repeated)
{
	struct perfmap_run r = {.cnt = cnt};

	r.entries = malloc(cnt * sizeof(*r.entries));
	r.tree = malloc(tree_bytes(cnt));
	if (!r.entries || !r.tree || sort_entries(r.entries, unsorted, cnt)) {
		perfmap_run_clear(&r);
		return -ENOMEM;
	}
	*ret_repeated = fold_repeated(&r);
	if (*ret_repeated)
		shrink(&r);
	fill_tree(&r);
	*run = r;
	return 0;
}

int perfmap_run_merge(struct perfmap_run *older, struct perfmap_run *newer, size_t *ret_repeated)
{
	size_t n = older->cnt, m = newer->cnt, at = n + m;
	uint64_t *tree;
	struct perfmap_entry *e;
	bool met = false;

	e = realloc(older->entries, at * sizeof(*e));
	if (!e)
		return -ENOMEM;
	older->entries = e;
	tree = realloc(older->tree, tree_bytes(at));
	if (!tree)
		return -ENOMEM;
	older->tree = tree;
	hint_huge_pages(e, at * sizeof(*e));
	/* From the back, in place: what newer has with an equal start goes behind. */
	older->cnt = at;
	while (m) {
		uint64_t start = newer->entries[m - 1].start;

		if (n && e[n - 1].start > start) {
			e[--at] = e[--n];
		} else {
			met = met || (n && e[n - 1].start == start);
			e[--at] = newer->entries[--m];
		}
	}
	/* Each was folded already: only where they meet can there be more. */
	*ret_repeated = met ? fold_repeated(older) : 0;
	if (*ret_repeated)
		shrink(older);
	fill_tree(older);
	perfmap_run_clear(newer);
	return 0;
}

void perfmap_run_clear(struct perfmap_run *run)
{
	free(run->entries);
	free(run->tree);
	memset(run, 0, sizeof(*run));
}

/* Number of rows from..to whose start is <= address. They are sorted, but counting them all costs
 * less than guessing wrongly where to stop. */
static size_t count_starts(const struct perfmap_run *run, unsigned int level, size_t from,
			   size_t to, uint64_t address)
{
	size_t i, n = 0;

	if (level) {
		const uint64_t *starts = run->levels[level - 1].starts;

		for (i = from; i < to; i++)
			n += starts[i] <= address;
	} else {
		for (i = from; i < to; i++)
			n += run->entries[i].start <= address;
	}
	return n;
}

size_t perfmap_run_last_at(const struct perfmap_run *run, uint64_t address)
{
	unsigned int level = run->depth;
	size_t from = 0;

	if (!run->cnt || run->entries[0].start > address)
		return PERFMAP_RUN_NONE;
	for (;; level--) {
		size_t cnt = count_of(run, level);
		size_t to = from + FAN < cnt ? from + FAN : cnt;
		/* The first one always fits: its start is that of the row above. */
		size_t i = from + count_starts(run, level, from, to, address) - 1;

		if (!level)
			return i;
		from = i << FAN_SHIFT;
	}
}

size_t perfmap_run_first_at(const struct perfmap_run *run, uint64_t address)
{
	size_t before = address ? perfmap_run_last_at(run, address - 1) : PERFMAP_RUN_NONE;

	return before == PERFMAP_RUN_NONE ? 0 : before + 1;
}

size_t perfmap_run_covering(const struct perfmap_run *run, size_t row, uint64_t address,
			    unsigned int *budget)
{
	unsigned int level = 0;
	size_t i = row;

	for (;;) {
		size_t group = i & ~(FAN - 1);
		bool found;

		while (!(found = end_of(run, level, i) > address) && i > group && *budget) {
			i--;
			(*budget)--;
		}
		if (!*budget)
			return PERFMAP_RUN_NONE;
		(*budget)--;
		if (found && !level)
			return i;
		if (found) {
			size_t cnt = count_of(run, --level);

			i = (i << FAN_SHIFT) + FAN - 1;
			i = i < cnt ? i : cnt - 1;
			continue;
		}
		/* Nothing here: on with what lies left of our row one level up. */
		if (!group || (!level && run->ends_before[group >> FAN_SHIFT] <= address))
			return PERFMAP_RUN_NONE;
		level++;
		i = (group >> FAN_SHIFT) - 1;
	}
}

size_t perfmap_run_bytes(const struct perfmap_run *run)
{
	return run->cnt * sizeof(*run->entries) + tree_bytes(run->cnt);
}

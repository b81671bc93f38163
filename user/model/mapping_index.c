/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/mapping_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/compare.h"

/* Rows that are looked at one by one, before they are sorted in. */
#define TAIL_ROWS 256
/* Places that one look-up visits: without mappings above one another 2 * 17 of 131,060. A process
 * that maps one address over and over has thousands; the newest are visited first. */
#define VISITS_MAX 4096

/* What a look-up has found so far. */
struct search {
	const struct model_process *p;
	const struct mapping_index *index;
	uint64_t address, time_ns;
	const struct model_mapping *then, *later;
	unsigned visits;
};

static int compare_rows(const void *pa, const void *pb, void *mappings)
{
	const struct model_mapping *all = mappings;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	if (all[a].start != all[b].start)
		return all[a].start > all[b].start ? 1 : -1;
	return COMPARE(a, b);
}

/* Fills in the ends of the places low..high and returns the highest. */
static uint64_t build(struct mapping_index *index, const struct model_process *p, size_t low,
		      size_t high)
{
	size_t mid = low + (high - low) / 2;
	uint64_t end, below, above;

	if (low >= high)
		return 0;
	end = p->mappings[index->rows[mid]].end;
	below = build(index, p, low, mid);
	above = build(index, p, mid + 1, high);
	end = below > end ? below : end;
	return index->ends[mid] = above > end ? above : end;
}

/* Merges the new rows, sorted, into the old ones from the end on. */
static void merge(struct mapping_index *index, const struct model_process *p, const uint32_t *tail,
		  size_t tail_cnt)
{
	size_t at = index->cnt + tail_cnt, old = index->cnt;

	while (tail_cnt) {
		if (old &&
		    p->mappings[index->rows[old - 1]].start > p->mappings[tail[tail_cnt - 1]].start)
			index->rows[--at] = index->rows[--old];
		else
			index->rows[--at] = tail[--tail_cnt];
	}
}

void mapping_index_update(struct mapping_index *index, const struct model_process *p)
{
	size_t cnt = p->mapping_cnt, tail_cnt = cnt - index->cnt;
	uint32_t *tail, *rows;
	uint64_t *ends;

	if (tail_cnt <= TAIL_ROWS)
		return;
	rows = reallocarray(index->rows, cnt, sizeof(*rows));
	index->rows = rows ? rows : index->rows;
	ends = rows ? reallocarray(index->ends, cnt, sizeof(*ends)) : NULL;
	index->ends = ends ? ends : index->ends;
	tail = ends ? reallocarray(NULL, tail_cnt, sizeof(*tail)) : NULL;
	if (!tail)
		return;
	for (size_t i = 0; i < tail_cnt; i++)
		tail[i] = (uint32_t)(index->cnt + i);
	qsort_r(tail, tail_cnt, sizeof(*tail), compare_rows, p->mappings);
	merge(index, p, tail, tail_cnt);
	free(tail);
	index->cnt = cnt;
	build(index, p, 0, cnt);
}

static void consider(struct search *s, const struct model_mapping *map)
{
	if (s->address < map->start || s->address >= map->end)
		return;
	if (map->from_ns > s->time_ns) {
		if (!s->later || map->from_ns < s->later->from_ns ||
		    (map->from_ns == s->later->from_ns && map < s->later))
			s->later = map;
	} else if (!map->to_ns || s->time_ns < map->to_ns) {
		if (!s->then || map->from_ns > s->then->from_ns ||
		    (map->from_ns == s->then->from_ns && map > s->then))
			s->then = map;
	}
}

/* The places low..high, the last ones first. Depth: the logarithm of their number. */
static void visit(struct search *s, size_t low, size_t high)
{
	size_t mid = low + (high - low) / 2;
	const struct model_mapping *map;

	if (low >= high || s->index->ends[mid] <= s->address || s->visits == VISITS_MAX)
		return;
	s->visits++;
	map = &s->p->mappings[s->index->rows[mid]];
	if (map->start <= s->address) {
		visit(s, mid + 1, high);
		consider(s, map);
	}
	visit(s, low, mid);
}

const struct model_mapping *mapping_index_find(struct mapping_index *index,
					       const struct model_process *p, uint64_t address,
					       uint64_t time_ns)
{
	struct search s = {.p = p, .index = index, .address = address, .time_ns = time_ns};

	mapping_index_update(index, p);
	for (size_t i = index->cnt; i < p->mapping_cnt; i++)
		consider(&s, &p->mappings[i]);
	visit(&s, 0, index->cnt);
	index->looks += p->mapping_cnt - index->cnt + s.visits;
	return s.then ? s.then : s.later;
}

void mapping_index_clear(struct mapping_index *index)
{
	free(index->rows);
	free(index->ends);
	*index = (struct mapping_index){0};
}

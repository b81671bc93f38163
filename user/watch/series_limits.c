/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What CPU limits did, by kind of process: the kernel counts periods by group, series count by
 * kind. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"
#include "watch/series_private.h"

/* Of one group in the slice; none where it has no limit, or nobody in it wanted CPU. */
struct periods {
	uint64_t all, throttled;
};

/* A group and a place of which a process is: one number, so that equal ones are easily found. */
#define PAIR(group, place) ((uint64_t)(group) << 32 | (place))
#define PAIR_GROUP(pair)   ((uint32_t)((pair) >> 32))
#define PAIR_PLACE(pair)   ((uint32_t)(pair))

/* The nearest group with a limit, its own first: row, or MODEL_NONE. */
static uint32_t limited_group(const struct model *m, uint32_t process)
{
	uint32_t row = model_cgroup_find(m, m->processes[process].cgroup_id);

	while (row != MODEL_NONE && !m->cgroups[row].quota_ns)
		row = m->cgroups[row].parent;
	return row;
}

int series_limits(struct series *s, uint32_t slice)
{
	const struct model *m = s->m;
	_cleanup_free_ struct periods *periods = NULL;
	_cleanup_free_ uint64_t *pairs = NULL;
	size_t pairs_cnt = 0, pairs_cap = 0, first, end;

	SLICE_ROWS(m->throttles, m->throttles_cnt, slice, first, end);
	if (first == end)
		return 0;
	periods = calloc(m->cgroups_cnt, sizeof(*periods));
	if (!periods)
		return -ENOMEM;
	for (size_t i = first; i < end; i++) {
		periods[m->throttles[i].cgroup].all += m->throttles[i].periods;
		periods[m->throttles[i].cgroup].throttled += m->throttles[i].throttled_periods;
	}
	for (size_t i = 0; i < s->processes_cnt; i++) {
		struct series_row *row = &s->processes[i];
		uint32_t group = row->alive ? limited_group(m, (uint32_t)i) : MODEL_NONE;

		if (group == MODEL_NONE || !periods[group].all)
			continue;
		if (GROW(pairs, pairs_cnt, pairs_cap))
			return -ENOMEM;
		pairs[pairs_cnt++] = PAIR(group, series_place_of(s, row));
	}
	if (pairs_cnt)
		qsort(pairs, pairs_cnt, sizeof(*pairs), compare_u64);
	for (size_t i = 0; i < pairs_cnt; i++) {
		const struct periods *did = &periods[PAIR_GROUP(pairs[i])];
		struct metrics_process *figures = &s->rows[PAIR_PLACE(pairs[i])];

		if (i && pairs[i] == pairs[i - 1])
			continue;
		figures->limit_periods += did->all;
		figures->limit_throttled_periods += did->throttled;
	}
	return 0;
}

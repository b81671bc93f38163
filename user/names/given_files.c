/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/given_files.h"

static void drop_idle(struct given_files *g, uint64_t used)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < g->cnt; i++) {
		uint8_t idle = used >> i & 1 ? 0 : (uint8_t)(g->idle[i] + 1);

		if (idle > GIVEN_IDLE_MAX)
			continue;
		g->files[kept] = g->files[i];
		g->idle[kept++] = idle;
	}
	g->cnt = kept;
}

static bool has(const struct given_files *g, const struct target_mapping *file)
{
	for (uint32_t i = 0; i < g->cnt; i++)
		if (g->files[i].start == file->start && g->files[i].end == file->end)
			return true;
	return false;
}

/* Where one more has its place, TARGET_GIVEN_MAX: nowhere. */
static uint32_t room(const struct given_files *g)
{
	uint32_t most = 0;

	if (g->cnt < TARGET_GIVEN_MAX)
		return g->cnt;
	for (uint32_t i = 1; i < g->cnt; i++)
		if (g->idle[i] > g->idle[most])
			most = i;
	return g->idle[most] ? most : TARGET_GIVEN_MAX;
}

uint32_t given_files_take(struct given_files *g, uint64_t used, const struct target_mapping *needs,
			  uint32_t needs_cnt)
{
	uint32_t cnt = 0;

	drop_idle(g, used);
	for (uint32_t i = 0; i < needs_cnt && i < TARGET_GIVEN_MAX; i++) {
		uint32_t at = has(g, &needs[i]) ? TARGET_GIVEN_MAX : room(g);

		if (at == TARGET_GIVEN_MAX || needs[i].end <= needs[i].start)
			continue;
		g->files[at] = needs[i];
		g->idle[at] = 0;
		g->cnt += at == g->cnt;
		cnt++;
	}
	return cnt;
}

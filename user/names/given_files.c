/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/given_files.h"

#include <stdbool.h>

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

/* Where one more has its place, TARGET_GIVEN_MAX: nowhere. Not that of one that has just come. */
static uint32_t room(const struct given_files *g, uint64_t fresh)
{
	uint32_t most = TARGET_GIVEN_MAX;

	if (g->cnt < TARGET_GIVEN_MAX)
		return g->cnt;
	for (uint32_t i = 0; i < g->cnt; i++)
		if (!(fresh >> i & 1) && g->idle[i] &&
		    (most == TARGET_GIVEN_MAX || g->idle[i] > g->idle[most]))
			most = i;
	return most;
}

/* Those that are wanting, or those that came along; *fresh: bit by place. */
static uint32_t add(struct given_files *g, const struct given_needs *needs, bool wanting,
		    uint64_t *fresh)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < needs->cnt && i < TARGET_GIVEN_MAX; i++) {
		const struct target_mapping *file = &needs->files[i];
		uint32_t at;

		if ((needs->wanting >> i & 1) != wanting || has(g, file) ||
		    file->end <= file->start)
			continue;
		at = room(g, *fresh);
		if (at == TARGET_GIVEN_MAX)
			break;
		g->files[at] = *file;
		g->idle[at] = wanting ? 0 : GIVEN_IDLE_MAX - GIVEN_USELESS_MAX;
		g->cnt += at == g->cnt;
		*fresh |= 1ull << at;
		cnt++;
	}
	return cnt;
}

uint32_t given_files_take(struct given_files *g, uint64_t used, const struct given_needs *needs)
{
	uint64_t fresh = 0;
	uint32_t cnt;

	drop_idle(g, used);
	cnt = add(g, needs, true, &fresh);
	return cnt + add(g, needs, false, &fresh);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/cgroup_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"

/* Limits of a group are read again once in so many slices. */
#define LIMIT_SLICES 8

void cgroup_watch_open(struct cgroup_watch *watch, struct model *m)
{
	*watch = (struct cgroup_watch){0};
	watch->off = cgroup_mounts_find(&watch->mounts) != 0;
	if (watch->off)
		m->host.off |= OFF_LIMITS;
}

/* --- paths ----------------------------------------------------------------------------------- */

struct known {
	uint64_t id, parent;
	char *path; /* owned */
};

/* The tree as it stands. */
struct tree {
	struct known *groups;
	size_t groups_cnt, groups_cap;
};

static void tree_clear(struct tree *tree)
{
	for (size_t i = 0; i < tree->groups_cnt; i++)
		free(tree->groups[i].path);
	free(tree->groups);
}

static void take(void *ctx, const struct cgroup_entry *entry)
{
	struct tree *tree = ctx;
	char *path;

	if (GROW(tree->groups, tree->groups_cnt, tree->groups_cap))
		return;
	path = strdup(entry->path);
	if (path)
		tree->groups[tree->groups_cnt++] = (struct known){entry->id, entry->parent, path};
}

static const struct known *find(const struct tree *tree, uint64_t id)
{
	struct known key = {.id = id};

	return tree->groups_cnt ? bsearch(&key, tree->groups, tree->groups_cnt,
					  sizeof(*tree->groups), compare_u64)
				: NULL;
}

/* Of "/a/b" 2; the root counts as 1, too. */
static unsigned int depth_of(const char *path)
{
	unsigned int depth = 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

/* Path and parents of one row, as far as they are not known. */
static void place(const struct tree *tree, struct model *m, uint32_t row)
{
	for (;;) {
		const struct known *known = find(tree, m->cgroups[row].id), *above;
		uint32_t parent = MODEL_NONE;

		if (!known || *m->cgroups[row].path)
			return;
		/* Not the root, whose figures would be those of the host. */
		above = find(tree, known->parent);
		if (above && depth_of(known->path) > 1 &&
		    depth_of(known->path) <= MODEL_CGROUP_DEPTH)
			parent = model_cgroup_get(m, above->id);
		m->cgroups[row].path = model_str(m, known->path);
		m->cgroups[row].parent = parent;
		m->cgroups[row].dirty = true;
		if (parent == MODEL_NONE)
			return;
		row = parent;
	}
}

static bool any_new(struct cgroup_watch *watch, const struct model *m)
{
	bool found = false;

	while (watch->rows_cnt < m->cgroups_cnt) {
		if (GROW(watch->rows, watch->rows_cnt, watch->rows_cap))
			return false;
		watch->rows[watch->rows_cnt++] = (struct cgroup_watched){0};
	}
	for (size_t i = 0; i < watch->rows_cnt && !found; i++)
		found = !watch->rows[i].looked;
	return found;
}

static void look_up(struct cgroup_watch *watch, struct model *m)
{
	_cleanup_(tree_clear) struct tree tree = {0};

	cgroup_tree_walk(watch->mounts.cpu, take, &tree);
	if (tree.groups_cnt)
		qsort(tree.groups, tree.groups_cnt, sizeof(*tree.groups), compare_u64);
	for (uint32_t i = 0; i < watch->rows_cnt; i++)
		if (!watch->rows[i].looked)
			place(&tree, m, i);
	any_new(watch, m); /* makes room for the parents */
	for (size_t i = 0; i < watch->rows_cnt; i++) {
		watch->rows[i].looked = true;
		watch->rows[i].gone |= !*m->cgroups[i].path;
	}
}

/* --- limits ---------------------------------------------------------------------------------- */

static void read_limit(struct cgroup_watch *watch, struct model *m, uint32_t row)
{
	struct model_cgroup *group = &m->cgroups[row];
	struct cgroup_limit limit;
	int err = cgroup_tree_limit(&watch->mounts, group->path, &limit);

	watch->rows[row].gone |= err != 0;
	if (err || (group->quota_ns == limit.quota_ns && group->period_ns == limit.period_ns))
		return;
	group->quota_ns = limit.quota_ns;
	group->period_ns = limit.period_ns;
	group->dirty = true;
}

static void read_stat(struct cgroup_watch *watch, struct model *m, uint32_t row)
{
	struct cgroup_watched *watched = &watch->rows[row];
	struct cgroup_stat was = watched->stat, now;
	struct model_throttle throttle = {.slice = m->slices_cnt ? (uint32_t)m->slices_cnt - 1 : 0,
					  .cgroup = row};

	if (cgroup_tree_stat(&watch->mounts, m->cgroups[row].path, &now))
		return;
	watched->stat = now;
	if (!watched->baseline || now.periods < was.periods || !m->slices_cnt) {
		watched->baseline = true;
		return;
	}
	throttle.periods = now.periods - was.periods;
	throttle.throttled_periods = now.throttled_periods > was.throttled_periods
					     ? now.throttled_periods - was.throttled_periods
					     : 0;
	throttle.throttled_ns =
		now.throttled_ns > was.throttled_ns ? now.throttled_ns - was.throttled_ns : 0;
	if (throttle.periods && model_throttle_add(m, &throttle))
		model_loss_add(m, LOSS_MODEL_LIMIT, 1);
}

/* Rows that ran in this slice, and those above them. The model may hold earlier slices, too. */
static void mark_active(const struct model *m, bool *active)
{
	uint32_t slice = m->slices_cnt ? (uint32_t)m->slices_cnt - 1 : 0;

	for (size_t i = m->accounts_cnt; i-- > 0 && m->accounts[i].slice == slice;) {
		uint32_t row = m->accounts[i].cgroup;

		for (; row != MODEL_NONE && !active[row]; row = m->cgroups[row].parent)
			active[row] = true;
	}
}

void cgroup_watch_refresh(struct cgroup_watch *watch, struct model *m)
{
	_cleanup_free_ bool *active = NULL;

	if (watch->off)
		return;
	watch->pass++;
	if (any_new(watch, m))
		look_up(watch, m);
	active = calloc(m->cgroups_cnt + 1, sizeof(*active));
	if (!active)
		return;
	mark_active(m, active);
	for (uint32_t i = 0; i < watch->rows_cnt; i++) {
		bool fresh = !m->cgroups[i].period_ns;

		if (watch->rows[i].gone || (!fresh && !active[i]))
			continue;
		if (fresh || (i + watch->pass) % LIMIT_SLICES == 0)
			read_limit(watch, m, i);
		if (m->cgroups[i].quota_ns)
			read_stat(watch, m, i);
	}
}

void cgroup_watch_close(struct cgroup_watch *watch)
{
	free(watch->rows);
	*watch = (struct cgroup_watch){0};
}

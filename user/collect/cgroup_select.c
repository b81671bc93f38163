/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/cgroup_select.h"

#include <stdlib.h>

#include "base/compare.h"
#include "base/grow.h"
#include "kernel/cgroup_tree.h"

_Static_assert(CGROUP_TREE_MAX <= FILTER_CGROUPS_MAX, "a key for each group of a tree");

struct walk {
	struct cgroup_select *select;
	struct session *session;
};

static void take(void *ctx, const struct cgroup_entry *entry)
{
	struct walk *walk = ctx;
	struct cgroup_select *select = walk->select;

	session_select_cgroup(walk->session, entry->id);
	if (!GROW(select->ids, select->ids_cnt, select->ids_cap))
		select->ids[select->ids_cnt++] = entry->id;
}

void cgroup_select_refresh(struct cgroup_select *select, struct session *session, struct model *m)
{
	struct walk walk = {select, session};

	if (!select->folder)
		return;
	select->ids_cnt = 0;
	cgroup_tree_walk(select->folder, take, &walk);
	if (!select->ids_cnt)
		return;
	qsort(select->ids, select->ids_cnt, sizeof(*select->ids), compare_u64);
	for (size_t i = 0; i < m->processes_cnt; i++) {
		struct model_process *p = &m->processes[i];

		if (p->flags & PROCESS_SELECTED ||
		    !bsearch(&p->cgroup_id, select->ids, select->ids_cnt, sizeof(*select->ids),
			     compare_u64))
			continue;
		p->flags |= PROCESS_SELECTED;
		p->dirty = true;
	}
}

void cgroup_select_clear(struct cgroup_select *select)
{
	free(select->folder);
	free(select->ids);
	*select = (struct cgroup_select){0};
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_CGROUP_SELECT_H
#define HOTRUN_COLLECT_CGROUP_SELECT_H
/*
 * The groups of `record --cgroup PATH`: tells the kernel side whose stacks are wanted, and marks
 * their processes. Groups of the tree come and go, and processes with them.
 */
#include "kernel/session.h"
#include "model/model.h"

struct cgroup_select {
	char *folder; /* owned, NULL = all processes are wanted */
	uint64_t *ids;
	size_t ids_cnt, ids_cap;
};

/* Looks at the tree again; to be called once a slice. */
void cgroup_select_refresh(struct cgroup_select *select, struct session *session, struct model *m);
void cgroup_select_clear(struct cgroup_select *select);
#endif

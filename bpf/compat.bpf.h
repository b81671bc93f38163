/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMPAT_BPF_H
#define HOTRUN_COMPAT_BPF_H
/*
 * Kernel renames, one function each, with the change that brought them. Only what differs between
 * the kernels that we support (5.15 on) stands here.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Older and in-between layouts of struct cfs_rq. */
struct cfs_rq___delayed {
	unsigned int h_nr_delayed;
} __attribute__((preserve_access_index));

/*
 * Tasks of a run queue that sleep but are still queued (delayed dequeue, 6.12 on: commit
 * 152e11f6df29). 6.12 and 6.13 count them in h_nr_delayed; since 6.14 (commit c2a295bffeaf, also in
 * later 6.12.y, which keep the old field) they
 * are h_nr_queued less h_nr_runnable; before 6.12 there are none.
 */
static __always_inline __u32 compat_delayed_tasks(struct rq *rq)
{
	struct cfs_rq *cfs = &rq->cfs;
	struct cfs_rq___delayed *delayed = (void *)cfs;

	if (bpf_core_field_exists(cfs->h_nr_runnable) && bpf_core_field_exists(cfs->h_nr_queued))
		return BPF_CORE_READ(cfs, h_nr_queued) - BPF_CORE_READ(cfs, h_nr_runnable);
	if (bpf_core_field_exists(delayed->h_nr_delayed))
		return BPF_CORE_READ(delayed, h_nr_delayed);
	return 0;
}

/*
 * The cgroup of a task as the cpu controller sees it, whose limits and shares decide: that of its
 * task group (CONFIG_CGROUP_SCHED). On a hybrid host the v2 hierarchy holds no cpu controller, and
 * its id is 1 for everybody; it is the fallback where there are no task groups.
 */
static __always_inline __u64 compat_cgroup_id(struct task_struct *task)
{
	if (bpf_core_field_exists(task->sched_task_group))
		return BPF_CORE_READ(task, sched_task_group, css.cgroup, kn, id);
	return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}
#endif

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

/* Both are bytes since 7.3, before that words: a load that the compiler makes of a field as the
 * type here has it, libbpf does not always fit to that. */
static __always_inline bool compat_on_cpu(const struct task_struct *task)
{
	return BPF_CORE_READ_BITFIELD(task, on_cpu);
}

static __always_inline bool compat_on_rq(const struct task_struct *task)
{
	return BPF_CORE_READ_BITFIELD(task, on_rq);
}

/* The queue of a task on its CPU, that of its group; NULL without group scheduling
 * (CONFIG_FAIR_GROUP_SCHED). The verifier must trust the pointer. Ask once and hand it on: a
 * pointer that is read from a trusted one costs the verifier since 6.4 up to four searches of all
 * types of the kernel (0.7 ms), on each way on which it comes there
 * (btf_nested_type_is_trusted()). */
static __always_inline struct cfs_rq *compat_queue(struct task_struct *task)
{
	return bpf_core_field_exists(task->se.cfs_rq) ? task->se.cfs_rq : NULL;
}

/* That of its whole CPU; NULL likewise, and only for functions that take any pointer. */
static __always_inline struct rq *compat_cpu_queue(struct task_struct *task)
{
	return bpf_core_field_exists(task->se.cfs_rq) ? BPF_CORE_READ(task, se.cfs_rq, rq) : NULL;
}

/* The queue that it will have on another CPU; only for functions that take any pointer. */
static __always_inline struct cfs_rq *compat_queue_on(struct task_struct *task, __u32 cpu)
{
	struct cfs_rq **queues, *queue = NULL;

	if (!bpf_core_field_exists(task->sched_task_group) ||
	    !bpf_core_field_exists(task->sched_task_group->cfs_rq))
		return NULL;
	queues = BPF_CORE_READ(task, sched_task_group, cfs_rq);
	if (queues)
		bpf_probe_read_kernel(&queue, sizeof(queue), queues + cpu);
	return queue;
}

/* How the throttled time of a queue was called before 5.19 (commit 64eaf50731ac), in another
 * clock. */
struct cfs_rq___task_clock {
	__u64 throttled_clock_task_time;
} __attribute__((preserve_access_index));

/*
 * Time for which the queue of a group on one CPU was throttled, by its own limit or by that of a
 * group above it: all throttling that is over, in ns of a clock that only runs slow on CPUs that
 * run slower than they could. 0 where the kernel has no group bandwidth. The verifier must trust
 * the pointer.
 */
static __always_inline __u64 compat_throttled_ns(struct cfs_rq *queue)
{
	struct cfs_rq___task_clock *older = (void *)queue;

	if (bpf_core_field_exists(queue->throttled_clock_pelt_time))
		return queue->throttled_clock_pelt_time;
	if (bpf_core_field_exists(older->throttled_clock_task_time))
		return older->throttled_clock_task_time;
	return 0;
}

/* The same for any pointer. */
static __always_inline __u64 compat_throttled_ns_at(struct cfs_rq *queue)
{
	struct cfs_rq___task_clock *older = (void *)queue;

	if (bpf_core_field_exists(queue->throttled_clock_pelt_time))
		return BPF_CORE_READ(queue, throttled_clock_pelt_time);
	if (bpf_core_field_exists(older->throttled_clock_task_time))
		return BPF_CORE_READ(older, throttled_clock_task_time);
	return 0;
}

/* When the last throttling of a queue began, and ended, before the clock of its run queue. */
struct throttling {
	__u64 began_ago_ns; /* 0 = none, or long ago */
	__u64 ended_ago_ns;
};

/* The clock and mark that throttling was told by before 5.19 (as above). */
struct cfs_rq___task_mark {
	__u64 throttled_clock_task;
} __attribute__((preserve_access_index));

/* No period of a limit is longer (max_cfs_quota_period, kernel/sched/core.c); and the usual one. */
#define PERIOD_MAX_NS	1000000000ull
#define PERIOD_USUAL_NS 100000000ull

/* The limit of a group, or of the nearest one above it; groups that are looked at. */
#define LIMIT_WALK_MAX 8

/* When the current period of the limit on that task's group began, monotonic ns: there the kernel
 * lets run whom the limit stopped. 0 = it has none. */
static __always_inline __u64 compat_period_began(struct task_struct *task, __u64 now)
{
	struct task_group *group = BPF_CORE_READ(task, sched_task_group);

	for (int i = 0; i < LIMIT_WALK_MAX && group; i++) {
		__u64 expires, period;

		if (BPF_CORE_READ(group, cfs_bandwidth.quota) != ~0ull) {
			expires = BPF_CORE_READ(group, cfs_bandwidth.period_timer.node.expires);
			period = BPF_CORE_READ(group, cfs_bandwidth.period);
			return expires > now ? expires - period : expires;
		}
		group = BPF_CORE_READ(group, parent);
	}
	return 0;
}

/* queue: that of the task, which runs. The verifier must trust both pointers. */
static __always_inline struct throttling compat_last_throttling(struct task_struct *task,
								struct cfs_rq *queue)
{
	struct cfs_rq___task_mark *older = (void *)queue;
	struct throttling last = {};
	__u64 began, clock, now, period_began;

	if (!bpf_core_field_exists(task->sched_task_group->cfs_bandwidth.period))
		return last;
	if (bpf_core_field_exists(queue->throttled_clock_pelt)) {
		began = queue->throttled_clock_pelt;
		clock = queue->rq->clock_pelt - queue->rq->lost_idle_time;
	} else if (bpf_core_field_exists(older->throttled_clock_task)) {
		began = older->throttled_clock_task;
		clock = queue->rq->clock_task;
	} else {
		return last;
	}
	if (!began || clock <= began || clock - began > 2 * PERIOD_MAX_NS)
		return last;
	last.began_ago_ns = last.ended_ago_ns = clock - began;
	now = bpf_ktime_get_ns();
	period_began = compat_period_began(task, now);
	if (period_began && period_began < now && now - period_began < last.ended_ago_ns)
		last.ended_ago_ns = now - period_began;
	return last;
}

static __always_inline bool compat_throttled_now(struct cfs_rq *queue)
{
	return bpf_core_field_exists(queue->throttle_count) && queue->throttle_count > 0;
}

/* Where the CPU of a task stood before 5.16 (commit bcf9033e5449). */
struct task_struct___cpu {
	unsigned int cpu;
} __attribute__((preserve_access_index));

/* The CPU that it runs on or waits for. The verifier must trust the pointer. */
static __always_inline __u32 compat_task_cpu(struct task_struct *task)
{
	struct task_struct___cpu *older = (void *)task;

	if (bpf_core_field_exists(task->thread_info.cpu))
		return task->thread_info.cpu;
	return older->cpu;
}

/*
 * The cgroup of a task as the cpu controller sees it, whose limits and shares decide: that of its
 * task group (CONFIG_CGROUP_SCHED). On a hybrid host the v2 hierarchy holds no cpu controller, and
 * its id is 1 for everybody; it is the fallback where there are no task groups. An autogroup
 * (kernel.sched_autogroup_enabled, a group of each session of threads in the root) is no cgroup:
 * its threads belong to the one above it.
 */
static __always_inline __u64 compat_cgroup_id(struct task_struct *task)
{
	struct task_group *group;
	struct cgroup *cgroup;

	if (!bpf_core_field_exists(task->sched_task_group))
		return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	group = BPF_CORE_READ(task, sched_task_group);
	cgroup = BPF_CORE_READ(group, css.cgroup);
	if (!cgroup)
		cgroup = BPF_CORE_READ(group, parent, css.cgroup);
	return BPF_CORE_READ(cgroup, kn, id);
}
#endif

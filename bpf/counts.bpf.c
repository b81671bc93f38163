/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel has counted of each thread by now, for who takes two looks a moment apart: no
 * account of its own is kept, no program sits on any switch.
 */
#include "account.bpf.h"

/* All that it has waited for a CPU. A wait that goes on is told by its queue's clock, which is up
 * to a tick behind; who sleeps may have a mark of a wait left, which is none. */
static __always_inline __u64 waited_so_far_of(struct task_struct *task)
{
	struct cfs_rq *queue = compat_queue(task);
	__u64 waited = task->sched_info.run_delay, queued;

	barrier(); /* a wait that ends in between must not count twice */
	queued = task->sched_info.last_queued;
	if (!compat_on_cpu(task) && task->__state == TASK_RUNNING && queued && queue &&
	    queue->rq->clock > queued)
		waited += queue->rq->clock - queued;
	return waited;
}

static __always_inline __u32 flags_of(struct task_struct *task)
{
	struct cfs_rq *queue = compat_queue(task);
	__u32 flags = task->flags & PF_KTHREAD ? COUNTS_KERNEL_THREAD : 0;

	if (compat_on_cpu(task))
		flags |= COUNTS_ON_CPU;
	else if (task->__state == TASK_RUNNING && queue && compat_throttled_now(queue))
		flags |= COUNTS_THROTTLED;
	return flags;
}

/* For every thread, twice for a snapshot. Worst cost of one: some 0.3 us. */
SEC("iter/task")
int read_counts(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct event_counts e = {};

	if (!task)
		return 0;
	e.header.kind = EVENT_COUNTS;
	e.header.size = sizeof(e);
	e.header.cpu = bpf_get_smp_processor_id();
	e.tgid = task->tgid;
	e.tid = task->pid;
	e.process_start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	e.thread_start_ns = task->start_boottime;
	e.parent_tgid = BPF_CORE_READ(task, real_parent, tgid);
	e.cpu = compat_task_cpu(task);
	e.state = state_letter(task->__state, task->exit_state);
	e.ran_ns = task->se.sum_exec_runtime;
	e.flags = flags_of(task);
	if (e.tid == e.tgid) {
		e.ended_ns = BPF_CORE_READ(task, signal, sum_sched_runtime);
		e.children_ns =
			BPF_CORE_READ(task, signal, cutime) + BPF_CORE_READ(task, signal, cstime);
	}
	if (bpf_core_field_exists(task->sched_info.last_queued))
		e.waited_ns = waited_so_far_of(task);
	else
		e.flags |= COUNTS_NO_WAITS;
	BPF_CORE_READ_STR_INTO(&e.comm, task, comm);
	bpf_seq_write(ctx->meta->seq, &e, sizeof(e));
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EVENT_BPF_H
#define HOTRUN_EVENT_BPF_H
/* From a thread and its account to the record of events.h; and the making of accounts. */
#include "account.bpf.h"

/* Accounts created so far. Defined in sched.bpf.c. */
extern __u64 accounts_made;

/* What the kernel has counted of the thread up to now is known. */
static __always_inline void mark_counts(struct account *account, struct task_struct *task)
{
	account->kernel_ran_ns = task->se.sum_exec_runtime;
	account->kernel_voluntary = task->nvcsw;
	account->kernel_involuntary = task->nivcsw;
	if (kernel_counts_waits)
		account->kernel_delay_ns = task->sched_info.run_delay;
}

static __always_inline struct account *make_account(struct task_struct *task, struct cfs_rq *queue)
{
	struct account *account =
		bpf_task_storage_get(&accounts, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!account || account->number)
		return account;
	/* All that the kernel counted so far is of this session where it was born in it. */
	if (task->start_time < session_start_ns)
		mark_counts(account, task);
	if (kernel_counts_waits)
		mark_queue(account, queue);
	account->number = __sync_fetch_and_add(&accounts_made, 1) + 1;
	return account;
}

static __always_inline void fill_identity(struct event_task *event, struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	event->header.size = sizeof(*event);
	event->header.cpu = bpf_get_smp_processor_id();
	event->tgid = BPF_CORE_READ(task, tgid);
	event->tid = BPF_CORE_READ(task, pid);
	event->process_start_ns = BPF_CORE_READ(leader, start_boottime);
	event->thread_start_ns = BPF_CORE_READ(task, start_boottime);
	event->cgroup_id = compat_cgroup_id(task);
	event->parent_tgid = BPF_CORE_READ(task, real_parent, tgid);
	event->flags = BPF_CORE_READ(task, flags) & PF_KTHREAD ? ACCOUNT_KERNEL_THREAD : 0;
	event->pad = 0;
	BPF_CORE_READ_STR_INTO(&event->comm, task, comm);
	event->cpus_allowed = BPF_CORE_READ(task, nr_cpus_allowed);
	event->policy = BPF_CORE_READ(task, policy);
	event->nice = BPF_CORE_READ(task, static_prio) - DEFAULT_PRIO;
	event->rt_priority = BPF_CORE_READ(task, rt_priority);
	event->pad2 = 0;
}

/* The counters as they stand, without the interval that goes on. */
static __always_inline void fill_figures(struct event_task *event, struct task_struct *task,
					 const struct account *account)
{
	event->account = account->number;
	event->sched = account->sched;
	event->sched.migrations = BPF_CORE_READ(task, se.nr_migrations);
	event->blocked_ns = account->blocked_ns;
	event->delay_max_ns = account->delay_max_ns;
	event->waiting_ns = 0;
	__builtin_memcpy(event->delays, account->delays, sizeof(event->delays));
}

static __always_inline __u64 rise_of(__u64 now, __u64 was)
{
	return now > was ? now - was : 0;
}

/* The quiet gear: what the kernel counts of a thread goes into its account as it is read. Its CPU
 * time is that up to the last tick of the scheduler's clock. */
static __always_inline void gather_counts(struct account *account, struct task_struct *task)
{
	__u64 ran = task->se.sum_exec_runtime;

	account->sched.on_cpu_ns += rise_of(ran, account->kernel_ran_ns);
	account->sched.voluntary += rise_of(task->nvcsw, account->kernel_voluntary);
	account->sched.involuntary += rise_of(task->nivcsw, account->kernel_involuntary);
	account->kernel_ran_ns = ran;
	account->kernel_voluntary = task->nvcsw;
	account->kernel_involuntary = task->nivcsw;
}

/*
 * The same of waits: what the thread waited since it was read last. As throttled counts what its
 * queue was meanwhile, or, on another CPU by now, the queue that it had. The wait that goes on is
 * told by the queue's clock, which is up to a tick behind.
 */
static __always_inline void gather_waits(struct account *account, struct task_struct *task,
					 struct cfs_rq *queue, __u64 now, __u64 *ret_waiting_ns)
{
	__u64 waits = task->sched_info.run_delay, queued;
	__u64 clock = queue ? queue->rq->clock : 0, rise, throttled = 0, waiting = 0;
	struct waited waited = {};

	barrier(); /* a wait that ends in between must not count twice */
	queued = task->sched_info.last_queued;
	note_false_queued(account, task);
	if (queued && clock > queued && queued != account->false_queued_ns)
		waiting = clock - queued;
	waits += waiting;
	rise = rise_of(waits, account->kernel_delay_ns);
	/* All its sleep is in there. */
	if (account->false_queued_ns && queued != account->false_queued_ns) {
		account->false_queued_ns = 0;
		rise = 0;
	}
	if (rise > interval_of(account, now))
		rise = interval_of(account, now);
	if (rise) {
		waited.all_ns = rise;
		throttled = throttled_in(account, task, queue, &waited);
		if (queue && compat_throttled_now(queue))
			throttled += waiting;
		if (throttled > rise || task->policy == SCHED_DEADLINE)
			throttled = rise;
	}
	if (queue && compat_throttled_now(queue))
		waiting = 0;
	account->kernel_delay_ns = waits;
	account->sched.throttled_ns += throttled;
	account->sched.waited_ns += rise - throttled;
	mark_queue(account, queue);
	account->cpu = compat_task_cpu(task);
	account->since_ns = now;
	*ret_waiting_ns = waiting;
}

/* *ret_waiting_ns: of the wait that goes on. */
static __always_inline void gather(struct account *account, struct task_struct *task,
				   struct cfs_rq *queue, __u64 now, __u64 *ret_waiting_ns)
{
	gather_counts(account, task);
	if (kernel_counts_waits) {
		gather_waits(account, task, queue, now, ret_waiting_ns);
		return;
	}
	account->since_ns = now;
	*ret_waiting_ns = 0;
}

/* Of a thread that was born and ended between two readings, all that the kernel counted; its number
 * is as those of accounts: the thread's for life. */
static __always_inline void fill_kernel_figures(struct event_task *event, struct task_struct *task)
{
	bool counts = BPF_CORE_READ(task, start_time) >= session_start_ns;

	event->account = event->thread_start_ns * 0x9e3779b97f4a7c15ull + event->tid;
	event->sched = (struct sched_figures){
		.on_cpu_ns = BPF_CORE_READ(task, se.sum_exec_runtime),
		.voluntary = BPF_CORE_READ(task, nvcsw),
		.involuntary = BPF_CORE_READ(task, nivcsw),
		.migrations = BPF_CORE_READ(task, se.nr_migrations),
	};
	if (kernel_counts_waits && counts)
		event->sched.waited_ns = BPF_CORE_READ(task, sched_info.run_delay);
	event->blocked_ns = event->delay_max_ns = event->waiting_ns = 0;
	__builtin_memset(event->delays, 0, sizeof(event->delays));
}
#endif

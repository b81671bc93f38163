/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EVENT_BPF_H
#define HOTRUN_EVENT_BPF_H
/* From a thread and its account to the record of events.h; and the making of accounts. */
#include "account.bpf.h"

/* Accounts created so far. Defined in sched.bpf.c. */
extern __u64 accounts_made;

static __always_inline struct account *make_account(struct task_struct *task)
{
	struct account *account =
		bpf_task_storage_get(&accounts, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!account || account->number)
		return account;
	if (kernel_counts_waits)
		account->kernel_delay_ns = task->sched_info.run_delay;
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

/*
 * What the kernel itself counts of a thread, where no account is kept: its CPU time up to the last
 * tick of the scheduler's clock, and its switches. Numbers are as those of accounts: the thread's
 * for life.
 */
static __always_inline void fill_kernel_figures(struct event_task *event, struct task_struct *task)
{
	event->account = event->thread_start_ns * 0x9e3779b97f4a7c15ull + event->tid;
	event->sched = (struct sched_figures){
		.on_cpu_ns = BPF_CORE_READ(task, se.sum_exec_runtime),
		.voluntary = BPF_CORE_READ(task, nvcsw),
		.involuntary = BPF_CORE_READ(task, nivcsw),
		.migrations = BPF_CORE_READ(task, se.nr_migrations),
	};
	event->blocked_ns = event->delay_max_ns = event->waiting_ns = 0;
	__builtin_memset(event->delays, 0, sizeof(event->delays));
}
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who wakes whom: of waits that a look at threads has found (stands.bpf.c), who ended them, with
 * its stacks. The look marks the thread, by its switches: a thread that ran since has others. So of
 * all wakeups those are kept whose waits count as blocked time, and waits count the more often the
 * longer they are. Loaded on request alone: it is the one program that sits on all wakeups.
 */
#include "account.bpf.h"
#include "cost.bpf.h"

/* What a CPU has kept lately. */
struct waker_span {
	__u64 number;
	__u32 kept;
};

/* 0 -> of this CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct waker_span);
} waker_spans SEC(".maps");

/* Of those, that were not kept or not sent. Read by the user side. */
__u64 wakers_lost = 0;

static __always_inline bool is_marked(struct task_struct *task)
{
	const struct account *account = bpf_task_storage_get(&accounts, task, 0, 0);

	return account && account->looked_pass &&
	       account->looked_switches == task->nvcsw + task->nivcsw;
}

static __always_inline bool may_keep(__u64 now)
{
	__u64 number = now >> WAKER_SPAN_BITS;
	__u32 zero = 0;
	struct waker_span *span = bpf_map_lookup_elem(&waker_spans, &zero);

	if (!span)
		return false;
	if (span->number != number) {
		span->number = number;
		span->kept = 0;
	}
	if (span->kept >= WAKER_SPAN_MOST) {
		__sync_fetch_and_add(&wakers_lost, 1);
		return false;
	}
	span->kept++;
	return true;
}

static __always_inline void send_waker(void *ctx, struct task_struct *task,
				       struct task_struct *self, __u64 now)
{
	struct event_sample by = {
		.header.cpu = bpf_get_smp_processor_id(),
		.tgid = self->tgid,
		.tid = self->pid,
		.process_start_ns = BPF_CORE_READ(self, group_leader, start_boottime),
		.thread_start_ns = self->start_boottime,
	};
	struct event_waker event = {
		.header = {EVENT_WAKER, sizeof(event), by.header.cpu},
		.time_ns = now,
		.tgid = task->tgid,
		.tid = task->pid,
		.process_start_ns = BPF_CORE_READ(task, group_leader, start_boottime),
		.thread_start_ns = task->start_boottime,
		.switches = task->nvcsw + task->nivcsw,
		.by_tgid = by.tgid,
		.by_tid = by.tid,
		.by_process_start_ns = by.process_start_ns,
		.by_thread_start_ns = by.thread_start_ns,
		.flags = self->pid ? 0 : WAKER_IDLE,
	};

	take_stacks(ctx, self, &by);
	event.kernel_stack = by.kernel_stack;
	event.user_stack = by.user_stack;
	if (bpf_ringbuf_output(&samples, &event, sizeof(event), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&wakers_lost, 1);
}

/*
 * Fires at each wakeup, on the CPU that wakes, with interrupts off: no tick comes in between. Cost:
 * one look-up of task storage; of those that are kept, what a sample costs.
 */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	struct task_struct *self = bpf_get_current_task_btf();
	struct cost_run run = cost_begin(COST_WAKER);
	__u64 now;

	/* Who wakes itself has interrupts on. */
	if (is_marked(task) && self != task) {
		now = bpf_ktime_get_ns();
		if (may_keep(now))
			send_waker(ctx, task, self, now);
	}
	cost_end(run);
	return 0;
}

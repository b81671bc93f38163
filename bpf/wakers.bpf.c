/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who wakes whom: of waits that a look at threads has found (stands.bpf.c), who ended them, with
 * its stacks. The look marks the thread, by its switches: a thread that ran since has others. So of
 * all wakeups those are kept whose waits count as blocked time, and waits count the more often the
 * longer they are. Loaded on request alone: it is the one program that sits on all wakeups.
 */
#include "account.bpf.h"
#include "cost.bpf.h"

/* What a CPU has kept lately, and room for the next one: walks need most of a program's stack. */
struct waker_room {
	__u64 span; /* its number */
	__u32 kept;
	struct event_waker event;
	struct event_sample by;
};

/* 0 -> of this CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct waker_room);
} waker_rooms SEC(".maps");

/* Of those, that were not kept or not sent. Read by the user side. */
__u64 wakers_lost = 0;

static __always_inline bool is_marked(struct task_struct *task)
{
	const struct account *account = bpf_task_storage_get(&accounts, task, 0, 0);

	return account && account->looked_pass &&
	       account->looked_switches == task->nvcsw + task->nivcsw;
}

/* NULL: it is not kept. */
static __always_inline struct waker_room *room_for(__u64 now)
{
	__u64 span = now >> WAKER_SPAN_BITS;
	__u32 zero = 0;
	struct waker_room *room = bpf_map_lookup_elem(&waker_rooms, &zero);

	if (!room)
		return NULL;
	if (room->span != span) {
		room->span = span;
		room->kept = 0;
	}
	if (room->kept >= WAKER_SPAN_MOST) {
		__sync_fetch_and_add(&wakers_lost, 1);
		return NULL;
	}
	room->kept++;
	return room;
}

static __always_inline void fill(struct waker_room *room, struct task_struct *task,
				 struct task_struct *self, __u64 now)
{
	__u32 cpu = bpf_get_smp_processor_id();

	room->by = (struct event_sample){
		.header.cpu = cpu,
		.tgid = self->tgid,
		.tid = self->pid,
		.process_start_ns = BPF_CORE_READ(self, group_leader, start_boottime),
		.thread_start_ns = self->start_boottime,
	};
	room->event = (struct event_waker){
		.header = {EVENT_WAKER, sizeof(room->event), cpu},
		.time_ns = now,
		.tgid = task->tgid,
		.tid = task->pid,
		.process_start_ns = BPF_CORE_READ(task, group_leader, start_boottime),
		.thread_start_ns = task->start_boottime,
		.switches = task->nvcsw + task->nivcsw,
		.by_tgid = room->by.tgid,
		.by_tid = room->by.tid,
		.by_process_start_ns = room->by.process_start_ns,
		.by_thread_start_ns = room->by.thread_start_ns,
		.flags = self->pid ? 0 : WAKER_IDLE,
	};
}

static __always_inline void send_waker(void *ctx, struct task_struct *self, struct waker_room *room)
{
	take_stacks(ctx, self, &room->by);
	room->event.kernel_stack = room->by.kernel_stack;
	room->event.user_stack = room->by.user_stack;
	if (bpf_ringbuf_output(&samples, &room->event, sizeof(room->event), BPF_RB_NO_WAKEUP))
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
	struct waker_room *room;
	__u64 now;

	/* Who wakes itself has interrupts on. */
	if (is_marked(task) && self != task) {
		now = bpf_ktime_get_ns();
		room = room_for(now);
		if (room) {
			fill(room, task, self, now);
			send_waker(ctx, self, room);
		}
	}
	cost_end(run);
	return 0;
}

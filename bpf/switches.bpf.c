/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Single switches and wakeups of the last seconds, into a ring of each CPU that the user side reads
 * through memory when it wants them: nothing is sent, nothing is looked up in tables of threads.
 * Loaded on request alone, in an object of its own. Only what runs with interrupts off writes rows;
 * times in interrupts are summed between two switches.
 */
#include "account.bpf.h"

/* The rows of all CPUs. Size: set before load. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct switch_row);
} switch_rows SEC(".maps");

/* CPU -> its ring, and how far it is written. Size: possible CPUs, set before load. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct switch_head);
} switch_heads SEC(".maps");

static __always_inline struct switch_head *own_head(__u32 cpu)
{
	return bpf_map_lookup_elem(&switch_heads, &cpu);
}

/* The next row, which no reader believes until end_row(). */
static __always_inline struct switch_row *begin_row(struct switch_head *head)
{
	__u32 place = head->place + ((head->written + 1) & (head->rows - 1));
	struct switch_row *row = NULL;

	if (head->rows)
		row = bpf_map_lookup_elem(&switch_rows, &place);
	if (!row) {
		head->lost++;
		return NULL;
	}
	WRITE_ONCE(row->number, 0);
	barrier();
	return row;
}

static __always_inline void end_row(struct switch_head *head, struct switch_row *row)
{
	barrier();
	WRITE_ONCE(row->number, (__u32)(head->written + 1));
	barrier();
	WRITE_ONCE(head->written, head->written + 1);
}

static __always_inline __u32 in_32_bits(__u64 ns)
{
	return ns < ~0u ? ns : ~0u;
}

static __always_inline void name_thread(struct switch_row *row, struct task_struct *task)
{
	row->tid = task->pid;
	row->tgid = task->tgid;
	row->thread_start_ns = task->pid ? task->start_boottime : 0;
}

/* Fires at every switch, under the run-queue lock. Cost: two look-ups of arrays and the clock. */
SEC("tp_btf/sched_switch")
int BPF_PROG(note_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 cpu = bpf_get_smp_processor_id(), state = prev->__state;
	bool runnable = preempt || state == TASK_RUNNING;
	struct switch_head *head = own_head(cpu);
	struct switch_row *row = head ? begin_row(head) : NULL;

	if (!row)
		return 0;
	row->time_ns = bpf_ktime_get_ns();
	/* Where softirqs can be preempted (PREEMPT_RT), the rest of it is of nobody. */
	if (head->soft_since_ns && row->time_ns > head->soft_since_ns)
		head->softirq_ns += row->time_ns - head->soft_since_ns;
	head->soft_since_ns = 0;
	name_thread(row, next);
	row->other_tid = prev->pid;
	row->irq_ns = in_32_bits(head->irq_ns);
	row->softirq_ns = in_32_bits(head->softirq_ns);
	row->kind = SWITCH_TURN;
	row->state = runnable ? 'R' : state_letter(state, prev->exit_state);
	row->flags = runnable && prev->pid ? SWITCH_PREEMPTED : 0;
	head->irq_ns = head->softirq_ns = 0;
	end_row(head, row);
	return 0;
}

/* It has not gone to sleep yet, and now does not: no wait begins. Queued it is also while its sleep
 * is put off (delayed dequeue, 6.12 on). */
static __always_inline bool is_awake(struct task_struct *task)
{
	return compat_on_rq(task) &&
	       !(bpf_core_field_exists(task->se.sched_delayed) && task->se.sched_delayed);
}

static __always_inline void note_wakeup(struct task_struct *task)
{
	struct task_struct *self = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id();
	struct switch_head *head;
	struct switch_row *row;

	if (self == task)
		return;
	head = own_head(cpu);
	row = head ? begin_row(head) : NULL;
	if (!row)
		return;
	row->time_ns = bpf_ktime_get_ns();
	name_thread(row, task);
	row->other_tid = self->pid;
	row->irq_ns = row->softirq_ns = 0;
	row->kind = SWITCH_WAKEUP;
	row->state = 0;
	row->flags = head->irq_since_ns || head->soft_since_ns ? SWITCH_IN_IRQ : 0;
	end_row(head, row);
}

/* Fires at each wakeup, on the CPU that wakes, with interrupts off. */
SEC("tp_btf/sched_waking")
int BPF_PROG(note_waking, struct task_struct *task)
{
	if (!is_awake(task))
		note_wakeup(task);
	return 0;
}

/* Fires once a thread, by its creator, on which a switch may come in between on no kernel: the
 * run-queue lock is held. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(note_birth, struct task_struct *task)
{
	note_wakeup(task);
	return 0;
}

/* Handlers of device interrupts: those of the CPU's own timer, and of other CPUs' calls, are not
 * among them. With interrupts off. */
SEC("tp_btf/irq_handler_entry")
int BPF_PROG(note_irq_entry)
{
	struct switch_head *head = own_head(bpf_get_smp_processor_id());

	if (head)
		head->irq_since_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(note_irq_exit)
{
	struct switch_head *head = own_head(bpf_get_smp_processor_id());
	__u64 took;

	if (!head || !head->irq_since_ns)
		return 0;
	took = bpf_ktime_get_ns() - head->irq_since_ns;
	head->irq_ns += took;
	head->irq_since_ns = 0;
	/* It came in between: that time is not the softirq's. */
	if (head->soft_since_ns)
		head->soft_since_ns += took;
	return 0;
}

/* With interrupts on; a softirq does not interrupt another one. */
SEC("tp_btf/softirq_entry")
int BPF_PROG(note_softirq_entry)
{
	struct switch_head *head = own_head(bpf_get_smp_processor_id());

	if (head)
		head->soft_since_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(note_softirq_exit)
{
	struct switch_head *head = own_head(bpf_get_smp_processor_id());
	__u64 now = bpf_ktime_get_ns();

	if (!head || !head->soft_since_ns)
		return 0;
	if (now > head->soft_since_ns)
		head->softirq_ns += now - head->soft_since_ns;
	head->soft_since_ns = 0;
	return 0;
}

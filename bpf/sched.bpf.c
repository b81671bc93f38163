/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduler accounts: what every thread ran, summed in the kernel at context switches, which may
 * pass a million a second. Accounts live in task-local storage: they survive migration, die with
 * the thread and cannot be confused by reused ids. Memory for them is taken at thread creation and
 * in one iterator pass at start, never at a switch (allocation under the run-queue lock is unsafe
 * on older kernels).
 */
#include "shared.bpf.h"
#include "compat.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct loss_map losses SEC(".maps");
struct cpu_map cpus SEC(".maps");

/* Recording's start, monotonic ns, set by the user side just before it attaches: a CPU that has not
 * switched yet ran its thread since then. */
__u64 session_start_ns = 1;

/* Accounts created so far, and those that the iterator of the start could not create. */
__u64 accounts_made = 0;
__u64 accounts_refused = 0;

/* --event cycles: ticks come as NMIs. */
const volatile bool ticks_in_nmi;

/* The account of a thread. Written by the CPU that switches it, under its run-queue lock. */
struct account {
	__u64 number;		/* from 1, in the order of creation */
	__u64 sequence;		/* odd while it is being written */
	__u64 running_since_ns; /* 0 = not on a CPU */
	__u64 on_cpu_ns;
	__u64 voluntary;
	__u64 involuntary;
};

/* thread -> account. Written by sched_switch, read by the iterator. Freed with the thread. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct account);
} accounts SEC(".maps");

/* Last accounts of dead threads -> user side. Size: set before load, two seconds of thread deaths.
 * A ring of its own: a storm of short processes must not push samples out. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} tasks SEC(".maps");

static __always_inline __u8 state_letter(__u32 state, __u32 exit_state)
{
	state |= exit_state;
	if (state == TASK_RUNNING)
		return 'R';
	if (state & (EXIT_DEAD | TASK_DEAD))
		return 'X';
	if (state & EXIT_ZOMBIE)
		return 'Z';
	if (state & TASK_INTERRUPTIBLE)
		return 'S';
	if (state & TASK_PARKED)
		return 'P';
	if (state & TASK_UNINTERRUPTIBLE)
		return state & TASK_NOLOAD ? 'I' : 'D';
	if (state & __TASK_STOPPED)
		return 'T';
	if (state & __TASK_TRACED)
		return 't';
	return '?';
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
}

/* Sends the last account of a thread from its last switch: sched_process_exit comes too early (since
 * 6.16 by the whole teardown of the address space). */
static __always_inline void send_last_account(struct task_struct *task,
					      const struct account *account, __u64 now)
{
	struct event_task *event = bpf_ringbuf_reserve(&tasks, sizeof(*event), 0);

	if (!event) {
		count_loss(LOSS_TASK_RING_FULL);
		return;
	}
	event->header.kind = EVENT_TASK_END;
	fill_identity(event, task);
	event->time_ns = now;
	event->state = 'X';
	event->account = account->number;
	event->on_cpu_ns = account->on_cpu_ns;
	event->voluntary_switches = account->voluntary;
	event->involuntary_switches = account->involuntary;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/*
 * Closes the interval of prev on this CPU: to the idle time, to its account, or to nobody's.
 * One clock a CPU, so that the parts add up to the elapsed time by construction.
 */
static __always_inline struct account *close_interval(struct cpu_clock *clock,
						      struct task_struct *prev, __u64 now)
{
	__u64 since = clock->last_switch_ns, ran = 0;
	__u32 tid = prev->pid;
	struct account *account = NULL;

	if (since < session_start_ns) /* first switch seen here, or left by an earlier session */
		since = session_start_ns;
	if (now >= since)
		ran = now - since;
	else
		count_loss(LOSS_CLOCK_BACKWARDS);

	if (!tid) {
		clock->idle_ns += ran;
		return NULL;
	}
	if (clock->last_switch_ns && clock->running_task != (__u64)prev) {
		count_loss(LOSS_SWITCH_UNSEEN);
		clock->unaccounted_ns += ran;
		ran = 0;
	}
	account = bpf_task_storage_get(&accounts, prev, 0, 0);
	if (!account) {
		count_loss(LOSS_ACCOUNT_MISSING);
		clock->unaccounted_ns += ran;
		return NULL;
	}
	clock->accounted_ns += ran;
	WRITE_ONCE(account->sequence, account->sequence + 1);
	barrier();
	account->on_cpu_ns += ran;
	account->running_since_ns = 0;
	return account;
}

/*
 * Fires at every context switch of every CPU, under the run-queue lock, up to a million times a
 * second. Cost: two look-ups of task storage and one of an array.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 cpu = bpf_get_smp_processor_id(), state = prev->__state;
	__u64 now = bpf_ktime_get_ns();
	struct cpu_clock *clock = bpf_map_lookup_elem(&cpus, &cpu);
	struct account *account;

	if (!clock)
		return 0;
	WRITE_ONCE(clock->sequence, clock->sequence + 1);
	barrier();
	account = close_interval(clock, prev, now);
	clock->last_switch_ns = now;
	clock->running_tid = next->pid;
	clock->running_task = (__u64)next;
	clock->switches++;
	barrier();
	WRITE_ONCE(clock->sequence, clock->sequence + 1);

	if (account) {
		/* The tracepoint's own state argument is newer than 5.18 and may be stale. */
		if (preempt || state == TASK_RUNNING)
			account->involuntary++;
		else
			account->voluntary++;
		barrier();
		WRITE_ONCE(account->sequence, account->sequence + 1);
		if (state & TASK_DEAD)
			send_last_account(prev, account, now);
	}
	if (next->pid) {
		account = bpf_task_storage_get(&accounts, next, 0, 0);
		if (account)
			WRITE_ONCE(account->running_since_ns, now);
	}
	return 0;
}

/*
 * Some switches fire no program (those out of threads of pid 1 on some machines). Who runs next has
 * then no known beginning, and all that it runs until its own switch, up to seconds, would be
 * unaccounted. The tick bounds that to one interval of sampling. Not in NMI context: a switch may be
 * half done there, and task storage takes a lock.
 */
__hidden void clock_meets_thread(struct cpu_clock *clock)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 since, now = bpf_ktime_get_ns();
	struct account *account;

	if (ticks_in_nmi || !clock->last_switch_ns || clock->running_task == (__u64)task)
		return;
	since = clock->last_switch_ns;
	if (since < session_start_ns) /* left by an earlier session */
		since = session_start_ns;
	count_loss(LOSS_SWITCH_UNSEEN);
	WRITE_ONCE(clock->sequence, clock->sequence + 1);
	barrier();
	clock->unaccounted_ns += now > since ? now - since : 0;
	clock->last_switch_ns = now;
	clock->running_tid = task->pid;
	clock->running_task = (__u64)task;
	barrier();
	WRITE_ONCE(clock->sequence, clock->sequence + 1);
	account = bpf_task_storage_get(&accounts, task, 0, 0);
	if (account)
		WRITE_ONCE(account->running_since_ns, now);
}

static __always_inline struct account *make_account(struct task_struct *task)
{
	struct account *account =
		bpf_task_storage_get(&accounts, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (account && !account->number)
		account->number = __sync_fetch_and_add(&accounts_made, 1) + 1;
	return account;
}

/* Fires once a new thread, in the context of its creator, before it can run. */
SEC("tp_btf/task_newtask")
int BPF_PROG(on_new_task, struct task_struct *task, unsigned long clone_flags)
{
	if (!make_account(task))
		count_loss(LOSS_ACCOUNT_ALLOC);
	return 0;
}

/* At start: accounts for the threads that already exist. Creating is idempotent, so that the kernel
 * may run a step of the iteration again, and the user side the whole of it: many at once outrun the
 * kernel's refill of its memory for storage. */
SEC("iter/task")
int create_accounts(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct account *account;

	if (!task)
		return 0;
	account = make_account(task);
	if (!account)
		__sync_fetch_and_add(&accounts_refused, 1);
	else if (task->on_cpu && !account->running_since_ns && !account->on_cpu_ns)
		account->running_since_ns = session_start_ns;
	return 0;
}

/* Copies an account that is not being written; false after three tries. */
static __always_inline bool read_account(struct account *from, struct account *to)
{
	for (int i = 0; i < 3; i++) {
		__u64 before = READ_ONCE(from->sequence);

		barrier();
		to->number = from->number;
		to->on_cpu_ns = READ_ONCE(from->on_cpu_ns);
		to->running_since_ns = READ_ONCE(from->running_since_ns);
		to->voluntary = READ_ONCE(from->voluntary);
		to->involuntary = READ_ONCE(from->involuntary);
		barrier();
		if (!(before & 1) && READ_ONCE(from->sequence) == before)
			return true;
	}
	return false;
}

/* Once a slice: every thread's account as it stands. A thread that runs just now gets the time
 * since it was switched in, without writing it: counters are written by switches alone. */
SEC("iter/task")
int read_accounts(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct event_task event = {};
	struct account *from, account = {};

	if (!task)
		return 0;
	event.header.kind = EVENT_TASK;
	fill_identity(&event, task);
	event.state = state_letter(task->__state, task->exit_state);
	from = bpf_task_storage_get(&accounts, task, 0, 0);
	if (!from)
		event.flags |= ACCOUNT_ABSENT;
	else if (!read_account(from, &account))
		event.flags |= ACCOUNT_TORN;
	event.account = account.number;
	event.time_ns = bpf_ktime_get_ns();
	event.on_cpu_ns = account.on_cpu_ns;
	if (task->on_cpu && account.running_since_ns && event.time_ns > account.running_since_ns)
		event.on_cpu_ns += event.time_ns - account.running_since_ns;
	event.voluntary_switches = account.voluntary;
	event.involuntary_switches = account.involuntary;
	bpf_seq_write(ctx->meta->seq, &event, sizeof(event));
	return 0;
}

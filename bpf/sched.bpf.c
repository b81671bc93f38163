/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduler accounts: what every thread ran, waited for and was refused, summed in the kernel at
 * context switches, which may pass a million a second. Accounts live in task-local storage: they
 * survive migration, die with the thread and cannot be confused by reused ids. Memory for them is
 * taken at thread creation and in one iterator pass at start (accounts.bpf.c), never at a switch
 * (allocation under the run-queue lock is unsafe on older kernels).
 */
#include "cost.bpf.h"
#include "event.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct loss_map losses SEC(".maps");
struct cpu_map cpus SEC(".maps");
struct account_map accounts SEC(".maps");
struct run_time_map run_times SEC(".maps");
struct cost_map costs SEC(".maps");

const volatile __u32 run_slots;
__u64 accounts_made = 0;
/* A CPU that has not switched yet ran its thread since then. */
__u64 session_start_ns = 1;

/* --event cycles: ticks come as NMIs. */
const volatile bool ticks_in_nmi;

/* Last accounts of dead threads -> user side. Size: set before load, two seconds of thread deaths.
 * A ring of its own: a storm of short processes must not push samples out. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} tasks SEC(".maps");

/* account: NULL = none is kept. */
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
	if (account)
		fill_figures(event, task, account);
	else
		fill_kernel_figures(event, task);
	event->time_ns = now;
	event->state = 'X';
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/* --- waits ----------------------------------------------------------------------------------- */

/* task waits from now on for a CPU on which its process ran own_ns so far. */
static __always_inline void begin_wait(struct account *account, struct task_struct *task,
				       __u64 own_ns, __u64 now)
{
	struct cfs_rq *queue = compat_queue(task);

	account->state = STATE_WAITING;
	account->since_ns = now;
	account->wait_own_ns = 0;
	account->wait_throttled_ns = 0;
	account->own_mark_ns = own_ns;
	account->queue = (__u64)queue;
	account->throttled_mark_ns = queue ? compat_throttled_ns(queue) : 0;
}

static __always_inline void gather_own(struct account *account, __u64 own_ns)
{
	bool lost = false;

	account->wait_own_ns += own_since_mark(account, own_ns, &lost);
	if (lost)
		count_loss(LOSS_OWN_SHARED);
}

/* A limit stops a group for the rest of its period: waits shorter than this are not asked for it,
 * since the queue's counter costs a line of memory, and most waits are of microseconds. */
#define THROTTLED_LEAST_NS 100000

/* The wait is over: the thread is on that CPU now, which has just switched. */
static __always_inline void end_wait(struct account *account, struct task_struct *task, __u32 cpu,
				     __u64 now)
{
	__u64 all = interval_of(account, now);
	struct wait wait;
	__u32 slot;

	gather_own(account, run_time_at_switch(task->tgid, cpu));
	if (all >= THROTTLED_LEAST_NS)
		account->wait_throttled_ns += throttled_since_mark(account, compat_queue(task));
	wait = split_wait(all, account->wait_own_ns, account->wait_throttled_ns);
	account->sched.waited_ns += wait.delay_ns;
	account->sched.behind_own_ns += wait.own_ns;
	account->sched.throttled_ns += wait.throttled_ns;
	if (wait.delay_ns > account->delay_max_ns)
		account->delay_max_ns = wait.delay_ns;
	slot = delay_slot(wait.delay_ns);
	if (slot < DELAY_SLOTS) /* for the verifier */
		account->delays[slot]++;
}

/* Runnable without having run: the end of a sleep. */
static __always_inline void end_sleep(struct account *account, __u64 now)
{
	if (account->state == STATE_UNINTERRUPTIBLE)
		account->sched.uninterruptible_ns += interval_of(account, now);
	else
		account->blocked_ns += interval_of(account, now);
}

/*
 * The thread runs on that CPU, but its switch-in was not seen: it came at some moment after the
 * last switch that was. Up to there its wait or sleep is known; the rest is the CPU's unaccounted
 * time.
 */
static __always_inline void end_unseen(struct account *account, struct task_struct *task, __u32 cpu,
				       __u64 last_switch)
{
	if (account->state == STATE_WAITING || account->state == STATE_UNKNOWN)
		end_wait(account, task, cpu, last_switch);
	else if (account->state != STATE_RUNNING)
		end_sleep(account, last_switch);
}

/* A deadline thread that has used up its budget is taken off its queue until the next period. */
static __always_inline bool budget_used_up(struct task_struct *task)
{
	return task->policy == SCHED_DEADLINE &&
	       BPF_CORE_READ_BITFIELD_PROBED(task, dl.dl_throttled);
}

/* --- switches -------------------------------------------------------------------------------- */

/*
 * Closes the interval of prev on this CPU: to the idle time, to its account, or to nobody's.
 * One clock a CPU, so that the parts add up to the elapsed time by construction.
 */
static __always_inline struct account *close_interval(struct cpu_clock *clock, __u32 cpu,
						      struct task_struct *prev, __u64 now)
{
	__u64 since = clock->last_switch_ns, ran = 0;
	__u32 tid = prev->pid;
	struct account *account = NULL;
	bool unseen = false;

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
		unseen = true;
	}
	add_run_time(prev->tgid, cpu, ran);
	account = bpf_task_storage_get(&accounts, prev, 0, 0);
	if (!account) {
		count_loss(LOSS_ACCOUNT_MISSING);
		clock->unaccounted_ns += ran;
		return NULL;
	}
	clock->accounted_ns += ran;
	WRITE_ONCE(account->sequence, account->sequence + 1);
	barrier();
	account->sched.on_cpu_ns += ran;
	if (unseen)
		end_unseen(account, prev, cpu, since);
	return account;
}

/* What prev does from now on. */
static __always_inline void leave_cpu(struct account *account, struct task_struct *prev, __u32 cpu,
				      __u32 state, bool runnable, __u64 now)
{
	if (runnable) {
		account->sched.involuntary++;
		begin_wait(account, prev, run_time_at_switch(prev->tgid, cpu), now);
		/* Its wait is the kernel's answer to its own limit; whole, since no clock says when
		 * the budget comes back. */
		if (budget_used_up(prev))
			account->wait_throttled_ns = ~0ull >> 1;
		return;
	}
	account->sched.voluntary++;
	account->state = is_uninterruptible(state) ? STATE_UNINTERRUPTIBLE : STATE_BLOCKED;
	account->since_ns = now;
}

static __always_inline void enter_cpu(struct task_struct *next, __u32 cpu, __u64 now)
{
	struct account *account = bpf_task_storage_get(&accounts, next, 0, 0);

	if (!account)
		return;
	WRITE_ONCE(account->sequence, account->sequence + 1);
	barrier();
	/* Unknown: it was runnable when its account was made. */
	if (account->state == STATE_WAITING || account->state == STATE_UNKNOWN) {
		end_wait(account, next, cpu, now);
	} else if (account->state != STATE_RUNNING) {
		count_loss(LOSS_WAKEUP_UNSEEN);
		end_sleep(account, now);
	}
	account->state = STATE_RUNNING;
	account->since_ns = now;
	barrier();
	WRITE_ONCE(account->sequence, account->sequence + 1);
}

/*
 * Fires at every context switch of every CPU, under the run-queue lock, up to a million times a
 * second. Cost: two look-ups of task storage and three of arrays.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 cpu = bpf_get_smp_processor_id(), state = prev->__state;
	__u64 now = bpf_ktime_get_ns();
	struct cpu_clock *clock = bpf_map_lookup_elem(&cpus, &cpu);
	struct account *account;
	__u64 number;

	if (!clock)
		return 0;
	WRITE_ONCE(clock->sequence, clock->sequence + 1);
	barrier();
	account = close_interval(clock, cpu, prev, now);
	clock->last_switch_ns = now;
	clock->running_tid = next->pid;
	clock->running_tgid = next->tgid;
	clock->running_task = (__u64)next;
	number = ++clock->switches;
	barrier();
	WRITE_ONCE(clock->sequence, clock->sequence + 1);

	if (account) {
		/* The tracepoint's own state argument is newer than 5.18 and may be stale. */
		leave_cpu(account, prev, cpu, state, preempt || state == TASK_RUNNING, now);
		barrier();
		WRITE_ONCE(account->sequence, account->sequence + 1);
		/* Not from sched_process_exit, which comes too early (since 6.16 by the whole
		 * teardown of the address space). */
		if (state & TASK_DEAD)
			send_last_account(prev, account, now);
	}
	if (next->pid)
		enter_cpu(next, cpu, now);
	cost_end_numbered(COST_SWITCH, number, now);
	return 0;
}

/* A thread becomes runnable on a CPU whose run-queue lock is held. */
static __always_inline void wake(struct task_struct *task)
{
	struct account *account = bpf_task_storage_get(&accounts, task, 0, 0);
	__u64 now;

	/* Woken before it went to sleep, or twice. */
	if (!account || account->state == STATE_RUNNING || account->state == STATE_WAITING)
		return;
	now = bpf_ktime_get_ns();
	WRITE_ONCE(account->sequence, account->sequence + 1);
	barrier();
	end_sleep(account, now);
	begin_wait(account, task, run_time_now(task->tgid, compat_task_cpu(task), now), now);
	barrier();
	WRITE_ONCE(account->sequence, account->sequence + 1);
	cost_end_at(COST_WAKEUP, now);
}

/* Fires when a thread is put on a run queue, as often as threads block. Cost: one look-up of task
 * storage, two of arrays. */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	wake(task);
	return 0;
}

/* Fires once a thread, after task_newtask. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	wake(task);
	return 0;
}

/* A thread that does not run goes to another CPU. */
static __always_inline void move(struct task_struct *task, int dest_cpu)
{
	struct account *account;
	struct cfs_rq *queue;
	__u64 now;

	if (!task->on_rq)
		return;
	account = bpf_task_storage_get(&accounts, task, 0, 0);
	if (!account || account->state != STATE_WAITING)
		return;
	WRITE_ONCE(account->sequence, account->sequence + 1);
	barrier();
	now = bpf_ktime_get_ns();
	gather_own(account, run_time_now(task->tgid, compat_task_cpu(task), now));
	account->wait_throttled_ns += throttled_since_mark(account, compat_queue(task));
	account->own_mark_ns = run_time_now(task->tgid, dest_cpu, now);
	queue = compat_queue_on(task, dest_cpu);
	account->queue = (__u64)queue;
	account->throttled_mark_ns = queue ? compat_throttled_ns_at(queue) : 0;
	barrier();
	WRITE_ONCE(account->sequence, account->sequence + 1);
}

/*
 * Fires when the scheduler moves a thread that does not run to another CPU, up to as often as
 * threads wake. What it waited for so far belongs to the CPU that it leaves. Cost: as a wakeup; of
 * one that is woken there, and so waits for nothing yet, a look at one field.
 */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_migrate, struct task_struct *task, int dest_cpu)
{
	struct cost_run run = cost_begin(COST_MIGRATE);

	move(task, dest_cpu);
	cost_end(run);
	return 0;
}

/*
 * Some switches fire no program (those out of threads of pid 1 on some machines). Who runs next has
 * then no known beginning, and all that it runs until its own switch, up to seconds, would be
 * unaccounted. The tick bounds that to one interval of sampling. Not in NMI context: a switch may
 * be half done there, and task storage takes a lock.
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
	clock->running_tgid = task->tgid;
	clock->running_task = (__u64)task;
	barrier();
	WRITE_ONCE(clock->sequence, clock->sequence + 1);
	account = bpf_task_storage_get(&accounts, task, 0, 0);
	if (!account)
		return;
	WRITE_ONCE(account->sequence, account->sequence + 1);
	barrier();
	end_unseen(account, task, bpf_get_smp_processor_id(), since);
	account->state = STATE_RUNNING;
	account->since_ns = now;
	barrier();
	WRITE_ONCE(account->sequence, account->sequence + 1);
}

/* Fires once a new thread, in the context of its creator, before it can run. */
SEC("tp_btf/task_newtask")
int BPF_PROG(on_new_task, struct task_struct *task, unsigned long clone_flags)
{
	struct cost_run run = cost_begin_each(COST_TASK);
	struct account *account = make_account(task);

	if (!account)
		count_loss(LOSS_ACCOUNT_ALLOC);
	else
		account->since_ns = bpf_ktime_get_ns();
	cost_end(run);
	return 0;
}

/* Fires once a thread, as it ends, and is attached where no accounts are kept: what it runs after
 * that, and since the last tick before, is not told. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct cost_run run = cost_begin_each(COST_TASK);

	send_last_account(task, NULL, bpf_ktime_get_ns());
	cost_end(run);
	return 0;
}

/* Whether the program that was just executed may be the `dotnet` host. */
static __always_inline bool is_dotnet(struct task_struct *task)
{
	char comm[TASK_COMM_BYTES] = {0};

	BPF_CORE_READ_STR_INTO(&comm, task, comm);
	for (int i = 0; i < (int)sizeof(EXEC_COMM); i++)
		if (comm[i] != EXEC_COMM[i])
			return false;
	return true;
}

static __always_inline void send_exec(struct task_struct *task)
{
	__u64 start = BPF_CORE_READ(task, mm, arg_start);
	__u64 bytes = BPF_CORE_READ(task, mm, arg_end) - start;
	struct event_exec *event;

	if (bytes > EXEC_ARGS_BYTES)
		bytes = EXEC_ARGS_BYTES;
	/* /proc tells the same to who comes in time: a storm must not push last accounts out. */
	if (bpf_ringbuf_query(&tasks, BPF_RB_AVAIL_DATA) >
	    bpf_ringbuf_query(&tasks, BPF_RB_RING_SIZE) / 2)
		return;
	event = bpf_ringbuf_reserve(&tasks, sizeof(*event), 0);
	if (!event)
		return;
	event->header.kind = EVENT_EXEC;
	event->header.size = sizeof(*event);
	event->header.cpu = bpf_get_smp_processor_id();
	event->time_ns = bpf_ktime_get_ns();
	event->process_start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	event->tgid = BPF_CORE_READ(task, tgid);
	event->args_bytes = bytes;
	if (bpf_probe_read_user(event->args, bytes, (void *)start))
		bpf_ringbuf_discard(event, BPF_RB_NO_WAKEUP);
	else
		bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/* Fires as a program is about to begin, in its process. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	struct cost_run run = cost_begin_each(COST_TASK);

	if (is_dotnet(task))
		send_exec(task);
	cost_end(run);
	return 0;
}

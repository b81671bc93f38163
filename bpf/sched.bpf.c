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
struct turns_map turns SEC(".maps");
struct cost_map costs SEC(".maps");

const volatile bool kernel_counts_waits;
__u64 accounts_made = 0;
/* A CPU that has not switched yet ran its thread since then. */
__u64 session_start_ns = 1;
__u64 switches_since_ns = ~0ull;
__u64 quiet_since_ns = 0;

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

/* --- behind whom ----------------------------------------------------------------------------- */

/* One turn; 0 = nothing earlier is wanted. These two are functions that the kernel verifies once,
 * not once a turn and caller. */
__noinline int look_at_turn(struct behind *behind)
{
	struct turns *on;
	struct turn *turn;
	__u64 begin, end;
	__u32 cpu;

	if (!behind || behind->to_ns <= behind->from_ns)
		return 0;
	cpu = behind->cpu;
	on = bpf_map_lookup_elem(&turns, &cpu);
	if (!on)
		return 0;
	behind->at--;
	turn = &on->turns[behind->at & (TURNS_CNT - 1)];
	begin = on->turns[(behind->at - 1) & (TURNS_CNT - 1)].end_ns;
	end = turn->end_ns;
	if (begin < behind->from_ns)
		begin = behind->from_ns;
	if (end > behind->to_ns)
		end = behind->to_ns;
	if (end <= begin)
		return 1;
	if (turn->tgid == behind->tgid)
		behind->own_ns += end - begin;
	if (turn->tgid != TURN_UNKNOWN)
		behind->known_ns += end - begin;
	behind->to_ns = begin;
	return 1;
}

__noinline int look_behind(struct behind *behind)
{
	struct turns *on;
	__u32 cpu;

	if (!behind)
		return 0;
	cpu = behind->cpu;
	on = bpf_map_lookup_elem(&turns, &cpu);
	if (!on)
		return 0;
	behind->at = on->next;
	/* Of the oldest one the beginning is not kept. */
	for (int i = 0; i < TURNS_CNT - 1; i++)
		if (!look_at_turn(behind))
			break;
	return 0;
}

/* --- waits ----------------------------------------------------------------------------------- */

/* A thread comes to run on a CPU. */
struct arrival {
	__u64 now;
	__u64 last_ns; /* when the turn there began that has just ended */
	__u32 last_tgid, cpu;
};

/* Most waits are behind the last turn alone. */
static __always_inline __u64 behind_own(const struct account *account, __u32 tgid,
					const struct arrival *at, const struct waited *waited)
{
	__u64 from = at->now - waited->all_ns, moved = from + waited->elsewhere_ns;
	struct behind behind = {.tgid = tgid};
	bool sure = true;

	/* When it was moved is not known there: mostly as it came to run, by an idle CPU. */
	if (!kernel_counts_waits && account->cpu != at->cpu)
		moved = at->now;
	else if (account->cpu == at->cpu && !waited->after_sleep)
		moved = from;
	if (moved <= from && from >= at->last_ns)
		return at->last_tgid == tgid ? waited->all_ns : 0;
	/* Where it waited before that: after a sleep mostly where it ran last. */
	if (moved > from) {
		look_behind_on(&behind, account->cpu, from, moved);
		sure = kernel_counts_waits && !waited->after_sleep;
	}
	look_behind_on(&behind, at->cpu, moved, at->now);
	if (!sure || !behind_is_known(&behind, waited->all_ns))
		count_loss(LOSS_OWN_ESTIMATED);
	return behind_own_of(&behind, waited->all_ns);
}

/* A limit stops a group for the rest of its period: waits shorter than this are not asked for it,
 * since the queue's counter costs a line of memory, and most waits are of microseconds. */
#define THROTTLED_LEAST_NS 100000

/* The thread's wait is over: it is on that CPU now. */
static __always_inline void end_wait(struct account *account, struct task_struct *task,
				     const struct arrival *at, const struct waited *waited)
{
	__u64 all = waited->all_ns, throttled = 0, own = 0;
	struct wait wait;
	__u32 slot;

	if (account->state == STATE_OUT_OF_BUDGET)
		throttled = all;
	else if (all >= THROTTLED_LEAST_NS)
		throttled = throttled_in(account, task, compat_queue(task), waited);
	if (throttled < all)
		own = behind_own(account, task->tgid, at, waited);
	wait = split_wait(all, own, throttled);
	account->sched.waited_ns += wait.delay_ns;
	account->sched.behind_own_ns += wait.own_ns;
	account->sched.throttled_ns += wait.throttled_ns;
	if (wait.delay_ns > account->delay_max_ns)
		account->delay_max_ns = wait.delay_ns;
	slot = delay_slot(wait.delay_ns);
	if (slot < DELAY_SLOTS) /* for the verifier */
		account->delays[slot]++;
}

/* What of the time without a CPU, up to now, was no wait. */
static __always_inline void end_sleep(struct account *account, __u64 slept_ns)
{
	if (account->state == STATE_UNINTERRUPTIBLE)
		account->sched.uninterruptible_ns += slept_ns;
	else
		account->blocked_ns += slept_ns;
}

/* The time without a CPU is over: sleep, wait, or the one and then the other. waited: of it. */
static __always_inline void end_absence(struct account *account, struct task_struct *task,
					const struct arrival *at, const struct waited *waited)
{
	__u64 absent = interval_of(account, at->now);

	if (absent > waited->all_ns)
		end_sleep(account, absent - waited->all_ns);
	end_wait(account, task, at, waited);
}

/*
 * The thread runs on that CPU, but its switch-in was not seen: it came at some moment after the
 * last switch that was. Up to there its wait or sleep is known; the rest is the CPU's unaccounted
 * time.
 */
static __always_inline void end_unseen(struct account *account, struct task_struct *task, __u32 cpu,
				       __u64 last_switch)
{
	struct arrival at = {last_switch, ~0ull, 0, cpu};
	struct waited waited;

	if (account->state == STATE_RUNNING)
		return;
	if (kernel_counts_waits || is_waiting(account->state)) {
		waited = waited_of(account, task, 0, last_switch);
		end_absence(account, task, &at, &waited);
	} else {
		end_sleep(account, interval_of(account, last_switch));
	}
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
	struct turns *on = bpf_map_lookup_elem(&turns, &cpu);
	__u64 since = clock->last_switch_ns, ran = 0;
	__u32 tid = prev->pid;
	bool first = since < switches_since_ns, unseen = false;
	struct account *account = NULL;

	if (first)
		since = switches_since_ns;
	if (now >= since)
		ran = now - since;
	else
		count_loss(LOSS_CLOCK_BACKWARDS);

	if (!tid) {
		if (on)
			add_turn(on, 0, now);
		clock->idle_ns += ran;
		return NULL;
	}
	if (!first && clock->running_task != (__u64)prev) {
		count_loss(LOSS_SWITCH_UNSEEN);
		clock->unaccounted_ns += ran;
		ran = 0;
		unseen = true;
	}
	if (on)
		add_turn(on, unseen ? TURN_UNKNOWN : prev->tgid, now);
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
	account->since_ns = now;
	account->cpu = cpu;
	if (kernel_counts_waits) {
		account->kernel_delay_ns = prev->sched_info.run_delay;
		account->false_queued_ns = 0;
	}
	if (kernel_counts_waits || runnable)
		mark_queue(account, compat_queue(prev));
	if (runnable) {
		account->sched.involuntary++;
		/* Out of budget, its wait is the kernel's answer to its own limit; whole, since no
		 * clock says when the budget comes back. */
		account->state = budget_used_up(prev) ? STATE_OUT_OF_BUDGET : STATE_WAITING;
		return;
	}
	account->sched.voluntary++;
	account->state = is_uninterruptible(state) ? STATE_UNINTERRUPTIBLE : STATE_BLOCKED;
}

/* kernel_now: what the clock of the CPU's run queue would show. */
static __always_inline void enter_cpu(struct task_struct *next, const struct arrival *at,
				      __u64 kernel_now)
{
	struct account *account = bpf_task_storage_get(&accounts, next, 0, 0);
	struct waited waited;

	if (!account)
		return;
	WRITE_ONCE(account->sequence, account->sequence + 1);
	barrier();
	if (account->state == STATE_RUNNING) {
		/* The switch out was not seen: nobody knows when it was. */
	} else if (kernel_counts_waits || is_waiting(account->state)) {
		waited = waited_of(account, next, kernel_now, at->now);
		end_absence(account, next, at, &waited);
	} else {
		count_loss(LOSS_WAKEUP_UNSEEN);
		end_sleep(account, interval_of(account, at->now));
	}
	account->state = STATE_RUNNING;
	account->since_ns = at->now;
	barrier();
	WRITE_ONCE(account->sequence, account->sequence + 1);
}

/* Two such spans of 8 ms, in which NTP sets monotonic time right by 8 us at the most. */
#define CLOCK_SPAN_BITS 23
/* Of so many switches in a row, one compares both clocks; and the first one of each span. */
#define CLOCK_LOOKS 16
/* How long choosing takes is the mean of so many; what took longer was interrupted. */
#define LAG_BITS 3
#define LAG_MOST 10000

/* Puts right by how much the CPU's clock is behind monotonic time: by the least difference that was
 * seen lately, since there is always some time between a look at the one and at the other. */
static __always_inline void follow_kernel_clock(struct cpu_clock *clock, __s64 behind, __u64 spans)
{
	__s64 least = clock->kernel_behind_ns;

	if (spans) {
		least = clock->kernel_least_ns;
		clock->kernel_least_ns = behind;
	} else if (behind < clock->kernel_least_ns) {
		clock->kernel_least_ns = behind;
	}
	if (spans > 1 || behind < least)
		least = behind;
	clock->kernel_behind_ns = least;
}

/*
 * What the clock of this CPU's run queue would show now. The scheduler reads it as it begins to
 * choose; and where a wakeup asked for the switch, by which the CPU was idle or prev is preempted,
 * not even then (rq_clock_skip_update()): up to a tick before. sleeps: prev gives the CPU up by
 * itself, and it is a look at monotonic time, half as dear as all else here, that is left out;
 * unless prev was to be preempted by next, and slept or ended before that came about.
 */
static __always_inline __u64 kernel_now_of(struct cpu_clock *clock, struct task_struct *prev,
					   struct task_struct *next, bool sleeps)
{
	__u64 kernel_now = prev->se.cfs_rq->rq->clock, now, lag;
	__u64 spans = (kernel_now >> CLOCK_SPAN_BITS) - (clock->compared_ns >> CLOCK_SPAN_BITS);

	if (sleeps && !spans && clock->switches % CLOCK_LOOKS &&
	    next->sched_info.last_queued != kernel_now)
		return kernel_now + clock->lag_ns;
	now = bpf_ktime_get_ns();
	follow_kernel_clock(clock, now - kernel_now, spans);
	clock->compared_ns = kernel_now;
	lag = now - clock->kernel_behind_ns - kernel_now;
	if (sleeps && lag < LAG_MOST && next->sched_info.last_queued != kernel_now)
		clock->lag_ns = clock->lag_ns + (lag >> LAG_BITS) - (clock->lag_ns >> LAG_BITS);
	return kernel_now + lag;
}

/* What was read before the last switch, and told late, does not turn time back. */
static __always_inline __u64 monotonic_of(const struct cpu_clock *clock, __u64 kernel_now)
{
	__u64 now = kernel_now + clock->kernel_behind_ns;

	return now > clock->last_switch_ns ? now : clock->last_switch_ns;
}

/*
 * Fires at every context switch of every CPU, under the run-queue lock, up to a million times a
 * second, before the kernel tells itself of the switch: next's wait still goes on in its count.
 * Cost: two look-ups of task storage and two of arrays.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 cpu = bpf_get_smp_processor_id(), state = prev->__state;
	/* The tracepoint's own state argument is newer than 5.18 and may be stale. */
	bool runnable = preempt || state == TASK_RUNNING;
	__u64 kernel_now = 0, begin = 0, now;
	struct cpu_clock *clock = bpf_map_lookup_elem(&cpus, &cpu);
	struct arrival at = {.last_ns = ~0ull, .last_tgid = prev->tgid, .cpu = cpu};
	struct account *account;

	if (!clock)
		return 0;
	if (cost_one_of(clock->switches + 1, COST_RUN_BITS))
		begin = bpf_ktime_get_ns();
	if (kernel_counts_waits) {
		kernel_now = kernel_now_of(clock, prev, next, prev->pid && !runnable);
		now = monotonic_of(clock, kernel_now);
	} else {
		now = bpf_ktime_get_ns();
	}
	at.now = now;
	if (clock->running_task == (__u64)prev)
		at.last_ns = clock->last_switch_ns;
	WRITE_ONCE(clock->sequence, clock->sequence + 1);
	barrier();
	account = close_interval(clock, cpu, prev, now);
	clock->last_switch_ns = now;
	clock->running_tid = next->pid;
	clock->running_tgid = next->tgid;
	clock->running_task = (__u64)next;
	clock->switches++;
	barrier();
	WRITE_ONCE(clock->sequence, clock->sequence + 1);

	if (account) {
		leave_cpu(account, prev, cpu, state, runnable, now);
		barrier();
		WRITE_ONCE(account->sequence, account->sequence + 1);
		/* Not from sched_process_exit, which comes too early (since 6.16 by the whole
		 * teardown of the address space). */
		if (state & TASK_DEAD) {
			send_last_account(prev, account, now);
			account->state = STATE_ENDED;
		}
	}
	if (next->pid)
		enter_cpu(next, &at, kernel_now);
	if (begin)
		cost_end_since(COST_SWITCH, begin);
	return 0;
}

/* A thread becomes runnable on a CPU whose run-queue lock is held. */
static __always_inline void wake(struct task_struct *task)
{
	struct account *account = bpf_task_storage_get(&accounts, task, 0, 0);
	__u64 now;

	/* Woken before it went to sleep, or twice. */
	if (!account || account->state == STATE_RUNNING ||
	    (account->state != STATE_UNKNOWN && is_waiting(account->state)))
		return;
	now = bpf_ktime_get_ns();
	WRITE_ONCE(account->sequence, account->sequence + 1);
	barrier();
	end_sleep(account, interval_of(account, now));
	account->state = STATE_WAITING;
	account->since_ns = now;
	account->cpu = compat_task_cpu(task);
	mark_queue(account, compat_queue(task));
	barrier();
	WRITE_ONCE(account->sequence, account->sequence + 1);
	cost_end_at(COST_WAKEUP, now);
}

/* Fires when a thread is put on a run queue, as often as threads block; attached where the kernel
 * does not count waits, as is the next one. Cost: one look-up of task storage. */
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

/*
 * Some switches fire no program (those out of threads of pid 1 on some machines). Who runs next has
 * then no known beginning, and all that it runs until its own switch, up to seconds, would be
 * unaccounted; or the CPU is idle, and seems to be busy. The tick bounds that to one interval of
 * sampling. Not in NMI context: a switch may be half done there, and task storage takes a lock.
 */
__hidden void clock_meets_thread(struct cpu_clock *clock)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 since, met, since_then, now = bpf_ktime_get_ns();
	__u32 cpu = bpf_get_smp_processor_id();
	struct turns *on = bpf_map_lookup_elem(&turns, &cpu);
	struct account *account;

	since = clock->last_switch_ns;
	if (ticks_in_nmi || since < switches_since_ns)
		return;
	if (clock->running_task == (__u64)task) {
		clock->met_ns = now;
		return;
	}
	if (task->pid)
		count_loss(LOSS_SWITCH_UNSEEN);
	WRITE_ONCE(clock->sequence, clock->sequence + 1);
	barrier();
	met = clock->met_ns > since ? clock->met_ns : since;
	/* Up to the last tick that met it, it ran. */
	if (clock->running_tid)
		clock->unaccounted_ns += met - since;
	else
		clock->idle_ns += met - since;
	since_then = now > met ? now - met : 0;
	/* As where the next switch tells that the CPU was idle. */
	if (task->pid)
		clock->unaccounted_ns += since_then;
	else
		clock->idle_ns += since_then;
	clock->last_switch_ns = now;
	clock->running_tid = task->pid;
	clock->running_tgid = task->tgid;
	clock->running_task = (__u64)task;
	barrier();
	WRITE_ONCE(clock->sequence, clock->sequence + 1);
	if (on)
		add_turn(on, task->pid ? TURN_UNKNOWN : 0, now);
	if (!task->pid)
		return;
	account = bpf_task_storage_get(&accounts, task, 0, 0);
	if (!account)
		return;
	WRITE_ONCE(account->sequence, account->sequence + 1);
	barrier();
	end_unseen(account, task, cpu, since);
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
	struct account *account = make_account(task, compat_queue(task));

	if (!account)
		count_loss(LOSS_ACCOUNT_ALLOC);
	else
		account->since_ns = bpf_ktime_get_ns();
	cost_end(run);
	return 0;
}

/*
 * Fires once a thread, some ms after it was reaped: all that it ran is counted by then, the taking
 * down of its memory, too. Attached where there was a quiet gear ever; who ended in the full one
 * was told by its last switch. Its leader may be gone, and the leader's memory somebody else's.
 */
SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task)
{
	struct cost_run run = cost_begin_each(COST_TASK);
	struct account *account = bpf_task_storage_get(&accounts, task, 0, 0);
	__u64 now = bpf_ktime_get_ns(), waiting;

	if (BPF_CORE_READ(task, group_leader, pid) != task->tgid)
		goto out;
	if (account) {
		if (account->state == STATE_ENDED || account->since_ns >= switches_since_ns)
			goto out;
		/* One that left the list of threads before it was handed over: what the kernel
		 * counted is in its account, up to its last switch that was seen. */
		if (account->since_ns >= quiet_since_ns)
			gather(account, task, compat_queue(task), now, &waiting);
	} else if (switches_since_ns != ~0ull) {
		goto out;
	}
	send_last_account(task, account, now);
out:
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

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accounts of all threads at once, by iterators over tasks: created when a session starts, read
 * once a slice. The kernel may run a step of an iteration again: creating is idempotent, and what
 * reading writes into an account is the same twice, or goes there with the record.
 */
#include "event.bpf.h"

/* Those that the iterator of the start could not create. */
__u64 accounts_refused = 0;
/* What this kernel cannot tell: KERNEL_WITHOUT_* of events.h. */
__u32 kernel_without = 0;

/* The gear that reading is done in, and that change_gear goes to: 1 = quiet. Set by the user
 * side. */
__u32 quiet_gear = 0;
/* When the pass before this one began: who has slept since then is passed over. 0: nobody is. Set
 * by the user side. */
__u64 passed_ns = 0;

struct task_room {
	struct event_task event;
	struct account account;
};

/* 0 -> room to build a record, one a CPU: user space runs one iterator at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct task_room);
} task_rooms SEC(".maps");

static __always_inline __u32 missing_features(struct task_struct *task)
{
	__u32 without = 0;

	if (!bpf_core_field_exists(task->sched_task_group))
		without |= KERNEL_WITHOUT_GROUPS;
	if (!bpf_core_field_exists(task->se.cfs_rq))
		without |= KERNEL_WITHOUT_QUEUES;
	return without;
}

/*
 * Threads that sleep when the session starts are marked so: a wakeup does not tell any more what
 * sleep it ends, and where it is not seen (those by threads of pid 1 on some machines), the switch
 * that follows must not take the sleep for a wait. Not over what a switch or a wakeup has written
 * meanwhile.
 */
static __always_inline void mark_sleep(struct account *account, struct task_struct *task)
{
	__u32 state = task->__state;

	if (!compat_on_cpu(task) && state != TASK_RUNNING)
		__sync_val_compare_and_swap(&account->state, STATE_UNKNOWN,
					    is_uninterruptible(state) ? STATE_UNINTERRUPTIBLE
								      : STATE_BLOCKED);
}

/* At start, once for each thread that already exists, and again where that failed: many at once
 * outrun the kernel's refill of its memory for storage. */
SEC("iter/task")
int create_accounts(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct account *account;

	if (!task)
		return 0;
	kernel_without = missing_features(task);
	account = make_account(task, compat_queue(task));
	if (!account) {
		__sync_fetch_and_add(&accounts_refused, 1);
		return 0;
	}
	/* Born after the session began, but before births were seen. */
	if (task->start_time > session_start_ns)
		__sync_val_compare_and_swap(&account->since_ns, 0, task->start_time);
	mark_sleep(account, task);
	return 0;
}

/*
 * Copies an account that is not being written, and tells a time at which it stood so: the iterator
 * may itself be preempted, and what the thread did then is not known here. False after three tries.
 */
static __always_inline bool copy_account(struct account *from, struct account *to, __u64 *ret_now)
{
	for (int i = 0; i < 3; i++) {
		__u64 before = READ_ONCE(from->sequence);

		barrier();
		*ret_now = bpf_ktime_get_ns();
		__builtin_memcpy(to, from, sizeof(*to));
		barrier();
		if (!(before & 1) && READ_ONCE(from->sequence) == before)
			return true;
	}
	return false;
}

/* The state that a thread whose account has seen nothing yet is in, by the thread itself. */
static __always_inline __u32 state_now(struct task_struct *task)
{
	if (compat_on_cpu(task))
		return STATE_RUNNING;
	if (task->__state == TASK_RUNNING)
		return STATE_WAITING;
	return is_uninterruptible(task->__state) ? STATE_UNINTERRUPTIBLE : STATE_BLOCKED;
}

/* Of a wait that goes on; what runs there now began after the last turn that is kept. */
static __always_inline __u64 own_so_far(const struct account *account, __u32 tgid, __u32 cpu,
					const struct cpu_clock *clock, const struct waited *w,
					__u64 now)
{
	__u64 from = now - w->all_ns, at = clock->last_switch_ns;
	struct behind behind = {.tgid = tgid};

	if (at < from)
		at = from;
	if (clock->running_tid && now > at) {
		behind.known_ns = now - at;
		behind.own_ns = clock->running_tgid == tgid ? now - at : 0;
	}
	if (at > from)
		look_behind_on(&behind, cpu, from, at);
	return behind_own_of(&behind, w->all_ns);
}

/* A wait that goes on. While its queue is throttled, all of it since the last throttling counts as
 * such: what is too much now is not counted again later (the user side takes rises only). */
static __always_inline void add_wait(struct event_task *event, const struct account *account,
				     struct task_struct *task, struct cfs_rq *queue,
				     const struct waited *waited, const struct cpu_clock *clock,
				     __u64 now)
{
	__u64 all = waited->all_ns, throttled = 0;
	struct wait wait;

	if (account->state == STATE_OUT_OF_BUDGET) {
		throttled = all;
	} else {
		throttled = throttled_in(account, task, queue, waited);
		if (queue && compat_throttled_now(queue))
			throttled = all;
	}
	wait = split_wait(
		all, own_so_far(account, event->tgid, compat_task_cpu(task), clock, waited, now),
		throttled);
	event->sched.waited_ns += wait.delay_ns;
	event->sched.behind_own_ns += wait.own_ns;
	event->sched.throttled_ns += wait.throttled_ns;
	event->waiting_ns = wait.delay_ns;
}

/* Of a thread without a CPU: whether it waits for one, and so since when. */
static __always_inline struct waited waited_so_far(const struct account *account,
						   struct task_struct *task,
						   const struct cpu_clock *clock, __u64 now)
{
	struct waited none = {}, all = {.all_ns = interval_of(account, now)};
	bool left_waiting = account->state && is_waiting(account->state);

	/* A switch in and out that nobody saw leaves the state behind. */
	if (is_asleep(task))
		return none;
	if (left_waiting)
		return all;
	if (!kernel_counts_waits)
		return !account->state && is_waiting(state_now(task)) ? all : none;
	if (!task->sched_info.last_queued)
		return none;
	/* Where nothing switched yet, the clock was not read either. */
	return clock->last_switch_ns ? waited_of(account, task, now - clock->kernel_behind_ns, now)
				     : all;
}

/* Counters are written by those who change the state alone; what goes on is added to the copy. */
static __always_inline void add_interval(struct event_task *event, const struct account *account,
					 struct task_struct *task, struct cfs_rq *queue, __u64 now)
{
	__u32 state = account->state ?: state_now(task), cpu = compat_task_cpu(task);
	struct cpu_clock *clock = bpf_map_lookup_elem(&cpus, &cpu);
	__u64 ns = interval_of(account, now);
	struct waited waited;

	if (!clock)
		return;
	if (state == STATE_RUNNING) {
		/* A switch out that was not seen leaves the state behind; so does one back. */
		if (compat_on_cpu(task) && (clock->last_switch_ns < switches_since_ns ||
					    clock->running_task == (__u64)task))
			event->sched.on_cpu_ns += ns;
		return;
	}
	waited = waited_so_far(account, task, clock, now);
	if (waited.all_ns > ns)
		waited.all_ns = ns;
	if (waited.all_ns)
		add_wait(event, account, task, queue, &waited, clock, now);
	if (state == STATE_UNINTERRUPTIBLE)
		event->sched.uninterruptible_ns += ns - waited.all_ns;
	else
		event->blocked_ns += ns - waited.all_ns;
}

/* The quiet gear. Returns the account that r->account is to be, or NULL. */
static __always_inline struct account *fill_quietly(struct task_room *r, struct task_struct *task,
						    struct cfs_rq *queue)
{
	struct account *account = make_account(task, queue);
	__u64 waiting = 0;

	r->event.time_ns = bpf_ktime_get_ns();
	if (account) {
		r->account = *account;
		gather(&r->account, task, queue, r->event.time_ns, &waiting);
	} else {
		count_loss(LOSS_ACCOUNT_ALLOC);
		r->event.flags |= ACCOUNT_ABSENT;
	}
	fill_figures(&r->event, task, &r->account);
	r->event.waiting_ns = waiting;
	return account;
}

/* While it slept, so that this does not count as throttling of its own. */
static __always_inline bool is_queue_as_marked(const struct account *account, struct cfs_rq *queue)
{

	return (__u64)queue == account->queue &&
	       (!queue || compat_throttled_ns(queue) == account->throttled_mark_ns);
}

/* A thread that has slept since the pass before this one, as that has told: most are such, at most
 * times. */
static __always_inline bool sleeps_on(struct task_struct *task, struct cfs_rq *queue)
{
	struct account *account;

	if (!passed_ns || !is_asleep(task))
		return false;
	account = bpf_task_storage_get(&accounts, task, 0, 0);
	if (!account)
		return false;
	if (kernel_counts_waits && task->sched_info.last_queued &&
	    task->sched_info.last_queued != account->false_queued_ns)
		return false; /* which has to be noted */
	if (!quiet_gear)
		return account->state == STATE_BLOCKED && account->since_ns < passed_ns;
	return account->kernel_voluntary == task->nvcsw &&
	       account->kernel_involuntary == task->nivcsw &&
	       account->kernel_ran_ns == task->se.sum_exec_runtime &&
	       is_queue_as_marked(account, queue);
}

static __always_inline void fill_fully(struct task_room *r, struct task_struct *task,
				       struct cfs_rq *queue)
{
	struct account *from = bpf_task_storage_get(&accounts, task, 0, 0);

	if (from && kernel_counts_waits)
		note_false_queued(from, task);
	r->event.time_ns = bpf_ktime_get_ns();
	if (!from)
		r->event.flags |= ACCOUNT_ABSENT;
	else if (!copy_account(from, &r->account, &r->event.time_ns))
		r->event.flags |= ACCOUNT_TORN;
	fill_figures(&r->event, task, &r->account);
	if (from && !(r->event.flags & ACCOUNT_TORN))
		add_interval(&r->event, &r->account, task, queue, r->event.time_ns);
}

/* The account of a thread as it stands. What the quiet gear adds to it is to go there when the
 * record was handed over: without room for it the kernel runs a step of its iterators again.
 * Returns the account that r->account is to be then, or NULL. */
static __always_inline struct account *fill_record(struct task_room *r, struct task_struct *task,
						   struct cfs_rq *queue)
{
	__builtin_memset(&r->account, 0, sizeof(r->account));
	r->event.header.kind = EVENT_TASK;
	fill_identity(&r->event, task);
	r->event.state = state_letter(task->__state, task->exit_state);
	if (quiet_gear)
		return fill_quietly(r, task, queue);
	fill_fully(r, task, queue);
	return NULL;
}

/* For every thread: from time to time, and where the kernel has no iterators to be called. */
SEC("iter/task")
int read_accounts(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct account *account;
	struct cfs_rq *queue;
	struct task_room *r;
	__u32 zero = 0;

	if (!task)
		return 0;
	queue = compat_queue(task);
	if (sleeps_on(task, queue))
		return 0;
	r = bpf_map_lookup_elem(&task_rooms, &zero);
	if (!r)
		return 0;
	account = fill_record(r, task, queue);
	if (!bpf_seq_write(ctx->meta->seq, &r->event, sizeof(r->event)) && account)
		*account = r->account;
	return 0;
}

/* --- without those who sleep ----------------------------------------------------------------- */

/* Once a slice: who sleeps costs a third of what the kernel takes to hand over a task to a program
 * (10,000 of them 3 ms, by read_accounts 9). In parts, so that no CPU is held for long. */

extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task,
			     unsigned int what) __ksym __weak;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym __weak;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym __weak;
extern struct task_struct *bpf_task_acquire(struct task_struct *task) __ksym __weak;
extern struct task_struct *bpf_task_from_pid(__s32 tid) __ksym __weak;
extern void bpf_task_release(struct task_struct *task) __ksym __weak;
extern void bpf_rcu_read_lock(void) __ksym __weak;
extern void bpf_rcu_read_unlock(void) __ksym __weak;

struct event_task walk_records[WALK_RECORDS];
__u32 walk_records_cnt = 0;
/* Where the next part begins: the thread, its process, and when that was born; tid 0 = the pass is
 * over. Set to 0 by the user side before the first part. */
__u64 walk_process_ns = 0;
__u32 walk_tgid = 0, walk_tid = 0;

/* Of the part, who is awake; counters are in memory, whose values keep the verifier from looking
 * at each turn of a loop. */
static __s32 walk_awake[WALK_RECORDS];
static __u32 walk_looked = 0;
static __u32 walk_awake_cnt = 0;

/* Threads that are looked at in one part. */
#define WALK_THREADS 4096

/* By CPU, its queue's clock of CPU time: of this pass, read at its first thread there, and of the
 * two before. */
static struct walk_clock {
	__u64 pass;
	__u64 now, one_ago, two_ago;
} walk_clocks[WALK_CPUS];
static __u64 walk_pass = 0;

static __always_inline __u64 clock_two_ago(__u32 cpu, struct cfs_rq *queue)
{
	struct walk_clock *clock = &walk_clocks[cpu];

	if (clock->pass != walk_pass) {
		clock->pass = walk_pass;
		clock->two_ago = clock->one_ago;
		clock->one_ago = clock->now;
		clock->now = queue->rq->clock_task;
	}
	return clock->two_ago;
}

/*
 * Implies sleeps_on(), and looks at fewer lines of memory: who stopped running in the second pass
 * ago or earlier was asleep in all of the last one. A queue that was ever throttled is to be asked,
 * and in the full gear state D. Who was moved in its sleep has no such time.
 */
static __always_inline bool slept_through(struct task_struct *task, struct cfs_rq *queue)
{
	__u32 cpu = compat_task_cpu(task);
	__u64 ran = task->se.exec_start;

	return cpu < WALK_CPUS && queue && ran && ran < clock_two_ago(cpu, queue) &&
	       is_asleep(task) && !compat_throttled_ns(queue) &&
	       (quiet_gear || !is_uninterruptible(task->__state));
}

/* Those of a process, from that thread on. False when the part is full. */
static __always_inline bool walk_from(struct task_struct *first)
{
	struct bpf_iter_task threads;
	struct task_struct *task;
	bool goes_on = true;

	bpf_iter_task_new(&threads, first, BPF_TASK_ITER_PROC_THREADS);
	while ((task = bpf_iter_task_next(&threads))) {
		struct cfs_rq *queue = compat_queue(task);
		__u32 at = walk_awake_cnt;

		if (++walk_looked > WALK_THREADS || at >= WALK_RECORDS) {
			walk_tid = task->pid;
			goes_on = false;
			break;
		}
		if (slept_through(task, queue) || sleeps_on(task, queue))
			continue;
		walk_awake[at] = task->pid;
		walk_awake_cnt = at + 1;
	}
	bpf_iter_task_destroy(&threads);
	return goes_on;
}

/* Where the last part ended in this process, from there on, if that thread is still there: some are
 * told twice otherwise, which adds nothing. */
static __always_inline bool walk_process(struct task_struct *leader)
{
	__u32 tgid = leader->pid;
	struct task_struct *first;
	bool goes_on;

	first = bpf_task_from_pid(walk_tgid == tgid ? walk_tid : tgid);
	if (first && (__u32)first->tgid != tgid) {
		bpf_task_release(first);
		first = NULL;
	}
	if (!first)
		first = bpf_task_acquire(leader);
	if (!first)
		return true;
	goes_on = walk_from(first);
	bpf_task_release(first);
	if (!goes_on) {
		walk_tgid = tgid;
		walk_process_ns = leader->start_boottime;
	}
	return goes_on;
}

/* Processes are listed nearly in the order of their birth. */
#define WALK_BIRTHS_NS 10000000

/* A function that the kernel verifies once. */
__noinline int read_awake(__u32 at)
{
	struct account *account;
	struct task_struct *task;
	struct task_room *r;
	__u32 zero = 0, to = walk_records_cnt;

	if (at >= WALK_RECORDS || to >= WALK_RECORDS)
		return 0;
	r = bpf_map_lookup_elem(&task_rooms, &zero);
	if (!r)
		return 0;
	task = bpf_task_from_pid(walk_awake[at]);
	if (!task)
		return 0;
	bpf_rcu_read_lock();
	account = fill_record(r, task, compat_queue(task));
	walk_records[to] = r->event;
	walk_records_cnt = to + 1;
	if (account)
		*account = r->account;
	bpf_rcu_read_unlock();
	bpf_task_release(task);
	return 0;
}

SEC("syscall")
int walk_accounts(void *ctx)
{
	__u64 from = walk_process_ns;
	struct bpf_iter_task processes;
	struct task_struct *leader;
	bool goes_on = true;

	walk_records_cnt = walk_awake_cnt = walk_looked = 0;
	walk_pass += !walk_tid;
	bpf_rcu_read_lock();
	bpf_iter_task_new(&processes, NULL, BPF_TASK_ITER_ALL_PROCS);
	while (goes_on && (leader = bpf_iter_task_next(&processes))) {
		if (leader->pid && leader->start_boottime + WALK_BIRTHS_NS >= from)
			goes_on = walk_process(leader);
	}
	bpf_iter_task_destroy(&processes);
	bpf_rcu_read_unlock();
	if (goes_on)
		walk_process_ns = walk_tgid = walk_tid = 0;
	for (__u32 i = 0; i < WALK_RECORDS && i < walk_awake_cnt; i++)
		read_awake(i);
	return 0;
}

/* Whose last account was sent, and nobody has reaped yet, is not to be told once more. */
static __always_inline void begin_anew(struct account *account)
{
	if (account->state != STATE_ENDED)
		account->state = STATE_UNKNOWN;
}

/* To the quiet gear: what went on until now is counted, and from here on the kernel counts. */
static __always_inline void go_quiet(struct account *account, struct task_room *r,
				     struct task_struct *task, struct cfs_rq *queue, __u64 now)
{
	__u64 waiting;

	/* No program saw its birth: the kernel has counted all of its life. */
	if (!account->since_ns && task->start_time >= session_start_ns) {
		gather(account, task, queue, now, &waiting);
		return;
	}
	r->event.tgid = task->tgid;
	fill_figures(&r->event, task, account);
	add_interval(&r->event, account, task, queue, now);
	account->sched = r->event.sched;
	account->blocked_ns = r->event.blocked_ns;
	account->since_ns = now;
	begin_anew(account);
	mark_counts(account, task);
	if (!kernel_counts_waits)
		return;
	/* Nothing is left to gather but the mark of a wait that goes on, which was counted. */
	gather_waits(account, task, queue, now, &waiting);
}

/* Its CPU may not switch for long. */
static __always_inline void note_running(struct task_struct *task, __u32 cpu, __u64 now)
{
	struct cpu_clock *clock = bpf_map_lookup_elem(&cpus, &cpu);

	if (!clock)
		return;
	clock->running_tid = task->pid;
	clock->running_tgid = task->tgid;
	clock->running_task = (__u64)task;
	clock->last_switch_ns = now;
}

/* To the full gear: as at the start of a session. */
static __always_inline void go_full(struct account *account, struct task_struct *task,
				    struct cfs_rq *queue, __u64 now)
{
	__u64 waiting;

	gather(account, task, queue, now, &waiting);
	mark_counts(account, task);
	account->since_ns = now;
	begin_anew(account);
	account->cpu = compat_task_cpu(task);
	if (kernel_counts_waits)
		mark_queue(account, queue);
	mark_sleep(account, task);
	if (compat_on_cpu(task))
		note_running(task, account->cpu, now);
}

/* Once for each thread, to the gear of quiet_gear, while no program at switches is attached: its
 * account is gathered as it was kept so far, and goes on from there. Writes nothing, so that no
 * step is run twice. */
SEC("iter/task")
int change_gear(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct account *account;
	struct cfs_rq *queue;
	struct task_room *r;
	__u32 zero = 0;
	__u64 now;

	if (!task)
		return 0;
	queue = compat_queue(task);
	r = bpf_map_lookup_elem(&task_rooms, &zero);
	account = make_account(task, queue);
	if (!r || !account) {
		count_loss(LOSS_ACCOUNT_ALLOC);
		return 0;
	}
	now = bpf_ktime_get_ns();
	WRITE_ONCE(account->sequence, account->sequence + 1);
	barrier();
	if (quiet_gear)
		go_quiet(account, r, task, queue, now);
	else
		go_full(account, task, queue, now);
	barrier();
	WRITE_ONCE(account->sequence, account->sequence + 1);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where threads stand that do not run: the kernel stack, the registers with which each entered the
 * kernel, and a piece of its user stack, read out of its memory without stopping it. The user side
 * walks that piece. Kernels since 5.18 (bpf_copy_from_user_task and iterators that may sleep).
 */
#include "account.bpf.h"
#include "pages.bpf.h"

#define USER_CODE_64	 0x33  /* __USER_CS, arch/x86/include/asm/segment.h */
#define VM_UFFD_MISSING	 0x200 /* include/linux/mm.h */
#define CALL_FUTEX	 202   /* of x86-64 */
#define STAND_STACK_MOST (STAND_STACK_BYTES - 1)

/* Whether stand_tgids chooses. Set by the user side before each pass. */
__u32 stand_selects = 0;
/* That thread alone; 0 = all. The same. */
__u32 stand_tid = 0;
/* But for those that have slept for so long; 0 = all. The same. */
__u64 stand_awake_ns = 0;

/* tgid -> 1: those alone are looked at. Written by the user side. Size: as of -p. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FILTER_TGIDS_MAX);
	__type(key, __u32);
	__type(value, __u8);
} stand_tgids SEC(".maps");

struct stand_look stand_look = {};

/* The place of the next pass, and those of passes that hang, a bit each. Set by the user side
 * before each pass, which is known by the kernel's number of it from then on. */
__u32 stand_place = 0;
__u32 stand_stuck = 0;
__u64 stand_sessions[STAND_PASSES_MOST] = {};

/* tgid -> how many of its threads a look chooses. Written by the user side. Size: processes with
 * many threads. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LOOK_SHARES_MAX);
	__type(key, __u32);
	__type(value, struct look_share);
} look_shares SEC(".maps");

struct stand_room {
	struct event_stand event;
	__u8 stack[STAND_STACK_BYTES];
};

/*
 * place of a pass -> room to build its records: it may sleep, so that it is no CPU's, and one that
 * hangs keeps its room until it ends. Size: STAND_PASSES_MOST.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STAND_PASSES_MOST);
	__type(key, __u32);
	__type(value, struct stand_room);
} stand_rooms SEC(".maps");

/* The clock of run queues now: that of the CPU which runs this, up to its last tick. */
static __always_inline __u64 queue_clock(void)
{
	struct rq *queue = compat_cpu_queue(bpf_get_current_task_btf());

	return queue ? BPF_CORE_READ(queue, clock) : 0;
}

/*
 * When the thread left its CPU, by the clock of its run queue: as it came there, and what it ran
 * since, in which interrupts and stolen time are not counted. Where that is not known, the last
 * update of its run time, in a clock that leaves out what was stolen up to now: later than it was.
 * 0: the kernel does not tell.
 */
static __always_inline __u64 left_at(struct task_struct *task)
{
	struct rq *queue = compat_cpu_queue(task);
	__u64 arrived = 0, left = 0;

	if (bpf_core_field_exists(task->sched_info.last_arrival))
		arrived = task->sched_info.last_arrival;
	if (arrived && !task->rt_priority &&
	    task->se.sum_exec_runtime >= task->se.prev_sum_exec_runtime)
		return arrived + (task->se.sum_exec_runtime - task->se.prev_sum_exec_runtime);
	if (queue && task->se.exec_start)
		left = task->se.exec_start +
		       (BPF_CORE_READ(queue, clock) - BPF_CORE_READ(queue, clock_task));
	return left > arrived ? left : arrived;
}

/* How long it has been in its state; STAND_AGE_UNKNOWN. */
static __always_inline __u64 age_of(struct task_struct *task, bool on_cpu)
{
	__u64 now = queue_clock(), since;

	if (on_cpu || task->__state == TASK_RUNNING) {
		if (!bpf_core_field_exists(task->sched_info.last_arrival))
			return STAND_AGE_UNKNOWN;
		since = on_cpu ? task->sched_info.last_arrival : task->sched_info.last_queued;
	} else {
		since = left_at(task);
	}
	if (!now || !since)
		return STAND_AGE_UNKNOWN;
	return now > since ? now - since : 0;
}

struct area {
	__u64 end;
};

/* A file's memory may have to be fetched from anywhere, and userfaultfd's from another process:
 * neither is read. */
static long take_area(struct task_struct *task, struct vm_area_struct *vma, struct area *area)
{
	if (!BPF_CORE_READ(vma, vm_file) && !(vma->vm_flags & VM_UFFD_MISSING))
		area->end = vma->vm_end;
	return 0;
}

/* Tries, since the area is found without waiting for who changes the process's mappings. */
#define AREA_TRIES 4

static __always_inline __u64 area_end(struct task_struct *task, __u64 sp)
{
	struct area area = {};
	long err = -1;

	for (int i = 0; i < AREA_TRIES && err; i++)
		err = bpf_find_vma(task, sp, take_area, &area, 0);
	return area.end;
}

/* What a futex is part of: of a mutex of the C library, who holds it. */
static __always_inline void read_lock(struct event_stand *e, struct task_struct *task)
{
	__u64 at = e->args[0];

	if (at & 3 || area_end(task, at) < at + sizeof(e->lock) ||
	    present_bytes(task->mm, at, sizeof(e->lock)) < sizeof(e->lock))
		return;
	if (!bpf_copy_from_user_task(e->lock, sizeof(e->lock), (void *)at, task, 0))
		e->flags |= STAND_LOCK;
}

/* Of a thread that is not on a CPU. */
static __always_inline void read_user(struct stand_room *r, struct task_struct *task)
{
#ifdef __TARGET_ARCH_x86
	struct event_stand *e = &r->event;
	__u64 end, bytes, top, present;
	struct pt_regs regs;

	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)bpf_task_pt_regs(task))) {
		e->flags |= STAND_UNREADABLE;
		return;
	}
	if ((__u16)regs.cs != USER_CODE_64) {
		e->flags |= regs.cs ? STAND_COMPAT : STAND_NO_USER;
		return;
	}
	e->ip = regs.rip;
	e->sp = regs.rsp;
	e->fp = regs.rbp;
	e->call = regs.orig_rax;
	e->args[0] = regs.rdi;
	e->args[1] = regs.rsi;
	end = area_end(task, e->sp);
	if (end <= e->sp) {
		e->flags |= STAND_UNREADABLE;
		return;
	}
	bytes = end - e->sp;
	/* C libraries put what is the thread's own above its stack; beyond lies what is not. */
	top = task->thread.fsbase;
	if (top > e->sp && top - e->sp < bytes)
		bytes = top - e->sp;
	if (bytes > STAND_STACK_MOST) {
		e->flags |= STAND_DEEP;
		bytes = STAND_STACK_MOST & ~7ull;
	}
	present = present_bytes(task->mm, e->sp, bytes);
	if (present < bytes) {
		e->flags |= present ? STAND_DEEP : STAND_UNREADABLE;
		bytes = present & ~7ull;
	}
	bytes &= STAND_STACK_MOST; /* for the verifier */
	if (bpf_copy_from_user_task(r->stack, bytes, (void *)e->sp, task, 0))
		e->flags |= STAND_UNREADABLE;
	else
		e->stack_bytes = bytes;
	if (e->call == CALL_FUTEX)
		read_lock(e, task);
#else
	r->event.flags |= STAND_NO_USER;
#endif
}

static __always_inline void read_kernel(struct event_stand *e, struct task_struct *task)
{
	long bytes = bpf_get_task_stack(task, e->kernel, sizeof(e->kernel), 0);

	if (bytes > 0)
		e->kernel_cnt = bytes / sizeof(__u64);
}

static __always_inline __u64 switches_of(struct task_struct *task)
{
	return *(volatile unsigned long *)&task->nvcsw + *(volatile unsigned long *)&task->nivcsw;
}

/* Another pass hangs in the memory of that process. */
static __always_inline bool hangs(__u32 tgid)
{
	for (__u32 i = 0; stand_stuck && i < STAND_PASSES_MOST; i++) {
		__u32 place = i;
		struct stand_room *r = bpf_map_lookup_elem(&stand_rooms, &place);

		if (stand_stuck & 1u << i && r && r->event.tgid == tgid)
			return true;
	}
	return false;
}

/*
 * What was read between two looks at its switches is of one moment where the thread did not run in
 * between: a switch that brought it on a CPU counts when it leaves it, until then it is there.
 */
static __always_inline void read_standing(struct stand_room *r, struct task_struct *task)
{
	struct event_stand *e = &r->event;

	e->switches = switches_of(task);
	barrier();
	if (compat_on_cpu(task)) {
		e->flags |= STAND_RUNS;
		return;
	}
	read_kernel(e, task);
	if (hangs(e->tgid))
		e->flags |= STAND_UNREADABLE;
	else if (!(e->flags & STAND_KERNEL_THREAD))
		read_user(r, task);
	barrier();
	if (switches_of(task) != e->switches || compat_on_cpu(task))
		e->flags |= STAND_MOVED;
}

static __always_inline __u32 own_tid(struct task_struct *task)
{
	/* Read as a number: pointers that the verifier knows must not be computed with. */
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level, tid = 0;

	if (!pid)
		return 0;
	level = BPF_CORE_READ(pid, level);
	bpf_probe_read_kernel(&tid, sizeof(tid),
			      (char *)pid + bpf_core_field_offset(struct pid, numbers) +
				      level * bpf_core_type_size(struct upid) +
				      bpf_core_field_offset(struct upid, nr));
	return tid;
}

static __always_inline void begin(struct event_stand *e, struct task_struct *task)
{
	__builtin_memset(e, 0, sizeof(*e));
	e->header.kind = EVENT_STAND;
	e->header.cpu = bpf_get_smp_processor_id();
	e->time_ns = bpf_ktime_get_ns();
	e->tgid = task->tgid;
	e->tid = task->pid;
	e->process_start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	e->thread_start_ns = task->start_boottime;
	e->state = state_letter(task->__state, task->exit_state);
	e->age_ns = age_of(task, compat_on_cpu(task));
	e->ns_tid = own_tid(task);
	if (task->flags & PF_KERNEL_ALONE)
		e->flags |= STAND_KERNEL_THREAD;
	BPF_CORE_READ_STR_INTO(&e->comm, task, comm);
}

/* --- looks ----------------------------------------------------------------------------------- */

static __always_inline bool is_blocked(struct task_struct *task)
{
	__u8 state = state_letter(task->__state, task->exit_state);

	return !compat_on_cpu(task) && !(task->flags & PF_KERNEL_ALONE) &&
	       (state == 'S' || state == 'D' || state == 'T' || state == 't');
}

static __always_inline bool is_chosen(struct task_struct *task, __u32 share)
{
	__u64 hash = (task->start_boottime ^ task->pid) + stand_look.seed;

	hash = (hash ^ hash >> 31) * 0x9e3779b97f4a7c15ull;
	hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ull;
	return share == LOOK_ALL || hash >> 32 < share;
}

/* A step of the iteration may be run again, by the same pass: its record was not taken then. */
static __always_inline bool is_same(const struct account *account, __u64 switches, __u64 now)
{
	return account->looked_switches == switches && account->looked_pass >= stand_look.since &&
	       account->looked_pass != stand_look.pass && now - account->looked_ns < STAND_AGAIN_NS;
}

/* False: nothing is told of it. */
static __always_inline bool look_at(struct stand_room *r, struct task_struct *task)
{
	struct event_stand *e = &r->event;
	__u32 tgid = task->tgid, share = stand_look.share;
	struct look_share *of = bpf_map_lookup_elem(&look_shares, &tgid);
	struct account *account;

	if (!is_blocked(task))
		return false;
	if (of) {
		__u64 age = age_of(task, false);

		share = age != STAND_AGE_UNKNOWN && age >= STAND_LASTING_NS ? of->lasting
									    : of->brief;
	}
	if (!is_chosen(task, share))
		return false;
	begin(e, task);
	e->share = share;
	e->switches = switches_of(task);
	account = bpf_task_storage_get(&accounts, task, 0, 0);
	if (account && !(of && of->again) && is_same(account, e->switches, e->time_ns)) {
		e->flags |= STAND_SAME;
		return true;
	}
	read_standing(r, task);
	if (e->flags & STAND_RUNS)
		return false;
	if (account && !(e->flags & STAND_MOVED)) {
		account->looked_switches = e->switches;
		account->looked_ns = e->time_ns;
		account->looked_pass = stand_look.pass;
	}
	return true;
}

/* Nothing happens to it, for longer than is asked about; who sleeps uninterruptibly has to do with
 * what goes on. */
static __always_inline bool sleeps_long(struct task_struct *task)
{
	__u64 age;

	if (!stand_awake_ns || compat_on_cpu(task) || task->__state == TASK_RUNNING ||
	    state_letter(task->__state, task->exit_state) == 'D')
		return false;
	age = age_of(task, false);
	return age != STAND_AGE_UNKNOWN && age > stand_awake_ns;
}

/* The room of this pass: its own from its first thread on. NULL: it was left long ago. */
static __always_inline struct stand_room *room_of(struct bpf_iter_meta *meta)
{
	__u32 place = stand_place;

	if (place >= STAND_PASSES_MOST)
		return NULL;
	if (!meta->seq_num)
		stand_sessions[place] = meta->session_id;
	for (__u32 i = 0; i < STAND_PASSES_MOST; i++)
		if (stand_sessions[i] == meta->session_id) {
			place = i;
			return bpf_map_lookup_elem(&stand_rooms, &place);
		}
	return NULL;
}

/* For every thread, or those of some processes, when somebody asks where they stand. Worst cost of
 * one: some 10 us, most of it for the copy of its stack. */
SEC("iter.s/task")
int read_stands(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct stand_room *r;
	__u32 tgid, bytes;

	if (!task)
		return 0;
	r = room_of(ctx->meta);
	if (!r)
		return 0;
	tgid = task->tgid;
	if (stand_selects && !bpf_map_lookup_elem(&stand_tgids, &tgid))
		return 0;
	if ((stand_tid && (__u32)task->pid != stand_tid) || sleeps_long(task))
		return 0;
	if (stand_look.pass) {
		if (!look_at(r, task))
			return 0;
	} else {
		begin(&r->event, task);
		read_standing(r, task);
	}
	bytes = r->event.stack_bytes & STAND_STACK_MOST; /* for the verifier */
	r->event.header.size = sizeof(r->event) + bytes;
	bpf_seq_write(ctx->meta->seq, r, sizeof(r->event) + bytes);
	return 0;
}

/* Run by user space, once, before anything is read. */
SEC("syscall")
int find_pages(struct page_trial *trial)
{
#ifdef __TARGET_ARCH_x86
	return learn_page_tables(trial);
#else
	return 0; /* nothing is read of user stacks there */
#endif
}

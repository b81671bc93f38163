/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * On-CPU samples: one perf event a CPU, each tick a small record; stacks are sent once a file and
 * named by a 64-bit id.
 */
#include "shared.bpf.h"
#include "cost.bpf.h"
#include "compat.bpf.h"
#include "unwind.bpf.h"

#include <linux/bpf_perf_event.h>

const volatile __u64 stack_seed; /* random each run: a target cannot forge another's stack id */
const volatile __u32 stack_depth = 127; /* kernel.perf_event_max_stack */
const volatile bool filter_tgids;	/* -p: stacks only of the processes in `tgids` */
const volatile bool filter_cgroups;	/* --cgroup: stacks only of the groups in `cgroups` */

/* Raised by the user side when sampling starts for a new file, so that every stack is sent again.
 * Never 0 while it runs. */
__u32 stack_generation = 0;

struct samples_map samples SEC(".maps");

#define TAG_BITS 16
#define TAG_MASK ((1ull << TAG_BITS) - 1)

/*
 * low bits of a stack id -> its other bits and the generation in which it was sent. A plain array:
 * a hit costs one look-up (7 ns; an LRU hash 33 ns), and two stacks that share a slot only push
 * each other out and are sent again. Written here. Size: 65,536 x 8 B, above the distinct stacks of
 * a busy host.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << TAG_BITS);
	__type(key, __u32);
	__type(value, __u64);
} stack_tags SEC(".maps");

/* tgid -> 1 for -p. Written by the user side before start. Size: the option's bound. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FILTER_TGIDS_MAX);
	__type(key, __u32);
	__type(value, __u8);
} tgids SEC(".maps");

/* cgroup id -> 1 for --cgroup, the groups below included. Written by the user side at start and
 * each slice. Size: groups of a large node. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FILTER_CGROUPS_MAX);
	__type(key, __u64);
	__type(value, __u8);
} cgroups SEC(".maps");

/* Entries of a run queue's list that are looked at: waiting threads, and some that sleep in it. */
#define LIST_WALK_MAX 64

/* A struct event_sample with room for all that it may name, and what its loop needs. */
struct sample_room {
	__u64 list;    /* address of the list of the run queue */
	__u64 at;      /* of the entry to look at next */
	__u64 running; /* address of the thread on the CPU */
	union {
		struct event_sample sample;
		struct {
			__u8 fixed[sizeof(struct event_sample)];
			__u32 waiting[WAITING_MAX];
		};
	};
};

/* 0 -> room to build a sample, one a CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample_room);
} sample_rooms SEC(".maps");

static __always_inline __u64 mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/*
 * Hash of the frames in the scratch. A function of its own, in steps of 8 words, so that the kernel
 * verifies the loop once and in 5 ms instead of 240 ms.
 */
__noinline __u64 hash_frames(__u64 hash, __u32 cnt)
{
	__u32 zero = 0;
	union stack_scratch *s = bpf_map_lookup_elem(&scratch, &zero);

	if (!s || cnt > STACK_MAX_FRAMES)
		return hash;
	for (__u32 k = 0; k < HASH_STEP; k++)
		s->words[STACK_HEADER_WORDS + cnt + k] = 0;
	for (__u32 i = 0; i < STACK_MAX_FRAMES; i += HASH_STEP) {
		if (i >= cnt)
			break;
#pragma unroll
		for (__u32 k = 0; k < HASH_STEP; k++)
			hash = mix(hash, s->words[STACK_HEADER_WORDS + i + k]);
	}
	return mix(hash, cnt);
}

/* What a walk led to. */
struct walked {
	__u32 cnt;	/* frames in the scratch; 0 = none */
	__u32 left_out; /* in the middle */
	__u16 flags;	/* STACK_* */
	__u16 end;	/* enum stack_end */
	bool fault;	/* it should have been there */
};

/* By the kernel, along frame pointers. */
static __always_inline void walk_by_fp(void *ctx, union stack_scratch *s, __u64 walk_flags,
				       struct walked *to)
{
	long bytes = bpf_get_stack(ctx, s->words + STACK_HEADER_WORDS,
				   STACK_MAX_FRAMES * sizeof(__u64), walk_flags);

	if (bytes <= 0) {
		/* A user task always has at least one frame; a kernel stack is there only in the
		 * kernel. */
		to->fault = (walk_flags & BPF_F_USER_STACK) || bytes < 0;
		return;
	}
	to->cnt = bytes / sizeof(__u64);
	if (to->cnt > STACK_MAX_FRAMES)
		to->cnt = STACK_MAX_FRAMES;
	to->flags = to->cnt >= stack_depth ? STACK_TRUNCATED : 0;
}

static __always_inline void walk_user(void *ctx, struct task_struct *task, union stack_scratch *s,
				      const struct event_sample *sample, struct walked *to)
{
	struct unwind_walk *w = walk_tables ? unwind_user(task, sample) : NULL;

	if (!w) {
		walk_by_fp(ctx, s, BPF_F_USER_STACK, to);
		to->end = walk_tables ? STACK_END_NOT_YET : STACK_END_UNTOLD;
		to->flags |= walk_tables ? STACK_UNSURE : 0;
		return;
	}
	to->cnt = w->steps;
	if (w->steps > walk_depth) {
		to->cnt = walk_depth;
		to->left_out = w->steps - walk_depth;
	}
	if (to->cnt > STACK_MAX_FRAMES)
		to->cnt = STACK_MAX_FRAMES;
	to->end = w->end;
	to->flags =
		(w->unsure ? STACK_UNSURE : 0) | (w->end == STACK_END_DEPTH ? STACK_TRUNCATED : 0);
}

/* Sends the stack in the scratch unless this file has it, and returns its id. Cost: 1-2 ns a frame
 * for the hash, one array look-up. */
static __always_inline __u64 send_stack(union stack_scratch *s, const struct event_sample *sample,
					const struct walked *w, bool user)
{
	__u64 hash = stack_seed, tag, *known;
	__u32 slot, cnt = w->cnt;
	long bytes;

	if (user)
		hash = mix(mix(mix(hash, sample->tgid), sample->process_start_ns),
			   (__u64)w->left_out << 32 | w->flags << 16 | w->end);
	hash = hash_frames(hash, cnt);
	if (!hash)
		hash = 1;

	slot = hash & TAG_MASK;
	tag = (hash & ~TAG_MASK) | (stack_generation & TAG_MASK);
	known = bpf_map_lookup_elem(&stack_tags, &slot);
	if (!known || *known == tag)
		return hash;

	s->event.header.kind = EVENT_STACK;
	s->event.header.size = sizeof(s->event) + cnt * sizeof(__u64);
	s->event.header.cpu = sample->header.cpu;
	s->event.id = hash;
	s->event.tgid = user ? sample->tgid : 0;
	s->event.process_start_ns = user ? sample->process_start_ns : 0;
	s->event.frame_cnt = cnt;
	s->event.flags = (user ? 0 : STACK_KERNEL) | w->flags;
	s->event.end = w->end;
	s->event.pad = 0;
	s->event.left_out = w->left_out;
	bytes = sizeof(s->event) + cnt * sizeof(__u64);
	if (bytes > (long)sizeof(*s)) /* for the verifier */
		return hash;
	if (bpf_ringbuf_output(&samples, s, bytes, BPF_RB_NO_WAKEUP)) {
		count_loss(LOSS_STACK_RING_FULL); /* the tag stays: sent again next time */
		return hash;
	}
	*known = tag;
	return hash;
}

/* Takes one stack of a sample and returns its id; 0 = none, *fault set where it should have been
 * there. */
static __always_inline __u64 take_stack(void *ctx, struct task_struct *task,
					struct event_sample *sample, bool user, bool *fault)
{
	__u32 zero = 0;
	union stack_scratch *s = bpf_map_lookup_elem(&scratch, &zero);
	struct walked walked = {};

	if (!s) {
		count_loss(LOSS_SCRATCH);
		*fault = true;
		return 0;
	}
	if (user)
		walk_user(ctx, task, s, sample, &walked);
	else
		walk_by_fp(ctx, s, 0, &walked);
	*fault = walked.fault;
	return walked.cnt ? send_stack(s, sample, &walked, user) : 0;
}

static __always_inline __u32 count_waiters(struct rq *rq)
{
	__u32 running, delayed;

	if (!rq)
		return WAITERS_UNKNOWN;
	running = BPF_CORE_READ(rq, nr_running);
	delayed = compat_delayed_tasks(rq);
	/* Read without the lock: never below zero. */
	return running > 1 + delayed ? running - 1 - delayed : 0;
}

/* Whether a task of the list of a run queue could run now: not one that sleeps but is still queued,
 * nor one of a group that is throttled. */
static __always_inline bool could_run(struct task_struct *task)
{
	struct cfs_rq *queue = BPF_CORE_READ(task, se.cfs_rq);

	if (BPF_CORE_READ(task, __state) != TASK_RUNNING)
		return false;
	return !bpf_core_field_exists(queue->throttle_count) ||
	       !BPF_CORE_READ(queue, throttle_count);
}

/*
 * Looks at one entry of the run queue's list; 0 = the end. A function of its own, so that the
 * kernel verifies it once instead of once an entry.
 */
__noinline int list_entry(struct sample_room *room)
{
	struct list_head *at;
	struct task_struct *task;
	__u32 cnt;

	if (!room)
		return 0;
	at = (struct list_head *)room->at;
	cnt = room->sample.waiting_cnt;
	if (!at || room->at == room->list || cnt >= room->sample.waiters || cnt >= WAITING_MAX)
		return 0;
	task = (void *)at - bpf_core_field_offset(struct task_struct, se.group_node);
	if ((__u64)task != room->running && could_run(task)) {
		room->waiting[cnt & (WAITING_MAX - 1)] = BPF_CORE_READ(task, tgid);
		room->sample.waiting_cnt = cnt + 1;
	}
	room->at = (__u64)BPF_CORE_READ(at, next);
	return 1;
}

/*
 * Names the threads that wait for this CPU by their processes. The list is read without its lock,
 * as the number of waiters is: at worst a thread is missed, or named twice. Threads of other
 * classes are not in it. Cost: 0.1 us a thread.
 */
static __always_inline void list_waiting(struct sample_room *room, struct rq *rq,
					 struct task_struct *running)
{
	room->running = (__u64)running;
	room->list = (__u64)rq + bpf_core_field_offset(struct rq, cfs_tasks);
	room->at = (__u64)BPF_CORE_READ(rq, cfs_tasks.next);
	for (int i = 0; i < LIST_WALK_MAX; i++)
		if (!list_entry(room))
			break;
}

/* Counts the queue of this CPU, and names who is in it. */
static __always_inline void look_at_queue(struct cpu_clock *clock, struct sample_room *room,
					  struct task_struct *task)
{
	struct rq *rq = compat_cpu_queue(task);
	__u32 waiters = count_waiters(rq);

	room->sample.waiters = waiters;
	if (waiters == WAITERS_UNKNOWN) {
		clock->queue[QUEUE_UNKNOWN]++;
		return;
	}
	clock->queue[waiters < QUEUE_MOST ? waiters : QUEUE_MOST]++;
	if (waiters && bpf_core_field_exists(rq->cfs_tasks))
		list_waiting(room, rq, task);
}

static __always_inline bool selected(const struct event_sample *sample)
{
	if (filter_tgids && !bpf_map_lookup_elem(&tgids, &sample->tgid))
		return false;
	if (filter_cgroups && !bpf_map_lookup_elem(&cgroups, &sample->cgroup_id))
		return false;
	return true;
}

static __always_inline void send_sample(struct sample_room *room)
{
	__u64 bytes = sizeof(room->sample) + room->sample.waiting_cnt * sizeof(__u32);

	if (bytes > sizeof(room->sample) + sizeof(room->waiting)) /* for the verifier */
		return;
	room->sample.header.size = bytes;
	if (bpf_ringbuf_output(&samples, &room->sample, bytes, BPF_RB_NO_WAKEUP))
		count_loss(LOSS_SAMPLE_RING_FULL);
}

__hidden void take_stacks(void *ctx, struct task_struct *task, struct event_sample *sample)
{
	__u32 flags = BPF_CORE_READ(task, flags);
	bool fault = false;

	sample->kernel_stack = take_stack(ctx, task, sample, false, &fault);
	if (fault) {
		sample->flags |= SAMPLE_KERNEL_STACK_FAULT;
		count_loss(LOSS_KERNEL_STACK_FAULT);
	}
	if (flags & PF_KTHREAD) {
		sample->flags |= SAMPLE_KERNEL_THREAD;
	} else if (!(flags & PF_KERNEL_ALONE) &&
		   BPF_CORE_READ(task, mm)) { /* else it exits: user memory is gone */
		fault = false;
		sample->user_stack = take_stack(ctx, task, sample, true, &fault);
		if (fault) {
			sample->flags |= SAMPLE_USER_STACK_FAULT;
			count_loss(LOSS_USER_STACK_FAULT);
		}
	}
}

static __always_inline void take_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 id = bpf_get_current_pid_tgid();
	__u32 zero = 0, cpu = bpf_get_smp_processor_id();
	struct sample_room *room = bpf_map_lookup_elem(&sample_rooms, &zero);
	struct cpu_clock *clock = bpf_map_lookup_elem(&cpus, &cpu);
	struct event_sample *sample;

	if (!clock || !room)
		return;
	clock_meets_thread(clock);
	if (!(__u32)id) {
		clock->ticks_idle++;
		return;
	}
	clock->ticks_taken++;
	sample = &room->sample;
	__builtin_memset(sample, 0, sizeof(*sample));
	sample->header.kind = EVENT_SAMPLE;
	sample->header.cpu = cpu;
	sample->time_ns = bpf_ktime_get_ns();
	sample->tgid = id >> 32;
	sample->tid = (__u32)id;
	sample->sample_kind = SAMPLE_ON_CPU;
	sample->cgroup_id = compat_cgroup_id(task);
	sample->process_start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	sample->thread_start_ns = BPF_CORE_READ(task, start_boottime);
	look_at_queue(clock, room, task);
	if ((filter_tgids || filter_cgroups) && !selected(sample)) {
		clock->ticks_filtered++;
		if (!sample->waiters || sample->waiters == WAITERS_UNKNOWN)
			return;
		/* Who takes the CPU from others is told of everybody. */
		sample->flags |= SAMPLE_FILTERED;
	} else {
		take_stacks(ctx, task, sample);
	}
	send_sample(room);
}

/*
 * Fires at the sampling rate on each CPU (99 Hz), in the timer interrupt. Worst cost: two walks of
 * the depth that the sysctl allows, about 10 us, and one of the run queue, up to 6 us.
 */
SEC("perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	struct cost_run run = cost_begin_each(COST_TICK);

	take_sample(ctx);
	cost_end(run);
	return 0;
}

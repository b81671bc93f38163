/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_UNWIND_BPF_H
#define HOTRUN_UNWIND_BPF_H
/*
 * The walk of a user stack by the tables that the user side publishes (events.h), from the
 * registers with which the thread entered the kernel: of x86-64, kernels since 5.15
 * (bpf_task_pt_regs). Included by sample.bpf.c alone, which has the room for the frames.
 */
#include "shared.bpf.h"

/* A struct event_stack with room for its frames. */
#define STACK_HEADER_WORDS (sizeof(struct event_stack) / sizeof(__u64))
#define HASH_STEP	   8 /* words hashed at once; that many zeros follow the frames */
union stack_scratch {
	struct event_stack event;
	__u64 words[STACK_HEADER_WORDS + STACK_MAX_FRAMES + HASH_STEP];
};

/* 0 -> room to walk a stack, one a CPU: ticks of one CPU never nest. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, union stack_scratch);
} scratch SEC(".maps");

static __always_inline long stack_read(void *to, __u32 bytes, __u64 at)
{
	return bpf_probe_read_user(to, bytes, (const void *)at);
}

#include "unwind_step.h"

#define PF_FORKNOEXEC 0x40 /* include/linux/sched.h */
#define USER_CODE_64  0x33 /* __USER_CS, arch/x86/include/asm/segment.h; 32-bit code has another */

const volatile bool walk_tables; /* else along frame pointers, by the kernel */
const volatile __u32 walk_depth =
	512; /* frames kept of one stack; 2 x STACK_ROOT_FRAMES at least */

/* Raised by the user side after each change of the tables. */
__u32 unwind_generation = 0;

/* A chunk of rows. */
struct unwind_chunk {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_CHUNK_ROWS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct unwind_row));
};

/* number -> chunk. Written by the user side. Size: --unwind-memory. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_CHUNKS_MAX);
	__type(key, __u32);
	__array(values, struct unwind_chunk);
} unwind_chunks SEC(".maps");

/* Pages of all tables. Written by the user side, in memory. Size: set before load. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_PAGES_MAX);
	__type(key, __u32);
	__type(value, struct unwind_page);
} unwind_pages SEC(".maps");

/* Mappings of all processes. The same. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_MAPPINGS_MAX);
	__type(key, __u32);
	__type(value, struct unwind_mapping);
} unwind_mappings SEC(".maps");

/* tgid -> its mappings. Written by the user side. Size: processes that are sampled at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UNWIND_PROCESSES_MAX);
	__type(key, __u32);
	__type(value, struct unwind_process);
} unwind_processes SEC(".maps");

/* A walk under way. */
struct unwind_walk {
	struct unwind_frame frame;
	struct unwind_process process;
	struct unwind_mapping mapping; /* looked at last */
	__u32 tgid, generation;
	__u32 steps;
	__u32 end;	 /* enum stack_end, 0 = it goes on */
	__u32 doubt;	 /* the same: what it will have ended of, where it goes astray */
	__u32 unsure;	 /* frames */
	__u32 is_unsure; /* the one at hand */
};

/* 0 -> room for one walk a CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_walk);
} unwind_walks SEC(".maps");

/* Rows that were found last, by address: the same callers stand in sample after sample. Written
 * here. Size: 4,096 x 24 B a CPU; of a chain of 45 native callers it saves a quarter. */
#define UNWIND_CACHE_BITS 12
struct unwind_cached {
	__u64 place;
	__u32 tgid, generation;
	struct unwind_row row;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << UNWIND_CACHE_BITS);
	__type(key, __u32);
	__type(value, struct unwind_cached);
} unwind_cache SEC(".maps");

/* 0: no mapping is known there. */
__noinline int unwind_find_mapping(struct unwind_walk *w, __u64 place)
{
	__u32 low, high;

	if (!w)
		return 0;
	low = w->process.first;
	high = low + w->process.cnt;
	for (int i = 0; i < 17; i++) {
		__u32 middle = low + (high - low) / 2;
		struct unwind_mapping *m;

		if (low >= high)
			break;
		m = bpf_map_lookup_elem(&unwind_mappings, &middle);
		if (!m)
			return 0;
		if (place < m->start) {
			high = middle;
		} else if (place >= m->end) {
			low = middle + 1;
		} else {
			w->mapping = *m;
			return 1;
		}
	}
	return 0;
}

/* The row that holds at a place of the mapping's file; none: UNWIND_UNKNOWN. */
__noinline int unwind_find_row(struct unwind_walk *w, __u64 place, struct unwind_row *ret_row)
{
	__u32 page, low, high, chunk, at = place & (UNWIND_PAGE_BYTES - 1);
	struct unwind_page *p;
	void *rows;

	if (!w || !ret_row)
		return 0;
	page = (__u32)(place >> UNWIND_PAGE_BITS) - w->mapping.page_base;
	if (page >= w->mapping.page_cnt)
		return 0;
	page += w->mapping.first_page;
	p = bpf_map_lookup_elem(&unwind_pages, &page);
	if (!p)
		return 0;
	low = p->first;
	high = low + p->cnt;
	chunk = low >> UNWIND_CHUNK_BITS;
	rows = bpf_map_lookup_elem(&unwind_chunks, &chunk);
	if (!rows)
		return 0;
	for (int i = 0; i < 17; i++) {
		__u32 middle = low + (high - low) / 2, key = middle & (UNWIND_CHUNK_ROWS - 1);
		struct unwind_row *row;

		if (low >= high)
			break;
		row = bpf_map_lookup_elem(rows, &key);
		if (!row)
			return 0;
		if (row->at <= at) {
			*ret_row = *row;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return 0;
}

/* Along the frame pointer for want of a row; why, if the walk goes astray by it. */
static __always_inline void unwind_doubtfully(struct unwind_walk *w, enum stack_end why)
{
	if (!w->doubt)
		w->doubt = why;
	w->end = unwind_by_fp(&w->frame);
	/* Where it ends the walk, that says it. */
	w->unsure += !w->end;
	/* Of what has no tables yet, all of it is: that is said once. */
	w->is_unsure = why != STACK_END_NOT_YET;
}

static __always_inline enum stack_end unwind_why(__u32 kind)
{
	switch (kind) {
	case UNWIND_BY_FP:
		return STACK_END_CODE;
	case UNWIND_BY_TABLE: /* which says nothing of that code */
	case UNWIND_NO_TABLE:
		return STACK_END_NO_TABLE;
	case UNWIND_NO_MEMORY:
		return STACK_END_MEMORY;
	default:
		return STACK_END_NOT_YET;
	}
}

/*
 * CPython's perf trampolines (since 3.12; Python/asm_trampoline.S) call the interpreter for a
 * function by "sub $8,%rsp; call *%rcx; add $8,%rsp; ret", in memory that no table tells of.
 */
#define TRAMPOLINE_CALL 6 /* bytes up to the return address */
static __always_inline bool unwind_is_trampoline(const struct unwind_frame *f)
{
	__u64 code[2];

	return f->is_caller && !stack_read(code, sizeof(code), f->ip - TRAMPOLINE_CALL) &&
	       code[0] == 0x8348d1ff08ec8348 && (code[1] & 0xffffff) == 0xc308c4;
}

/* From a frame to its caller. */
__noinline int unwind_step(struct unwind_walk *w)
{
	struct unwind_row row = {};
	struct unwind_cached *cached;
	__u64 place;
	__u32 slot;

	if (!w)
		return 0;
	place = unwind_place(&w->frame);
	slot = (__u32)((place ^ w->tgid) * 0x9e3779b97f4a7c15ull >> (64 - UNWIND_CACHE_BITS));
	cached = bpf_map_lookup_elem(&unwind_cache, &slot);
	if (!cached)
		return 0;
	w->is_unsure = 0;
	if (cached->place == place && cached->tgid == w->tgid &&
	    cached->generation == w->generation) {
		w->end = unwind_by_row(&w->frame, &cached->row);
		return 0;
	}
	if (place < w->mapping.start || place >= w->mapping.end) {
		if (!unwind_find_mapping(w, place)) {
			unwind_doubtfully(w, STACK_END_NOT_YET);
			return 0;
		}
	}
	unwind_find_row(w, place - w->mapping.bias, &row);
	if (row.cfa == UNWIND_UNKNOWN && w->mapping.kind == UNWIND_BY_FP &&
	    unwind_is_trampoline(&w->frame)) {
		row.cfa = UNWIND_SP;
		row.cfa_offset = 2;
	}
	if (row.cfa == UNWIND_UNKNOWN) {
		unwind_doubtfully(w, unwind_why(w->mapping.kind));
		return 0;
	}
	cached->place = place;
	cached->tgid = w->tgid;
	cached->generation = w->generation;
	cached->row = row;
	w->end = unwind_by_row(&w->frame, &row);
	return 0;
}

/* Where a frame of that number is kept: those of the leaf side, then a ring of the root side. */
static __always_inline __u32 unwind_slot(__u32 number)
{
	__u32 leaf_side = walk_depth - STACK_ROOT_FRAMES;

	if (number < leaf_side)
		return number;
	return leaf_side + ((number - leaf_side) & (STACK_ROOT_FRAMES - 1));
}

/* Steps that are taken at once: functions of their own, so that the kernel verifies each loop
 * once. */
#define UNWIND_STEPS 64

__noinline int unwind_steps(struct unwind_walk *w)
{
	__u32 zero = 0;
	union stack_scratch *s = bpf_map_lookup_elem(&scratch, &zero);

	if (!w || !s)
		return 0;
	for (int i = 0; i < UNWIND_STEPS; i++) {
		__u32 slot = unwind_slot(w->steps);
		__u64 ip = w->frame.ip;

		unwind_step(w);
		if (w->is_unsure && !w->end && !(ip >> 62))
			ip |= FRAME_CALLER_UNSURE;
		if (slot < STACK_MAX_FRAMES)
			s->words[STACK_HEADER_WORDS + slot] = ip;
		w->steps++;
		if (w->end)
			break;
	}
	return 0;
}

/* Those with which the thread entered the kernel, whose layout is the kernel's interface. */
static __always_inline bool unwind_registers(struct task_struct *task, struct unwind_frame *f)
{
#ifdef __TARGET_ARCH_x86
	struct pt_regs regs;

	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)bpf_task_pt_regs(task)) ||
	    (__u16)regs.cs != USER_CODE_64)
		return false;
	f->ip = regs.rip;
	f->sp = regs.rsp;
	f->fp = regs.rbp;
	return true;
#else
	return false;
#endif
}

static __always_inline struct unwind_process *unwind_process_of(__u32 tgid, __u64 start_ns)
{
	struct unwind_process *process = bpf_map_lookup_elem(&unwind_processes, &tgid);

	if (!process || (process->start_ns && process->start_ns != start_ns))
		return NULL;
	return process;
}

/* Of a process that was forked and has not called exec: what its parent has is mapped there. */
static __always_inline struct unwind_process *unwind_parent_of(struct task_struct *task,
							       __u32 *ret_tgid)
{
	struct task_struct *parent;

	if (!(BPF_CORE_READ(task, flags) & PF_FORKNOEXEC))
		return NULL;
	parent = BPF_CORE_READ(task, group_leader, real_parent, group_leader);
	*ret_tgid = BPF_CORE_READ(parent, tgid);
	return unwind_process_of(*ret_tgid, BPF_CORE_READ(parent, start_boottime));
}

/* A stack that is deeper than is kept is walked on for its root, to so many times the depth. */
#define UNWIND_DEPTHS 4

/*
 * Walks the stack of the current thread into the scratch. NULL: there are no tables for it, or it
 * has no registers of 64 bits. Cost: 0.1 us a frame.
 */
static __always_inline struct unwind_walk *unwind_user(struct task_struct *task,
						       const struct event_sample *sample)
{
	struct unwind_process *process;
	struct unwind_walk *w;
	__u32 zero = 0, tgid = sample->tgid, generation;

	/* Before what it tells of: rows of old mappings must not be kept as of new ones. */
	generation = *(volatile __u32 *)&unwind_generation;
	process = unwind_process_of(tgid, sample->process_start_ns);
	if (!process)
		process = unwind_parent_of(task, &tgid);
	w = bpf_map_lookup_elem(&unwind_walks, &zero);
	if (!process || !w)
		return NULL;
	__builtin_memset(w, 0, sizeof(*w));
	if (!unwind_registers(task, &w->frame))
		return NULL;
	w->process = *process;
	w->tgid = tgid;
	w->generation = generation;
	for (int i = 0; i < UNWIND_DEPTHS * STACK_MAX_FRAMES / UNWIND_STEPS; i++) {
		if (w->end || w->steps >= UNWIND_DEPTHS * walk_depth)
			break;
		unwind_steps(w);
	}
	if (!w->end)
		w->end = STACK_END_DEPTH;
	/* Where code was walked on a guess, that is why the way was lost. */
	else if (w->doubt && (w->end == STACK_END_ASTRAY || w->end == STACK_END_UNREADABLE))
		w->end = w->doubt;
	return w;
}
#endif

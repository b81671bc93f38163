/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COST_BPF_H
#define HOTRUN_COST_BPF_H
/*
 * What the programs cost, told by themselves: the kernel's own statistics of run time need
 * CAP_SYS_ADMIN, and cost more. Some of the runs, chosen by chance, are
 * measured, and stand for the others: two looks at the clock are as dear as a short program.
 */
#include "shared.bpf.h"

/* CPU -> its counters. Written by the programs that run on that CPU, read by the user side through
 * memory. Size: possible CPUs, set before load. Defined in sched.bpf.c. */
struct cost_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_cost);
};
extern struct cost_map costs SEC(".maps");

/* A run of so long was interrupted, or lost its CPU: that time is not its own. */
#define COST_MOST_NS 100000

/* True for one number of 2^bits. Multiplied by the golden ratio: what comes in turns (to and fro
 * between two threads) is hit evenly. */
static __always_inline bool cost_one_of(__u32 number, __u32 bits)
{
	return number * 0x9e3779b1u >> (32 - bits) == 0;
}

/* Programs that have the time or a count at hand measure one run of 256, those that do not, all
 * runs of one clock tick of 32: to count each run would cost it some 10 ns. */
#define COST_RUN_BITS  8
#define COST_TICK_BITS 5

/* In a session without counters nothing is measured. */
static __always_inline struct program_cost *cost_of(__u32 program)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_cost *here = bpf_map_lookup_elem(&costs, &cpu);

	return here && program < COST_CNT ? &here->programs[program] : NULL;
}

struct cost_run {
	__u32 program;
	__u64 begin_ns; /* 0 = is not measured */
};

/* When a run began that stands for so many; 0 = is not measured. Like cost_now_and_then() and
 * cost_finish() a function that the kernel verifies once: whether a run is measured is to be
 * nothing that it knows, or it would verify all that follows for each answer. */
__weak __noinline __u64 cost_start(__u32 program, __u32 runs)
{
	struct program_cost *cost = cost_of(program);

	if (!cost)
		return 0;
	cost->runs += runs;
	return bpf_ktime_get_ns();
}

__weak __noinline __u64 cost_now_and_then(__u32 program)
{
	if (!cost_one_of(bpf_jiffies64(), COST_TICK_BITS))
		return 0;
	return cost_start(program, 1 << COST_TICK_BITS);
}

/* For programs that fire often. */
static __always_inline struct cost_run cost_begin(enum cost_program program)
{
	return (struct cost_run){.program = program, .begin_ns = cost_now_and_then(program)};
}

/* For those that fire so seldom that each run is measured. */
static __always_inline struct cost_run cost_begin_each(enum cost_program program)
{
	return (struct cost_run){.program = program, .begin_ns = cost_start(program, 1)};
}

static __always_inline void cost_add(struct program_cost *cost, __u64 begin_ns)
{
	__u64 ns = bpf_ktime_get_ns() - begin_ns;

	if (ns > COST_MOST_NS)
		return;
	cost->timed++;
	cost->timed_ns += ns;
}

__weak __noinline int cost_finish(__u32 program, __u64 begin_ns)
{
	struct program_cost *cost = cost_of(program);

	if (cost)
		cost_add(cost, begin_ns);
	return 0;
}

static __always_inline void cost_end(struct cost_run run)
{
	if (run.begin_ns)
		cost_finish(run.program, run.begin_ns);
}

/* For a program that knows its number, and took the time where it is one_of(); the user side counts
 * its runs. */
static __always_inline void cost_end_since(enum cost_program program, __u64 begin_ns)
{
	struct program_cost *cost = cost_of(program);

	if (cost)
		cost_add(cost, begin_ns);
}

/* For one that knows when it began. */
static __always_inline void cost_end_at(enum cost_program program, __u64 begin_ns)
{
	struct program_cost *cost;

	if (!cost_one_of(begin_ns, COST_RUN_BITS))
		return;
	cost = cost_of(program);
	if (!cost)
		return;
	cost->runs += 1 << COST_RUN_BITS;
	cost_add(cost, begin_ns);
}
#endif

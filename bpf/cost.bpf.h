/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COST_BPF_H
#define HOTRUN_COST_BPF_H
/*
 * What the programs cost, told by themselves: the kernel's own statistics of run time need
 * CAP_SYS_ADMIN, and cost more. Each counts its runs, and measures some of them, chosen by chance: two
 * looks at the clock are as dear as a short program.
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

/* One run of 256 is measured, of programs that fire often. */
#define COST_SHIFT 24
/* A run of so long was interrupted, or lost its CPU: that time is not its own. */
#define COST_MOST_NS 100000

/* Whether the run of that number, or at that time, is measured. Multiplied by the golden ratio: what comes
 * in turns (to and fro between two threads) is hit evenly. */
static __always_inline bool cost_is_chosen(__u32 number)
{
	return number * 0x9e3779b1u >> COST_SHIFT == 0;
}

struct cost_run {
	struct program_cost *cost;
	__u64 begin_ns; /* 0 = is not measured */
};

/* Those that fire so seldom that some of them would tell too little. */
static __always_inline bool cost_is_rare(enum cost_program program)
{
	return program == COST_TASK || program == COST_TICK || program == COST_STATE;
}

static __always_inline struct cost_run cost_begin(enum cost_program program)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_cost *costs_here = bpf_map_lookup_elem(&costs, &cpu);
	struct cost_run run = {};

	if (!costs_here)
		return run;
	run.cost = &costs_here->programs[program];
	run.cost->runs++;
	if (cost_is_rare(program) || cost_is_chosen(run.cost->runs))
		run.begin_ns = bpf_ktime_get_ns();
	return run;
}

static __always_inline void cost_add(struct program_cost *cost, __u64 begin_ns)
{
	__u64 ns = bpf_ktime_get_ns() - begin_ns;

	if (ns > COST_MOST_NS)
		return;
	cost->timed++;
	cost->timed_ns += ns;
}

static __always_inline void cost_end(struct cost_run run)
{
	if (run.begin_ns && run.cost)
		cost_add(run.cost, run.begin_ns);
}

/* For the switch, whose runs are counted and whose time is taken anyway. */
static __always_inline void cost_end_switch(__u32 cpu, __u64 number, __u64 begin_ns)
{
	struct cpu_cost *costs_here;

	if (!cost_is_chosen(number))
		return;
	costs_here = bpf_map_lookup_elem(&costs, &cpu);
	if (costs_here)
		cost_add(&costs_here->programs[COST_SWITCH], begin_ns);
}
#endif

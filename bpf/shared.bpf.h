/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_SHARED_BPF_H
#define HOTRUN_SHARED_BPF_H
/*
 * What the programs share: configuration set before load, and the maps with more than one user.
 * Each is defined in one file, named at its declaration, and linked (bpftool gen object).
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "events.h"

/* loss cause -> count, one value a CPU. Written by all programs, read by the user side. Size: one
 * slot for each enum loss_cause of this side. Defined in sched.bpf.c. */
struct loss_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOSS_KERNEL_CNT);
	__type(key, __u32);
	__type(value, __u64);
};
extern struct loss_map losses SEC(".maps");

/* CPU -> its clock and books. Written by the programs that run on that CPU, read by the user side
 * through memory, without a system call. Size: possible CPUs, set before load. Defined in
 * sched.bpf.c. */
struct cpu_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_clock);
};
extern struct cpu_map cpus SEC(".maps");

/* Samples, wakers and stacks -> user side. Size: set before load, two seconds without a drain.
 * Defined in sample.bpf.c. */
struct samples_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
};
extern struct samples_map samples SEC(".maps");

/* A sampling tick, in the timer interrupt of clock's CPU: the thread that runs there. Puts the
 * clock right where the switch to that thread was not seen. Defined in sched.bpf.c. */
void clock_meets_thread(struct cpu_clock *clock);

/*
 * Takes the stacks of the thread that runs here, which is task, into sample, whose thread and CPU
 * are told, and sends them where this file does not have them. Not to be called where a tick may
 * come in between, or be interrupted: both use the same room. Defined in sample.bpf.c.
 */
void take_stacks(void *ctx, struct task_struct *task, struct event_sample *sample);

static __always_inline void count_losses(__u32 cause, __u64 n)
{
	__u64 *count = bpf_map_lookup_elem(&losses, &cause);

	if (count)
		*count += n;
}

static __always_inline void count_loss(__u32 cause)
{
	count_losses(cause, 1);
}

/* Stores that the compiler may neither merge nor reorder against each other. */
#define barrier()	 asm volatile("" ::: "memory")
#define WRITE_ONCE(x, v) (*(volatile typeof(x) *)&(x) = (v))
#define READ_ONCE(x)	 (*(volatile typeof(x) *)&(x))
#endif

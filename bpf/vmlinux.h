/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_VMLINUX_H
#define HOTRUN_VMLINUX_H
/*
 * The kernel structures that our programs read, and of these only the fields that they read.
 * CO-RE relocates every access against the running kernel's BTF, so order and size do not matter
 * here. A field is added together with its reader.
 */
#include <asm/ptrace.h>
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct cfs_rq;

struct task_group {
	struct cgroup_subsys_state css;
	struct cfs_rq **cfs_rq; /* one a CPU */
	struct task_group *parent;
};

struct list_head {
	struct list_head *next;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct rq;

struct cfs_rq {
	unsigned int h_nr_queued;
	unsigned int h_nr_runnable;
	struct rq *rq;
	__u64 throttled_clock_pelt_time;
	int throttle_count;
};

struct rq {
	unsigned int nr_running;
	struct cfs_rq cfs;
	struct list_head cfs_tasks;
};

struct sched_entity {
	struct list_head group_node;
	struct cfs_rq *cfs_rq;
};

struct sched_dl_entity {
	unsigned int dl_throttled : 1;
};

struct thread_info {
	__u32 cpu;
};

struct mm_struct;

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int on_cpu;
	int exit_state;
	int pid;
	int tgid;
	__u64 start_boottime;
	char comm[16];
	int static_prio;
	unsigned int rt_priority;
	unsigned int policy;
	int nr_cpus_allowed;
	struct sched_entity se;
	struct sched_dl_entity dl;
	struct task_group *sched_task_group;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	struct css_set *cgroups;
	struct mm_struct *mm;
};

/* Argument of iterators over tasks (kernel/bpf/task_iter.c). */
struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* Values that BTF does not carry (include/linux/sched.h). */
#define PF_KTHREAD	     0x00200000
#define SCHED_DEADLINE	     6
#define DEFAULT_PRIO	     120 /* of nice 0 */
#define TASK_RUNNING	     0x00000000
#define TASK_INTERRUPTIBLE   0x00000001
#define TASK_UNINTERRUPTIBLE 0x00000002
#define __TASK_STOPPED	     0x00000004
#define __TASK_TRACED	     0x00000008
#define EXIT_DEAD	     0x00000010
#define EXIT_ZOMBIE	     0x00000020
#define TASK_PARKED	     0x00000040
#define TASK_DEAD	     0x00000080
#define TASK_NOLOAD	     0x00000400
#endif

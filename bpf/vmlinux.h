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

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	__u64 serial_nr;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct cfs_rq;

struct timerqueue_node {
	__s64 expires;
};

struct hrtimer {
	struct timerqueue_node node;
};

struct cfs_bandwidth {
	__s64 period;
	__u64 quota;
	struct hrtimer period_timer;
};

struct task_group {
	struct cgroup_subsys_state css;
	struct cfs_rq **cfs_rq; /* one a CPU */
	struct task_group *parent;
	struct cfs_bandwidth cfs_bandwidth;
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
	__u64 throttled_clock_pelt;
	__u64 throttled_clock_pelt_time;
	int throttle_count;
};

struct rq {
	unsigned int nr_running;
	__u64 clock;
	__u64 clock_task;
	__u64 clock_pelt;
	unsigned long lost_idle_time;
	struct cfs_rq cfs;
	struct list_head cfs_tasks;
};

struct sched_entity {
	struct list_head group_node;
	__u64 sum_exec_runtime;
	__u64 nr_migrations;
	__u64 exec_start;
	__u64 prev_sum_exec_runtime;
	unsigned char sched_delayed; /* sleeps in its queue */
	struct cfs_rq *cfs_rq;
};

struct sched_info {
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued;
};

struct sched_dl_entity {
	unsigned int dl_throttled : 1;
};

struct thread_info {
	__u32 cpu;
};

typedef struct {
	unsigned long pgd;
} pgd_t;

struct mm_struct {
	pgd_t *pgd;
	unsigned long arg_start, arg_end;
};

struct file;

struct vm_area_struct {
	unsigned long vm_end;
	unsigned long vm_flags;
	struct file *vm_file;
};

/* Of x86-64. */
struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[0];
};

struct thread_struct {
	unsigned long fsbase;
};

struct signal_struct {
	__u64 cutime, cstime;
	unsigned long long sum_sched_runtime;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	unsigned int on_cpu; /* read by compat_on_cpu() */
	unsigned int on_rq;  /* compat_on_rq() */
	int exit_state;
	int pid;
	int tgid;
	__u64 start_time; /* monotonic */
	__u64 start_boottime;
	unsigned long nvcsw;
	unsigned long nivcsw;
	char comm[16];
	int static_prio;
	unsigned int rt_priority;
	unsigned int policy;
	int nr_cpus_allowed;
	struct sched_entity se;
	struct sched_info sched_info;
	struct sched_dl_entity dl;
	struct task_group *sched_task_group;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	struct signal_struct *signal;
	struct css_set *cgroups;
	struct mm_struct *mm;
	struct pid *thread_pid;
	struct thread_struct thread;
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

/* Sockets (include/net/sock.h, include/linux/tcp.h, include/linux/skbuff.h). */
struct in6_addr {
	union {
		__u8 u6_addr8[16];
	} in6_u;
};

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

typedef struct {
	__s64 counter;
} atomic64_t;

struct sock_common {
	unsigned int skc_hash; /* of both addresses and ports, keyed */
	__be32 skc_rcv_saddr;
	__u16 skc_num; /* local port, host order */
	short unsigned int skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_rcv_saddr;
	atomic64_t skc_cookie;
};

typedef struct {
	int counter;
} atomic_t;

struct socket;
struct bpf_local_storage;

struct sock_cgroup_data {
	struct cgroup *cgroup; /* since 5.15; before, a word with flags */
};

struct sock {
	struct sock_common __sk_common;
	struct socket *sk_socket;
	struct bpf_local_storage *sk_bpf_storage;
	atomic_t sk_drops;
	struct sock_cgroup_data sk_cgrp_data;
	__u32 sk_ack_backlog;
	__u32 sk_max_ack_backlog;
};

struct inet_connection_sock {
	struct {
		__u32 lrcvtime;
	} icsk_ack;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 rcv_nxt;
	__u32 write_seq;
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 snd_wl1;
	__u32 lsndtime;
	__u64 tcp_clock_cache;
	__u32 data_segs_in;
	__u64 bytes_received;
	__u64 bytes_sent;
	bool is_mptcp;
};

struct sk_buff {
	unsigned int len;
	unsigned int data_len;
	char cb[48];
	unsigned char *data;
};

/* What TCP keeps in sk_buff.cb of a segment that came (include/net/tcp.h). */
struct tcp_skb_cb {
	__u32 seq;
	__u32 end_seq;
	__u16 tcp_flags;
};

struct socket {
	struct sock *sk;
};

struct msghdr;

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct file *file;
};

#pragma clang attribute pop

/* An iterator over tasks that a program steps itself: on its stack, opaque (6.7 on). */
struct bpf_iter_task {
	__u64 __opaque[3];
} __attribute__((aligned(8)));

enum bpf_iter_task_what {
	BPF_TASK_ITER_ALL_PROCS = 0,
	BPF_TASK_ITER_PROC_THREADS = 2, /* of the thread's process, from this one on */
};

/* Values of include/net/tcp_states.h and include/linux/socket.h. */
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT	2
#define TCP_SYN_RECV	3
#define TCP_FIN_WAIT1	4
#define TCP_CLOSE	7
#define TCP_CLOSE_WAIT	8
#define TCP_LAST_ACK	9
#define TCP_LISTEN	10
/* include/net/tcp.h */
#define TCPHDR_FIN 1
#define TCPHDR_SYN 2
#define AF_INET	   2
#define AF_INET6   10

/* Values that BTF does not carry (include/linux/sched.h). */
#define PF_KTHREAD     0x00200000
#define PF_IO_WORKER   0x00000010 /* of io_uring, since 5.12 */
#define PF_USER_WORKER 0x00004000 /* those and vhost's, since 6.4 */
/* Threads that run in the kernel alone: also those of processes, whose memory they have. */
#define PF_KERNEL_ALONE	     (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)
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
#define TASK_WAKING	     0x00000200
#define TASK_NOLOAD	     0x00000400
#endif

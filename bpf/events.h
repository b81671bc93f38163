/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EVENTS_H
#define HOTRUN_EVENTS_H
/*
 * The contract between the BPF programs and the user side: every record that crosses, and nothing
 * else. Included by both sides; the includer provides __u8..__u64 (vmlinux.h or linux/types.h).
 * Numbers are never reused; a record that grows keeps its fields and raises its size.
 *
 * Times are CLOCK_MONOTONIC ns. "start" of a process or thread is its start_boottime in ns: with
 * the id it is the identity, since ids are reused.
 */

enum event_kind {
	EVENT_SAMPLE = 1, /* struct event_sample, samples ring */
	EVENT_STACK =
		2,	/* struct event_stack, samples ring, before the first sample that uses it */
	EVENT_TASK = 3, /* struct event_task, from the iterator: an account as it stands */
	EVENT_TASK_END = 4, /* struct event_task, tasks ring: the last account of a dead thread */
	EVENT_SOCKET = 5,   /* struct event_socket, from the iterator of sockets */
	EVENT_EXEC = 6,	    /* struct event_exec, tasks ring: the `dotnet` host begins */
	EVENT_STAND = 7,    /* struct event_stand, from the iterator of stands */
	EVENT_COUNTS = 8,   /* struct event_counts, from the iterator of counts */
	EVENT_WAKER = 9,    /* struct event_waker, samples ring */
};

struct event_header {
	__u16 kind; /* enum event_kind */
	__u16 size; /* bytes of the whole record, this header included */
	__u32 cpu;  /* where it was written */
};

/* Why a sample was taken; room for blocked and waker stacks. */
enum event_sample_kind {
	SAMPLE_ON_CPU = 1,
};

/* event_sample.waiters where the kernel's run queue cannot be read. */
#define WAITERS_UNKNOWN 0xffffffffu

/* Processes of -p, and cgroups of --cgroup with the groups below them: keys of the maps `tgids` and
 * `cgroups`. */
#define FILTER_TGIDS_MAX   1024
#define FILTER_CGROUPS_MAX 16384

struct event_sample {
	struct event_header header;
	__u64 time_ns;
	__u32 tgid;
	__u32 tid;
	__u64 process_start_ns;
	__u64 thread_start_ns;
	__u64 cgroup_id;    /* of the cpu controller where there is one */
	__u64 kernel_stack; /* id, 0 = none */
	__u64 user_stack;   /* id, 0 = none */
	__u32 waiters;	    /* runnable threads that waited for this CPU at that instant */
	__u16 sample_kind;  /* enum event_sample_kind */
	__u16 flags;	    /* SAMPLE_* below */
	__u32 waiting_cnt;  /* of waiting[], at most waiters and WAITING_MAX */
	__u32 pad;
	__u32 waiting[]; /* tgids of those that waited, one for each thread, as far as they were
			  * found: threads of real-time classes are not */
};

/* Waiting threads that one sample names at the most. */
#define WAITING_MAX 32

#define SAMPLE_KERNEL_THREAD	  0x1
#define SAMPLE_USER_STACK_FAULT	  0x2 /* the user stack could not be read */
#define SAMPLE_KERNEL_STACK_FAULT 0x4
/* outside -p / --cgroup: sent without stacks, since others waited */
#define SAMPLE_FILTERED 0x10

/* Frames of one stack at the most. The kernel's own walk ends at kernel.perf_event_max_stack. */
#define STACK_MAX_FRAMES 2048

#define STACK_KERNEL	0x1 /* else user */
#define STACK_TRUNCATED 0x2 /* deeper than is walked: the root side is missing */
#define STACK_UNSURE	0x4 /* callers of some frame may be missing: nothing told of its code */

/* How the walk of a user stack ended. Stored in captures: numbers are never reused. */
enum stack_end {
	STACK_END_UNTOLD = 0,	     /* walked along frame pointers alone: names have to tell */
	STACK_END_ROOT = 1,	     /* at the first function of its thread, as the tables say */
	STACK_END_NO_TABLE = 2,	     /* in a file that does not tell how its code is unwound */
	STACK_END_NOT_YET = 3,	     /* in a process or file whose tables were not there yet */
	STACK_END_INEXPRESSIBLE = 4, /* in code that rows cannot tell of */
	STACK_END_UNREADABLE = 5,    /* its memory could not be read */
	STACK_END_ASTRAY = 6,	     /* a step that did not lead up */
	STACK_END_DEPTH = 7,	     /* deeper than is walked */
	STACK_END_MEMORY = 8,	     /* in a file whose tables found no room */
	STACK_END_CODE = 9, /* in code that was made at run time, which tells nothing of itself */
	STACK_END_CNT = 10
};

/*
 * In a frame of a user stack: its caller was found along the frame pointer, and nothing says that
 * its code keeps one. Where it does not, callers are missing between it and the next frame.
 */
#define FRAME_CALLER_UNSURE (1ull << 63)
/* The vsyscall page has this bit, too, and all others above 23. */
#define FRAME_IS_UNSURE(frame) ((frame) >> 62 == 2)

/* Of a stack that is cut in the middle, so many frames are of its root side. */
#define STACK_ROOT_FRAMES 128

struct event_stack {
	struct event_header header;
	__u64 id;
	__u64 process_start_ns; /* 0 for kernel stacks */
	__u32 tgid;		/* 0 for kernel stacks */
	__u16 flags;		/* STACK_* */
	__u16 frame_cnt;
	__u16 end; /* enum stack_end */
	__u16 pad;
	/* Frames that are missing in the middle. Then the last STACK_ROOT_FRAMES of frames[] are a
	 * ring: the oldest of them stands at place left_out modulo STACK_ROOT_FRAMES in it. */
	__u32 left_out;
	__u64 frames[]; /* leaf first */
};

#define TASK_COMM_BYTES 16

/*
 * Histogram of run delay, by powers of two of a microsecond: slot 0 holds waits under 2 us, slot k
 * those from 2^k us to under 2^(k+1) us, the last one all that are longer.
 */
#define DELAY_SLOTS 26

#define ACCOUNT_KERNEL_THREAD 0x1
#define ACCOUNT_ABSENT	      0x2 /* the thread has no account (yet): the figures are 0 */
#define ACCOUNT_TORN	      0x4 /* was written while it was read, three times over */

/*
 * What the scheduler gave and did not give: the one list of such figures, of a thread in the kernel
 * and here, and of whatever they are summed over there. All are counters that only grow, of 64
 * bits; a new one is added at the end, and sums, rises and copies walk them all.
 */
struct sched_figures {
	__u64 on_cpu_ns;
	__u64 waited_ns;     /* run delay: runnable, not running, and not throttled */
	__u64 behind_own_ns; /* of waited_ns: while threads of the same process ran on that CPU */
	/* runnable, but its cgroup's quota (deadline class: its budget) was used up */
	__u64 throttled_ns;
	__u64 uninterruptible_ns;     /* state D */
	__u64 voluntary, involuntary; /* switches */
	__u64 migrations;	      /* to another CPU, as the kernel counts them */
};
#define SCHED_FIGURES (sizeof(struct sched_figures) / sizeof(__u64))

/* The scheduler account of one thread; the reader takes differences. */
struct event_task {
	struct event_header header;
	__u64 time_ns; /* of the read, or of the last switch */
	__u32 tgid;
	__u32 tid;
	__u64 process_start_ns;
	__u64 thread_start_ns;
	__u64 cgroup_id;
	__u32 parent_tgid;
	__u16 flags; /* ACCOUNT_* */
	__u8 state;  /* as /proc/PID/stat has it: R S D T t X Z P I */
	__u8 pad;
	char comm[TASK_COMM_BYTES];
	__u64 account; /* number of the account, never reused in a session; 0 = none. A thread that
			* calls exec takes its account along to the leader's id */

	/* Where the time went, each with the interval that goes on at the read: on CPU, waited,
	 * throttled, uninterruptible and blocked make up the time since the account was made. */
	struct sched_figures sched;
	__u64 blocked_ns;   /* asleep, stopped or parked: what is not uninterruptible */
	__u64 delay_max_ns; /* the longest run delay that ended */
	__u64 waiting_ns;   /* of waited_ns: the wait that goes on at the read */
	__u32 cpus_allowed; /* CPUs in its affinity mask, those off line included */
	__u8 policy;	    /* SCHED_* of linux/sched.h: 0 normal 1 fifo 2 rr 3 batch 5 idle 6 dl */
	__s8 nice;
	__u8 rt_priority; /* 1..99 of policies 1 and 2 */
	__u8 pad2;
	__u32 delays[DELAY_SLOTS]; /* run delays that ended, modulo 2^32 */
};

/* Of those, that one part of a pass over threads hands over. */
#define WALK_RECORDS 1024
#define WALK_CPUS    1024

/*
 * The arguments with which a process called exec, where its program is EXEC_COMM: one that ends
 * within some ms cannot be asked any more what it was. Not sent where they are not in memory.
 */
#define EXEC_COMM	"dotnet"
#define EXEC_ARGS_BYTES 1024

struct event_exec {
	struct event_header header;
	__u64 time_ns; /* after that of the mappings' end */
	__u64 process_start_ns;
	__u32 tgid;
	__u32 args_bytes;	    /* of them, as many as there is room for */
	char args[EXEC_ARGS_BYTES]; /* each ended by NUL */
};

/* Of what a thread stands in, at the most: kernel frames; bytes of its user stack from the stack
 * pointer on, less than what the kernel's buffer of an iterator holds. A power of two. */
#define STAND_KERNEL_FRAMES 48
#define STAND_STACK_BYTES   16384

#define STAND_AGE_UNKNOWN 0xffffffffffffffffull

#define STAND_KERNEL_THREAD 0x1
#define STAND_RUNS	    0x2	 /* it was on a CPU: nothing was read of it */
#define STAND_MOVED	    0x4	 /* it ran while it was read: what was read is of no one moment */
#define STAND_UNREADABLE    0x8	 /* its user stack is not in memory of its own, or cannot be read */
#define STAND_COMPAT	    0x10 /* a 32-bit task */
#define STAND_NO_USER	    0x20 /* it has no user registers */
#define STAND_DEEP	    0x40 /* there is more of its stack than was read */
#define STAND_LOCK	    0x80 /* it waits for a futex, and lock[] is what lies there */
#define STAND_SAME \
	0x100 /* of a look: it has not run since an earlier one, whose record
				   * tells the rest */

/* Of the user side: it waits for a lock of .NET, and who holds that is told: a monitor, a
 * System.Threading.Lock, or one that may be either: .NET 11. */
#define STAND_MONITOR	  0x200
#define STAND_LOCK_OBJECT 0x400

/* Passes that may be there at a time: those that hang in the memory of a process, and one more. */
#define STAND_PASSES_MOST 3

/* Two addresses of the caller: of a page that is present, and of one that is absent. */
struct page_trial {
	__u64 present, absent;
};

/* Where one thread stands; bytes of its user stack follow, from sp on. */
struct event_stand {
	struct event_header header;
	__u64 time_ns;
	__u32 tgid;
	__u32 tid;
	__u64 process_start_ns;
	__u64 thread_start_ns;
	__u64 age_ns;	/* for so long in its state, STAND_AGE_UNKNOWN */
	__u64 switches; /* voluntary and involuntary ones, when it was read */
	__u64 ip, sp, fp;
	__u64 call;    /* number of the system call, or -1 */
	__u64 args[2]; /* its first two arguments */
	__u32 flags;   /* STAND_* */
	__u32 stack_bytes;
	__u32 kernel_cnt;
	__u8 state; /* as in event_task */
	__u8 pad[3];
	__u32 share;  /* of a look: of 2^32 threads in such a wait, so many were chosen */
	__u32 ns_tid; /* as its own namespace sees it */
	char comm[TASK_COMM_BYTES];
	__u32 lock[4];
	__u64 kernel[STAND_KERNEL_FRAMES]; /* leaf first; kernel_cnt of them */
};

/*
 * A look at threads that do not run, in place of a pass over all: some of them, chosen by chance,
 * and once a wait only with their stacks. Value of the variable `stand_look`.
 */
struct stand_look {
	__u32 pass;  /* its number, from 1; 0 = a pass over all threads */
	__u32 since; /* the first one that the user side remembers */
	__u32 seed;  /* the same threads are chosen while it is the same */
	__u32 share; /* of 2^32, of processes that are not in `look_shares` */
};

/* A wait of so long is a lasting one. */
#define STAND_LASTING_NS 1000000000ull
/* A stack is read again after so long, although its thread has not run: tables and names of its
 * code may have come meanwhile. */
#define STAND_AGAIN_NS 10000000000ull

/* Of 2^32 threads of a process, so many are chosen: a value of the map `look_shares`, by tgid. */
struct look_share {
	__u32 brief;   /* of those in waits that are not lasting */
	__u32 lasting; /* of the others */
	__u32 again;   /* 1: their stacks are read, whether they have run or not */
};
#define LOOK_ALL	0xffffffffu
#define LOOK_SHARES_MAX 4096

/* No thread ran on the CPU that woke it. That an interrupt did it while some thread ran, the kernel
 * stack tells: its preempt count is out of reach of programs. */
#define WAKER_IDLE 0x1

/* A wait that a look had found is over: who ended it. */
struct event_waker {
	struct event_header header;
	__u64 time_ns;
	/* who was woken, and its switches: as of struct event_stand */
	__u32 tgid;
	__u32 tid;
	__u64 process_start_ns;
	__u64 thread_start_ns;
	__u64 switches;
	/* who ran on the CPU that woke it; 0 of an idle one */
	__u32 by_tgid;
	__u32 by_tid;
	__u64 by_process_start_ns;
	__u64 by_thread_start_ns;
	__u64 kernel_stack; /* ids, 0 = none */
	__u64 user_stack;
	__u32 flags; /* WAKER_* */
	__u32 pad;
};

/* Of such a span, so many are kept of each CPU: 480 a second, that take it some 0.2 % of its
 * time. */
#define WAKER_SPAN_BITS 26
#define WAKER_SPAN_MOST 32

/*
 * Single switches and wakeups (switches.bpf.c): a ring of rows for each CPU that was on line, in
 * which the newest overwrite the oldest. Rows of a CPU lie one after the other in the array map
 * `switch_rows`, from its head's place on; row n of it, from 1 on, n modulo its rows behind that.
 * Read by the user side through memory while they are written.
 */
enum switch_kind {
	SWITCH_TURN = 1,   /* a thread comes to run there, another one leaves */
	SWITCH_WAKEUP = 2, /* a thread is woken, by what runs there */
};

#define SWITCH_IN_IRQ	 0x1 /* of a wakeup: an interrupt did it, or softirqs; not who runs */
#define SWITCH_PREEMPTED 0x2 /* of a turn: who leaves could run on */

struct switch_row {
	__u64 time_ns;
	__u64 thread_start_ns; /* of tid; 0 of an idle CPU */
	__u32 tid;	       /* who comes or is woken; 0 = the CPU is idle from here on */
	__u32 tgid;
	__u32 other_tid; /* who leaves, or wakes */
	__u32 number;	 /* of the row, its low bits; 0 while it is written */
	/* Of the turn that ends: time in handlers of device interrupts and in softirqs. */
	__u32 irq_ns, softirq_ns;
	__u8 kind;  /* enum switch_kind */
	__u8 state; /* of who leaves, as in event_task */
	__u8 flags; /* SWITCH_* */
	__u8 pad[5];
};

/* Of one CPU, a value of the array map `switch_heads`: a line of the cache. */
struct switch_head {
	__u64 written;	     /* rows so far */
	__u32 place, rows;   /* of its ring, a power of two; 0 = none. Written by the user side */
	__u64 irq_since_ns;  /* in a handler since then, 0 = in none */
	__u64 soft_since_ns; /* the same of softirqs, less the interrupts in between */
	__u64 irq_ns, softirq_ns; /* since the last switch */
	__u64 lost;		  /* rows, for want of a ring */
	__u64 pad;
};

#define COUNTS_KERNEL_THREAD 0x1
#define COUNTS_ON_CPU	     0x2
#define COUNTS_THROTTLED     0x4 /* it could run, and a limit of its group stops it */
#define COUNTS_NO_WAITS	     0x8 /* this kernel does not count what threads wait */

/* What the kernel has counted of a thread by now: two of them, a moment apart, tell what it did
 * in between. */
struct event_counts {
	struct event_header header;
	__u32 tgid;
	__u32 tid;
	__u64 process_start_ns;
	__u64 thread_start_ns;
	__u64 ran_ns;	 /* up to the last tick of the scheduler's clock */
	__u64 waited_ns; /* for a CPU, a wait that goes on and throttled time included */
	/* Of the process, told with its leader, else 0: CPU time of its threads that have
	 * ended, and of its children that have ended and were waited for, with theirs. */
	__u64 ended_ns;
	__u64 children_ns;
	__u32 parent_tgid;
	__u32 cpu;   /* that it is on, or was last */
	__u32 flags; /* COUNTS_* */
	__u8 state;  /* as in event_task */
	__u8 pad[3];
	char comm[TASK_COMM_BYTES];
};

/* What a kernel cannot tell. */
#define KERNEL_WITHOUT_GROUPS 0x1 /* built without group scheduling */
#define KERNEL_WITHOUT_QUEUES 0x2 /* its run queues are laid out in a way not known */

/* Slots of cpu_clock.queue: ticks that found so many waiting threads; the last but one 10 and more,
 * the last one: could not be read. */
#define QUEUE_SLOTS   12
#define QUEUE_MOST    10
#define QUEUE_UNKNOWN 11

/*
 * Clock and books of one CPU, a value of the array map `cpus`. By construction
 * idle + accounted + unaccounted = time from the first to the last switch seen on that CPU.
 */
struct cpu_clock {
	__u64 sequence;	      /* odd while it is being written */
	__u64 last_switch_ns; /* 0 = none seen yet */
	__u64 idle_ns;
	__u64 accounted_ns;   /* given to the account of a thread */
	__u64 unaccounted_ns; /* ran in threads that have no account or whose switch was not seen */
	__u64 switches;
	__u32 running_tid; /* since last_switch_ns; 0 = idle */
	__u32 running_tgid;
	__u64 ticks_taken; /* sampling ticks that hit a thread */
	__u64 ticks_idle;
	__u64 ticks_filtered;	  /* of those taken, outside -p / --cgroup: no stack asked for */
	__u64 running_task;	  /* address of that thread's task_struct: ids change at exec */
	__u64 queue[QUEUE_SLOTS]; /* of ticks_taken, by threads that waited for this CPU then */
	/* The run queue's own clock, behind monotonic time; the least that this was in the span of
	 * the last comparison; that clock then; and how long before a switch it is read. */
	__s64 kernel_behind_ns, kernel_least_ns;
	__u64 compared_ns, lag_ns;
	__u64 met_ns; /* the last tick that met what runs */
	__u64 pad[4];
};

/* What the programs cost that run in the time of others; iterators run in that of hotrun. Indexes
 * of cpu_cost.programs. */
enum cost_program {
	COST_SWITCH = 0, /* its runs are cpu_clock.switches */
	COST_WAKEUP = 1, /* of new threads, too */
	COST_WAKER = 2,	 /* the one that keeps who wakes */
	COST_TASK = 3,	 /* births and ends of threads */
	COST_TICK = 4,
	COST_STATE = 5,
	COST_DATA = 6,
	COST_SEND = 7,
	COST_CNT
};

/* Counters only grow. Of births, ends, ticks and changes of state all runs are counted, of others
 * those that were measured stand for all (but for such as had nothing to do). */
struct program_cost {
	__u64 runs;
	__u64 timed;
	__u64 timed_ns;
};

/* Of one CPU, a value of the array map `costs`. */
struct cpu_cost {
	struct program_cost programs[COST_CNT];
};

/*
 * Requests. A request of a served connection (one that a listening socket accepted) begins when
 * data arrives while nothing is unanswered on it, and ends when the first byte of an answer is
 * handed to the kernel, or without one when the connection ends. Of HTTP/1 its time counts from the
 * last data before the answer: a slow upload is the client's. What the kernel cannot know: several
 * requests sent before the first answer (pipelining, HTTP/2) are one, an answer's later parts are
 * none, and what the server sends unasked (WebSocket, long polls after their first byte) is counted
 * apart.
 */

/* Histogram of times to the first answer byte: slots 0..3 hold 0..3 us; after them each power of
 * two has four slots of equal width; the last one holds all that is longer (117 s and more). */
#define RESPONSE_SLOTS 104

/* What the first bytes of a connection looked like: bits of endpoint.protocols. */
#define PROTOCOL_HTTP1 0x1 /* a method of HTTP/1 */
#define PROTOCOL_HTTP2 0x2 /* its preface: many requests at a time, figures are of bursts */
#define PROTOCOL_TLS   0x4 /* handshakes count as requests; HTTP/2 inside is not seen */
#define PROTOCOL_OTHER 0x8
#define PROTOCOL_WEBSOCKET \
	0x10 /* an HTTP/1 connection that asked for it: later messages are no requests */

/*
 * What one process serves through one listening socket: a value of the array map `endpoints`, from
 * row 0 on. Counters only grow, until the row is given back and, later, somebody else's. Written by
 * all CPUs, each counter in one step.
 */
struct endpoint {
	__u64 listener; /* cookie of the listening socket, never reused; 0 = the row is not in use.
			 * Written last */
	__u64 process_start_ns;
	__u32 tgid;
	__u32 netns;	  /* inode of its network namespace */
	__u8 address[16]; /* IPv4 in the first four bytes */
	__u16 port;
	__u8 family; /* AF_INET, AF_INET6 */
	__u8 protocols;
	__u32 turn;    /* another one each time that the row is given back */
	__u64 slow_ns; /* T: the threshold that slow and very_slow are counted by */

	__u64 connections; /* first data of a connection, or its first answer */

	/* What each request writes, in one line of the cache: CPUs take it from each other. */
	__u64 begun; /* requests */
	__u64 answered;
	__u64 time_ns; /* sum of all times to the first answer byte */
	__u64 time_max_ns;
	__u64 received_bytes, sent_bytes;
	/* data that arrived while a request was unanswered: bodies, pipelining, HTTP/2 */
	__u64 joined;
	/* sends with nothing unanswered: later parts of an answer, unasked messages */
	__u64 pushed;

	__u64 abandoned;	     /* the connection ended before an answer */
	__u64 slow;		     /* answered after more than T ... */
	__u64 very_slow;	     /* ... of these, more than 4 T */
	__u32 times[RESPONSE_SLOTS]; /* of answered, modulo 2^32 */
	__u64 cgroup_id; /* to which it is charged: of the process, by the cpu controller */
	/* Of answered and abandoned, those that were not seen: what happens on a connection that is
	 * followed stands for as much on some that are not (FOLLOW_SHIFT_MAX). The counters above
	 * have both, but for time_max_ns. */
	__u64 unseen;
	__u64 pad[7]; /* each row begins with a line of the cache */
};

#define ENDPOINTS_MAX 4096

/*
 * Where requests are many, one of 2^shift connections is followed, chosen by its addresses and
 * ports, so that a connection is seen whole or not; what is followed at one shift is so at all that
 * are smaller. What happens on it counts 2^shift times. Each bucket of sockets has a shift of its
 * own, so that a service with very many requests leaves others seen. A bucket is a local port in a
 * group, which is the cgroup (v2) of who listens: who fills all buckets of one, by connections to
 * many ports, leaves those of other ones alone. Which ones meet is a matter of chance; who may make
 * very many cgroups meets all.
 */
#define FOLLOW_SHIFT_MAX 6
#define FOLLOW_GROUPS	 64
#define FOLLOW_PORTS	 16 /* buckets of a group, one after the other */
#define FOLLOW_BUCKETS	 (FOLLOW_GROUPS * FOLLOW_PORTS)

/* Of one bucket. */
struct follow_share {
	__u8 shift;
	__u8 pad;
	/* How often the shift fell, modulo 2^16; and by level, at which of these times the
	 * connections of that level came to be followed again. */
	__u16 turn;
	__u16 since[FOLLOW_SHIFT_MAX];
};

/* Of one bucket, on connections that are followed: requests that began, and connections on which
 * any did; modulo 2^32. A connection counts once in an epoch, which the user side ends. */
struct follow_seen {
	__u32 requests, connections;
};
#define FOLLOW_EPOCH_BITS 5

/*
 * Rows are taken when the first request is counted, and nobody can take those of others: a cgroup
 * has at most so many, a process in it so many, and neither takes more than half of what it leaves
 * to the others above it. Who comes late then still finds some.
 */
#define ENDPOINTS_OF_CGROUP  1024
#define ENDPOINTS_OF_PROCESS 256

/* Key of the map `rows`, listener and process -> row. */
struct endpoint_key {
	__u64 listener;
	__u32 tgid; /* 0: the value is the number of rows of this listener */
	__u32 pad;
};

/* Keys of the map `shares` at the most; it says there why so many. */
#define SHARES_MAX (6 * ENDPOINTS_MAX)

/* Who holds how many: key of the map `shares`, whose values are counts. */
enum share_kind {
	SHARE_CGROUP = 1,
	SHARE_PROCESS = 2,
	/* The same, of sockets that listened when the session began (map `listening`). */
	SHARE_CGROUP_EARLIER = 3,
	SHARE_PROCESS_EARLIER = 4,
};

struct share_key {
	__u64 id;   /* of the cgroup, or the start of the process */
	__u32 tgid; /* 0 of a cgroup */
	__u32 kind; /* enum share_kind */
};

/* A process: key of the map `refused`, whose values count requests that found no row. */
struct refused_key {
	__u64 start_ns;
	__u32 tgid;
	__u32 pad;
};

/* Ports with a threshold T of their own. */
#define SLOW_PORTS_MAX 16

/* Processes that are told by name at a time. */
#define REFUSED_MAX 1024

#define SOCKET_LISTENS	0x1
#define SOCKET_ACCEPTED 0x2 /* a process holds it; else it waits in the accept queue */
#define SOCKET_EARLIER \
	0x4 /* unanswered since before the recording: begun_ns is told by the kernel's
			     * own times of last data, to its clock tick */

#define SOCKET_UNSURE \
	0x8 /* not HTTP nor TLS, or not to be told: perhaps a protocol in which not all is answered
	     * (logs, queues); no evidence of a hang */

#define SOCKET_UNOWNED \
	0x10 /* accepted, but nobody has sent on it yet: tgid is who listens. Told to the session
	      * alone, which looks for who holds it */

#define SOCKET_UNFOLLOWED \
	0x20 /* its connection is not followed: unanswered by the kernel's own times of last data,
	      * to its clock tick. Unsure unless it, or else its endpoint, talks HTTP/1 alone */

#define SOCKET_INCOMPLETE 0x40 /* no request, but a header of HTTP/1 without its end */

/* A listening socket, or a served connection with an unanswered request, as it stands at the
 * read. */
struct event_socket {
	struct event_header header;
	__u64 listener; /* cookie, as in struct endpoint */
	__u64 begun_ns; /* of the unanswered request; 0 of a listening socket */
	__u64 process_start_ns;
	/* who sent on it last or holds it, else who listened when it came; 0 = not known */
	__u32 tgid;
	__u32 netns;
	__u32 queued,
		backlog; /* of a listening socket: connections to be accepted, and the limit */
	/* of a listening socket, since it was made: for a full queue, or no memory */
	__u32 refused;
	__u16 port;
	__u8 family;
	__u8 flags; /* SOCKET_* */
};

/* Sockets that are handed over at a time. */
#define SOCKET_ROWS_MAX 16384

/* Sockets that a pass finds: map `served`. */
#define SERVED_MAX 131072
/* Of these, looked at by one run of read_sockets: some 0.1 ms. */
#define SERVED_PART 256

/* A value of that map: kernel addresses, and what tells a socket from a later one at its address.
 * 0 in sk: the place is free. */
struct served_socket {
	__u64 sk;
	__u64 state;
	__u64 cookie;
};

/*
 * Tables by which stacks are walked where code keeps no frame pointer. A table is of one file. Its
 * code is cut into pages of UNWIND_PAGE_BYTES; each page has its own rows in the order of their
 * addresses, the first of them at 0, so that a look-up is a binary search within one page. A row
 * holds from its address on until the next one.
 */
#define UNWIND_PAGE_BITS  16
#define UNWIND_PAGE_BYTES (1u << UNWIND_PAGE_BITS)

/* Where the CFA is: the stack pointer before the call, above the return address. */
enum unwind_cfa {
	UNWIND_UNKNOWN = 0, /* the file tells nothing of that code */
	UNWIND_END = 1,	    /* nobody called this: the thread's root */
	UNWIND_INEXPRESSIBLE = 2,
	UNWIND_SP = 3,	     /* stack pointer + offset */
	UNWIND_FP = 4,	     /* frame pointer + offset */
	UNWIND_FP_DEREF = 5, /* what lies at frame pointer + offset: realigned stacks */
	UNWIND_SP_DEREF = 6, /* what lies at stack pointer + offset */
	UNWIND_PLT = 7,	     /* stack pointer + 8, and 8 more from byte cfa_offset of 16 on */
	UNWIND_SIGNAL = 8,   /* what a signal interrupted: its stack pointer lies at stack pointer +
			      * offset, its address 8 above that and its frame pointer 40 below */
};

/* Where the caller's frame pointer is. */
enum unwind_fp {
	UNWIND_FP_SAME = 0,
	UNWIND_FP_SAVED = 1, /* at CFA + fp_offset */
	UNWIND_FP_LOST = 2,
	UNWIND_FP_AT_FP = 3, /* at frame pointer + fp_offset: realigned stacks */
};

/* Offsets are in units of 8 bytes. */
struct unwind_row {
	__u16 at; /* address within its page */
	__u8 cfa; /* enum unwind_cfa */
	__u8 fp;  /* enum unwind_fp */
	__s16 cfa_offset;
	__s16 fp_offset;
};

/*
 * What the walk in the kernel is given. Rows lie in chunks of UNWIND_CHUNK_ROWS, which are made as
 * they are needed; the rows of a page are in one chunk, one after the other. All of it is written
 * by the user side while walks go on: what is no longer used is used again only when no walk can be
 * under way in it, and a process's entry is replaced in one step.
 */
#define UNWIND_CHUNK_BITS    17
#define UNWIND_CHUNK_ROWS    (1u << UNWIND_CHUNK_BITS)
#define UNWIND_CHUNKS_MAX    1024u   /* of 1 MiB */
#define UNWIND_PAGES_MAX     262144u /* 16 GiB of code */
#define UNWIND_MAPPINGS_MAX  65536u
#define UNWIND_PROCESSES_MAX 8192u

struct unwind_page {
	__u32 first; /* row, over all chunks */
	__u32 cnt;   /* 0: nothing is known of that code */
};

enum unwind_mapping_kind {
	UNWIND_BY_TABLE = 0,
	UNWIND_BY_FP = 1,   /* code made at run time: along the frame pointer, unsure */
	UNWIND_NOT_YET = 2, /* the rest: the same, and why there is no table */
	UNWIND_NO_TABLE = 3,
	UNWIND_NO_MEMORY = 4,
};

/* Executable memory of a process; those of one process lie one after the other, by address. */
struct unwind_mapping {
	__u64 start, end;
	__u64 bias; /* address - bias = address in the table's file */
	__u32 first_page, page_cnt;
	__u32 page_base; /* number of the first page in the file's addresses */
	__u32 kind;	 /* enum unwind_mapping_kind */
};

/* A value of the map `unwind_processes`, by tgid. */
struct unwind_process {
	__u64 start_ns;	  /* of the process that is meant; 0 = whoever has its id */
	__u32 first, cnt; /* mappings */
};

/* Counted per CPU in the map `losses`: what the BPF side could not do. */
enum loss_cause {
	LOSS_SAMPLE_RING_FULL = 0, /* a sample dropped */
	LOSS_STACK_RING_FULL = 1,  /* a stack not sent; sent again at its next sample */
	LOSS_TASK_RING_FULL = 2,   /* the last account of a thread dropped */
	LOSS_USER_STACK_FAULT = 3,
	LOSS_KERNEL_STACK_FAULT = 4,
	LOSS_ACCOUNT_MISSING = 5, /* a switch of a thread without an account */
	LOSS_ACCOUNT_ALLOC = 6,	  /* no memory for an account */
	LOSS_CLOCK_BACKWARDS = 7,
	LOSS_SWITCH_UNSEEN = 8, /* a CPU ran a thread whose switch-in was not seen */
	LOSS_SCRATCH = 9,	/* per-CPU scratch missing */
	/* Waits whose "behind own threads" is estimated: of more turns than are kept, or moved. */
	LOSS_OWN_ESTIMATED = 10,
	LOSS_WAKEUP_UNSEEN = 11, /* a thread ran that had slept: its wait is not known */
	LOSS_ENDPOINTS = 12, /* requests that found no row of endpoints: see ENDPOINTS_OF_PROCESS */
	LOSS_SOCKET_ALLOC = 13, /* no memory for the state of a socket, or beyond SERVED_MAX */
	LOSS_ARRIVAL_UNSEEN =
		14,	      /* an answer whose request was not seen to arrive: no time is known */
	LOSS_LISTENING = 15,  /* sockets that listened at the start, beyond the same shares: the
			       * connections that they had by then are not followed */
	LOSS_KERNEL_CNT = 16, /* size of the map; causes of the user side start here */
};

_Static_assert(sizeof(struct event_header) == 8, "event_header");
_Static_assert(sizeof(struct event_sample) == 80, "event_sample");
_Static_assert(sizeof(struct event_stack) == 40, "event_stack");
_Static_assert(sizeof(struct sched_figures) == 64, "sched_figures");
_Static_assert(sizeof(struct event_task) == 280, "event_task");
_Static_assert(sizeof(struct event_exec) == 1056, "event_exec");
_Static_assert(sizeof(struct event_stand) == 544, "event_stand");
_Static_assert(sizeof(struct event_counts) == 96, "event_counts");
_Static_assert(sizeof(struct event_waker) == 96, "event_waker");
_Static_assert(sizeof(struct switch_row) == 48, "switch_row");
_Static_assert(sizeof(struct switch_head) == 64, "switch_head: a line of the cache");
_Static_assert(sizeof(struct cpu_clock) == 256, "cpu_clock");
_Static_assert(sizeof(struct program_cost) == 24, "program_cost");
_Static_assert(sizeof(struct cpu_cost) == 192, "cpu_cost: whole lines of the cache");
_Static_assert(sizeof(struct follow_share) == 16, "follow_share");
_Static_assert(sizeof(struct endpoint) == 640, "endpoint: whole lines of the cache");
_Static_assert(__builtin_offsetof(struct endpoint, begun) == 64, "endpoint.begun");
_Static_assert(sizeof(struct event_socket) == 56, "event_socket");
_Static_assert(sizeof(struct endpoint_key) == 16, "endpoint_key");
_Static_assert(sizeof(struct share_key) == 16, "share_key");
_Static_assert(sizeof(struct refused_key) == 16, "refused_key");
_Static_assert(sizeof(struct unwind_row) == 8, "unwind_row");
_Static_assert(sizeof(struct unwind_mapping) == 40, "unwind_mapping");
_Static_assert(sizeof(struct unwind_process) == 16, "unwind_process");
#endif

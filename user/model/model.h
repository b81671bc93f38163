/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_MODEL_H
#define HOTRUN_MODEL_MODEL_H
/*
 * One capture in memory: host, processes, threads, mappings, stacks, samples, accounts, losses,
 * in slices of about one second. Tables are plain arrays, rows are named by their index and never
 * removed; index lookups live beside them. The recorder fills it from the kernel's records
 * (ingest.h) and the store writes it slice by slice; a reader fills it from a file. Pure: no I/O,
 * no clock, no threads. Everything that a watched process can grow is bounded (MODEL_MAX_*), and
 * what does not fit is counted as a loss.
 *
 * Strings are interned: equal strings are the same pointer, and they live as long as the model.
 * Watched processes choose them: any bytes, perhaps no valid UTF-8. Escape on output (base/text.h).
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/feature.h"
#include "base/hash.h"
#include "bpf/events.h"

#define MODEL_NONE UINT32_MAX

/* Each bound with the reason for its size. */
#define MODEL_MAX_PROCESSES    1000000u /* 2,000 a second for 500 s; about 200 B each */
#define MODEL_MAX_THREADS      4000000u /* kernel.pid_max is 4,194,304 */
#define MODEL_MAX_STACKS       1000000u /* a busy host shows tens of thousands */
#define MODEL_MAX_LOCATIONS    4000000u
#define MODEL_MAX_MAPPINGS     65530u	/* open in one process: vm.max_map_count's default */
#define MODEL_MAX_MAPPING_ROWS 131060u	/* with ended ones, kept for their samples */
#define MODEL_MAX_ALL_MAPPINGS 4000000u /* 224 MB; each fork inherits its parent's */
#define MODEL_CGROUP_DEPTH     64	/* groups above one another whose parents are kept */
#define MODEL_MAX_CGROUPS      65536u /* the kernel's own default bound of a large node is lower */
#define MODEL_MAX_ENDPOINTS    4096   /* ENDPOINTS_MAX of bpf/events.h */
#define MODEL_MAX_STRINGS      (256u << 20) /* bytes of all: a process may rename itself for ever */
#define MODEL_MAX_STRING       16384u	    /* bytes of one string; longer ones are cut */

/* What a frame is; decides colour, folded suffix and the totals by kind. Stored in captures. */
enum model_kind {
	KIND_UNKNOWN = 0, /* the address lies in no known mapping */
	KIND_KERNEL = 1,
	KIND_NATIVE = 2, /* ELF code, vdso included */
	KIND_JIT = 3,	 /* managed code named by a perf map */
	KIND_STUB = 4,	 /* runtime stubs listed in a perf map */
	KIND_IMAGE = 5,	 /* precompiled .NET code in a mapped .dll */
	KIND_NOTE = 6,	 /* no code: "[truncated]", "[stack lost]" */
};

/* Why a frame has no name. Stored in captures: numbers are never reused. */
enum model_reason {
	REASON_NAMED = 0,
	REASON_KALLSYMS_HIDDEN = 1,  /* kernel addresses read as 0 */
	REASON_KERNEL_NO_SYMBOL = 2, /* outside every symbol: BPF or module gone */
	REASON_NO_MAPPING = 3,	     /* the address lies in no mapping known at that time */
	REASON_NO_SYMBOL = 4,	     /* the file has no symbol there (stripped) */
	REASON_FILE_GONE = 5,	 /* deleted or out of reach, and no other copy with this build id */
	REASON_FILE_DENIED = 6,	 /* no permission */
	REASON_FILE_UNSAFE = 7,	 /* not a regular file, or larger than we read */
	REASON_FILE_TIMEOUT = 8, /* its file system did not answer in time */
	REASON_FILE_MALFORMED = 9,     /* not ELF, or damaged */
	REASON_FILE_CHANGED = 10,      /* another file lies there now (build id or inode differs) */
	REASON_NO_PERF_MAP = 11,       /* JIT code, but the runtime writes no perf map */
	REASON_PERF_MAP_UNSAFE = 12,   /* link, FIFO, foreign owner, too large */
	REASON_PERF_MAP_STALE = 13,    /* left by an earlier process of the same pid */
	REASON_PERF_MAP_NO_ENTRY = 14, /* a map, but no entry covers the address */
	REASON_PERF_MAP_REWRITTEN = 15, /* the file shrank or was replaced while we read it */
	REASON_PERF_MAP_DAMAGED =
		16,		    /* the line there was damaged by the runtime (non-ASCII name) */
	REASON_PRECOMPILED = 17,    /* the precompiled image tells of no method there */
	REASON_ANONYMOUS_CODE = 18, /* executable memory without a file, and not .NET */
	REASON_PROCESS_GONE = 19,   /* ended before its mappings or files could be read */
	REASON_COMPAT = 20,	    /* a 32-bit task */
	REASON_VSYSCALL = 21,
	REASON_STACK_LOST = 22,	 /* the stack record was lost (ring full) or could not be read */
	REASON_TRUNCATED = 23,	 /* deeper than is walked, or kept */
	REASON_LIMIT = 24,	 /* one of hotrun's own bounds was reached */
	REASON_PENDING = 25,	 /* recording ended (or was killed) before it was looked up */
	REASON_BROKEN = 26,	 /* the walk lost the way there */
	REASON_COMPRESSED = 27,	 /* precompiled code unpacked from a single-file program */
	REASON_FILE_COSTLY = 28, /* reading it takes more work than a file may cause */
	REASON_BUDGET = 29,	 /* its user or container has used up what naming may cost */
	REASON_UNSURE = 30,	 /* callers may be missing there: nothing tells of its frame */
	/* JIT code of a process without a perf map, of which its memory was to tell: */
	REASON_RUNTIME_SILENT = 31, /* its runtime does not say where its code lies */
	REASON_MEMORY_DENIED = 32,  /* no right to read it */
	REASON_MEMORY_NO_CODE = 33, /* no code of the runtime lay there then */
	REASON_MEMORY_NO_NAME = 34, /* the code there has no name in it */
	REASON_MEMORY_LATE = 35,    /* it was read when other code may have lain there */
	REASON_FROM_MEMORY = 36,    /* of a perf map: there is none, its memory has the names */
	REASON_CNT
};

/* Causes that the user side counts; those below LOSS_KERNEL_CNT are in bpf/events.h. */
enum model_loss_cause {
	LOSS_SIDEBAND = 16,	  /* mapping, comm or lifetime records the kernel dropped */
	LOSS_RECURSION = 17,	  /* runs of our programs that the kernel skipped */
	LOSS_CPU_UNATTACHED = 18, /* CPUs without a sampling event */
	LOSS_MODEL_LIMIT = 19,	  /* rows beyond a MODEL_MAX_* bound */
	LOSS_BAD_RECORD = 20,	  /* a record that breaks the contract */
	LOSS_TICKS_MISSED = 21,	  /* expected by CPU time, not taken */
	LOSS_NAMES_TIMEOUT = 22,  /* look-ups abandoned at their deadline */
	LOSS_ITERATOR = 23,	  /* accounts or sockets that could not be read in a slice */
	LOSS_WAKERS = 24,	  /* of waits that were found, whose waker was not kept */
	LOSS_SWITCHES = 25,	  /* rows of single switches */
	LOSS_LOCK_HOLDERS = 26,	  /* threads of .NET that wait, of which no runtime was asked who
				   * holds what they wait for */
	LOSS_CAUSE_CNT
};

/* What a capture does not have, and why it says n/a: bits of model_host.off. */
#define OFF_ACCOUNTS 0x1u /* recorded by a version that kept no waits */
#define OFF_GROUPS   0x2u /* kernel without group scheduling: no cgroups, no throttling */
#define OFF_PRESSURE 0x4u /* kernel without pressure stall information */
#define OFF_QUEUES   0x8u /* run queues cannot be read */
/* own and others cannot be told apart: nobody looked at switches */
#define OFF_OWN	     0x10u
#define OFF_LIMITS   0x20u /* no cgroup file system with the cpu controller within reach */
#define OFF_REQUESTS 0x40u /* requests are not seen: by this kernel, these rights, or on request */
/* the quiet gear: nobody looked at switches. CPU times and waits are the kernel's own, read once a
 * second, CPUs' idle times those of /proc/stat, to a clock tick; single waits are not known. With
 * it goes OFF_OWN. True of all slices */
#define OFF_SWITCHES 0x80u
/* user stacks were walked along frame pointers alone: those that break are told by names */
#define OFF_TABLES 0x100u
/* nobody looked at where threads stand that do not run: by this kernel, or on request */
#define OFF_STANDS 0x200u
#define OFF_CNT	   10

struct model_host {
	const char *name;
	const char *kernel;  /* uname -r */
	const char *machine; /* uname -m */
	const char *version; /* of the hotrun that recorded */
	const char *event;   /* "cpu-clock" */
	const char *filter;  /* "" or the -p / --cgroup words */
	const char *command; /* first word of -- CMD, "" without */
	const char *taken;   /* why `hotrun watch` took it by itself, "" it did not */
	uint32_t cpus_online;
	uint32_t cpus_possible;
	uint32_t sample_hz;
	uint32_t max_stack; /* kernel.perf_event_max_stack */
	uint64_t start_ns;  /* CLOCK_MONOTONIC of the recording's start */
	uint64_t end_ns;    /* of its last slice */
	uint32_t off;	    /* OFF_* */
	bool complete;	    /* ended on purpose: false after SIGKILL or a full disk */
	bool running;	    /* still being recorded; set by store_read(), not stored */
};

#define PROCESS_KERNEL	 0x1u
#define PROCESS_DOTNET	 0x2u	/* runs CoreCLR */
#define PROCESS_FACTS	 0x4u	/* /proc was read: exe, name, ns_pid, cgroup are known */
#define PROCESS_GONE	 0x8u	/* ended before its facts could be read */
#define PROCESS_SELF	 0x10u	/* hotrun itself */
#define PROCESS_SELECTED 0x20u	/* named by -p or --cgroup */
#define PROCESS_SAMPLED	 0x40u	/* has at least one sample */
#define PROCESS_SOCKETS	 0x80u	/* its sockets were read: whether it listens is known */
#define PROCESS_LISTENS	 0x100u /* on a TCP port, at some time */

#define UID_UNKNOWN 0xffffffffu

struct model_process {
	uint32_t tgid;
	uint32_t ns_pid; /* innermost NStgid, 0 = unknown */
	uint32_t parent_tgid;
	uint32_t uid;	   /* real, as the host has it; UID_UNKNOWN */
	uint32_t flags;	   /* PROCESS_* */
	uint64_t start_ns; /* boottime; exact from BPF */
	uint64_t born_ns;  /* monotonic: from its fork event, or start_ns less the boot offset */
	uint64_t exit_ns;  /* monotonic, 0 = alive at the last look */
	uint64_t cgroup_id;
	const char *comm;
	const char *exe;       /* path as the process sees it, "" unknown */
	const char *name;      /* for people: entry assembly, else comm; never NULL */
	const char *unit;      /* systemd unit, "" none */
	const char *container; /* short container id or pod, "" none */
	/* What the cgroup path and the node's own files tell of its container; all "" where not
	 * known. */
	const char *container_id;   /* whole */
	const char *container_name; /* as the pod, or the engine, names it */
	const char *pod, *pod_uid, *namespace;
	const char *qos;     /* "guaranteed", "burstable", "besteffort" */
	const char *runtime; /* "containerd", "cri-o", "docker", "podman" */
	const char *cgroup;  /* path, "" unknown */
	uint32_t
		perf_map; /* enum model_reason: REASON_NAMED = map in use, else why there is none */
	/* What naming its code cost workers, and what was left out for its cost: files not read,
	 * bytes of its perf map not followed. */
	uint64_t naming_cpu_ns, map_unread_bytes;
	uint64_t names_aside_ns; /* no more is named of it since then, for its cost; 0 = it is */
	uint32_t files_refused;
	uint64_t requests_refused; /* not counted: it had as many endpoints as one may have */
	uint64_t mappings_refused; /* not followed: it, or its cgroup, made too many */
	uint32_t refused_slices;   /* in which there were such; not stored */
	bool start_exact;	   /* false: start_ns guessed from the fork event */
	bool mappings_missed;	   /* in this slice; not stored */
	bool leader_ended;	   /* its other threads may run on; the recorder's, not stored */
	bool dirty;		   /* changed since the store wrote it */
	struct model_mapping *mappings; /* in the order they were learnt */
	size_t mapping_cnt, mapping_cap;
	uint32_t mapping_changes;    /* grows with each change of theirs; not stored */
	struct mapping_order *order; /* the open ones by address, or NULL; of mapping.c */
};

enum model_mapping_kind {
	MAPPING_FILE = 1,
	MAPPING_ANON = 2, /* anonymous executable memory */
	MAPPING_JIT = 3,  /* memfd:doublemapper: CoreCLR's JIT code */
	MAPPING_VDSO = 4,
	MAPPING_VSYSCALL = 5,
};

/* Executable memory of a process over a stretch of time. */
struct model_mapping {
	uint64_t start, end;  /* end exclusive */
	uint64_t file_offset; /* bytes, of start */
	uint64_t from_ns;     /* monotonic; 0 = was there at first sight */
	uint64_t to_ns;	      /* monotonic, exclusive; 0 = still there */
	uint32_t module;      /* row of modules */
	uint8_t kind;	      /* enum model_mapping_kind */
	bool dirty;
};

#define BUILD_ID_MAX 20

/* A file that code was mapped from, as the process named it; the same path in two containers with
 * different build ids or inodes is two modules. */
struct model_module {
	const char *path; /* full path as mapped */
	uint64_t dev;	  /* makedev, 0 unknown */
	uint64_t inode;	  /* 0 unknown */
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len; /* 0 unknown */
	/* Learnt when the file was read: its build id, of a precompiled .NET image the version id.
	 * Kept as build id in captures. */
	uint8_t learnt_id[BUILD_ID_MAX];
	uint8_t learnt_id_len; /* 0 not read, or none in it */
	bool dirty;
};

struct model_thread {
	uint32_t process; /* row */
	uint32_t tid;
	uint64_t start_ns; /* boottime */
	uint64_t exit_ns;  /* monotonic, 0 = alive at the last look */
	const char *comm;
	uint8_t state; /* at the last look: R S D T t X Z P I; X after exit */
	bool baseline; /* the first account was taken: totals count from there */
	bool dirty;
	/* The recorder's, not stored: pass of the iterator; on-CPU time between the last two
	 * before the recording began. */
	uint32_t seen_pass;
	uint64_t ran_before_ns;
	/* Since the recording's start. */
	struct sched_figures sched;
	uint64_t delay_max_ns; /* the longest run delay, one that goes on included */
	uint32_t cpus_allowed; /* in its affinity mask, 0 = unknown */
	uint8_t policy;	       /* SCHED_* of linux/sched.h */
	int8_t nice;
	uint8_t rt_priority;
};

/* A group of the cpu controller that threads ran in, or one above such a group. */
struct model_cgroup {
	uint64_t id;	 /* inode of its folder */
	uint32_t parent; /* row, MODEL_NONE = the root, unknown, or too deep */
	const char
		*path; /* below the controller's mount, "/" the root, "" unknown: gone too soon */
	uint64_t quota_ns, period_ns; /* of its own limit as last read; quota 0 = none */
	bool dirty;
};

struct model_stack {
	uint64_t id;	  /* never 0 */
	uint32_t process; /* row, MODEL_NONE for kernel stacks */
	uint16_t flags;	  /* STACK_* of bpf/events.h, STACK_BROKEN */
	uint16_t frame_cnt;
	uint8_t end;		/* enum stack_end of bpf/events.h: why, where it is broken */
	uint16_t resolved_cnt;	/* frames in m->resolved from there on; 0 = none; not stored */
	uint32_t left_out;	/* frames, in the middle: STACK_ROOT_FRAMES of the root follow */
	uint32_t broken_module; /* row of the module where the walk broke, or MODEL_NONE */
	uint32_t resolved;	/* not stored */
	/* They mean this from then on; 0 = at any time. Not stored. */
	uint64_t resolved_from_ns;
	size_t first_frame; /* in frames[] */
};
#define STACK_BROKEN 0x100 /* does not reach the root of its thread (judged when named) */

struct model_sample {
	uint64_t time_ns;
	uint64_t kernel_stack, user_stack; /* ids, 0 = none */
	uint32_t thread;		   /* row */
	uint32_t waiters;		   /* WAITERS_UNKNOWN possible */
	uint16_t cpu;
	uint8_t kind;	 /* enum event_sample_kind */
	uint8_t flags;	 /* SAMPLE_* of bpf/events.h */
	uint32_t weight; /* ticks of host.sample_hz that it stands for; 0 = 1 */
	/* Perhaps the rows of its stacks, a reader's guess: model_stack_find_at(). Not stored. */
	uint32_t kernel_row, user_row;
};

static inline uint64_t model_weight(const struct model_sample *sample)
{
	return sample->weight ?: 1;
}

/* What one thread did in one slice; threads that did nothing have no row. */
struct model_account {
	uint32_t slice;
	uint32_t thread;
	uint32_t cgroup; /* row, that it was in at the end of the slice, or MODEL_NONE */
	struct sched_figures sched;
};

/* Run delays that ended in one slice, by slot of the histogram in bpf/events.h. */
struct model_delay {
	uint32_t slice;
	uint32_t thread;
	uint8_t slot;
	uint64_t count;
};

/* Sampled: while a thread of runner was on a CPU, threads of waiter were runnable and waited
 * there. */
struct model_contention {
	uint32_t slice;
	uint32_t runner; /* process, row */
	uint32_t waiter; /* process, row; MODEL_NONE = could not be told */
	uint64_t weight; /* 1/1000 of a waiting thread, summed over the samples */
};

/* What cpu.stat says of a group that has a limit of its own. */
struct model_throttle {
	uint32_t slice;
	uint32_t cgroup;
	uint64_t periods, throttled_periods;
	uint64_t throttled_ns; /* summed over CPUs */
};

/* What a process serves through one listening socket. */
struct model_endpoint {
	uint32_t process;    /* row */
	uint64_t listener;   /* cookie of the socket: workers of one service may share it */
	const char *address; /* "0.0.0.0", "::1" */
	uint16_t port;
	uint8_t protocols; /* PROTOCOL_* of bpf/events.h seen so far */
	uint32_t netns;	   /* inode of its network namespace */
	uint64_t slow_ns;  /* T, that slow and very_slow were counted by */
	bool dirty;
};

/* What was served there: counters of struct endpoint over a stretch of time. */
struct model_served {
	uint64_t connections;
	uint64_t begun, answered, abandoned;
	uint64_t slow, very_slow; /* of answered */
	uint64_t time_ns;	  /* of answered, to the first answer byte */
	uint64_t joined, pushed;
	uint64_t received_bytes, sent_bytes;
	uint64_t refused; /* connections that the listening socket refused */
	/* Of answered and abandoned, those that were not seen: connections that were followed stand
	 * for the others, in all figures above but refused. */
	uint64_t unseen;
};

/* One endpoint in one slice; where nothing happened and nothing is unanswered there is no row. */
struct model_service {
	uint32_t slice;
	uint32_t endpoint; /* row */
	struct model_served served;
	uint64_t time_max_ns; /* of the requests answered in the slice, from the histogram */
	/* As it stood at the end of the slice. */
	uint32_t open;		  /* requests without an answer yet */
	uint32_t late;		  /* of these, older than T */
	uint32_t stuck;		  /* of these, older than STUCK_NS */
	uint64_t oldest_ns;	  /* age of the oldest, 0 = none */
	uint32_t queued, backlog; /* of the listening socket: to be accepted, and the limit */
	/* unanswered, but perhaps of a protocol that does not answer everything (logs, queues):
	 * not open, not late, not stuck */
	uint32_t unsure;
	/* connections on which a header of HTTP/1 has begun and not ended: no requests */
	uint32_t incomplete;
};

/* A request without an answer for so long hangs (domain.md of the design: 10 s). */
#define STUCK_NS 10000000000ull

/* Times to the first answer byte in one slice, by slot of the histogram in bpf/events.h. */
struct model_response {
	uint32_t slice;
	uint32_t endpoint;
	uint8_t slot;
	uint64_t count;
};

/* The operator's own number for a process at the end of a slice (--service-signal). */
struct model_signal {
	uint32_t slice;
	uint32_t process;   /* row */
	uint32_t value_ppm; /* a share that is slow or fails, in millionths */
};
#define SIGNAL_PPM 1000000u

/*
 * A service that answers worse than it is used to at this rate of requests, over the minute before
 * the end of a slice, by the memory of the resident recorder. Usual: the upper end of what was
 * usual in those hours.
 */
struct model_past {
	uint32_t slice;
	uint32_t process;	      /* row */
	uint64_t hours;		      /* that are known at about this rate */
	uint64_t median_ns, usual_ns; /* time to the first answer byte */
	uint32_t slow_ppm, usual_ppm; /* share that was slow, in millionths */
};

/*
 * Where a thread stood that did not run, or that one at all: one row a thread and wait in a slice.
 * Threads are looked at some times a second, at random moments, some of them in the place of
 * others; the sum of blocked_ns is what threads were blocked.
 */
struct model_stand {
	/* What resolve_sample() takes: thread, time of the last look, stacks (0 = none). Its flags
	 * say which stack could not be had. */
	struct model_sample at;
	uint64_t age_ns;   /* so long in its state; STAND_AGE_UNKNOWN of bpf/events.h */
	uint64_t call;	   /* number of the system call it is in, or STAND_CALL_NONE */
	uint64_t switches; /* when it was read; not stored */
	/* Files that it waits for in poll(2), ppoll(2); 0 = none, or not known; not stored. */
	uint64_t poll_files;
	uint64_t blocked_ns; /* of the slice, that it stands for; 0 = a row of `now` alone */
	uint32_t slice;
	uint32_t flags;	 /* STAND_* of bpf/events.h */
	uint32_t holder; /* tid of who holds the mutex it waits for, 0 = not known */
	uint32_t ns_tid; /* as its own namespace sees it; not stored */
	uint8_t state;	 /* as of /proc/PID/stat */
	bool sampled;	 /* it ran: its stack is that of a tick, a moment before */
	bool now;	 /* of a look at every thread: where each stands */
};
#define STAND_CALL_NONE UINT64_MAX

/* A wait that a look had found is over: who ended it. */
struct model_waker {
	/* What resolve_sample() takes: time, the thread that ran where the wakeup came from, and
	 * its stacks. In an interrupt it may have nothing to do with it (judge/wakers.h); of an
	 * idle CPU it is the one that was woken. */
	struct model_sample at;
	uint64_t blocked_ns;		 /* that the wait stood for, of all slices */
	uint64_t wait_kernel, wait_user; /* stacks of who was woken: those of its model_stand */
	uint32_t woken;			 /* thread, row */
	uint32_t slice;
	bool idle; /* no thread ran there */
};

/* Of model_switch.flags, besides SWITCH_* of bpf/events.h: no switch, but who was there as the
 * window begins; and nobody knows who comes. */
#define SWITCH_BEGINS  0x40
#define SWITCH_UNKNOWN 0x80

/*
 * A single switch or wakeup (record --switches), of a window that was read at the end of a slice:
 * by then its other slices may have been written. Rows are in the order of their times; a window
 * begins with a SWITCH_TURN with SWITCH_BEGINS of each CPU, and ends with the slice of its last
 * row.
 */
struct model_switch {
	uint64_t time_ns; /* monotonic */
	uint32_t slice;	  /* in which that is */
	uint32_t cpu;
	uint32_t thread; /* row, who comes or is woken; MODEL_NONE = the CPU is idle from here on */
	uint32_t other;	 /* row, who leaves or wakes; MODEL_NONE = nobody, or not known */
	/* of the turn that ends: in handlers of device interrupts, and in softirqs */
	uint32_t irq_ns, softirq_ns;
	uint8_t kind;  /* enum switch_kind */
	uint8_t state; /* of who leaves, as of /proc/PID/stat */
	uint8_t flags;
};

struct model_slice {
	uint64_t start_ns, end_ns; /* monotonic */
	int64_t wall_offset_ns;	   /* CLOCK_REALTIME - CLOCK_MONOTONIC at its start */
	uint64_t pressure_ns;	   /* somebody waited for a CPU (PSI "some"); 0 with OFF_PRESSURE */
	uint32_t sample_every;	   /* ticks came at host.sample_hz / so many; 0 = 1 */
	bool quiet;		   /* nobody looked at switches: see OFF_SWITCHES */
	/* Connections at its end, of the ports where fewest are followed; 0 = 1: all are. */
	uint32_t one_followed_of;
	uint32_t followed;	 /* where not all are, as of the last look at sockets */
	uint64_t sockets_age_ns; /* of that look, which tells what stood at its end */
	uint32_t looks;		 /* at threads that do not run (struct model_stand) */
};

struct model_cpu {
	uint32_t slice;
	uint32_t cpu;
	uint64_t elapsed_ns; /* time of this CPU that the books cover in the slice */
	uint64_t idle_ns, accounted_ns, unaccounted_ns; /* sum = elapsed_ns */
	uint64_t steal_ns;				/* /proc/stat, to a clock tick */
	uint64_t switches;
	uint64_t ticks_taken, ticks_idle, ticks_filtered; /* as many as host.sample_hz has */
	uint64_t queue
		[12]; /* of ticks_taken: by threads that waited then: 0..9, 10 and more, unknown */
};

struct model_loss {
	uint32_t slice;
	uint32_t cause; /* enum loss_cause / model_loss_cause */
	uint64_t count;
};

/* What hotrun could do on that host: a row of base/feature.h. */
struct model_feature {
	const char *name; /* feature_row.id */
	uint32_t status;  /* enum feature_status */
	const char *why;  /* of one that is off, a clause; else "" */
};

/* Names were looked up again in a finished capture. */
struct model_renaming {
	int64_t time_s; /* Unix time */
	const char *version;
	uint64_t named; /* locations that got a name */
};

struct model_symbol {
	const char *name;   /* for people: Namespace.Type.Method, demangled, or module+0xoffset */
	const char *raw;    /* as its source has it; same pointer as name where equal */
	const char *module; /* assembly, basename of the file, "[kernel]" or a kernel module */
	uint8_t kind;	    /* enum model_kind */
	uint8_t reason;	    /* enum model_reason; REASON_NAMED = has a name */
	bool application;   /* code of the service, not of runtime, framework or libraries */
};

/* Code of .NET, compiled in this run or before. */
static inline bool model_is_managed(const struct model_symbol *symbol)
{
	return symbol->kind == KIND_JIT || symbol->kind == KIND_IMAGE;
}

#define LOCATION_LATER	0x1 /* the name was first seen after the sample: "named later" */
#define LOCATION_MEMORY 0x2 /* the name is from the memory of its process */

/* What an address of a process means from a moment on. */
struct model_location {
	uint32_t process; /* row, MODEL_NONE = kernel */
	uint32_t symbol;  /* row */
	uint64_t address; /* model_stack_address() of a frame */
	uint64_t from_ns; /* monotonic; 0 = from the beginning */
	uint32_t older;	  /* row of the same address with an earlier from_ns, or MODEL_NONE */
	uint32_t jump;	  /* a row far older, so that a look-up takes a logarithm; not stored */
	uint32_t depth;	  /* rows that are older; not stored */
	uint8_t flags;	  /* LOCATION_* */
	const char *tier; /* "QuickJitted", ... or "" */
};

struct resolve_frame;
struct resolve_recent;

#define MODEL_TABLE(type, name) \
	type *name;             \
	size_t name##_cnt, name##_cap

struct model {
	struct model_host host;
	MODEL_TABLE(struct model_process, processes);
	size_t mappings_cnt; /* of all processes */
	MODEL_TABLE(struct model_thread, threads);
	MODEL_TABLE(struct model_module, modules);
	MODEL_TABLE(struct model_stack, stacks);
	MODEL_TABLE(uint64_t, frames); /* of all stacks, leaf first within a stack */
	MODEL_TABLE(struct model_symbol, symbols);
	MODEL_TABLE(struct model_location, locations);
	MODEL_TABLE(struct model_cgroup, cgroups);
	MODEL_TABLE(struct model_endpoint, endpoints);
	MODEL_TABLE(struct model_slice, slices);
	/* Of all slices, kept by model_slice_add() and whoever takes some away. */
	uint32_t slices_quiet;
	uint64_t slices_every;			       /* sum of sample_every */
	MODEL_TABLE(struct model_renaming, renamings); /* a reader's; the recorder has none */
	/* Per slice; the recorder empties these after each write (model_forget_slice). */
	MODEL_TABLE(struct model_sample, samples);
	MODEL_TABLE(struct model_account, accounts);
	MODEL_TABLE(struct model_delay, delays);
	MODEL_TABLE(struct model_contention, contentions);
	MODEL_TABLE(struct model_throttle, throttles);
	MODEL_TABLE(struct model_service, services);
	MODEL_TABLE(struct model_response, responses);
	MODEL_TABLE(struct model_signal, signals);
	MODEL_TABLE(struct model_past, pasts);
	MODEL_TABLE(struct model_stand, stands);
	MODEL_TABLE(struct model_waker, wakers);
	MODEL_TABLE(struct model_switch, switches);
	MODEL_TABLE(struct model_cpu, cpus);
	MODEL_TABLE(struct model_loss, losses);
	MODEL_TABLE(struct model_feature, features);
	uint64_t samples_gone; /* rows of samples that were forgotten from the front so far */

	struct hash_index process_index, thread_index, module_index, stack_index, symbol_index,
		location_index, string_index, cgroup_index, endpoint_index;
	MODEL_TABLE(char *, strings);
	size_t strings_bytes;

	/* A reader's, not stored: names are as they stay, so that what stacks mean is kept as it is
	 * found out (resolve.c). Ends with the next location. */
	bool settled;
	MODEL_TABLE(struct resolve_frame, resolved);
	struct resolve_recent *recent;

	/* How the frames are to be read (frame_view.h); the reader's, not stored. */
	bool raw_names, just_my_code;

	/* Address of the kernel's _text; frames of kernel stacks are kept relative to it, so that a
	 * capture does not tell where the kernel lies. 0 = unknown. The recorder's, not stored. */
	uint64_t kernel_text;
};

/* Returns an empty model, or NULL with errno ENOMEM. Owned by the caller. */
struct model *model_new(void);
void model_free(struct model *m);

/* Returns the interned copy of len bytes (cut at a NUL byte and at MODEL_MAX_STRING), never NULL:
 * without memory or beyond MODEL_MAX_STRINGS it is "". Lives as long as the model. */
const char *model_string(struct model *m, const char *bytes, size_t len);
const char *model_str(struct model *m, const char *s);

/*
 * Find-or-add functions. Each returns a row, or MODEL_NONE when a bound is reached or memory is
 * out (then counted under LOSS_MODEL_LIMIT in the current slice). Pointers into tables are valid
 * until the next add to the same table.
 */

/* Exact identity; adds a process with comm "" and name "". */
uint32_t model_process_get(struct model *m, uint32_t tgid, uint64_t start_ns);
/* Row of that exact identity, or MODEL_NONE. */
uint32_t model_process_find(const struct model *m, uint32_t tgid, uint64_t start_ns);
/* The process of tgid that was alive at a monotonic time (the newest born at or before it, else the
 * oldest known), or MODEL_NONE. */
uint32_t model_process_at(const struct model *m, uint32_t tgid, uint64_t time_ns);
/* Whether it is hotrun, or a process that hotrun forked for itself, known by who its parents are:
 * anybody may have the name. */
bool model_is_own(const struct model *m, uint32_t process);
/* Adds a process known from its fork event only; its start_ns is learnt later (start_exact). */
uint32_t model_process_born(struct model *m, uint32_t tgid, uint64_t born_ns);
/* The first process of tgid born after born_ns whose start is not exact yet, or MODEL_NONE. */
uint32_t model_process_unnamed_after(const struct model *m, uint32_t tgid, uint64_t born_ns);
/* Row of a thread of that process; adds it with comm "" and state '?'. */
uint32_t model_thread_get(struct model *m, uint32_t process, uint32_t tid, uint64_t start_ns);
/* Row of the module equal in path, dev, inode and build id. */
uint32_t model_module_get(struct model *m, const struct model_module *module);
/* Notes what the file of a module row is known by, unless that is known. */
void model_module_learn(struct model *m, uint32_t module, const uint8_t *id, uint8_t len);
/* Row of the symbol equal in all fields; strings are interned here. */
uint32_t model_symbol_get(struct model *m, const struct model_symbol *symbol);
/* Adds a stack of at most STACK_MAX_FRAMES frames, which are copied. A stack of the same id is
 * returned as it is. */
uint32_t model_stack_add(struct model *m, const struct model_stack *stack, const uint64_t *frames);
/* Row of the stack with that id, or MODEL_NONE. */
uint32_t model_stack_find(const struct model *m, uint64_t id);
/* The same, quick where the guess is right. */
static inline uint32_t model_stack_find_at(const struct model *m, uint64_t id, uint32_t guess)
{
	return guess < m->stacks_cnt && m->stacks[guess].id == id ? guess : model_stack_find(m, id);
}
static inline const uint64_t *model_stack_frames(const struct model *m, const struct model_stack *s)
{
	return m->frames + s->first_frame;
}
/* The address under which frame i is looked up: the leaf as it is, callers one less, since a
 * return address may already belong to the next function. */
static inline uint64_t model_stack_address(const struct model *m, const struct model_stack *s,
					   uint32_t i)
{
	uint64_t address = m->frames[s->first_frame + i];

	if (!(s->flags & STACK_KERNEL) && FRAME_IS_UNSURE(address))
		address &= ~FRAME_CALLER_UNSURE;
	return i && address ? address - 1 : address;
}
/* Whether callers of frame i may be missing (FRAME_CALLER_UNSURE). */
static inline bool model_stack_unsure(const struct model *m, const struct model_stack *s,
				      uint32_t i)
{
	return (s->flags & (STACK_UNSURE | STACK_KERNEL)) == STACK_UNSURE &&
	       FRAME_IS_UNSURE(m->frames[s->first_frame + i]);
}

/* What a mapping of that name is; names as /proc/PID/maps and perf's MMAP2 records have them. */
enum model_mapping_kind model_mapping_kind_of(const char *path, size_t len);
/*
 * Adds a mapping from a moment on. Older mappings that it covers whole end at that moment. Equal
 * repeats (same range, offset, module, still open) are ignored. 0 or -ENOSPC (bound) or -ENOMEM.
 */
int model_mapping_add(struct model *m, uint32_t process, const struct model_mapping *mapping);
/* Gives process the mappings that parent has open at that moment (fork). 0, -ENOSPC (bound of all
 * processes together) or -ENOMEM, then with those that there was room for. */
int model_mappings_inherit(struct model *m, uint32_t process, uint32_t parent);
/* Takes them away, and makes room for others. */
void model_mappings_forget(struct model *m, uint32_t process);
/* Ends all open mappings of a process (exec). */
void model_mappings_end(struct model *m, uint32_t process, uint64_t time_ns);
/* The newest mapping that held address at time_ns; failing that, the first that held it later;
 * NULL if none ever did. */
const struct model_mapping *model_mapping_find(struct model *m, uint32_t process, uint64_t address,
					       uint64_t time_ns);

/* The location valid at time_ns (newest from_ns <= time_ns, else the oldest), or MODEL_NONE. */
uint32_t model_location_find(const struct model *m, uint32_t process, uint64_t address,
			     uint64_t time_ns);
/* Adds a location; where the newest of that address has the same symbol and tier, returns that
 * one. A from_ns that is not newer than the newest replaces nothing and is returned as it is. */
uint32_t model_location_add(struct model *m, const struct model_location *location);
/* Appends a location as a capture has it, without judging it again: tier is interned, and older is
 * MODEL_NONE or an earlier row of the same process and address. 0 or -ENOMEM. */
int model_location_restore(struct model *m, const struct model_location *location);

/* Says that no more locations will be added, nor stacks judged. */
void model_settle(struct model *m);

/* Forgets all locations, as if nothing had been looked up yet. */
void model_locations_forget(struct model *m);

/* Row of the cgroup of that id; adds it with path "" and no parent. */
uint32_t model_cgroup_get(struct model *m, uint64_t id);
/* Row of the cgroup of that id, or MODEL_NONE. */
uint32_t model_cgroup_find(const struct model *m, uint64_t id);

/* Whether parents are rows, and every group has its root within MODEL_CGROUP_DEPTH steps. */
bool model_cgroups_sound(const struct model *m);

/* Row of the endpoint of that process and listening socket; adds it. address is interned; T,
 * protocols and the rest are set from endpoint when it is added. */
uint32_t model_endpoint_get(struct model *m, const struct model_endpoint *endpoint);
/* Row of the endpoint of that process and listening socket, or MODEL_NONE. */
uint32_t model_endpoint_find(const struct model *m, uint32_t process, uint64_t listener);

/* sum += by, figure by figure. */
void model_served_add(struct model_served *sum, const struct model_served *by);

/* Appends to the per-slice tables. 0 or -ENOMEM. */
int model_sample_add(struct model *m, const struct model_sample *sample);
int model_account_add(struct model *m, const struct model_account *account);
int model_delay_add(struct model *m, const struct model_delay *delay);
int model_contention_add(struct model *m, const struct model_contention *contention);
int model_throttle_add(struct model *m, const struct model_throttle *throttle);
int model_service_add(struct model *m, const struct model_service *service);
int model_response_add(struct model *m, const struct model_response *response);
int model_signal_add(struct model *m, const struct model_signal *signal);
int model_past_add(struct model *m, const struct model_past *past);
int model_stand_add(struct model *m, const struct model_stand *stand);
int model_waker_add(struct model *m, const struct model_waker *waker);
int model_switch_add(struct model *m, const struct model_switch *row);
/* For who goes on with what else the model holds: they are many. */
void model_forget_switches(struct model *m);
int model_cpu_add(struct model *m, const struct model_cpu *cpu);
/* Adds count to the cause in the slice of the newest row of slices (or slice 0). */
void model_loss_add(struct model *m, uint32_t cause, uint64_t count);
int model_slice_add(struct model *m, const struct model_slice *slice);
/* Row of the slice at that time: the first one before them all, the last one behind; 0 where there
 * are none. */
uint32_t model_slice_at(const struct model *m, uint64_t time_ns);
/* So many ticks of host.sample_hz are as sure as how many samples: fewer where some stand for
 * several (Kish's effective sample size, of slices that are equally busy). */
static inline uint64_t model_effective(const struct model *m, uint64_t ticks)
{
	return m->slices_every > m->slices_cnt ? ticks * m->slices_cnt / m->slices_every : ticks;
}
/* The same of one slice. */
static inline uint32_t model_slice_off(const struct model *m, const struct model_slice *slice)
{
	return m->host.off | (slice->quiet ? OFF_SWITCHES | OFF_OWN : 0);
}
/* The part of the time in which switches were looked at. */
static inline double model_full_share(const struct model *m)
{
	return m->slices_cnt ? 1 - (double)m->slices_quiet / (double)m->slices_cnt : 1;
}
/* The gear of the newest slice, where that changed as it began. */
void model_slice_gear(struct model *m, bool quiet, uint32_t sample_every);
/* OFF_*: what it lacks as a whole, and what its slices do by their gears. */
static inline uint32_t model_off(const struct model *m)
{
	uint32_t quiet = m->slices_quiet;

	return m->host.off | (quiet && quiet == m->slices_cnt ? OFF_SWITCHES | OFF_OWN : 0);
}

/* Empties the tables whose rows are of a slice; everything else stays. */
void model_forget_slice(struct model *m);
/*
 * Forgets the slices before that row, their rows and samples; slices and their rows are numbered
 * anew, from 0. slices_cnt = all of them. Other rows and the figures of threads stay. Walks all
 * rows of slices. A sample that came late, after those of the next slice, goes with that one.
 */
void model_forget_before(struct model *m, uint32_t slice);
/* Of a view, a copy of a model by assignment: leaves the rows of earlier slices out, and all
 * samples; slices keep their numbers. Not to be added to, nor freed. */
void model_view_from(struct model *view, uint32_t slice);
/* Keeps the rows of the slices from first to last (both included), numbered from 0; all but
 * samples. */
void model_keep_slices(struct model *m, uint32_t first, uint32_t last);

/* Bytes of the rows of slices, and of all other tables with their strings and indexes. */
size_t model_slice_bytes(const struct model *m);
size_t model_bytes(const struct model *m);

/* Short text for people of each code, e.g. "no symbol there (stripped)". Static strings. */
const char *model_reason_text(enum model_reason reason);
/* Why a stack ended before its root. */
const char *model_end_text(enum stack_end end);
const char *model_end_id(enum stack_end end);
/* What the recorder could do, into a model that has none of it yet. 0 or -ENOMEM. */
int model_take_features(struct model *m, const struct feature_set *set);
int model_copy_features(struct model *m, const struct model *from);
/* Why the capture has nothing of that feature: a clause, borrowed from the model. NULL: it was on,
 * or the capture does not say. */
const char *model_feature_why(const struct model *m, enum feature f);
const char *model_loss_text(uint32_t cause);
/* Why a figure is n/a, of one OFF_* bit: the recorder's own reason, where the capture has it.
 * Borrowed from the model. */
const char *model_off_text(const struct model *m, uint32_t bit);
/* Why waits and what follows from them are n/a in this capture; NULL where they are not. */
const char *model_waits_why(const struct model *m);
/* Why its requests were not measured; NULL where they were. */
const char *model_requests_why(const struct model *m);
/* Stable lower-case ids for machine-readable output, e.g. "no-symbol". */
const char *model_reason_id(enum model_reason reason);
const char *model_loss_id(uint32_t cause);
#endif

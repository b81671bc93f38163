/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a capture holds: each column once, with its type, its field in C, what it means, and what
 * earlier captures have of it. CREATE TABLE, reader, writer, the manual (schema.sql) and the
 * comparison of the tests walk these rows: a new column is a row here and a field of its struct.
 */
#include <linux/types.h>
#include <stddef.h>

#include "bpf/events.h"
#include "model/requests.h"
#include "store/private.h"

/* A column named otherwise than its field; after the text what else a struct column says. */
#define CN(row, sort, field, named, what, ...)                                               \
	{                                                                                    \
		.name = named, .offset = offsetof(struct row, field), .type = COLUMN_##sort, \
		.text = what, __VA_ARGS__                                                    \
	}
#define C(row, sort, field, what, ...) CN(row, sort, field, #field, what, ##__VA_ARGS__)

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
/* The first captures lack the column, and that figure with it. */
#define LATER(bit) .off = bit
/* What the column was called in earlier captures, which are read by that name. */
#define WAS(earlier) .was = earlier
/* Numbers that a column holds one of, or sums of. */
#define ONE_OF(list) .words = list, .words_cnt = COUNT(list)
#define SUM_OF(list) .words = list, .words_cnt = COUNT(list), .bits = true

#define OFF_FIRST                                                                            \
	(OFF_ACCOUNTS | OFF_QUEUES | OFF_PRESSURE | OFF_LIMITS | OFF_REQUESTS | OFF_TABLES | \
	 OFF_STANDS)

static const struct column_word off_words[] = {
	{OFF_ACCOUNTS, "waits"},
	{OFF_GROUPS, "cgroups and throttling (kernel without group scheduling)"},
	{OFF_PRESSURE, "pressure"},
	{OFF_QUEUES, "run queues"},
	{OFF_OWN, "behind_own_ns"},
	{OFF_LIMITS, "limits of cgroups"},
	{OFF_REQUESTS, "requests"},
	{OFF_TABLES, "end of stacks (user stacks were walked along frame pointers)"},
	{OFF_SWITCHES,
	 "switches (CPU times and waits are the kernel's own then, idle times to a clock tick; "
	 "uninterruptible_ns, run_delay and delay_max_ns are not known)"},
	{OFF_STANDS, "where threads stood that did not run"},
};
static const struct column host_columns[] = {
	C(model_host, TEXT, name, ""),
	C(model_host, TEXT, kernel, "uname -r"),
	C(model_host, TEXT, machine, "uname -m"),
	C(model_host, TEXT, version, "of the hotrun that recorded"),
	C(model_host, TEXT, event, "what a sampling tick counts: \"cpu-clock\""),
	C(model_host, TEXT, filter, "\"\" or what -p and --cgroup said"),
	C(model_host, TEXT, command, "first word of record -- CMD, \"\" without"),
	C(model_host, U32, cpus_online, ""),
	C(model_host, U32, cpus_possible, ""),
	C(model_host, U32, sample_hz, "ticks a second of CPU time on each CPU"),
	C(model_host, U32, max_stack, "kernel.perf_event_max_stack: deeper stacks are cut"),
	C(model_host, NS, start_ns, ""),
	C(model_host, NS, end_ns, "of the last slice in the file"),
	C(model_host, BOOL, complete,
	  "1 = ended on purpose, 0 = killed, disk full or still running"),
	C(model_host, U32, off,
	  "what this capture does not have, whose columns are 0 and say nothing", SUM_OF(off_words),
	  LATER(OFF_FIRST)),
	C(model_host, TEXT, taken,
	  "why hotrun watch took it by itself: who, since when, and what was asked before; \"\" = "
	  "it "
	  "did not",
	  LATER(OFF_NO_FIGURE)),
};

static const struct column slice_columns[] = {
	C(model_slice, NS, start_ns, ""),
	C(model_slice, NS, end_ns, ""),
	C(model_slice, I64, wall_offset_ns, "CLOCK_REALTIME - CLOCK_MONOTONIC at its start"),
	C(model_slice, SUM, pressure_ns, "time in which somebody waited for a CPU (PSI \"some\")",
	  LATER(OFF_PRESSURE)),
	C(model_slice, U32, sample_every, "ticks came at host.sample_hz / so many; 0 = 1",
	  LATER(OFF_NO_FIGURE)),
	C(model_slice, BOOL, quiet,
	  "1 = the quiet gear: nobody looked at switches. CPU times and waits are the kernel's "
	  "own, "
	  "idle times to a clock tick; behind_own_ns, uninterruptible_ns, run_delay and "
	  "delay_max_ns "
	  "are not known",
	  LATER(OFF_NO_FIGURE)),
	C(model_slice, U32, one_followed_of,
	  "connections of which one was followed at its end, for requests, at the ports where "
	  "fewest were: the others are estimated by it; 0 and 1 = all were",
	  LATER(OFF_NO_FIGURE)),
	C(model_slice, U32, followed,
	  "connections that were followed at ports where not all were, as of the "
	  "next column",
	  LATER(OFF_NO_FIGURE)),
	C(model_slice, NS, sockets_age_ns,
	  "how long before its end sockets were looked at last, for what stood unanswered then",
	  LATER(OFF_NO_FIGURE)),
	C(model_slice, U32, looks, "at threads that do not run, for stand.blocked_ns",
	  LATER(OFF_NO_FIGURE)),
};

static const struct column cgroup_columns[] = {
	CN(model_cgroup, U64, id, "key",
	   "the kernel's number of it (inode of its folder), as process.cgroup_id"),
	C(model_cgroup, ROW, parent, "cgroup above it, NULL = the root, unknown, or too deep"),
	C(model_cgroup, TEXT, path,
	  "below the controller's mount, \"/\" = root, \"\" = gone too soon"),
	C(model_cgroup, NS, quota_ns,
	  "CPU time it may use in each period, 0 = no limit of its own"),
	C(model_cgroup, NS, period_ns, ""),
};

static const struct column_word process_words[] = {
	{PROCESS_KERNEL, "kernel thread"},
	{PROCESS_DOTNET, "runs CoreCLR"},
	{PROCESS_FACTS, "/proc was read"},
	{PROCESS_GONE, "ended before that"},
	{PROCESS_SELF, "hotrun itself"},
	{PROCESS_SELECTED, "selected (-p, --cgroup)"},
	{PROCESS_SAMPLED, "has a sample"},
	{PROCESS_SOCKETS, "its sockets were read, which is done where requests are not measured"},
	{PROCESS_LISTENS, "listens on a TCP port"},
};
static const struct column process_columns[] = {
	C(model_process, U32, tgid, "pid as the host sees it"),
	C(model_process, U32, ns_pid, "pid in its innermost namespace, 0 = unknown"),
	C(model_process, U32, parent_tgid, ""),
	C(model_process, ROW, uid, "real user id, NULL = not known", LATER(OFF_NO_FIGURE)),
	C(model_process, U32, flags, "", SUM_OF(process_words)),
	C(model_process, NS, start_ns, "boottime"),
	C(model_process, BOOL, start_exact, "0 = start_ns is a guess from the fork event"),
	C(model_process, NS, born_ns, "monotonic"),
	C(model_process, NS, exit_ns, "0 = alive at the last look"),
	C(model_process, U64, cgroup_id, "of the cpu controller"),
	C(model_process, TEXT, comm, ""),
	C(model_process, TEXT, exe, "path as the process sees it, \"\" = unknown"),
	C(model_process, TEXT, name, "for people: entry assembly, else comm"),
	C(model_process, TEXT, unit, "systemd unit, \"\" = none"),
	C(model_process, TEXT, container, "short id, \"\" = none"),
	C(model_process, TEXT, cgroup, "path, \"\" = unknown"),
	C(model_process, U32, perf_map, "reason.id: 0 = perf map in use, else why there is none"),
	C(model_process, TEXT, container_id, "whole, \"\" = none or not known, as those to runtime",
	  LATER(OFF_NO_FIGURE)),
	C(model_process, TEXT, container_name, "as the pod, or the engine, names it",
	  LATER(OFF_NO_FIGURE)),
	C(model_process, TEXT, pod, "", LATER(OFF_NO_FIGURE)),
	C(model_process, TEXT, pod_uid, "", LATER(OFF_NO_FIGURE)),
	C(model_process, TEXT, namespace, "", LATER(OFF_NO_FIGURE)),
	C(model_process, TEXT, qos, "guaranteed, burstable, besteffort", LATER(OFF_NO_FIGURE)),
	C(model_process, TEXT, runtime, "containerd, cri-o, docker, podman", LATER(OFF_NO_FIGURE)),
	C(model_process, NS, naming_cpu_ns, "CPU time of workers that naming its code cost",
	  LATER(OFF_NO_FIGURE)),
	C(model_process, U64, map_unread_bytes,
	  "of its perf map, that were not followed for their cost", LATER(OFF_NO_FIGURE)),
	C(model_process, NS, names_aside_ns,
	  "when its names were set aside for what they cost others, 0 = they were not",
	  LATER(OFF_NO_FIGURE)),
	C(model_process, U32, files_refused, "too costly to read", LATER(OFF_NO_FIGURE)),
	C(model_process, SUM, requests_refused,
	  "in no row of service: beyond what a process, or its cgroup, may have of endpoints",
	  LATER(OFF_NO_FIGURE)),
	C(model_process, SUM, mappings_refused,
	  "in no row of mapping: beyond what a process, or its cgroup, may make in a second",
	  LATER(OFF_NO_FIGURE)),
};

#define SCHED_COLUMNS(row)                                                                    \
	CN(row, SUM, sched.on_cpu_ns, "on_cpu_ns", "by context switches"),                    \
		CN(row, SUM, sched.voluntary, "voluntary", "switches: gave the CPU up"),      \
		CN(row, SUM, sched.involuntary, "involuntary", "switches: was preempted"),    \
		CN(row, SUM, sched.waited_ns, "waited_ns",                                    \
		   "run delay: runnable, not running, not throttled", LATER(OFF_ACCOUNTS)),   \
		CN(row, SUM, sched.behind_own_ns, "behind_own_ns",                            \
		   "of waited_ns: while threads of its own process ran on that CPU",          \
		   LATER(OFF_ACCOUNTS)),                                                      \
		CN(row, SUM, sched.throttled_ns, "throttled_ns",                              \
		   "runnable, but the quota of its cgroup was used up", LATER(OFF_ACCOUNTS)), \
		CN(row, SUM, sched.uninterruptible_ns, "uninterruptible_ns", "state D",       \
		   LATER(OFF_ACCOUNTS)),                                                      \
		CN(row, SUM, sched.migrations, "migrations", "to another CPU",                \
		   LATER(OFF_ACCOUNTS))

static const struct column_word policy_words[] = {
	{0, "normal"}, {1, "FIFO"}, {2, "round robin"}, {3, "batch"}, {5, "idle"}, {6, "deadline"},
};
static const struct column thread_columns[] = {
	C(model_thread, U32, process, ""),
	C(model_thread, U32, tid, ""),
	C(model_thread, NS, start_ns, "boottime"),
	C(model_thread, NS, exit_ns, "0 = alive at the last look"),
	C(model_thread, TEXT, comm, ""),
	C(model_thread, LETTER, state,
	  "at the last look, a letter as in /proc/PID/stat; \"\" = unknown"),
	C(model_thread, BOOL, baseline,
	  "1 = the figures below count from a first reading, "
	  "else from the recording's start"),
	SCHED_COLUMNS(model_thread),
	C(model_thread, NS, delay_max_ns,
	  "the longest run delay, one that went on at the end included", LATER(OFF_ACCOUNTS)),
	C(model_thread, U32, cpus_allowed, "CPUs in its affinity mask, 0 = unknown",
	  LATER(OFF_ACCOUNTS)),
	C(model_thread, U8, policy, "", ONE_OF(policy_words), LATER(OFF_ACCOUNTS)),
	C(model_thread, I8, nice, "-20 to 19", LATER(OFF_ACCOUNTS)),
	C(model_thread, U8, rt_priority, "1 to 99 of policies 1 and 2, else 0",
	  LATER(OFF_ACCOUNTS)),
};

#define WORD(bit, name) {bit, name},
static const struct column_word protocol_words[] = {REQUESTS_PROTOCOLS(WORD)};
static const struct column endpoint_columns[] = {
	C(model_endpoint, U32, process, ""),
	C(model_endpoint, U64, listener,
	  "the kernel's number of the socket; processes may share one"),
	C(model_endpoint, TEXT, address, "that it listens at, \"\" = unknown"),
	C(model_endpoint, U16, port, ""),
	C(model_endpoint, U8, protocols, "what connections began with", SUM_OF(protocol_words)),
	C(model_endpoint, U32, netns, "network namespace, inode"),
	C(model_endpoint, NS, slow_ns, "T: a request is slow when its answer takes longer"),
};

static const struct column module_columns[] = {
	CN(row_module, TEXT, module.path, "path", "as the process named it"),
	CN(row_module, U64, module.dev, "dev", "makedev(3), 0 = unknown"),
	CN(row_module, U64, module.inode, "inode", "0 = unknown"),
	C(row_module, BLOB, build_id,
	  "up to 20 bytes, empty = unknown; of a precompiled .NET image that was read its module "
	  "version id (16 bytes)"),
};

static const struct column_word mapping_words[] = {
	{MAPPING_FILE, "file"}, {MAPPING_ANON, "anonymous"},	{MAPPING_JIT, "JIT code"},
	{MAPPING_VDSO, "vdso"}, {MAPPING_VSYSCALL, "vsyscall"},
};
static const struct column mapping_columns[] = {
	C(row_mapping, U32, process, ""),
	C(row_mapping, U32, number, "from 0 in each process"),
	CN(row_mapping, ROW, mapping.module, "module", ""),
	CN(row_mapping, U8, mapping.kind, "kind", "", ONE_OF(mapping_words)),
	CN(row_mapping, U64, mapping.start, "start", "address"),
	CN(row_mapping, U64, mapping.end, "end", "address, exclusive"),
	CN(row_mapping, U64, mapping.file_offset, "file_offset", "bytes, of start"),
	CN(row_mapping, NS, mapping.from_ns, "from_ns", "0 = was there at first sight"),
	CN(row_mapping, NS, mapping.to_ns, "to_ns", "exclusive, 0 = still there"),
};

static const struct column_word stack_words[] = {
	{STACK_KERNEL, "kernel"},
	{STACK_TRUNCATED, "deeper than is walked (root missing)"},
	{STACK_UNSURE, "callers of some frame may be missing"},
	{STACK_BROKEN, "does not reach the root of its thread (broken)"},
};
static const struct column_word end_words[] = {
	{STACK_END_UNTOLD, "not told: along frame pointers"},
	{STACK_END_ROOT, "at the root"},
	{STACK_END_NO_TABLE, "no unwind data in the file"},
	{STACK_END_NOT_YET, "unwind table not there yet"},
	{STACK_END_INEXPRESSIBLE, "unwind data that rows cannot express"},
	{STACK_END_UNREADABLE, "stack memory not readable"},
	{STACK_END_ASTRAY, "unwind data that leads astray"},
	{STACK_END_DEPTH, "deeper than is walked"},
	{STACK_END_MEMORY, "no room for the unwind table"},
	{STACK_END_CODE, "code made at run time, without a frame"},
};
static const struct column stack_columns[] = {
	CN(row_stack, U64, stack.id, "key", "64-bit hash by which samples name it, never 0"),
	CN(row_stack, ROW, stack.process, "process", "NULL = kernel stack"),
	CN(row_stack, U16, stack.flags, "flags", "", SUM_OF(stack_words)),
	CN(row_stack, ROW, stack.broken_module, "broken_module", "module in which the walk broke"),
	CN(row_stack, U8, stack.end, "end", "how the walk ended", ONE_OF(end_words),
	   LATER(OFF_TABLES)),
	CN(row_stack, U32, stack.left_out, "left_out",
	   "frames left out in the middle, before the last 128 of frames", LATER(OFF_TABLES)),
	C(row_stack, BLOB, frames,
	  "addresses, leaf first, 8 bytes each, little-endian; callers are return addresses. At "
	  "most 2,048. Of user stacks the highest bit alone of the highest two says that "
	  "callers of that frame may be missing"),
};

static const struct column_word kind_words[] = {
	{KIND_UNKNOWN, "unknown"},
	{KIND_KERNEL, "kernel"},
	{KIND_NATIVE, "native"},
	{KIND_JIT, "JIT"},
	{KIND_STUB, "runtime stub"},
	{KIND_IMAGE, "precompiled .NET image"},
	{KIND_NOTE, "a note instead of code"},
};
static const struct column symbol_columns[] = {
	C(model_symbol, TEXT, name, "for people: Namespace.Type.Method, or demangled"),
	C(model_symbol, TEXT_OR_NULL, raw, "as its source had it; NULL = equal to name"),
	C(model_symbol, TEXT, module, "assembly, file name, \"[kernel]\" or a kernel module"),
	C(model_symbol, U8, kind, "", ONE_OF(kind_words)),
	C(model_symbol, U8, reason, "reason.id"),
	C(model_symbol, BOOL, application,
	  "1 = code of the service, 0 = runtime, framework, libraries"),
};

static const struct column_word location_words[] = {
	{LOCATION_LATER, "the name was first seen after the sample"},
	{LOCATION_MEMORY, "the name is from the memory of its process"},
};
static const struct column location_columns[] = {
	C(model_location, ROW, process, "NULL = kernel"),
	C(model_location, U32, symbol, ""),
	C(model_location, U64, address, ""),
	C(model_location, NS, from_ns, "0 = from the beginning"),
	C(model_location, ROW, older, "location of the same address with an earlier from_ns"),
	C(model_location, U8, flags, "", SUM_OF(location_words)),
	C(model_location, TEXT, tier, "of JIT code; PreJIT = precompiled; \"\" = none known"),
};

static const struct column_word sample_kinds[] = {{SAMPLE_ON_CPU, "on CPU"}};
static const struct column_word sample_words[] = {
	{SAMPLE_KERNEL_THREAD, "kernel thread"},
	{SAMPLE_USER_STACK_FAULT, "user stack unreadable"},
	{SAMPLE_KERNEL_STACK_FAULT, "kernel stack unreadable"},
	{SAMPLE_FILTERED, "outside of what was selected: without stacks"},
};
static const struct column sample_columns[] = {
	C(model_sample, NS, time_ns, ""),
	C(model_sample, U32, thread, ""),
	C(model_sample, U16, cpu, ""),
	C(model_sample, U8, kind, "", ONE_OF(sample_kinds)),
	C(model_sample, U8, flags, "", SUM_OF(sample_words)),
	C(model_sample, ROW, waiters, "runnable threads that waited for this CPU; NULL = unknown"),
	C(model_sample, U64, kernel_stack, "stack.key, 0 = none"),
	C(model_sample, U64, user_stack, "stack.key, 0 = none. A key without a stack: it was lost"),
	C(model_sample, U32, weight, "ticks of host.sample_hz that it stands for; 0 = 1",
	  LATER(OFF_NO_FIGURE)),
};

static const struct column account_columns[] = {
	C(model_account, U32, slice, ""),
	C(model_account, U32, thread, ""),
	SCHED_COLUMNS(model_account),
	C(model_account, ROW, cgroup, "that it was in at the end of the slice, NULL = unknown",
	  LATER(OFF_LIMITS)),
};

static const struct column run_delay_columns[] = {
	C(model_delay, U32, slice, ""),
	C(model_delay, U32, thread, ""),
	C(model_delay, U8, slot,
	  "0: under 2 us; 1 to 24: from 2^slot us to under twice that; 25: longer"),
	C(model_delay, SUM, count, ""),
};

static const struct column contention_columns[] = {
	C(model_contention, U32, slice, ""),
	C(model_contention, U32, runner, "process"),
	C(model_contention, ROW, waiter, "process, may be the runner; NULL = could not be told"),
	C(model_contention, SUM, weight, "waiting threads summed over the samples, in 1/1000"),
};

static const struct column throttle_columns[] = {
	C(model_throttle, U32, slice, ""),
	C(model_throttle, U32, cgroup, ""),
	C(model_throttle, SUM, periods, "in which it was active"),
	C(model_throttle, SUM, throttled_periods, "of these, in which its quota was used up"),
	C(model_throttle, SUM, throttled_ns, "summed over CPUs"),
};

#define SERVED(field, what, ...) CN(model_service, SUM, served.field, #field, what, ##__VA_ARGS__)
static const struct column service_columns[] = {
	C(model_service, U32, slice, ""),
	C(model_service, U32, endpoint, ""),
	SERVED(connections, "that began to speak"),
	SERVED(begun, "requests"),
	SERVED(answered, ""),
	SERVED(abandoned, "the connection ended before an answer"),
	SERVED(slow, "of answered: after more than endpoint.slow_ns,"),
	SERVED(very_slow, "after more than four times that"),
	SERVED(time_ns, "of answered, to the first byte, summed"),
	SERVED(joined, "arrivals of data while a request was unanswered"),
	SERVED(pushed, "sends while none was: later parts of an answer, messages"),
	SERVED(received_bytes, ""),
	SERVED(sent_bytes, ""),
	SERVED(refused, "connections that the listening socket refused", WAS("drops")),
	C(model_service, NS, time_max_ns, "longest of answered, or the end of its slot"),
	C(model_service, U32, open,
	  "requests without an answer yet; this and those below: as it stood at the end of the "
	  "slice",
	  WAS("in_progress")),
	C(model_service, U32, late, "of open: for longer than endpoint.slow_ns,"),
	C(model_service, U32, stuck, "for longer than 10 s"),
	C(model_service, NS, oldest_ns, "age of the oldest, 0 = none"),
	C(model_service, U32, queued, "connections to be accepted"),
	C(model_service, U32, backlog, "and how many may be"),
	C(model_service, U32, unsure,
	  "unanswered, but perhaps of a protocol that does not answer everything (logs, queues); "
	  "not among those open"),
	C(model_service, U32, incomplete,
	  "connections on which the header of a request has begun and not ended: no requests",
	  LATER(OFF_NO_FIGURE)),
	SERVED(unseen,
	       "of answered and abandoned: not seen, counted for connections that were not "
	       "followed. Where there are any, the figures from connections to sent_bytes are "
	       "estimates",
	       LATER(OFF_NO_FIGURE)),
};

static const struct column response_columns[] = {
	C(model_response, U32, slice, ""),
	C(model_response, U32, endpoint, ""),
	C(model_response, U8, slot,
	  "0 to 3: so many us; then four of equal width for each power of two: 4 + 4 * k + i "
	  "begins "
	  "at 2^k * (4 + i) us; 103: longer"),
	C(model_response, SUM, count, ""),
};

static const struct column signal_columns[] = {
	C(model_signal, U32, slice, ""),
	C(model_signal, U32, process, ""),
	C(model_signal, U32, value_ppm, "share that is slow or fails, in millionths"),
};

static const struct column past_columns[] = {
	C(model_past, U32, slice, ""),
	C(model_past, U32, process, ""),
	C(model_past, NS, hours, "that are known of it at about this rate of requests"),
	C(model_past, NS, median_ns, "to the first answer byte"),
	C(model_past, NS, usual_ns, "upper end of what its median usually is"),
	C(model_past, U32, slow_ppm, "share that was slow, in millionths"),
	C(model_past, U32, usual_ppm, "upper end of what that usually is"),
};

static const struct column_word stand_words[] = {
	{STAND_KERNEL_THREAD, "kernel thread"},
	{STAND_RUNS, "it was on a CPU"},
	{STAND_MOVED, "it ran while it was read"},
	{STAND_UNREADABLE, "user stack not readable"},
	{STAND_COMPAT, "a 32-bit task"},
	{STAND_NO_USER, "no user registers"},
	{STAND_DEEP, "deeper than is read"},
	{STAND_LOCK, "waits for a futex"},
	{STAND_MONITOR, "holder is of a monitor of .NET"},
	{STAND_LOCK_OBJECT, "holder is of a lock object of .NET; with 512 of a monitor, maybe"},
};
static const struct column stand_columns[] = {
	C(model_stand, U32, slice, ""),
	CN(model_stand, U32, at.thread, "thread", ""),
	CN(model_stand, NS, at.time_ns, "time_ns", "of the last look at it in the slice"),
	C(model_stand, U64, age_ns, "for so long in its state then, -1 = unknown"),
	C(model_stand, SUM, blocked_ns,
	  "blocked time of the slice that it stands for; 0 = it is here for the next column alone"),
	C(model_stand, BOOL, now, "1 = of a look at every thread: where each stood at that moment"),
	C(model_stand, LETTER, state, "a letter as in /proc/PID/stat"),
	C(model_stand, U32, flags, "", SUM_OF(stand_words)),
	C(model_stand, U64, call, "number of the system call that it was in, -1 = none"),
	C(model_stand, U32, holder,
	  "tid of who held the mutex or monitor it waited for, 0 = not known"),
	C(model_stand, BOOL, sampled, "1 = it ran: its stack is that of its last sample"),
	CN(model_stand, U64, at.kernel_stack, "kernel_stack", "stack.key, 0 = none"),
	CN(model_stand, U64, at.user_stack, "user_stack", "stack.key, 0 = none"),
};

static const struct column waker_columns[] = {
	C(model_waker, U32, slice, ""),
	C(model_waker, U32, woken, "thread"),
	CN(model_waker, U32, at.thread, "thread",
	   "that ran on the CPU which woke it; of an idle one: woken"),
	CN(model_waker, NS, at.time_ns, "time_ns", ""),
	C(model_waker, SUM, blocked_ns, "that the wait stood for, of all slices"),
	C(model_waker, BOOL, idle, "1 = that CPU was idle: an interrupt did it"),
	CN(model_waker, U64, at.kernel_stack, "kernel_stack", "stack.key, 0 = none"),
	CN(model_waker, U64, at.user_stack, "user_stack", "stack.key, 0 = none"),
	C(model_waker, U64, wait_kernel, "as stand.kernel_stack of the wait"),
	C(model_waker, U64, wait_user, "as stand.user_stack of the wait"),
};

static const struct column_word switch_words[] = {
	{SWITCH_IN_IRQ, "a wakeup by an interrupt or softirq, not by who runs"},
	{SWITCH_PREEMPTED, "who leaves could run on"},
	{SWITCH_BEGINS, "no switch: who was there as the window begins"},
	{SWITCH_UNKNOWN, "not known who comes"},
};
static const struct column_word switch_kinds[] = {
	{SWITCH_TURN, "a thread comes to run on the CPU"},
	{SWITCH_WAKEUP, "a thread is woken by what runs on the CPU"},
};
static const struct column switch_columns[] = {
	C(model_switch, U32, slice, ""),
	C(model_switch, NS, time_ns, ""),
	C(model_switch, U32, cpu, ""),
	C(model_switch, U8, kind, "", ONE_OF(switch_kinds)),
	C(model_switch, ROW, thread, "who comes or is woken; NULL = the CPU is idle from here on"),
	C(model_switch, ROW, other, "thread that leaves or wakes; NULL = none, or not known"),
	C(model_switch, LETTER, state, "of who leaves, a letter as in /proc/PID/stat"),
	C(model_switch, U8, flags, "", SUM_OF(switch_words)),
	C(model_switch, U32, irq_ns, "of the turn that ends: in handlers of device interrupts"),
	C(model_switch, U32, softirq_ns, "the same, in softirqs"),
};

#define QUEUE(n, what, named) CN(model_cpu, SUM, queue[n], "queue_" named, what, LATER(OFF_QUEUES))
static const struct column cpu_columns[] = {
	C(model_cpu, U32, slice, ""),
	C(model_cpu, U32, cpu, ""),
	C(model_cpu, SUM, elapsed_ns, ""),
	C(model_cpu, SUM, idle_ns, ""),
	C(model_cpu, SUM, accounted_ns, "is in rows of account"),
	C(model_cpu, SUM, unaccounted_ns, "ran in threads without an account"),
	C(model_cpu, SUM, steal_ns, "taken by the hypervisor, from /proc/stat"),
	C(model_cpu, SUM, switches, ""),
	C(model_cpu, SUM, ticks_taken, "sampling ticks that hit a thread"),
	C(model_cpu, SUM, ticks_idle, ""),
	C(model_cpu, SUM, ticks_filtered,
	  "of those taken: outside -p and --cgroup, without a stack"),
	QUEUE(0, "of ticks_taken, by the number of threads that waited for this CPU then", "0"),
	QUEUE(1, "", "1"),
	QUEUE(2, "", "2"),
	QUEUE(3, "", "3"),
	QUEUE(4, "", "4"),
	QUEUE(5, "", "5"),
	QUEUE(6, "", "6"),
	QUEUE(7, "", "7"),
	QUEUE(8, "", "8"),
	QUEUE(9, "", "9"),
	QUEUE(QUEUE_MOST, "10 and more", "10"),
	QUEUE(QUEUE_UNKNOWN, "", "unknown"),
};

static const struct column loss_columns[] = {
	C(model_loss, U32, slice, ""),
	C(model_loss, U32, cause, "loss_cause.id"),
	C(model_loss, SUM, count, ""),
};

static const struct column_word status_words[] = {
	{FEATURE_UNUSED, "not asked for"},
	{FEATURE_ON, "on"},
	{FEATURE_OFF, "off"},
	{FEATURE_REFUSED, "off: the kernel refuses one of its BPF programs or maps"},
	{FEATURE_NEEDS, "off: a feature that it needs is off"}};
static const struct column feature_columns[] = {
	C(model_feature, TEXT, name, ""),
	C(model_feature, U32, status, "", ONE_OF(status_words)),
	C(model_feature, TEXT, why, "it is off; \"\" = it is not"),
};

static const struct column renaming_columns[] = {
	C(model_renaming, I64, time_s, "Unix time"),
	C(model_renaming, TEXT, version, "of the hotrun that did it"),
	C(model_renaming, NS, named, "locations that got a name"),
};

_Static_assert(COUNT(cpu_columns) <= STORE_COLUMNS_MAX &&
		       COUNT(thread_columns) <= STORE_COLUMNS_MAX &&
		       COUNT(process_columns) <= STORE_COLUMNS_MAX,
	       "a bit for each column");

/* A table with row numbers; after the text what else a struct table_layout says. */
#define T(table, what, ...)                                                                       \
	{                                                                                         \
		.name = #table, .columns = table##_columns, .column_cnt = COUNT(table##_columns), \
		.has_id = true, .text = what, __VA_ARGS__                                         \
	}
/* Its rows in the model; with marks of what changed; of one slice only. */
#define ROWS(table)                                                                             \
	.rows = offsetof(struct model, table), .rows_cnt = offsetof(struct model, table##_cnt), \
	.row_bytes = sizeof(*((struct model *)NULL)->table)
#define MARKED(row)	.dirty = offsetof(struct row, dirty)
#define OF_SLICE(table) ROWS(table), .of_slice = true

const struct table_layout store_tables[TABLE_CNT] = {
	[TABLE_HOST] = T(host, "Who was recorded, when, how; one row.", .id = " CHECK (id = 0)"),
	[TABLE_SLICE] =
		T(slice, "Stretches of about one second; the books below are kept by slice.",
		  ROWS(slices)),
	[TABLE_CGROUP] =
		T(cgroup, "Groups of the cpu controller that threads ran in, and those above them.",
		  ROWS(cgroups), MARKED(model_cgroup), LATER(OFF_LIMITS)),
	[TABLE_PROCESS] =
		T(process,
		  "One incarnation of a process: (tgid, start_ns) is its identity, pids are "
		  "reused.",
		  ROWS(processes), MARKED(model_process)),
	[TABLE_THREAD] = T(thread,
			   "One incarnation of a thread; its figures since the recording's "
			   "start, those of slices are in account.",
			   ROWS(threads), MARKED(model_thread)),
	[TABLE_ENDPOINT] = T(endpoint, "What a process serves through one listening socket.",
			     ROWS(endpoints), MARKED(model_endpoint), LATER(OFF_REQUESTS)),
	[TABLE_MODULE] = T(module,
			   "Files that code was mapped from. The same path with another inode or "
			   "build id is another row.",
			   ROWS(modules), MARKED(model_module)),
	[TABLE_MAPPING] =
		{.name = "mapping",
		 .columns = mapping_columns,
		 .column_cnt = COUNT(mapping_columns),
		 .text = "Executable memory of a process over time, numbered in the order "
			 "in which it was learnt.",
		 .key = "process, number"},
	[TABLE_STACK] =
		T(stack, "Each distinct stack once. View frame shows the addresses one a row.",
		  ROWS(stacks)),
	[TABLE_SYMBOL] = T(symbol,
			   "What code is called. reason = 0: it has a name; else name is "
			   "\"module+0xoffset\" or the like.",
			   ROWS(symbols)),
	[TABLE_LOCATION] =
		T(location,
		  "What an address of a process means from a moment on. For a sample, the "
		  "row with the newest from_ns that is not after the sample counts, else "
		  "the oldest. Look-up address of a frame: the address itself for the "
		  "leaf, one less for callers.",
		  ROWS(locations)),
	[TABLE_SAMPLE] = T(sample, "One sampling tick that hit a thread.", OF_SLICE(samples)),
	[TABLE_ACCOUNT] = T(account,
			    "What each thread did in each slice, exact, by context switches; "
			    "no row = nothing.",
			    OF_SLICE(accounts)),
	[TABLE_RUN_DELAY] = T(run_delay,
			      "Run delays of each thread that ended in a slice, as a "
			      "histogram by powers of two.",
			      OF_SLICE(delays), LATER(OFF_ACCOUNTS)),
	[TABLE_CONTENTION] = T(contention, "Who ran while others waited for that CPU, by samples.",
			       OF_SLICE(contentions), LATER(OFF_QUEUES)),
	[TABLE_THROTTLE] =
		T(throttle, "What cpu.stat says of a cgroup with a limit of its own, by slice.",
		  OF_SLICE(throttles), LATER(OFF_LIMITS)),
	[TABLE_SERVICE] =
		T(service,
		  "Requests of each endpoint in each slice; no row = nothing happened and "
		  "none stood unanswered. A request begins when data arrives on an "
		  "accepted connection that has none unanswered, and is answered by the "
		  "first byte handed to the kernel after it.",
		  OF_SLICE(services), LATER(OFF_REQUESTS)),
	[TABLE_RESPONSE] = T(response,
			     "Times to the first byte of requests answered in a slice, as "
			     "a histogram.",
			     OF_SLICE(responses), LATER(OFF_REQUESTS)),
	[TABLE_SIGNAL] = T(signal,
			   "The operator's own number for a process at the end of a slice (record "
			   "--service-signal); no row = it gave none then.",
			   OF_SLICE(signals), LATER(OFF_REQUESTS)),
	[TABLE_PAST] = T(past,
			 "Services that answered worse than they are used to at that rate of "
			 "requests, over the minute before the end of a slice (hotrun watch).",
			 OF_SLICE(pasts), LATER(OFF_NO_FIGURE)),
	[TABLE_STAND] = T(stand,
			  "Where threads stood that did not run: a row a thread and wait in a "
			  "slice. Threads are looked at some times a second, at random moments; "
			  "some stand for others.",
			  OF_SLICE(stands), LATER(OFF_STANDS)),
	[TABLE_WAKER] = T(waker,
			  "Who ended waits that stand tells of (record --wakers): a row a wakeup. "
			  "Not all were kept.",
			  OF_SLICE(wakers), LATER(OFF_NO_FIGURE)),
	[TABLE_SWITCH] =
		T(switch,
		  "Single switches and wakeups of the last seconds (record --switches), by "
		  "their times.",
		  OF_SLICE(switches), LATER(OFF_NO_FIGURE)),
	[TABLE_CPU] =
		T(cpu, "Books of each CPU in each slice. elapsed = idle + accounted + unaccounted.",
		  OF_SLICE(cpus)),
	[TABLE_LOSS] = T(loss, "What the recorder could not do, by cause.", OF_SLICE(losses)),
	[TABLE_FEATURE] = T(feature, "What hotrun could do on that host, and why not.",
			    ROWS(features), LATER(OFF_NO_FIGURE)),
	[TABLE_RENAMING] =
		T(renaming, "When names were looked up again in this capture (hotrun rename).",
		  ROWS(renamings), LATER(OFF_NO_FIGURE)),
};

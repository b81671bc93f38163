/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_DRIVE_TRACE_H
#define HOTRUN_TESTS_DRIVE_TRACE_H
/*
 * A trace of all switches, wakeups and migrations of the host, taken by perf events beside the
 * session, and its replay: what an observer that keeps everything knows of waiting. The truth for
 * figures that /proc does not have: behind whom somebody waited, and how long each wait was.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/events.h"

#define TRACE_THREADS	16384 /* that a replay knows at the most */
#define TRACE_TIDS	(1 << 22)
#define TRACE_PROCESSES 16

enum trace_kind {
	TRACE_SWITCH,
	TRACE_WAKEUP,
	TRACE_MIGRATE,
	TRACE_FOUND, /* it wanted a CPU when the trace began; no event tells of who only waits */
};

struct trace_event {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t cpu;	  /* where it happened */
	uint8_t kind;	  /* enum trace_kind */
	uint8_t runnable; /* of a switch: prev goes on wanting the CPU */
	uint32_t tid;	  /* of a switch: prev */
	uint32_t next;
	uint32_t to_cpu; /* of wakeups and migrations */
};

struct trace;

/* Starts to trace. Fails the test where the kernel refuses; needs tracefs, which it mounts. */
struct trace *trace_start(void);
/* Ends it and puts the events in order. Fails where one was lost. */
void trace_stop(struct trace *t);
/* Borrowed until trace_free(). */
const struct trace_event *trace_events(const struct trace *t, size_t *ret_cnt);
void trace_free(struct trace *t);

/* --- replay ---------------------------------------------------------------------------------- */

/* What a replay knows of a thread, within its window. */
struct replay_thread {
	uint32_t tid, process; /* index in processes */
	uint64_t waited_ns, own_ns, longest_ns;
	uint64_t waits; /* that ended */
	uint64_t slots[DELAY_SLOTS];
	uint64_t migrations;
	bool left_out; /* of waited_on_ns */
	/* state */
	uint32_t cpu;
	uint64_t wait_since_ns; /* 0 = it does not wait */
	bool seen;		/* in an event */
	uint64_t found_ns;	/* wanted a CPU then, and is in no event; 0 = not so */
};

struct replay_process {
	uint32_t tgid; /* 0 = all others */
	uint64_t waited_ns;
	uint64_t behind_ns[TRACE_PROCESSES]; /* of it, by the index of the process that ran then */
	uint64_t behind_idle_ns;	     /* nobody ran */
};

struct replay {
	uint64_t from_ns, to_ns;
	struct replay_thread threads[TRACE_THREADS];
	size_t threads_cnt;
	uint16_t by_tid[TRACE_TIDS];	 /* index + 1, 0 = none */
	uint16_t waiting[TRACE_THREADS]; /* indices of those that wait now */
	size_t waiting_cnt;
	struct replay_process processes[TRACE_PROCESSES]; /* the first is all others */
	size_t processes_cnt;
	uint64_t waited_on_ns[64]; /* by CPU: threads that waited for it, all but those left out */
	struct {
		uint32_t tid; /* ~0 = not known yet */
		uint64_t since_ns;
	} running[64];
};

/* Knows nobody yet. Owned by the caller, free(). */
struct replay *replay_new(void);
/* Its threads are these; all that are not named belong to the first process. */
void replay_name(struct replay *r, uint32_t tgid, const pid_t *tids, size_t cnt);
/* Its waiting counts for no CPU. */
void replay_leave_out(struct replay *r, uint32_t tid);
/* Replays from the beginning, and counts what lies between the two times. */
void replay_run(struct replay *r, const struct trace *t, uint64_t from_ns, uint64_t to_ns);
const struct replay_process *replay_process(const struct replay *r, uint32_t tgid);
const struct replay_thread *replay_thread(const struct replay *r, pid_t tid);
#endif

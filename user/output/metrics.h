/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_METRICS_H
#define HOTRUN_OUTPUT_METRICS_H
/*
 * The figures of the resident recorder in Prometheus' text exposition format 0.0.4. Names begin
 * with hotrun_, times are seconds, counters end in _total and never fall while the recorder runs.
 * Watched processes choose label values: made UTF-8, bounded, escaped. What is not known has no
 * line, and a line of hotrun_feature_enabled says so. No threads. Who counts fills the structs
 * below; they are plain figures, and this room knows of nothing behind them. Source:
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/feature.h"
#include "bpf/events.h"
#include "judge/role.h"
#include "judge/verdict.h"
#include "model/model.h"
#include "model/requests.h"

/* Bytes of one label value; a longer name keeps its beginning and its end (pods differ there). */
#define METRICS_LABEL_BYTES 96
/* Of all labels of a process, escaped, with the NUL: five values of which each byte may need a
 * backslash. */
#define METRICS_LABELS_BYTES (5 * (2 * METRICS_LABEL_BYTES + 16))
/* Buckets of the histograms, the last one without an upper bound. */
#define METRICS_DELAY_BUCKETS 11
#define METRICS_TIME_BUCKETS  11
/* Ports of one process, the first one for all that have no place of their own. */
#define METRICS_PORTS 5

struct metrics_sched {
	struct sched_figures sum, last;		/* since the start; in the last slice */
	uint64_t apart_ns;			/* of sum.waited_ns: behind whom was told apart */
	uint64_t delays[METRICS_DELAY_BUCKETS]; /* run delays that ended, each in one bucket */
};

struct metrics_port {
	bool used;
	uint16_t port;			      /* 0 = the others */
	struct requests_sum sum;	      /* without times */
	uint64_t times[METRICS_TIME_BUCKETS]; /* of answered, each in one bucket */
};

struct metrics_state {
	bool judged;
	bool hurt;
	enum verdict verdict;
};

/* Processes of one kind. */
struct metrics_process {
	const char *labels; /* by metrics_labels(); borrowed */
	struct metrics_sched sched;
	uint64_t cpu_ns[ROLE_CNT]; /* by role of the thread; sum = sched.sum.on_cpu_ns */
	uint64_t samples;
	/* Of the groups whose CPU limit holds for them, each group once; without any there are no
	 * lines. */
	uint64_t limit_periods, limit_throttled_periods;
	uint64_t threads, processes; /* alive */
	struct metrics_state state;
	struct metrics_port ports[METRICS_PORTS];
};

struct metrics_host {
	uint64_t cpus; /* on line */
	uint64_t busy_ns, idle_ns, unaccounted_ns, steal_ns, pressure_ns;
	struct metrics_sched sched;
	struct metrics_state state;
	uint64_t judged, hurt; /* processes */
};

struct metrics_figures {
	uint64_t slices;      /* counted so far; with 0 nothing of host and processes is known */
	uint64_t slice_ns;    /* length of the last one */
	uint64_t observed_ns; /* of all of them */
	uint32_t off;	      /* OFF_* of the model */
	/* Of the last slice: one of so many connections was followed, 0 = 1 = all; and the age of
	 * the look at sockets by which it tells what stood at its end. */
	uint32_t one_followed_of;
	uint64_t sockets_age_ns;
	uint64_t losses[LOSS_CAUSE_CNT];
	struct metrics_host host;
	/* The first is all that have no series of their own. */
	const struct metrics_process *processes;
	size_t processes_cnt;
	size_t processes_max;
};

/* What is left out of names for its cost: files not read; bytes of perf maps not followed; for how
 * long all of it, ns. left_out.h has the rest of each. */
enum metrics_left_out {
	METRICS_LEFT_OUT_FILES,
	METRICS_LEFT_OUT_MAP,
	METRICS_LEFT_OUT_ASIDE,
	METRICS_LEFT_OUT_CNT
};

/* Processes of a name whose naming costs too much; the others are not told. */
#define METRICS_COSTLY 16u
struct metrics_costly {
	char process[METRICS_LABEL_BYTES + 1]; /* untrusted bytes */
	uint64_t left_out[METRICS_LEFT_OUT_CNT];
};

#define METRICS_REFUSALS 12u

/* What the recorder knows of itself. */
struct metrics_own {
	bool ready;
	const char *why; /* it is not ready, "" it is; borrowed */
	uint64_t uptime_ns;
	uint32_t sample_hz;
	bool samples, requests; /* attached now */
	struct feature_set features;
	bool quiet;	 /* the gear */
	uint32_t level;	 /* of the governor: 0 = nothing is off; what each means: governor.h */
	double budget;	 /* share of the host's CPUs */
	uint64_t cpu_ns; /* of its own process and children, since it started */
	/* of cpu_ns, that of answering over HTTP, which the budget does not count */
	uint64_t http_cpu_ns;
	/* Of the processes that open and read files and perf maps of others, for their names:
	 * CPU time since it started, resident memory, jobs that passed their limits; and what
	 * they led to here. */
	uint64_t naming_cpu_ns, naming_rss_bytes, naming_killed, naming_table_bytes;
	struct metrics_costly costly[METRICS_COSTLY];
	uint32_t costly_cnt;
	/* What became of HTTP connections. */
	uint64_t http_answered, http_refused, http_late, http_displaced;
	/* of its BPF programs, estimated: counted runs x measured cost; 0 = not known */
	uint64_t bpf_ns;
	uint64_t rss_bytes, map_bytes;	  /* map_bytes: 0 = not known */
	uint64_t ring_ns, ring_bytes;	  /* how much of the past is in memory */
	uint64_t captures, capture_bytes; /* in the folder, and of all their files */
	uint64_t triggered, rotated, automatic, failed, removed;
	/* Somebody was hurt for long enough, and no capture was taken, by why not. */
	struct metrics_refusal {
		const char *reason; /* a label of ours; borrowed */
		uint64_t cnt;
	} refusals[METRICS_REFUSALS];
	uint32_t refusals_cnt;
	uint64_t suspects; /* processes that are hurt now, the host among them */
	int64_t trigger_s; /* Unix time of the last one that was asked for, 0 = none */
	uint64_t renewals; /* the model was thrown away because it had grown */
	uint64_t reloads, reloads_refused;
};

/* Bucket of a slot of the histograms in bpf/events.h. Bounds of buckets are bounds of slots, so
 * nothing is guessed. */
uint32_t metrics_delay_bucket(uint32_t slot);
uint32_t metrics_time_bucket(uint32_t slot);
/* Upper bound of a bucket, ns, and as the label le has it; of the last one UINT64_MAX, "+Inf". */
uint64_t metrics_delay_bound_ns(uint32_t bucket);
uint64_t metrics_time_bound_ns(uint32_t bucket);

/* What kind of process it is. */
struct metrics_names {
	const char *process, *unit, *namespace, *pod, *container; /* untrusted bytes, never NULL */
};
/* Writes them as labels, `process="Shop.Api",unit="shop.service"`; empty ones but the first are
 * left out. Kinds that give the same text cannot be told apart, and have to be one. Returns its
 * length. */
size_t metrics_labels(char buf[static METRICS_LABELS_BYTES], const struct metrics_names *names);

/* Writes the page; families that have no lines keep their HELP and TYPE. 0 or -EIO. */
int metrics_write(FILE *out, const struct metrics_figures *figures, const struct metrics_own *own);
#endif

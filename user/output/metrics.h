/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_METRICS_H
#define HOTRUN_OUTPUT_METRICS_H
/*
 * The figures of the resident recorder in Prometheus' text exposition format 0.0.4. Names begin with
 * hotrun_, times are seconds, counters end in _total and never fall while the recorder runs. Label values
 * are bytes of strangers: made UTF-8, bounded, escaped. What is not known has no line, and a line of
 * hotrun_feature_enabled says so. No threads.
 * Source: https://prometheus.io/docs/instrumenting/exposition_formats/
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct series;

/* What the recorder knows of itself. */
struct metrics_own {
	bool ready;
	const char *why; /* it is not ready, "" it is; borrowed */
	uint64_t uptime_ns;
	uint32_t sample_hz;
	bool samples, requests, switches; /* attached now */
	uint32_t level;	 /* of the governor: 0 = nothing is off; what each means: governor.h */
	double budget;	 /* share of the host's CPUs */
	uint64_t cpu_ns; /* of its own process and children, since it started */
	uint64_t bpf_ns; /* of its BPF programs, estimated: counted runs x measured cost */
	uint64_t rss_bytes, map_bytes;
	uint64_t ring_ns, ring_bytes;	  /* how much of the past is in memory */
	uint64_t captures, capture_bytes; /* in the folder, and of all files there */
	uint64_t triggered, rotated, failed, removed;
	int64_t trigger_s; /* Unix time of the last one that was asked for, 0 = none */
	uint64_t renewals; /* the model was thrown away because it had grown */
	uint64_t reloads, reloads_refused;
};
#endif

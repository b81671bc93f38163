/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_SESSION_PRIVATE_H
#define HOTRUN_KERNEL_SESSION_PRIVATE_H
/* What a session holds, for the files that make it up: session.c, sockets.c and cost.c. */
#include <bpf/libbpf.h>

#include "bpf/events.h"

#include "hotrun.skel.h"

#include "base/cost_meter.h"
#include "kernel/session.h"

struct session {
	struct session_options options;
	struct feature_set features;
	struct hotrun_bpf *bpf;
	struct ring_buffer *samples, *tasks;
	struct sideband *sideband;
	const struct cpu_clock *clocks; /* the map `cpus` in memory */
	size_t clocks_bytes;
	const struct cpu_cost *costs; /* the same of `costs` */
	size_t costs_bytes;
	struct cost_meter cost_meters[COST_CNT];
	int *tick_fds;		 /* by CPU, -1 = none */
	struct bpf_link **ticks; /* by CPU */
	bool *online;
	struct tick_seen { /* by CPU, at the last look */
		uint64_t ticks, busy_ns;
	} * tick_seen;
	bool started;
	uint64_t handed_over_ns;   /* when the gear was changed last, 0 = never */
	unsigned int walk_pause;   /* so many passes over threads are not made by walk.h */
	uint64_t passed_ns;	   /* when accounts were read last; 0: all are to be told next */
	uint64_t accounts_refused; /* threads without an account for want of memory, at start */
	uint32_t stand_tgids[FILTER_TGIDS_MAX]; /* of the last pass: processes that were chosen */
	size_t stand_tgid_cnt;
	/* Requests. */
	struct bpf_program *on_send;		/* the one that this kernel knows */
	const struct endpoint *endpoints;	/* the map in memory */
	const struct event_socket *socket_rows; /* the same */
	size_t endpoints_bytes, socket_rows_bytes;
	uint32_t namespaces, namespaces_seen;
	/* the last process that was gone, and whose listening sockets were looked for */
	uint32_t heirs_of;
	uint64_t rows_ns;		  /* not before this, rows are given back again */
	uint64_t row_uses[ENDPOINTS_MAX]; /* of each row, as it was then; 0 = not in use */
	uint16_t row_idle[ENDPOINTS_MAX]; /* looks since it changed */
	uint64_t holders_ns;	 /* not before this, who holds sockets is looked for again */
	uint64_t sockets_due_ns; /* nor are sockets read, but on request */
	struct follow_seen follow_seen[FOLLOW_BUCKETS]; /* when they were taken last */
	struct unwind_maps *unwind; /* NULL = stacks are walked along frame pointers */
	/* Of the drain that runs. */
	const struct session_ops *ops;
	uint64_t bad_records;
};

/* Maps the programs' own counters. 0 or negative errno. */
int cost_open(struct session *s);
void cost_close(struct session *s);

/* Before the load: which programs of requests this kernel gets, and their configuration. */
void sockets_prepare(struct session *s);
/* After it; where that fails the feature is off. */
void sockets_attach(struct session *s);
void sockets_free(struct session *s);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_COLLECTOR_PRIVATE_H
#define HOTRUN_COLLECT_COLLECTOR_PRIVATE_H
/*
 * The collector's state, for collector*.c alone.
 */
#include "collect/cgroup_select.h"
#include "collect/cgroup_watch.h"
#include "collect/collector.h"
#include "kernel/session.h"
#include "model/cpu_time.h"
#include "model/fair.h"
#include "model/ingest.h"
#include "isolate/nursery.h"
#include "isolate/workers.h"
#include "names/names.h"

/* What may be held for names, in times of what may be known of processes and stacks. */
#define NAMES_PARTS 4u

struct collector {
	struct collector_options options;
	struct host host;
	struct session *session;
	struct model *model;
	struct ingest *ingest;
	struct nursery *nursery;
	bool sandbox_told;	 /* that it is not complete */
	bool helpers_told;	 /* that there are none any more */
	struct workers *workers; /* of names, which are begun anew; their accounts are not */
	struct names *names;
	uint64_t opener_ns;  /* CPU time of who opened files for names before */
	uint64_t nursery_ns; /* of the nursery, when it was seen last */
	struct session_ops ops;
	struct sideband_ops sideband_ops;
	struct cgroup_select cgroups;
	struct cgroup_watch groups;
	bool *online;
	uint64_t *steal_ns, *idle_ns;
	struct cpu_time *cpu_times; /* without the programs at switches */
	uint64_t bpf_ns;	    /* of earlier sessions */

	uint64_t start_ns;
	uint64_t slice_start_ns;
	uint64_t tailed_ns;    /* last look at the perf maps, */
	uint64_t maps_read_ns; /* and at those in use */
	uint64_t followed_ns;  /* last look at the CPUs */
	uint64_t samples;
	size_t threads_at_start, bytes_at_start;
	uint64_t recursion_misses, names_timeouts;
	uint64_t pressure_ns;	    /* since boot */
	size_t first_sample;	    /* of this slice; the model may hold earlier ones */
	size_t named;		    /* samples up to which stacks were named */
	uint64_t ticks_expected_ns; /* busy time so far, until the first tick was seen */
	bool ticks_seen;
	bool stopped; /* the slice that ends is the last one */

	uint32_t *execs; /* processes that called exec since the last drain */
	size_t execs_cnt, execs_cap;

	/* Processes that began to run .NET and are not known well enough yet
	 * (collector_young.c). */
	struct young {
		uint32_t process;
		uint32_t parent;      /* who answers for it */
		uint64_t due_ns;      /* the next look */
		uint64_t interval_ns; /* to the one after it: twice as long each time */
	} * young;
	size_t young_cnt, young_cap;
	bool *was_young; /* by row of processes, since their last exec */
	size_t was_young_cnt, was_young_cap;
	struct fair looks; /* us of the second that began at looks_ns */
	uint64_t looks_ns;
	bool looks_refused;    /* in that second */
	uint32_t looks_stormy; /* seconds in a row with such, LOOKS_HALVES at the most */
	uint32_t wakes;	       /* by the side-band in that second */
	struct fair facts;     /* us of this slice, see collector_name_process() */

	/* Stacks named at this pass already: by row, the pass number. */
	uint32_t *stack_pass;
	size_t stack_pass_cnt, stack_pass_cap;
	uint32_t pass;
};

/* What /proc tells of a process, whatever it costs; see collector_name_process(). */
void collector_read_process(struct collector *c, uint32_t process);

/* Bytes of what grows with every process, thread and stack. */
size_t collector_known_bytes(const struct collector *c);

/* Fills c->ops and c->sideband_ops. */
void collector_take_records(struct collector *c);
/* Takes the side-band's records up to that time; who called exec has lost its names after it. */
void collector_drain_sideband(struct collector *c, uint64_t until_ns);

/* Takes requests and what stands unanswered into the slice; nothing with OFF_REQUESTS. */
void collector_read_requests(struct collector *c);
/* Where connections that waited to be accepted before the start are not seen. */
void collector_warn_of_namespaces(const struct collector *c);

/* The process began to run .NET: it is looked at from now on. */
void collector_young_add(struct collector *c, uint32_t process);
/* It called exec, and may begin anew. */
void collector_young_exec(struct collector *c, uint32_t process);
/* CPU time of all our threads: what a look has cost, whether or not we had to wait for a CPU. */
uint64_t collector_cpu_ns(void);
/* The parent of a process, which answers for what its children cost us; itself where that is not
 * known. */
uint32_t collector_party(const struct collector *c, uint32_t process);
/* Looks at those that are due. */
void collector_young_look(struct collector *c);
#endif

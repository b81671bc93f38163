/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_TIMELINE_H
#define HOTRUN_EXPORT_TIMELINE_H
/*
 * What happened beside the samples, slice by slice: the host's figures, and spans of slices in
 * which a process was hurt or contended, answered requests slowly, or was stopped by its CPU limit.
 * For the formats that have counters and markers. Pure; no threads.
 */
#include "export/options.h"
#include "judge/judgement.h"

/* One slice, sums over the host. What is not known is 0: see timeline. */
struct timeline_slice {
	uint64_t start_ns, end_ns; /* monotonic */
	uint64_t busy_ns;	   /* CPU time that was not idle */
	uint64_t waited_ns;	   /* of threads, for a CPU */
	uint64_t throttled_ns;	   /* of threads, by a CPU limit */
	double queue;		   /* mean waiting threads of a CPU, as ticks found them */
	uint64_t answered, slow;   /* requests */
	uint64_t open;		   /* unanswered at its end */
};

enum timeline_kind { TIMELINE_VERDICT, TIMELINE_SLOW, TIMELINE_THROTTLED, TIMELINE_KINDS };

/* Slices on end in which the same was true of one process. */
struct timeline_span {
	enum timeline_kind kind;
	uint32_t process;	      /* row, MODEL_NONE = the host */
	uint32_t first, last;	      /* slices */
	struct verdict_result result; /* of TIMELINE_VERDICT: that of its first slice */
	double amount; /* of TIMELINE_SLOW, requests; of TIMELINE_THROTTLED, ns of threads */
	double of;     /* of TIMELINE_SLOW: of so many requests */
};

struct timeline {
	struct judgement judgement;
	struct timeline_slice *slices; /* as m->slices */
	size_t slices_cnt;
	MODEL_TABLE(struct timeline_span, spans); /* by their first slice */
	bool has_cpus, has_waits, has_requests;
	uint32_t *open[TIMELINE_KINDS]; /* by process: its newest span; of the builder */
	int err;
};

/* Of the processes that are wanted, and the host. Owned by the caller; m is borrowed until then.
 * NULL with errno ENOMEM. */
struct timeline *timeline_new(const struct model *m, const struct export_options *options);
/* Takes NULL. */
void timeline_free(struct timeline *t);

/* Counters of the host: means over a slice. */
struct timeline_counter {
	const char *name, *label, *description;
	double (*of)(const struct timeline_slice *slice, double length_ns);
	size_t known; /* offset of a flag of struct timeline */
};
#define TIMELINE_COUNTERS 5
extern const struct timeline_counter timeline_counters[TIMELINE_COUNTERS];
/* Whether the capture knows it; and its value in that slice. */
bool timeline_knows(const struct timeline *t, const struct timeline_counter *counter);
double timeline_value(const struct timeline *t, const struct timeline_counter *counter,
		      size_t slice);

/* "hurt", "slow", "throttled": what a span is called, and of a verdict its id. Static. */
const char *timeline_name(const struct timeline_span *span);
/* A sentence for people on it. */
#define TIMELINE_TEXT_BYTES 512
void timeline_text(char ret_text[static TIMELINE_TEXT_BYTES], const struct timeline_span *span);
#endif

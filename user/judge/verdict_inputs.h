/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_VERDICT_INPUTS_H
#define HOTRUN_JUDGE_VERDICT_INPUTS_H
/*
 * The figures that verdicts rest on, taken from a model: of all its slices, or of one slice after
 * the other. Only verdicts.c includes this. Pure; no threads.
 */
#include "judge/verdicts.h"

/* How much slower than usual one is. */
struct inputs_past {
	double sum; /* over slices */
	const struct model_past *worst;
	double most;
};

struct inputs {
	const struct verdict_sources *s;   /* its policy is not NULL */
	struct sched_available *available; /* by process */
	bool *background;		   /* by process */
	bool *judged;			   /* by process */
	bool *sampled;	  /* by process: at a socket of its, not all connections were followed */
	bool *unmeasured; /* by process: verdict_input.unmeasured */
	bool host_unmeasured;
	uint32_t *answered;   /* by process: behind the slice of its last answer so far; 0 = none */
	uint32_t *section_of; /* by process; MODEL_NONE = the general limits */

	/* Of the slices that were read last: all of them, one, or a run. */
	uint64_t elapsed_ns;
	size_t slices;
	uint32_t last;		       /* the row of the last of them */
	bool own_known;		       /* behind whom it was waited */
	uint64_t waited_ns;	       /* of the host */
	struct verdict_input host;     /* its figures alone */
	struct sched_sum *scheds;      /* by process; NULL: those of s->sched */
	uint64_t *excused_ns;	       /* by process: of its run delay, what delays no request */
	struct requests_sum *services; /* by process; NULL: those of s->requests */
	struct requests_sum host_services;
	double *signals;	   /* by process: the operator's own; NaN = none */
	struct inputs_past *pasts; /* by process */
	uint32_t *touched;	   /* processes with figures in that slice */
	size_t touched_cnt;
	bool *is_touched;

	/* The next rows to be read. */
	size_t account, delay, service, signal, past, cpu;
};

/* Reads all slices. 0 or -ENOMEM; inputs_end() frees, half-built ones too. */
int inputs_begin(struct inputs *in, const struct verdict_sources *s);
void inputs_end(struct inputs *in);
/* Makes ready for inputs_slice(), from the first row on. 0 or -ENOMEM. */
int inputs_rewind(struct inputs *in);
/* Reads the slice of that row; slices are read in their order. */
void inputs_slice(struct inputs *in, uint32_t slice);
/* Reads these together. */
void inputs_run(struct inputs *in, uint32_t first, uint32_t last);

/* What verdict_of() takes, of the slices that were read. */
void inputs_of(const struct inputs *in, uint32_t process, struct verdict_input *ret_input);
void inputs_of_host(const struct inputs *in, struct verdict_input *ret_input);
const struct verdict_limits *inputs_limits(const struct inputs *in, uint32_t process);
const struct verdict_limits *inputs_host_limits(const struct inputs *in);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_TOP_VIEW_H
#define HOTRUN_OUTPUT_TOP_VIEW_H
/*
 * What `hotrun top` shows of one slice: figures of the host, and rows of processes or of the
 * threads of one, in an order. Outlives the slice: it borrows the model's processes, threads and
 * symbols, which are never removed, and holds its own sums. Pure; no threads.
 *
 * The hottest method of a row: each sample votes for the application's method nearest to its leaf,
 * or for its leaf where there is none; most votes win. Not named from fewer than TOP_MIN_SAMPLES
 * samples, nor when its share is less than twice its error.
 */
#include "judge/verdicts.h"
#include "model/model.h"
#include "model/requests.h"
#include "model/sched.h"

#define TOP_MIN_SAMPLES 10

/* Those from TOP_BY_SLOW on are of processes alone; their threads then stand by CPU. */
enum top_order { TOP_BY_CPU, TOP_BY_WAITING, TOP_BY_SWITCHES, TOP_BY_SLOW, TOP_BY_VERDICT };

struct top_hot {
	uint32_t row;	      /* of processes or threads */
	uint32_t symbol;      /* MODEL_NONE = too few samples to name one */
	uint64_t samples, of; /* votes for it, of how many */
};

struct top_hots {
	struct top_hot *rows; /* by row */
	size_t cnt;
};

struct top_view {
	const struct model *m;
	struct sched *sched;
	struct requests *requests;	   /* NULL = requests are not seen */
	bool *serves;			   /* by process: it answered, or requests stand */
	size_t processes_cnt, threads_cnt; /* rows that it has sums of: the model grows on */
	int64_t time_s;			   /* since the epoch, of the slice's end; 0 unknown */
	uint64_t elapsed_ns;		   /* of the slice */
	uint32_t cpus;		   /* that were on line in the last slice, or in a part of it */
	struct verdicts *verdicts; /* of this slice alone */
	uint32_t *judged;	   /* by process: row of verdicts, MODEL_NONE = none */
	/* Over all CPUs; busy includes what is unaccounted. */
	uint64_t cpu_elapsed_ns, busy_ns, unaccounted_ns, steal_ns, switches;
	uint64_t losses[LOSS_CAUSE_CNT];
	struct top_hots hot_processes, hot_threads;

	/* What top_view_arrange() chose. */
	uint32_t process;
	enum top_order order;
	uint32_t *rows; /* of threads of the process, or of processes when that is MODEL_NONE */
	size_t rows_cnt;
};

/* Of all slices that m holds. Returns it owned, or NULL with errno ENOMEM. m is borrowed;
 * symbols for notes may be added to it. policy: of the verdicts; NULL = defaults. */
struct top_view *top_view_new(struct model *m, const struct verdict_policy *policy);
void top_view_free(struct top_view *v);

/* Lists the processes, or the threads of one, that ran, waited or were throttled, and processes
 * that serve: one that hangs may want no CPU. 0 or -ENOMEM. */
int top_view_arrange(struct top_view *v, uint32_t process, enum top_order order);

/* The sums of a row of v->rows. */
const struct sched_sum *top_view_sum(const struct top_view *v, size_t i);
/* The requests of such a row, or NULL where it is a thread or serves nothing. */
const struct requests_sum *top_view_requests(const struct top_view *v, size_t i);
/* The verdict on such a row, or NULL where it is a thread or was not judged. */
const struct verdict_result *top_view_verdict(const struct top_view *v, size_t i);
/* Its hottest method, or NULL where it has no samples at all. */
const struct top_hot *top_view_hot(const struct top_view *v, size_t i);
#endif

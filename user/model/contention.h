/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_CONTENTION_H
#define HOTRUN_MODEL_CONTENTION_H
/*
 * Who ran while others waited. How long a process waited behind others is exact (model_sched); who
 * the others were is estimated from samples: at each tick, who ran on that CPU, and which threads
 * waited there. Naming the last runner instead is wrong: 92 % claimed where 21 % was true. Pure; no
 * threads.
 */
#include "model/model.h"
#include "model/sched.h"

struct contention_row {
	uint32_t process; /* row; MODEL_NONE = could not be told */
	uint64_t weight;  /* 1/1000 of a waiting thread, over all samples */
};

struct contention_list {
	struct contention_row *rows; /* most weight first, then by pid */
	size_t rows_cnt;
	uint64_t weight; /* of all rows */
};

struct contention_pair {
	uint32_t runner, waiter; /* rows; waiter MODEL_NONE = could not be told */
	uint64_t weight;
};

struct contention {
	struct contention_pair *pairs; /* one a pair, most weight first; own threads included */
	size_t pairs_cnt;
	uint64_t weight;	/* of all pairs */
	uint64_t behind_others; /* of pairs of two processes */
};

/* The pairs over all slices. Returns it owned, or NULL with errno ENOMEM. */
struct contention *contention_new(const struct model *m);
void contention_free(struct contention *c);

/*
 * The others that ran while threads of waiter waited (waiter itself left out), and the others that
 * waited while runner ran. Rows are owned by the list; contention_list_clear() frees. 0 or -ENOMEM.
 */
int contention_aggressors(const struct contention *c, const struct model *m, uint32_t waiter,
			  struct contention_list *ret_list);
int contention_victims(const struct contention *c, const struct model *m, uint32_t runner,
		       struct contention_list *ret_list);
/*
 * Where nobody looked at switches (OFF_OWN), or not while it waited (own_unknown of s): how much of
 * what each process waited was behind its own threads, estimated by its pairs, goes into
 * behind_own_ns of s; without pairs 0. 0 or -ENOMEM.
 */
int contention_estimate_own(const struct contention *c, const struct model *m, struct sched *s);
/* Takes a zeroed one. */
void contention_list_clear(struct contention_list *list);
#endif

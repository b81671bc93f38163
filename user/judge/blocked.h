/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_BLOCKED_H
#define HOTRUN_JUDGE_BLOCKED_H
/*
 * For how long threads stood blocked, and where: sums over the rows of a model that stand for
 * blocked time (model_stand.blocked_ns), by the groups of standing.h. The sum is an estimate
 * without bias, since threads are looked at at random moments. Pure; no I/O, no threads.
 *
 * How far a share can be off: what one look finds is no number of independent samples, since all
 * threads that wait for one lock are found together, and a wait that lasts is found again and
 * again. So slices are the clusters of a ratio estimator (Cochran, Sampling Techniques, 1977,
 * 6.4): with y of the group and x of all in each of n slices, R = sum y / sum x and
 * error = t(n - 1) x sqrt(n / (n - 1) x sum (y - R x)^2) / sum x, Student's t at 97.5 %. What
 * changed from slice to slice counts as error, too: of the window itself it is rather too wide. It
 * is not told of fewer than BLOCKED_SLICES slices, nor where nothing else was found beside.
 *
 * Ages are those of a wait as it was found, not how long it lasted in the end: blocked time by age
 * has no bias, while a wait of 10 s is found a thousand times as often as one of 10 ms. So these
 * are parts of blocked time, never numbers of waits. A row has the age of its last look in the
 * slice.
 */
#include "judge/standing.h"

#define BLOCKED_SLICES 5

/* 0..1; NaN where it is not known. */
struct blocked_share {
	double share, error; /* error: half of the 95 % interval */
};

struct blocked_sum {
	uint64_t blocked_ns;
	uint32_t threads;    /* different ones that were found in it */
	uint64_t longest_ns; /* the highest age, 0 = not known */
	/* Of all blocked time of the process; of that in waits that are not idle: NaN of idle
	 * ones. */
	struct blocked_share of_all, of_waits;
};

/* Classes of age: below 1 ms, 10 ms, 100 ms, 1 s, 10 s, 100 s, longer; and not known. */
#define BLOCKED_AGES	    8
#define BLOCKED_AGE_UNKNOWN (BLOCKED_AGES - 1)
/* 0 = of the last class, and of what is not known. */
uint64_t blocked_age_below_ns(unsigned int class);

struct blocked_kind {
	enum stand_wait wait;
	bool idle;
	struct blocked_sum sum;
	uint64_t ages_ns[BLOCKED_AGES]; /* of sum.blocked_ns */
};

struct blocked_group {
	const struct standing_group *group; /* of blocked.standing */
	struct blocked_sum sum;
};

struct blocked_process {
	uint32_t process; /* row */
	uint32_t slices;  /* with time of its own */
	struct blocked_sum all, waits, idle;
	/* Each: what is not idle first, most time first. */
	const struct blocked_group *groups;
	size_t groups_cnt;
	const struct blocked_kind *kinds;
	size_t kinds_cnt;
};

struct blocked {
	struct stands rows; /* all of the model's, borrowed */
	struct standing *standing;
	struct blocked_process *processes; /* most time in waits that are not idle first */
	size_t processes_cnt;
	struct blocked_group *groups;
	struct blocked_kind *kinds;
	uint32_t slices;     /* in which threads were looked at */
	uint64_t elapsed_ns; /* that these stand for */
};

/* Of the rows of m, borrowed until blocked_free(). NULL with errno ENOMEM. Adds symbols to m. */
struct blocked *blocked_new(struct model *m);
/* Takes NULL. */
void blocked_free(struct blocked *b);

/*
 * Puts blocked time in the place of the samples of m, for what shows samples: one each row of where
 * a thread stood, its weight in milliseconds. What does not make a whole one is kept for the next
 * row of its group. Idle waits are left out but with idle. 0 or -ENOMEM.
 */
int blocked_as_samples(struct model *m, bool idle);

/* Of that row of processes, or NULL. */
const struct blocked_process *blocked_find(const struct blocked *b, uint32_t process);
/* Mean threads that were blocked at a time. */
double blocked_mean(const struct blocked *b, uint64_t blocked_ns);
#endif

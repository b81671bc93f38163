/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_DIFF_BESIDE_H
#define HOTRUN_JUDGE_DIFF_BESIDE_H
/*
 * What stands beside the difference in code: how each kind of processes fared on either side, by
 * the scheduler, its requests and its verdict. Pure; no threads.
 */
#include "judge/verdicts.h"
#include "model/diff_book.h"

struct diff_fared {
	bool waits_known, requests_known; /* served, too */
	double cpus, waiting, throttled;  /* mean threads */
	double answered;		  /* a second */
	uint64_t p50_ns, p99_ns;
	double slow_share;
	uint32_t stuck;	      /* requests, at the most */
	enum verdict verdict; /* of its most urgent process; of what nobody judged healthy */
};

struct diff_beside {
	struct diff_fared *kinds; /* by row of book->kinds, DIFF_SIDES each */
	enum verdict host[DIFF_SIDES];
};

/* By row of book->kinds and side. */
static inline const struct diff_fared *diff_fared(const struct diff_beside *b, uint32_t kind,
						  int side)
{
	return &b->kinds[(size_t)kind * DIFF_SIDES + (size_t)side];
}

/* policy: NULL = defaults. Returns it owned, or NULL with errno ENOMEM. */
struct diff_beside *diff_beside_new(const struct diff_book *book,
				    const struct verdict_policy *policy);
void diff_beside_free(struct diff_beside *b);
#endif

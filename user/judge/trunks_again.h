/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_TRUNKS_AGAIN_H
#define HOTRUN_JUDGE_TRUNKS_AGAIN_H
/*
 * Which thick trunks (trunks.h) come back over many captures, and the harm that they did: what to
 * fix first. Pure; no threads.
 */
#include "model/history.h"

/* One trunk over all captures that it was seen in. */
struct trunk_again {
	char process[HISTORY_NAME_BYTES], path[HISTORY_PATH_BYTES];
	uint32_t captures;
	double harm;		/* share x seconds x people, summed */
	double share;		/* mean */
	double seconds, people; /* of those captures, summed; the most */
	int64_t first_s, last_s;
};

/* Gathers them; at most TRUNKS_AGAIN_MAX, those of least harm are forgotten. */
#define TRUNKS_AGAIN_MAX 2000
struct trunks_again {
	struct trunk_again *rows;
	size_t rows_cnt, rows_cap;
};
/* 0 or -ENOMEM. */
int trunks_again_add(struct trunks_again *a, const struct history_trunk *t);
/* Most harm first, then most captures. */
void trunks_again_sort(struct trunks_again *a);
void trunks_again_clear(struct trunks_again *a);
#endif

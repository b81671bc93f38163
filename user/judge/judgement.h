/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_JUDGEMENT_H
#define HOTRUN_JUDGE_JUDGEMENT_H
/*
 * The verdicts of a capture, with all that they rest on. Pure; no threads.
 */
#include "judge/books.h"
#include "judge/verdicts.h"

struct judgement {
	struct totals *totals;
	struct sched *sched;	   /* NULL: the capture kept no waits */
	struct requests *requests; /* NULL: it saw none */
	struct books books;
	struct verdicts *verdicts;
	uint32_t *row_of; /* by process: row of verdicts, MODEL_NONE = none */
};

/* every, on_slice and its ctx: as of struct verdict_sources. 0 or -ENOMEM; j is to be cleared in
 * both cases. m is borrowed until then. */
int judgement_of(struct judgement *j, const struct model *m, bool every, verdicts_on_slice on_slice,
		 void *ctx);
/* Takes a zeroed one. */
void judgement_clear(struct judgement *j);
/* The row of a process, or NULL. */
const struct verdict_row *judgement_find(const struct judgement *j, uint32_t process);
#endif

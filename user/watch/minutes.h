/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_MINUTES_H
#define HOTRUN_WATCH_MINUTES_H
/*
 * What the history is to know of a minute, gathered slice by slice: figures of the host and of each
 * kind of process (its name, and the workload, container or unit that it runs in). Verdicts come
 * some seconds after their slice, so a minute is whole only a while after its end. Pure: time is
 * that of the slices; no threads.
 *
 * Of one minute MINUTES_KINDS kinds at the most have a row of their own, those that were there in
 * the minute before first; the others, and who did next to nothing, are one row.
 */
#include "judge/verdicts.h"
#include "model/history.h"
#include "model/model.h"

#define MINUTES_KINDS 256
/* After its end, for verdicts that come every 10 s, or 30 where a model was renewed. */
#define MINUTES_WAIT_S 31

struct minutes;

/* Returns it owned, or NULL with errno ENOMEM. */
struct minutes *minutes_new(void);
/* Takes NULL. */
void minutes_free(struct minutes *s);
/* Adds the closed slice of m (row), once each, in the order of time; m may be another model than
 * last time, and its slices numbered anew. 0 or -ENOMEM: counted in part. */
int minutes_slice(struct minutes *s, const struct model *m, uint32_t slice);
/*
 * What was judged of a process (row; MODEL_NONE: the host, behind all processes) in one slice.
 * Slices that were told once already, by their time, are passed over; minutes_judged() says that
 * this judgement is over. Rows of the model that minutes_slice() had last.
 */
void minutes_judge(struct minutes *s, uint32_t slice, uint32_t process,
		   const struct verdict_input *input, const struct verdict_result *result);
void minutes_judged(struct minutes *s);
/*
 * The next minute that is whole, or with all also one that is not: a row for the host first. False:
 * there is none. Its rows are borrowed until the next call of anything here.
 */
bool minutes_take(struct minutes *s, bool all, struct history_minute *ret_minute);

/* The kind of a process: its name, and its place where that says more. */
void minutes_kind(const struct model_process *p, char ret_name[static HISTORY_NAME_BYTES],
		  char ret_place[static HISTORY_PLACE_BYTES]);
#endif

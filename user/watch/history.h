/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_HISTORY_H
#define HOTRUN_WATCH_HISTORY_H
/*
 * The recorder's memory of what was: gathers minutes, and has a thread of its own write them, with
 * what was decided about captures, into the folder's history (store/history.h), so that a disk that
 * is slow, full or gone delays no slice. That thread holds no capability. What cannot be written
 * waits, HISTORY_WAITING entries at the most, the oldest minutes go first; why is told once. All
 * functions are for the recorder's own thread, take NULL, and never wait; but history_free().
 */
#include "judge/past.h"
#include "judge/verdicts.h"
#include "model/history.h"
#include "model/model.h"

#define HISTORY_WAITING 100

struct history;

struct history_setup {
	uint64_t bytes_max; /* 0: nothing is remembered */
	uint64_t days_max;
};

/* dir is borrowed for the call. Returns it owned, or NULL with errno. */
struct history *history_new(int dir, const struct history_setup *setup);
void history_set(struct history *h, const struct history_setup *setup);
/* A closed slice of m (row), once each; m may be another model than last time. */
void history_slice(struct history *h, const struct model *m, uint32_t slice);
/* What was judged in slices of that model: as minutes_judge(), minutes_judged(). */
void history_judge(struct history *h, uint32_t slice, uint32_t process,
		   const struct verdict_input *input, const struct verdict_result *result);
void history_judged(struct history *h);
/* A capture was begun, or not: texts are copied. */
void history_add_decision(struct history *h, const struct history_decision *decision);
/* The trunks of a capture, as `export --format trunks` wrote them into that file. */
void history_add_trunks(struct history *h, const char *capture, int64_t time_s, int fd);
/*
 * What its past says of a kind of process at this hour of the week, and at that rate of requests.
 * False: not known, or not known yet: it is read when the recorder starts, and each hour. place
 * NULL: any.
 */
bool history_usual(struct history *h, const char *name, const char *place,
		   struct past_usual *ret_usual);
bool history_speed(struct history *h, const char *name, const char *place, double rate,
		   struct past_speed *ret_speed);
/* What is known of the minute that goes on is written, too: waits for that, some seconds at the
 * most. Takes NULL. */
void history_free(struct history *h);

/* A line of `export --format trunks` (output/trunks.h), which is changed by it: its texts are
 * borrowed from there. 0 or -EINVAL. */
int history_parse_trunk(char *line, struct history_trunk *ret_trunk);
#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_PAST_H
#define HOTRUN_JUDGE_PAST_H
/*
 * What its past says of a kind of process: what is usual for it at this hour of the week, and how
 * fast it usually answers at this rate of requests. Made of the hours of the history, asked from
 * memory. Pure; no threads.
 *
 * An hour counts where the host was observed for half of it, the hours beside it with it (so that
 * one week gives three), from the first hour on in which the kind was seen; in one without a row it
 * used no CPU and nobody was hurt. The hour that goes on does not count. Usual is what lies between
 * the 10th and 90th percentile; with fewer than ten hours, between the least and the most.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/history.h"

/* More verdicts than there are: a later version's are not told apart. */
#define PAST_VERDICTS 32
/* Fewer weeks tell nothing of what is usual. */
#define PAST_WEEKS_LEAST 2
/* Hours at about that rate. */
#define PAST_HOURS_LEAST 10
/* Of an hour whose times are to count. */
#define PAST_REQUESTS_LEAST 100

struct past;

struct past_range {
	double low, median, high;
};

struct past_usual {
	uint32_t weeks, hours;	  /* that are known */
	uint32_t served;	  /* of hours, those with requests */
	struct past_range cpus;	  /* mean, used */
	struct past_range slow;	  /* share; of hours with requests */
	struct past_range hurt_s; /* seconds degraded in an hour */
	struct past_range rate;	  /* requests a second */
	/* Of the minutes of these hours, those that were bad, in hours whose worst verdict has that
	 * number. */
	double bad_share[PAST_VERDICTS];
};

/* At about that rate: within the same half octave. */
struct past_speed {
	uint32_t hours;
	struct past_range median_us; /* time to the first answer byte */
	struct past_range slow;
};

/* now_s: Unix time whose hour of the week is asked for. Returns it owned, or NULL with errno
 * ENOMEM. */
struct past *past_new(int64_t now_s);
void past_free(struct past *p);
/* A kind whose hours are added. 0 or -ENOMEM. */
int past_kind(struct past *p, const struct history_kind *kind);
/* An hour of a kind (others are passed over), or of HISTORY_HOST. 0 or -ENOMEM. */
int past_hour(struct past *p, int64_t time_s, uint32_t kind, const struct history_figures *figures);
/* All are there. */
void past_ready(struct past *p);
/* False: not known (fewer than PAST_WEEKS_LEAST weeks; *ret_usual has how many). Of several places
 * of that name, place tells which; NULL: the one that is known best. */
bool past_usual(const struct past *p, const char *name, const char *place,
		struct past_usual *ret_usual);
/* False: not known. rate: requests a second. */
bool past_speed(const struct past *p, const char *name, const char *place, double rate,
		struct past_speed *ret_speed);
#endif

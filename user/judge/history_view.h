/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_HISTORY_VIEW_H
#define HOTRUN_JUDGE_HISTORY_VIEW_H
/*
 * What `hotrun history` tells of a stretch of the past: bad minutes by day and hour, who had them,
 * the knee, captures, trunks that recur. Made of the rows of a history (model/history.h), which may
 * be a stranger's: in any order, bounded. Pure; no threads.
 *
 *	view = history_view_new(&options)
 *	history_view_kind() each kind; history_view_hour() each hour; history_view_choose()
 *	history_view_minute() each minute; decisions and trunks; history_view_finish()
 */
#include "judge/knee.h"
#include "judge/trunks_again.h"
#include "judge/verdict.h"
#include "model/history.h"

/* Points of a curve over the time. */
#define HISTORY_CURVE 480
/* Processes whose knee is looked for, those with most bad minutes first. */
#define HISTORY_KNEES 10
/* Newest kept. */
#define HISTORY_DECISIONS 1000
/* A minute with fewer has no share. */
#define HISTORY_REQUESTS 20

struct history_view_options {
	const char *name;     /* a process, or a place; NULL = all; borrowed */
	int64_t from_s, to_s; /* Unix time, to_s exclusive: of now at the most */
};

/* One kind of process, or all kinds of the name that was asked for, or the host. */
struct history_subject {
	struct history_kind kind;
	struct history_figures sum;
	double most_cpus; /* of an hour */
	bool knee_sought;
	struct knee knee;
	struct knee_point *points;
	size_t points_cnt, points_cap;
};

struct history_hour {
	int64_t time_s;
	struct history_figures figures;
};

struct history_point {
	uint64_t observed_ms; /* 0 = nothing is known of that time */
	uint64_t cpu_ms, requests, slow, bad_minutes;
};

struct history_day {
	int64_t time_s; /* its beginning, UTC */
	bool known[24];
	uint32_t bad[24];
};

/* Copies of texts are owned. */
struct history_decided {
	struct history_decision d;
	char process[HISTORY_NAME_BYTES], reason[HISTORY_REASON_BYTES], trunk[HISTORY_PATH_BYTES],
		capture[HISTORY_FILE_BYTES];
};

struct history_view {
	struct history_view_options options;
	int64_t first_s, last_s;	/* of what is known within, last_s exclusive; 0 = nothing */
	uint64_t observed_ms;		/* of the host */
	struct history_subject subject; /* what was asked for; without a name the host */
	/* Without a name: kinds that did anything, worst first; with one, those of that name. */
	struct history_subject *kinds;
	size_t kinds_cnt, kinds_cap;
	struct history_hour *hours; /* of the subject, by time */
	size_t hours_cnt, hours_cap;
	struct history_day *days; /* by time */
	size_t days_cnt;
	struct history_point curve[HISTORY_CURVE];
	size_t curve_cnt;
	int64_t curve_s;		   /* of a point */
	struct history_decided *decisions; /* newest first */
	size_t decisions_cnt, decisions_cap;
	struct trunks_again trunks;

	/* While it is made. */
	int64_t first_minute_s;
};

/* Returns it owned, or NULL with errno ENOMEM. */
struct history_view *history_view_new(const struct history_view_options *options);
void history_view_free(struct history_view *v);
/* All: 0 or -ENOMEM. Rows out of the time are passed over. */
int history_view_kind(struct history_view *v, const struct history_kind *kind);
int history_view_hour(struct history_view *v, int64_t time_s, uint32_t kind,
		      const struct history_figures *figures);
/* All hours are there: which knees are sought, and the points of the curve. */
int history_view_choose(struct history_view *v);
int history_view_minute(struct history_view *v, int64_t time_s, uint32_t kind,
			const struct history_figures *figures);
int history_view_decision(struct history_view *v, const struct history_decision *decision);
int history_view_trunk(struct history_view *v, const struct history_trunk *trunk);
int history_view_finish(struct history_view *v);

/* Mean CPUs that were used; 0 where nothing was observed. observed_ms: of the host then. */
double history_cpus(uint64_t cpu_ms, uint64_t observed_ms);
#endif

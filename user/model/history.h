/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_HISTORY_H
#define HOTRUN_MODEL_HISTORY_H
/*
 * What is remembered for months: a row for each minute, and each hour, of the host and of each kind
 * of process (its name and where it runs, never a pid: a service that restarts, or is rolled out
 * anew, is the same); which captures were taken or not taken, and why; the trunks of those that
 * were. Plain rows: watch/minutes.h makes them, store/history.h keeps them. Pure; no threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names are cut to these, which tests of hostile names rely on: a table of 1,000 kinds with the
 * longest names has 0.4 MB. */
#define HISTORY_NAME_BYTES   128
#define HISTORY_PLACE_BYTES  256
#define HISTORY_REASON_BYTES 768
#define HISTORY_PATH_BYTES   512
#define HISTORY_FILE_BYTES   256

/* Numbers of kinds that stand for no name. */
#define HISTORY_HOST  0
#define HISTORY_OTHER 1 /* all that found no place of their own */

#define HISTORY_MINUTE_S 60
#define HISTORY_HOUR_S	 3600
#define HISTORY_DAY_S	 86400
#define HISTORY_WEEK_S	 604800
/* A minute in which somebody was hurt for so long is a bad one: as long as an episode. */
#define HISTORY_BAD_MS 3000
/* Times before 2020 are of a clock that nobody has set yet. */
#define HISTORY_EPOCH_S 1577836800

/* Of one kind over a minute or an hour. All fit 63 bits. Of the host, cpu is that of its CPUs, and
 * hurt the time in which anybody was. */
struct history_figures {
	uint64_t observed_ms; /* was looked at */
	uint64_t judged_ms;   /* and judged */
	uint64_t cpu_ms, waited_ms, throttled_ms;
	uint64_t available_mcpu;    /* CPUs that it may use, in thousandths; 0 = not known */
	uint64_t requests, slow;    /* the unanswered that were late at the end with them */
	uint64_t median_us, p99_us; /* to the first answer byte, 0 = none; of an hour: the mean of
				     * its minutes by their requests, and the worst */
	uint64_t stuck;		    /* the most at a time */
	uint64_t hurt_ms;
	uint64_t bad_minutes;
	uint64_t verdict; /* enum verdict: the worst */
};

enum history_merge { HISTORY_SUM, HISTORY_MOST, HISTORY_MEAN, HISTORY_WORST };

/* One row a figure: what keeps them and what adds them up walk this. */
struct history_figure {
	const char *name, *text;
	size_t offset;
	enum history_merge merge;
};
#define HISTORY_FIGURES 14
extern const struct history_figure history_figures[HISTORY_FIGURES];

/* Which of two verdicts is the worse one: < 0 the first. */
typedef int (*history_compare)(uint64_t a, uint64_t b);

static inline uint64_t *history_figure(struct history_figures *f, size_t i)
{
	return (uint64_t *)(void *)((char *)f + history_figures[i].offset);
}

/* Adds what was seen later, or elsewhere. */
void history_add(struct history_figures *to, const struct history_figures *by,
		 history_compare worse);
/* Slow of requests, 0..1; 0 without any. */
double history_slow_share(const struct history_figures *f);

/* A kind of process by its texts, which are untrusted: name ("Shop.Web"), place ("prod/shop/api",
 * "shop.service", "" none beyond the name). */
struct history_kind {
	uint32_t id;
	char name[HISTORY_NAME_BYTES], place[HISTORY_PLACE_BYTES];
	int64_t first_s, last_s; /* Unix time of its first and last minute */
	uint64_t minutes;	 /* that are known of it */
};

/* What a minute has of one kind. */
struct history_row {
	const char *name, *place; /* NULL: the host; "" and "": all others; borrowed */
	struct history_figures figures;
};

struct history_minute {
	int64_t time_s; /* Unix time of its beginning */
	struct history_row *rows;
	size_t rows_cnt;
};

/* A capture that was taken, or not. Texts borrowed. */
struct history_decision {
	int64_t time_s;
	const char *process; /* "" = nobody in particular: the host, or a person asked */
	uint32_t verdict;    /* enum verdict */
	bool taken;
	const char *reason;  /* of the one or the other, with its figures */
	const char *trunk;   /* "" not known */
	const char *capture; /* name in the folder; "" none */
	/* The same again, as long as nothing else was decided of that process: read, not
	 * written. */
	int64_t last_s;
	uint64_t times;
};

/* A thick trunk of a process in a capture that was taken. Texts borrowed. */
struct history_trunk {
	int64_t time_s; /* of the capture */
	const char *capture, *process, *path;
	double share;	/* of the process's CPU, 0..1 */
	double seconds; /* in which it was hurt */
	double people;	/* requests that were slow or unanswered then */
};

/* What it did to people: share x seconds x people. */
static inline double history_harm(const struct history_trunk *t)
{
	return t->share * t->seconds * t->people;
}

/* Makes one of them whole again where it was cut within a character: cuts to at most bytes - 1. */
void history_copy(char *to, size_t bytes, const char *from);
#endif

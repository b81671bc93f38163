/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_VERDICTS_H
#define HOTRUN_JUDGE_VERDICTS_H
/*
 * Verdicts of a whole model: of the host and of each process, over all of its slices and in each of
 * them. hotrun itself and the kernel's threads get none. Processes of one name are judged each for
 * itself. Pure; no threads.
 *
 * What the kernel side takes for a request is taken as one here, of HTTP/2 and TLS, too:
 * verdict_row.blur says what may be meant beside. A long poll or a stream that answers late by
 * design cannot be told from a hang: a section of the limits (verdict_policy) or the operator's own
 * signal is the way out, and reports say so where a request is stuck. Refused connections count
 * where the accept queue was seen at least half full: the kernel counts half-open probes of a port
 * as refused, too.
 */
#include <linux/types.h>

#include "judge/books.h"
#include "judge/verdict.h"
#include "model/model.h"
#include "model/requests.h"
#include "model/sched.h"
#include "model/totals.h"

/* Limits of one kind of process: by name or unit, or, with name NULL, by a port that it serves. */
struct verdict_section {
	char *name;
	uint16_t port;
	uint32_t set; /* limits.c's: those that it sets itself */
	struct verdict_limits limits;
};

/* sections: the first that fits holds. */
struct verdict_policy {
	struct verdict_limits limits;
	struct verdict_section *sections;
	size_t sections_cnt;
};

typedef void (*verdicts_on_slice)(void *ctx, uint32_t slice, uint32_t process,
				  const struct verdict_input *input,
				  const struct verdict_result *result);

/* All borrowed until verdicts_free(). */
struct verdict_sources {
	const struct model *m;
	const struct totals *totals;
	const struct books *books;
	const struct sched *sched;	     /* NULL: no waits are known, and nothing is judged */
	const struct requests *requests;     /* NULL: none are seen */
	const struct verdict_policy *policy; /* NULL = defaults */
	const uint32_t *asked;		     /* processes that get a row in any case */
	size_t asked_cnt;
	bool all;     /* a row for each process that served or wanted CPU worth a line */
	bool every;   /* for each that served or wanted any, healthy or not to be judged */
	bool seconds; /* for each that was hurt in any one slice */
	/* Told, slice after slice, of each process (row) that did anything in it, and behind them
	 * of the host (MODEL_NONE); or NULL. */
	verdicts_on_slice on_slice;
	void *ctx;
};

struct verdict_row {
	uint32_t process; /* row; MODEL_NONE = the host */
	struct verdict_input input;
	struct verdict_result result; /* over all slices */

	uint32_t hurt_slices;
	uint32_t first, last; /* the longest run of them; MODEL_NONE without any */
	uint32_t worst;	      /* slice: the most urgent, then farthest beyond its limit */
	struct verdict_input worst_input;
	struct verdict_result worst_result;
	/* The run lasted, and says what all slices together do not: over them it is not hurt, or
	 * for another reason, while it was hurt in no more than half of them. */
	bool episode;
	struct verdict_input episode_input; /* of the run as a whole */
	struct verdict_result episode_result;
	uint32_t newest; /* the last slice in which it was hurt; MODEL_NONE without any */
	bool no_capture; /* a setting: it is none to be captured for (verdict_limits) */
	bool listens;	 /* on a TCP port; known only where requests are not measured */

	const char *unmeasured; /* why it has no service signal, or NULL; static */
	const char *blur;	/* requests_blur() of it, or NULL; static */
};

struct verdicts {
	struct verdict_row host;
	struct verdict_row *rows; /* that are not healthy, stand at their limit, or are asked for;
				   * by verdicts_rank(), hurt services before others that are
				   * hurt by what they miss */
	size_t rows_cnt, rows_cap;
	uint32_t judged;	/* processes */
	uint32_t contended;	/* of these */
	uint32_t unknown;	/* of these */
	uint32_t at_limit;	/* of these, not hurt */
	uint32_t hurt;		/* of these, episodes included ... */
	uint32_t hurt_services; /* ... and of those, who have a service signal */
	uint32_t slices;	/* that were looked at */
	const char *missing;	/* why nothing is judged, or NULL; static */
	uint64_t requests_cnt;	/* answered, of all processes that are judged */
};

/* Returns them owned, or NULL with errno ENOMEM. */
struct verdicts *verdicts_new(const struct verdict_sources *sources);
void verdicts_free(struct verdicts *v);
/*
 * The same of a model that goes on, over its slices from `first` on, all of them closed, as if
 * nothing had been before; rows name slices as m does. seconds: see verdict_sources. Walks threads
 * and processes, but of slices only those.
 */
struct verdicts *verdicts_recent(const struct model *m, uint32_t first,
				 const struct verdict_policy *policy, bool seconds);
/* The same with on_slice and its ctx: see verdict_sources. */
struct verdicts *verdicts_recent_told(const struct model *m, uint32_t first,
				      const struct verdict_policy *policy,
				      verdicts_on_slice on_slice, void *ctx);
/* True where nobody can be hurt in these slices, whatever else is true of them: no request is late
 * or failed, no signal came, and in the newest one all threads together waited less than a single
 * process has to. Looks at
 * the rows of these slices alone, some microseconds on a host at rest. */
bool verdicts_all_calm(const struct model *m, uint32_t first, const struct verdict_policy *policy);

/* The verdict that counts: of the episode where there is one, else over all slices. */
static inline const struct verdict_result *verdicts_result(const struct verdict_row *row)
{
	return row->episode ? &row->episode_result : &row->result;
}

static inline const struct verdict_input *verdicts_input(const struct verdict_row *row)
{
	return row->episode ? &row->episode_input : &row->input;
}

/* What is told first: somebody is hurt, then who is about to be, then who waits unharmed. */
enum verdicts_rank { RANK_HURT, RANK_AT_LIMIT, RANK_CONTENDED, RANK_CALM, RANK_CNT };

static inline enum verdicts_rank verdicts_rank(const struct verdict_row *row)
{
	const struct verdict_result *result = verdicts_result(row);

	if (result->hurt)
		return RANK_HURT;
	if (result->at_limit)
		return RANK_AT_LIMIT;
	return result->verdict == VERDICT_CONTENDED ? RANK_CONTENDED : RANK_CALM;
}
#endif

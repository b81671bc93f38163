/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_POLICY_H
#define HOTRUN_WATCH_POLICY_H
/*
 * Whether the resident recorder takes a capture by itself, of who has been hurt for long enough
 * (suspects.h). It asks one question after the other, the first no decides, and each answer is
 * written down with its figures:
 *
 *  1. wanted?       verdicts of `capture-on`, and nothing in the process's own section against it
 *  2. significant?  POLICY_PEOPLE people hurt, or the figure that decided POLICY_DISTANCE beyond
 *                   its limit: a tenth of three requests is nobody's night
 *  3. unusual?      against this process's own past at this hour of the week, where that is known:
 *                   what was so in half of its minutes, and no worse than usual, is its normal
 *                   state
 *  4. lately?       the like (same service, same trunk: the method below which its CPU goes, or,
 *                   where none is to be seen, what the verdict rests on) rests for `cooldown` after
 *                   a capture, twice as long after each further one, up to POLICY_COOLDOWN_MOST_S.
 *                   Another trunk is not the like; a worse verdict does not wait either. What is
 *                   not seen for POLICY_FORGET_S is forgotten
 *  5. budget?       `captures-per-hour`, of which a quarter is kept for tenants that had none in
 *                   that hour; room on the disk; CPU time of reports and pages over the
 *                   last hour, within what hotrun may cost
 *  6. free?         one capture by itself at a time. The one that runs holds who comes later, too:
 *                   with POLICY_HELD_S of it left, that is as good as one of its own
 *
 * Pure, over simulated time: seconds that only grow, near Unix time (a file keeps them). What it
 * remembers is bounded. No threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "judge/verdict.h"

#define POLICY_PEOPLE	       5
#define POLICY_DISTANCE	       0.25
#define POLICY_PAST_HOURS      2   /* fewer such hours in the past tell nothing */
#define POLICY_USUAL_SHARE     0.5 /* of their minutes */
#define POLICY_USUAL_FACTOR    1.5 /* beyond its usual figure it is unusual all the same */
#define POLICY_COOLDOWN_MOST_S 21600
#define POLICY_FORGET_S	       86400
#define POLICY_HELD_S	       10
#define POLICY_HOUR_S	       3600
#define POLICY_HOUR_MAX	       60	     /* of captures-per-hour */
#define POLICY_LIKES	       128	     /* remembered; who was seen longest ago is forgotten */
#define POLICY_ROOM_BYTES      (64ull << 20) /* at the least, left on the disk before it begins */
#define POLICY_ROOM_FACTOR     4	     /* or so many times the last one */
#define POLICY_TEXT_BYTES      1536

/* What became of the question; POLICY_TAKEN: all answers were yes. */
enum policy_answer {
	POLICY_TAKEN,
	POLICY_OFF,
	POLICY_SMALL,
	POLICY_USUAL,
	POLICY_LATELY,
	POLICY_HOUR,
	POLICY_DISK,
	POLICY_CPU,
	POLICY_RUNNING,
	POLICY_FAILED, /* it could not be written: for who counts */
	POLICY_ANSWER_CNT
};

/* What a process's own past says of this hour of the week. */
struct policy_past {
	bool known;
	uint32_t hours;	  /* such hours that were observed */
	double bad_share; /* of their minutes, in which it had this verdict */
	double usual;	  /* the figure that decides, in those: nine of ten were not worse */
};

struct policy_options {
	uint32_t on; /* VERDICT_BIT()s */
	uint32_t cooldown_s, per_hour;
};

/* Who, and what is known about it. */
struct policy_case {
	const char *identity; /* of the service (suspect_identity()), untrusted; "" = the host */
	uint64_t tenant;      /* whose it is: a container, else a user; 0 = the host */
	const struct verdict_result *result;
	const char *evidence; /* the figure that decided, in words */
	double people;
	bool no_capture; /* its own section says so */
	/* Asked when it comes to that, once at the most: its past; and its trunk ("" = none is to
	 * be seen), borrowed until policy_ask() returns. NULL: not known. */
	void (*past)(void *ctx, struct policy_past *ret_past);
	const char *(*trunk)(void *ctx);
	void *ctx;
};

/* What there is to take it with. */
struct policy_means {
	uint64_t free_bytes;	 /* on the disk; UINT64_MAX = not known */
	uint64_t last_bytes;	 /* of the last capture with its artifacts */
	uint64_t cpu_granted_ns; /* to captures, in an hour; 0 = no bound */
	const char *running;	 /* the name of the one that is under way, or NULL */
	uint32_t running_left_s; /* of it */
};

struct policy_like {
	uint64_t hash;	 /* of service and trunk, the same in every run; 0 = free */
	int64_t taken_s; /* the last capture that holds it */
	int64_t seen_s;
	uint32_t times;	      /* taken, without being forgotten */
	enum verdict verdict; /* the worst of them */
};

/* What outlives a restart (state.h). */
struct policy_memory {
	struct policy_like likes[POLICY_LIKES];
	int64_t taken_s[POLICY_HOUR_MAX]; /* captures by itself, newest first; 0 = none */
};

struct policy {
	struct policy_memory memory;
	uint64_t taken_by[POLICY_HOUR_MAX]; /* tenants of memory.taken_s, 0 = before this start */
	struct {
		int64_t minute;
		uint64_t cpu_ns;
	} spent[POLICY_HOUR_S / 60]; /* by reports and pages */
};

struct policy_reply {
	enum policy_answer answer;
	uint64_t like;		      /* as policy_taken() wants it; 0 = it did not come to that */
	char text[POLICY_TEXT_BYTES]; /* each answer, safe to show */
};

/* Asks all of it. Changes nothing but when the like was seen. */
void policy_ask(struct policy *p, const struct policy_options *options, const struct policy_case *c,
		const struct policy_means *means, int64_t now_s, struct policy_reply *ret_reply);
/* A capture of it was begun. */
void policy_taken(struct policy *p, const struct policy_reply *reply, uint64_t tenant,
		  enum verdict verdict, int64_t now_s);
/* It is held by a capture of something else: the like rests, but it is none of its own. */
void policy_held(struct policy *p, const struct policy_reply *reply, enum verdict verdict,
		 int64_t now_s);
/* The same of a trunk that a capture of it shows beside the one that it was taken for: so that
 * what changes places with it is not new. */
void policy_seen(struct policy *p, const char *identity, const char *trunk, enum verdict verdict,
		 int64_t now_s);
/* What stands for the trunk where none is to be seen: what the verdict rests on. Static. */
const char *policy_evidence(const struct verdict_result *result);
/* True when the capture that runs holds enough of what begins now. */
bool policy_holds(const struct policy_means *means);
/* Reports and pages took so much CPU time. */
void policy_spent(struct policy *p, uint64_t cpu_ns, int64_t now_s);
/* How long the like rests after a capture. */
int64_t policy_rest_s(const struct policy_like *like, uint32_t cooldown_s);
/* "lately", for metrics: stable. Static. */
const char *policy_answer_id(enum policy_answer answer);
#endif
